"""What LangGraph and LangChain hand to a function does not count for which action it is, and is not stored."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest
from langchain_core.callbacks import Callbacks
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import StreamWriter

from call4agents_core.errors import UsageError
from call4agents_langgraph import effect
from call4agents_langgraph._injected import injected

if TYPE_CHECKING:
    from nowhere import Missing

pytestmark = pytest.mark.framework


class OwnMark(InjectedToolArg):
    """An injection of somebody else's."""


def test_arguments_that_are_handed_over_are_told_by_their_annotations():
    """With the class or an object in Annotated, in unions, in text, with type arguments."""

    def everything(
        amount: int,
        state: Annotated[dict, InjectedState],
        part: Annotated[list, InjectedState("messages")],
        store: Annotated[Any, InjectedStore()],
        id: Annotated[str, InjectedToolCallId],
        mine: Annotated[str, OwnMark()],
        runtime: ToolRuntime,
        typed: ToolRuntime[None, dict],
        graph: Runtime[None],
        config: RunnableConfig,
        writer: StreamWriter,
        base: BaseStore,
        callbacks: Callbacks,
        maybe: Optional[RunnableConfig] = None,  # noqa: UP045 - both spellings are met
        other: ToolRuntime | None = None,
    ): ...

    found = injected(everything)
    assert found.names == set(everything.__annotations__) - {"amount"}
    assert found.call_ids == {"id"}


def test_ordinary_arguments_are_not():
    """Neither by name, nor for holding such objects in a list, nor when their annotation leads nowhere."""

    def ordinary(
        runtime: int, config: dict, state: Annotated[int, "note"], missing: Missing, stores: list[BaseStore], bare
    ): ...

    assert injected(ordinary).names == set()


def test_partials_callable_objects_and_decorated_functions_are_seen_through():
    """The annotations stand on the function inside."""

    def pay(amount: int, runtime: ToolRuntime): ...

    class Payer:
        def __call__(self, amount: int, runtime: ToolRuntime): ...

    @functools.wraps(pay)
    def decorated(*args, **kwargs): ...

    for function in (functools.partial(pay, 1), Payer(), decorated, functools.partial(functools.partial(pay), 1)):
        assert injected(function).names == {"runtime"}, function


def test_of_what_has_no_signature_nothing_is_known():
    """The core says what is wrong with it."""
    assert injected(dict).names == injected(3).names == set()


def test_handed_over_arguments_reach_the_tool_and_neither_key_nor_ledger(
    saver, tool_loop, model, thread, question, world, intents
):
    """The state and the call's id differ in every turn; the action is the same."""
    seen = []

    @tool
    @effect(name="pay")
    def pay(
        amount: int,
        state: Annotated[dict, InjectedState],
        id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime,
        config: RunnableConfig,
    ) -> str:
        """Pay."""
        seen.append((len(state["messages"]), id, runtime.tool_call_id, config["configurable"]["thread_id"]))
        world.act()
        return "paid"

    assert set(pay.tool_call_schema.model_json_schema()["properties"]) == {"amount"}
    graph = tool_loop(model(("pay", {"amount": 10})), [pay], saver)
    graph.invoke(question(), thread())
    graph.invoke(question(), thread())
    assert seen == [(2, "call-1-0", "call-1-0", "T")]
    (intent,) = intents(saver.ledger)
    assert intent["args"] == {"amount": {"value": 10}}
    assert intent["where"]["tool_call"] == "call-1-0"


def test_a_node_may_be_an_effect_itself(saver, thread, world, intents):
    """What LangGraph hands to nodes stays out too; the state is the argument."""
    from langgraph.graph import START, StateGraph

    @effect(name="work", key=lambda state: state["order"])
    def work(state: dict, runtime: Runtime, config: RunnableConfig, store: BaseStore) -> dict:
        world.act()
        return {"order": state["order"]}

    builder = StateGraph(dict)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    graph = builder.compile(checkpointer=saver, store=InMemoryStore())
    for _ in range(2):
        graph.invoke({"order": "7"}, thread())
    assert world.count() == 1
    assert set(intents(saver.ledger)[0]["args"]) == {"state"}


def test_undo_cannot_ask_for_what_is_handed_over():
    """Nobody could hand it over when the action is undone."""
    with pytest.raises(UsageError, match="undo= asks for 'runtime'"):

        @effect(undo=lambda runtime: None)
        def pay(amount: int, runtime: ToolRuntime): ...
