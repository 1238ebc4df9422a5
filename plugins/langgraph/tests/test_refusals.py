"""Refusals leave a graph: nothing in LangGraph retries, handles or words them, and the thread can be resumed."""

from __future__ import annotations

import pickle
from inspect import isclass

import pytest
from langchain_core.tools import tool
from langgraph.errors import GraphBubbleUp, NodeError
from langgraph.graph import END
from langgraph.types import Command, RetryPolicy

import call4agents_core as c4a
from call4agents_core import errors as core
from call4agents_langgraph import effect, errors, node, tool_wrapper

pytestmark = pytest.mark.framework

KINDS = sorted(
    (kind for kind in vars(core).values() if isclass(kind) and issubclass(kind, core.Call4AgentsError)),
    key=lambda kind: kind.__name__,
)
FACTS = {"run": "T", "tool": "pay", "action": "a1"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_error_of_the_core_has_one_here_that_is_both(kind):
    """None is forgotten, and the tree has the same shape."""
    ours = getattr(errors, kind.__name__)
    assert issubclass(ours, kind)
    assert issubclass(ours, GraphBubbleUp)
    assert ours.code == kind.code
    for other in KINDS:
        assert issubclass(ours, getattr(errors, other.__name__)) == issubclass(kind, other)


@pytest.mark.parametrize(
    "error",
    [
        core.EffectInDoubt(**FACTS, since=1.0, cause="it raised OSError()"),
        core.EffectRunning(**FACTS, since=1.0, cause="another caller holds it"),
        core.EffectUndone(**FACTS),
        core.ApprovalDenied(**FACTS, by="ann", reason=None),
        core.ResultNotKept(**FACTS, shown="<socket>", why="it cannot be stored"),
        core.ResultNotRecorded("ledger.sqlite", **FACTS, result={"paid": 10}, why="the disk is full"),
        core.UnstableArgument("pay", "to", "is NaN"),
        core.NoActiveRun("pay"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_keeps_its_facts_and_text_and_survives_pickle(error):
    """A graph may run in another process than whoever reads its error."""
    ours = errors.as_ours(error)
    assert type(ours) is getattr(errors, type(error).__name__)
    copied = pickle.loads(pickle.dumps(ours))
    assert type(copied) is type(ours)
    assert (copied.__dict__, copied.args, str(copied)) == (error.__dict__, error.args, str(error))


def test_an_error_keeps_its_cause_and_traceback():
    """The way to the first fault must not be lost."""
    fault = OSError("disk")

    def fails():
        raise core.LedgerError("here", "it broke") from fault

    with pytest.raises(errors.LedgerError) as caught, errors.refusals():
        fails()
    assert caught.value.__cause__ is fault
    assert "fails" in [entry.name for entry in caught.traceback]


def test_other_exceptions_pass_unchanged():
    """What a tool raises is the tool's."""
    fault = KeyError("x")
    with pytest.raises(KeyError) as caught, errors.refusals():
        raise fault
    assert caught.value is fault


# ---- in graphs -------------------------------------------------------------------------------------------------------


@pytest.fixture
def charge(world):
    """An effect that happens and then raises, so that it is in doubt."""

    @effect(name="charge")
    def charge(amount: int) -> str:
        """Charge."""
        world.act()
        raise ConnectionError("the answer was lost")

    return charge


def test_case_d07_a_retry_policy_does_not_repeat_what_is_in_doubt(charge, saver, one_node, thread, world):
    """D07: langgraph#8702, RetryPolicy entered the node again; three charges. It may retry the tool's own error, never our refusal."""
    policy = RetryPolicy(max_attempts=3, initial_interval=0.01, retry_on=Exception)
    graph = one_node(lambda state: {"out": [charge(10)]}, saver, retry_policy=policy)
    with pytest.raises(errors.EffectInDoubt):
        graph.invoke({"out": []}, thread())
    assert world.count() == 1
    assert graph.get_state(thread()).next == ("work",)
    assert graph.get_state(thread()).tasks[0].error is None


def test_an_error_handler_does_not_see_a_refusal(charge, saver, one_node, thread, world):
    """A handler that counts the node as done would hide the doubt."""
    handled = []

    def handler(state, error: NodeError):
        handled.append(error)
        return Command(goto=END)

    graph = one_node(lambda state: {"out": [charge(10)]}, saver, error_handler=handler)
    graph.invoke({"out": []}, thread())
    assert len(handled) == 1, "the tool's own error is the handler's"
    with pytest.raises(errors.EffectInDoubt):
        graph.invoke({"out": []}, thread())
    assert (len(handled), world.count()) == (1, 1)


@pytest.mark.parametrize("guarded_by", ["effect", "tool_wrapper", "core effect and tool_wrapper"])
def test_a_tool_node_that_handles_all_errors_does_not_make_a_text_of_a_refusal(
    guarded_by, charge, saver, tool_loop, model, thread, question, world
):
    """The model would read "please fix your mistakes", and try something else. The tool's own error it may read."""
    options = {"handle_tool_errors": True}
    made = tool(charge)
    if guarded_by != "effect":
        options["wrap_tool_call"] = tool_wrapper()

        def plain(amount: int) -> str:
            """Charge."""
            world.act()
            raise ConnectionError("the answer was lost")

        made = tool("charge")(c4a.effect(name="charge")(plain) if guarded_by.startswith("core") else plain)
    graph = tool_loop(model(("charge", {"amount": 10})), [made], saver, **options)
    assert "the answer was lost" in graph.invoke(question(), thread())["messages"][-1].content
    with pytest.raises(errors.EffectInDoubt):
        graph.invoke(question(), thread())
    assert world.count() == 1


def test_a_programmers_mistake_is_not_told_to_the_model(saver, tool_loop, model, thread, question):
    """An argument that cannot be part of a key is for the programmer."""

    @tool
    @effect
    def pay(amount: float) -> str:
        """Pay."""
        return "paid"

    graph = tool_loop(model(("pay", {"amount": float("nan")})), [pay], saver, handle_tool_errors=True)
    with pytest.raises(core.UnstableArgument, match="exclude="):
        graph.invoke(question(), thread())


def test_refusals_inside_node_leave_as_ours(saver, one_node, thread, world):
    """A plain effect of the core raises the core's; LangGraph would retry and handle that."""

    @c4a.effect(name="charge")
    def charge() -> None:
        world.act()
        raise ConnectionError

    policy = RetryPolicy(max_attempts=3, initial_interval=0.01, retry_on=Exception)
    graph = one_node(node(lambda state: charge()), saver, retry_policy=policy)
    with pytest.raises(errors.EffectInDoubt):
        graph.invoke({"out": []}, thread())
    assert world.count() == 1


def test_an_action_that_needs_a_yes_waits_for_it_and_runs_when_the_thread_is_resumed(saver, one_node, thread, world):
    """The graph stops before the node; the yes is given out of band, and covers this one action."""

    @effect(approval=True, name="pay")
    def pay(amount: int) -> str:
        world.act()
        return f"paid {amount}"

    graph = one_node(lambda state: {"out": [pay(state["amount"])]}, saver)
    with pytest.raises(errors.ApprovalRequired) as caught:
        graph.invoke({"amount": 10, "out": []}, thread())
    assert (world.count(), graph.get_state(thread()).next) == (0, ("work",))
    caught.value.request.approve(by="ann")
    assert graph.invoke(None, thread())["out"] == ["paid 10"]
    with pytest.raises(errors.ApprovalRequired):
        graph.invoke({"amount": 9999}, thread())
    saver.ledger.deny(pay, amount=9999, c4a_run="T")
    with pytest.raises(errors.ApprovalDenied):
        graph.invoke(None, thread())
    assert world.count() == 1


def test_a_doubt_is_resolved_by_a_person_and_the_thread_goes_on(charge, saver, one_node, thread, world):
    """With what the error says."""
    graph = one_node(lambda state: {"out": [charge(10)]}, saver)
    with pytest.raises(ConnectionError):
        graph.invoke({"out": []}, thread())
    with pytest.raises(errors.EffectInDoubt) as caught:
        graph.invoke(None, thread())
    assert f"--ledger {saver.ledger.location}" in str(caught.value)
    saver.ledger.resolve("T", caught.value.action, c4a.happened("charged"))
    assert graph.invoke(None, thread())["out"] == ["charged"]
    assert world.count() == 1
