"""An interrupt inside or around an effect is no failure, and what was done before it is not done again."""

from __future__ import annotations

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt

from call4agents_langgraph import effect, errors

pytestmark = pytest.mark.framework


@pytest.fixture
def mail(world):
    """An effect."""

    @effect(name="mail")
    def mail(to: str) -> str:
        """Send a mail."""
        world.act(to)
        return f"sent to {to}, mail number {world.count()}"

    return mail


def test_an_interrupt_inside_an_effect_leaves_no_doubt(saver, one_node, thread, world):
    """LangGraph runs the function again from its top once the answer is there."""

    @effect(name="mail")
    def mail(to: str) -> str:
        text = interrupt("what shall it say?")
        world.act(text)
        return text

    graph = one_node(lambda state: {"out": [mail("bob")]}, saver)
    assert graph.invoke({"out": []}, thread())["__interrupt__"][0].value == "what shall it say?"
    assert [row.state for row in saver.ledger.store.actions()] == ["not-done"]
    assert graph.invoke(Command(resume="hello"), thread())["out"] == ["hello"]
    assert graph.invoke({"out": []}, thread())["out"] == ["hello"] * 2
    assert world.lines() == ["hello"]


def test_an_interrupt_inside_an_async_effect_leaves_no_doubt(one_node, thread, world, run_async):
    """The same, awaited."""
    from langgraph.checkpoint.memory import InMemorySaver

    from call4agents_langgraph import LedgerSaver

    @effect(name="mail")
    async def mail() -> str:
        text = interrupt("?")
        world.act(text)
        return text

    async def work(state):
        return {"out": [await mail()]}

    graph = one_node(work, LedgerSaver(InMemorySaver()))
    assert "__interrupt__" in run_async(graph.ainvoke({"out": []}, thread()))
    assert run_async(graph.ainvoke(Command(resume="hello"), thread()))["out"] == ["hello"]
    assert world.lines() == ["hello"]


def test_any_other_exception_inside_an_effect_is_a_doubt(saver, one_node, thread):
    """A pause is told by LangGraph's class, not by luck."""

    @effect(name="mail")
    def mail() -> None:
        raise RuntimeError("?")

    graph = one_node(lambda state: mail(), saver)
    with pytest.raises(RuntimeError):
        graph.invoke({"out": []}, thread())
    with pytest.raises(errors.EffectInDoubt):
        graph.invoke(None, thread())


def test_case_d02_siblings_of_a_tool_that_interrupts_are_not_repeated(
    mail, saver, tool_loop, model, thread, question, world
):
    """D02: langgraph PR#3126, the whole tool node runs again when one of its tools was answered; two e-mails."""
    messages = []

    @tool
    def ask(what: str) -> str:
        """Ask."""
        return interrupt(what)

    @tool
    def send(to: str) -> str:
        """Send."""
        messages.append(mail(to))
        return messages[-1]

    graph = tool_loop(model(("send", {"to": "bob"}), ("ask", {"what": "sure?"})), [send, ask], saver)
    graph.invoke(question(), thread())
    said = graph.invoke(Command(resume="yes"), thread())
    assert world.lines() == ["bob"]
    assert messages == ["sent to bob, mail number 1"] * 2
    answers = [m.content for m in said["messages"] if isinstance(m, ToolMessage)]
    assert answers == ["sent to bob, mail number 1", "yes"]


def test_case_d03_an_effect_before_two_interrupts_happens_once(mail, saver, one_node, thread, world):
    """D03: langgraph#6208, the node runs again after each answer; three effects."""
    graph = one_node(lambda state: {"out": [mail("bob"), interrupt("one"), interrupt("two")]}, saver)
    graph.invoke({"out": []}, thread())
    graph.invoke(Command(resume=1), thread())
    assert graph.invoke(Command(resume=2), thread())["out"] == ["sent to bob, mail number 1", 1, 2]
    assert world.lines() == ["bob"]


def test_case_r01_an_effect_before_an_interrupt_in_a_subgraph_happens_once(mail, saver, one_node, thread, world):
    """R01: langgraph#6792, resuming a subgraph forgot the outputs of its finished tasks."""
    inner = one_node(lambda state: {"out": [mail("bob"), interrupt("go on?")]})
    graph = one_node(inner, saver)
    graph.invoke({"out": []}, thread())
    assert graph.invoke(Command(resume="yes"), thread())["out"] == ["sent to bob, mail number 1", "yes"]
    assert world.lines() == ["bob"]
