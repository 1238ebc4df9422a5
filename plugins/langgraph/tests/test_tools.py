"""tool_wrapper and LedgerMiddleware guard tools that nobody decorated, inside the tool, after its arguments were validated."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, Send
from pydantic import BaseModel, Field

import call4agents_core as c4a
from call4agents_langgraph import LedgerMiddleware, LedgerSaver, effect, tool_wrapper
from call4agents_langgraph._results import THIS_CALL, answering, detached

pytestmark = pytest.mark.framework


@pytest.fixture
def play(saver, tool_loop, model, thread, question):
    """Lets a model call tools in some turns of one thread; the messages after each."""

    def run(tools, *calls, turns=2, **options):
        graph = tool_loop(model(*calls), tools, saver, wrap_tool_call=tool_wrapper(), **options)
        return [graph.invoke(question(), thread())["messages"] for _ in range(turns)]

    return run


def test_the_key_is_taken_from_the_arguments_as_they_will_run(play, saver, world, intents):
    """What the model wrote is text; the tool gets numbers and defaults."""

    @tool
    def pay(amount: int, currency: str = "EUR") -> str:
        """Pay."""
        world.act(f"{amount!r} {currency}")
        return "paid"

    play([pay], ("pay", {"amount": "10"}), ("pay", {"amount": 10, "currency": "EUR"}))
    assert world.lines() == ["10 EUR"]
    assert intents(saver.ledger)[0]["args"] == {"amount": {"value": 10}, "currency": {"value": "EUR"}}
    assert intents(saver.ledger)[0]["where"]["tool_call"] in ("call-1-0", "call-1-1")


def test_defaults_of_the_schema_count(play, saver, world, intents):
    """A schema may say more than the function."""

    class Order(BaseModel):
        amount: int = Field(default=7, gt=0)

    def pay(amount: int) -> str:
        """Pay."""
        world.act()
        return "paid"

    play([StructuredTool.from_function(pay, args_schema=Order)], ("pay", {}), ("pay", {"amount": 7}))
    assert (world.count(), intents(saver.ledger)[0]["args"]) == (1, {"amount": {"value": 7}})


def test_arguments_that_fail_validation_start_nothing(play, saver, world):
    """They come back to the model as before, and the ledger has never heard of them."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        world.act()
        return "paid"

    (messages,) = play([pay], ("pay", {"amount": "much"}), turns=1)
    assert messages[-2].status == "error"
    assert (world.count(), saver.ledger.store.runs()) == (0, [])


def test_an_error_text_is_never_recorded_as_a_result(play, saver, world):
    """handle_tool_errors makes a text of the tool's exception; the ledger has seen the exception."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        world.act()
        raise OSError("gone")

    (messages,) = play([pay], ("pay", {"amount": 10}), turns=1, handle_tool_errors=True)
    assert "gone" in messages[-2].content
    assert [row.state for row in saver.ledger.store.actions()] == ["in-doubt"]


def test_a_tool_that_nobody_knows_is_reported_as_before(play):
    """There is nothing to guard."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    (messages,) = play([pay], ("buy", {"amount": 10}), turns=1)
    assert "buy is not a valid tool" in messages[-2].content


# ---- kinds of tools --------------------------------------------------------------------------------------------------


def test_tools_that_are_classes_are_guarded_too(play, world, run_async, database, tool_loop, model, question, thread):
    """Also where _arun calls _run: that is one action, not one inside another."""

    class Pay(BaseTool):
        name: str = "pay"
        description: str = "Pay."
        purse: str = "mine"

        def _run(self, amount: int, run_manager=None) -> str:
            world.act(self.purse)
            return f"paid {amount}"

    class PayBoth(Pay):
        async def _arun(self, amount: int, run_manager=None) -> str:
            return self._run(amount)

    both = play([Pay()], ("pay", {"amount": 10}))
    assert [messages[-1].content for messages in both] == ["paid 10"] * 2
    assert world.count() == 1

    async def run():
        async with AsyncSqliteSaver.from_conn_string(str(database)) as plain:
            saver, wrapper = LedgerSaver(plain), tool_wrapper()
            for kind in (Pay, PayBoth, PayBoth):
                graph = tool_loop(
                    model(("pay", {"amount": 10})), [kind()], saver, wrap_tool_call=wrapper, awrap_tool_call=wrapper
                )
                said = await graph.ainvoke(question(), thread("U"))
                assert said["messages"][-1].content == "paid 10"
            saver.ledger.close()

    run_async(run())
    assert world.count() == 2


def test_one_object_wraps_sync_and_async_calls(world, run_async, database, tool_loop, model, question, thread):
    """An async tool is one action in both forms of its graph."""

    async def pay(amount: int) -> str:
        """Pay."""
        world.act()
        return f"paid {amount}"

    async def run():
        async with AsyncSqliteSaver.from_conn_string(str(database)) as plain:
            saver, wrapper = LedgerSaver(plain), tool_wrapper()
            graph = tool_loop(
                model(("pay", {"amount": 10})), [tool(pay)], saver, wrap_tool_call=wrapper, awrap_tool_call=wrapper
            )
            said = [(await graph.ainvoke(question(), thread()))["messages"][-1].content for _ in range(2)]
            saver.ledger.close()
            return said

    assert run_async(run()) == ["paid 10"] * 2
    assert world.count() == 1


@pytest.mark.parametrize("decorator", [effect, c4a.effect], ids=["ours", "core"])
def test_a_tool_that_is_an_effect_keeps_its_own_options_and_is_one_action(decorator, play, saver, world):
    """A guard around a guard would wait for itself; and a plain effect of the core finds the thread."""

    @tool
    @decorator(name="shop.pay", key=lambda amount: "the-order")
    def pay(amount: int) -> str:
        """Pay."""
        world.act()
        return "paid"

    play([pay], ("pay", {"amount": 10}))
    assert [(row.tool, row.state) for row in saver.ledger.store.actions()] == [("shop.pay", "done")]
    assert world.count() == 1


def test_what_tool_node_hands_over_by_the_name_runtime_is_left_out(play, saver, world, intents):
    """Tools that come from an MCP server have such a parameter, annotated with Any."""

    @tool
    def pay(amount: int, runtime: Any = None) -> str:
        """Pay."""
        world.act(runtime.tool_call_id)
        return "paid"

    play([pay], ("pay", {"amount": 10}))
    assert world.lines() == ["call-1-0"]
    assert set(intents(saver.ledger)[0]["args"]) == {"amount"}


# ---- results ---------------------------------------------------------------------------------------------------------


def test_a_recorded_message_or_command_answers_the_call_that_asks_now(play, world):
    """A ToolMessage names the tool call that it answers; the second turn's call has another id."""

    @tool
    def pay(amount: int, id: Annotated[str, InjectedToolCallId]) -> Command:
        """Pay."""
        world.act()
        return Command(update={"messages": [ToolMessage("paid", tool_call_id=id)]})

    @tool
    def mail(to: str, runtime: ToolRuntime) -> ToolMessage:
        """Mail."""
        world.act()
        return ToolMessage("sent", tool_call_id=runtime.tool_call_id, artifact={"size": 3})

    _, second = play([pay, mail], ("pay", {"amount": 10}), ("mail", {"to": "bob"}))
    answers = [message for message in second if isinstance(message, ToolMessage)]
    assert {message.tool_call_id: message.content for message in answers} == {
        "call-1-0": "paid", "call-1-1": "sent", "call-6-0": "paid", "call-6-1": "sent"
    }  # fmt: skip
    assert [message.artifact for message in answers if message.content == "sent"] == [{"size": 3}] * 2
    assert world.count() == 2


def test_a_content_and_artifact_result_comes_back_whole(play, world):
    """It is a pair until LangChain makes a message of it."""

    @tool(response_format="content_and_artifact")
    def fetch(n: int) -> tuple[str, dict]:
        """Fetch."""
        world.act()
        return "text", {"n": n}

    _, second = play([fetch], ("fetch", {"n": 1}))
    assert [m.artifact for m in second if isinstance(m, ToolMessage)] == [{"n": 1}] * 2
    assert world.count() == 1


def test_only_messages_that_answer_this_call_are_readdressed():
    """Anything else is handed on as the very object that the tool returned."""
    other = ToolMessage("x", tool_call_id="other")
    untouched = [other, {"a": [1]}, "text", Command(update={"messages": [other]}), Command(goto="end"), [other], 3]
    for result in untouched:
        assert detached(result, "mine") is result
    mine = Command(update={"messages": [other, ToolMessage("y", tool_call_id="mine")], "n": 1})
    kept = detached(mine, "mine")
    assert [message.tool_call_id for message in kept.update["messages"]] == ["other", THIS_CALL]
    assert [message.tool_call_id for message in answering(kept, "next").update["messages"]] == ["other", "next"]
    assert mine.update["messages"][1].tool_call_id == "mine"


def test_a_command_with_sends_is_kept(saver, one_node, thread, world):
    """Send is a type of LangGraph's own, which the core alone could not store."""

    @effect
    def route(n: int) -> Command:
        world.act()
        return Command(goto=[Send("node", {"n": n})])

    seen = []
    graph = one_node(lambda state: seen.append(route(1)), saver)
    for _ in range(2):
        graph.invoke({"out": []}, thread())
    assert seen == [Command(goto=[Send("node", {"n": 1})])] * 2
    assert world.count() == 1


# ---- create_agent ----------------------------------------------------------------------------------------------------


def test_the_middleware_guards_every_tool_of_an_agent(saver, database, model, thread, question, world, run_async):
    """Sync and async; a tool with one form is enough for both."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        world.act()
        return f"paid {amount}"

    def agent(saver):
        return create_agent(
            model(("pay", {"amount": "10"})), [pay], middleware=[LedgerMiddleware()], checkpointer=saver
        )

    for _ in range(2):
        assert agent(saver).invoke(question(), thread())["messages"][-1].content == "paid 10"

    async def run():
        async with AsyncSqliteSaver.from_conn_string(str(database)) as plain:
            other = LedgerSaver(plain)
            said = await agent(other).ainvoke(question(), thread())
            other.ledger.close()
            return said["messages"][-1].content

    assert run_async(run()) == "paid 10"
    assert world.count() == 1
