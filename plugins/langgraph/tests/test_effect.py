"""`effect` finds the ledger and the run by the graph that it is called in."""

from __future__ import annotations

import asyncio
import operator
import threading
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Send

import call4agents_core as c4a
from call4agents_core.errors import NoActiveRun, UsageError
from call4agents_langgraph import LedgerSaver, effect, node

pytestmark = pytest.mark.framework


class State(TypedDict):
    out: Annotated[list, operator.add]


@pytest.fixture
def pay(world):
    """An effect that pays."""

    @effect(name="pay")
    def pay(amount: int, to: str, currency: str = "EUR") -> str:
        """Pay."""
        world.act(f"{amount} {to}")
        return f"paid {amount} {currency}"

    return pay


@pytest.fixture
def apay(world):
    """The same, to be awaited."""

    @effect(name="pay")
    async def pay(amount: int, to: str, currency: str = "EUR") -> str:
        """Pay."""
        world.act(f"{amount} {to}")
        return f"paid {amount} {currency}"

    return pay


# ---- where it is called ----------------------------------------------------------------------------------------------


def test_in_a_node_it_happens_once_for_a_thread_and_its_arguments(pay, saver, one_node, thread, world):
    """The run is the thread's id."""
    graph = one_node(lambda state: {"out": [pay(10, "bob"), pay(10, to="bob", currency="EUR")]}, saver)
    for name in ("T", "T", "U"):
        assert set(graph.invoke({"out": []}, thread(name))["out"]) == {"paid 10 EUR"}
    assert world.count() == 2
    assert [row.run for row in saver.ledger.store.runs()] == ["U", "T"]


def test_a_key_given_at_the_call_stands_for_the_action(pay, saver, one_node, thread, world):
    """As with the core's effect."""
    graph = one_node(lambda state: {"out": [pay(10, "bob", c4a_key=f"order-{n}") for n in (1, 2, 1)]}, saver)
    graph.invoke({"out": []}, thread())
    assert world.count() == 2


def test_it_is_a_tool_under_langchains_decorator(pay, saver, tool_loop, model, thread, question, world):
    """In a ToolNode, with the arguments that LangChain has validated."""
    graph = tool_loop(model(("pay", {"amount": "10", "to": "bob"})), [tool(pay)], saver)
    first = graph.invoke(question(), thread())
    again = graph.invoke(None, next(h.config for h in graph.get_state_history(thread()) if h.next == ("tools",)))
    assert (world.lines(), first["messages"][-1].content) == (["10 bob"], again["messages"][-1].content)


def test_in_an_agent_of_create_agent(pay, saver, model, thread, question, world):
    """As a tool among others."""
    agent = create_agent(model(("pay", {"amount": 10, "to": "bob"})), [tool(pay)], checkpointer=saver)
    assert agent.invoke(question(), thread())["messages"][-1].content == "paid 10 EUR"
    assert agent.invoke(question(), thread())["messages"][-1].content == "paid 10 EUR"
    assert world.count() == 1


def test_in_an_async_graph_beside_an_async_checkpointer(
    apay, pay, database, one_node, tool_loop, model, thread, question, run_async, world
):
    """Async nodes, async tools, and plain tools that LangGraph runs in threads."""

    async def run():
        async with AsyncSqliteSaver.from_conn_string(str(database)) as plain:
            saver = LedgerSaver(plain)

            async def work(state):
                return {"out": [await apay(10, "bob")]}

            said = [(await one_node(work, saver).ainvoke({"out": []}, thread()))["out"] for _ in range(2)]
            for made in (tool(apay), tool(pay)):
                graph = tool_loop(model(("pay", {"amount": 20, "to": "eve"})), [made], saver)
                said.append((await graph.ainvoke(question(), thread("U")))["messages"][-1].content)
            saver.ledger.close()
            return said

    assert run_async(run()) == [["paid 10 EUR"], ["paid 10 EUR"] * 2, "paid 20 EUR", "paid 20 EUR"]
    assert sorted(world.lines()) == ["10 bob", "20 eve"]


def test_in_subgraphs_sends_and_tasks_the_run_is_the_thread(pay, saver, one_node, thread, world):
    """One thread, one run, however deep the call."""
    inner = one_node(lambda state: {"out": [pay(1, "bob")]})

    builder = StateGraph(State)
    builder.add_node("split", lambda state: {"out": []})
    builder.add_node("work", lambda state: {"out": [pay(1, "bob")]})
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda state: [Send("work", {"n": n}) for n in range(2)], ["work"])

    @task
    def step():
        return pay(1, "bob")

    @entrypoint(checkpointer=saver)
    def flow(_):
        return step().result()

    one_node(inner, saver).invoke({"out": []}, thread())
    builder.compile(checkpointer=saver).invoke({"out": []}, thread())
    assert flow.invoke({"go": 1}, thread()) == "paid 1 EUR"
    assert world.lines() == ["1 bob"]


# ---- where the ledger comes from -------------------------------------------------------------------------------------


def test_with_a_plain_checkpointer_the_ledger_is_that_of_init_and_the_run_is_the_thread(
    pay, one_node, thread, world, ledger
):
    """Nothing but init() is needed."""
    graph = one_node(lambda state: {"out": [pay(10, "bob")]}, InMemorySaver())
    graph.invoke({"out": []}, thread())
    one_node(lambda state: {"out": [pay(10, "bob")]}).invoke({"out": []}, thread())
    assert (world.count(), [row.run for row in ledger.store.runs()]) == (1, ["T"])


def test_an_open_run_goes_before_the_ledger_of_init(pay, one_node, thread, ledger, tmp_path):
    """Whoever opens a run says where it belongs."""
    other = c4a.Ledger.open(tmp_path / "other.sqlite")
    with c4a.run("mine", ledger=other):
        one_node(lambda state: {"out": [pay(10, "bob")]}, InMemorySaver()).invoke({"out": []}, thread())
        pay(20, "bob")
    assert ([row.run for row in other.store.runs()], ledger.store.runs()) == (["mine"], [])
    other.close()


def test_the_graphs_ledger_goes_before_an_open_run(pay, saver, one_node, thread, ledger):
    """A thread has one ledger, whoever invokes the graph."""
    with c4a.run("mine"):
        one_node(lambda state: {"out": [pay(10, "bob")]}, saver).invoke({"out": []}, thread())
    assert ([row.run for row in saver.ledger.store.runs()], ledger.store.runs()) == (["T"], [])


def test_without_any_ledger_the_error_says_what_to_do(pay, one_node, thread):
    """In a graph and outside."""
    for call in (
        lambda: pay(10, "bob"),
        lambda: one_node(lambda state: pay(10, "bob"), InMemorySaver()).invoke({"out": []}, thread()),
    ):
        with pytest.raises(UsageError, match=r"compile\(checkpointer=LedgerSaver\(saver\)\).*init\(\)"):
            call()


def test_without_a_run_the_error_says_what_to_do(pay, one_node, ledger):
    """In a graph that has no thread, and outside of one."""
    with pytest.raises(UsageError, match="thread_id"):
        one_node(lambda state: pay(10, "bob")).invoke({"out": []})
    with pytest.raises(NoActiveRun):
        pay(10, "bob")


def test_a_thread_of_ones_own_that_copied_no_context_is_outside_the_graph(pay, saver, one_node, thread):
    """LangGraph's own threads carry the context; a bare threading.Thread does not."""
    found = []

    def in_thread():
        try:
            pay(10, "bob")
        except UsageError as error:
            found.append(str(error))

    def work(state):
        other = threading.Thread(target=in_thread)
        other.start()
        other.join()
        return {"out": []}

    one_node(work, saver).invoke({"out": []}, thread())
    assert "no ledger can be found" in found[0]


@pytest.mark.parametrize("name", ["'; DROP TABLE c4a_entries; --", "100%_", "line\nbreak", "ünï"])
def test_case_r24_a_thread_id_is_data_only(name, pay, saver, one_node, thread, world):
    """R24: a filter key was pasted into SQL."""
    graph = one_node(lambda state: {"out": [pay(10, "bob")]}, saver)
    for _ in range(2):
        graph.invoke({"out": []}, thread(name))
    assert (world.count(), [row.run for row in saver.ledger.store.runs()]) == (1, [name])


# ---- plain functions on an event loop --------------------------------------------------------------------------------


def test_a_plain_effect_on_the_loop_that_the_checkpointer_needs_is_refused(
    pay, database, one_node, thread, run_async, world
):
    """The checkpointer may hold the file's write lock until the loop goes on, and the effect would hold the loop until it gets the lock."""

    async def run():
        async with AsyncSqliteSaver.from_conn_string(str(database)) as plain:

            async def work(state):
                return {"out": [pay(10, "bob")]}

            with pytest.raises(UsageError, match=r"asyncio\.to_thread\(pay"):
                await one_node(work, LedgerSaver(plain)).ainvoke({"out": []}, thread())

            async def aside(state):
                return {"out": [await asyncio.to_thread(pay, 10, "bob")]}

            saver = LedgerSaver(plain)
            await one_node(aside, saver).ainvoke({"out": []}, thread("U"))
            saver.ledger.close()

    run_async(run())
    assert world.count() == 1


def test_a_plain_effect_on_the_loop_is_fine_beside_checkpoints_in_memory(pay, one_node, thread, run_async, world):
    """There is no lock to wait for."""

    async def work(state):
        return {"out": [pay(10, "bob")]}

    graph = one_node(work, LedgerSaver(InMemorySaver()))
    run_async(graph.ainvoke({"out": []}, thread()))
    run_async(graph.ainvoke({"out": []}, thread()))
    assert world.count() == 1


# ---- what the intent tells -------------------------------------------------------------------------------------------


def test_the_intent_says_where_in_the_graph_it_was_called(pay, saver, one_node, thread, intents):
    """Node, step, checkpoint, task and namespace: what `show` prints, and what a later release asks for ancestry."""
    seen: dict[str, Any] = {}

    def work(state, runtime):
        pay(10, "bob")
        return {"out": []}

    def watched(state):
        from langgraph.runtime import get_runtime

        info = get_runtime().execution_info
        seen.update(checkpoint=info.checkpoint_id, task=info.task_id, namespace=info.checkpoint_ns)
        return work(state, None)

    one_node(watched, saver).invoke({"out": []}, thread())
    (intent,) = intents(saver.ledger)
    assert intent["where"] == {"node": "work", "step": 1, **seen}
    assert thread("T", checkpoint_id=seen["checkpoint"], checkpoint_ns="")
    assert saver.get_tuple(thread("T", checkpoint_id=seen["checkpoint"], checkpoint_ns="")) is not None


def test_outside_a_graph_the_intent_says_nothing_of_one(pay, ledger, intents):
    """There is no where."""
    with c4a.run("T"):
        pay(10, "bob")
    assert "where" not in intents(ledger)[0]


# ---- options ---------------------------------------------------------------------------------------------------------


def test_all_options_are_the_cores(saver, one_node, thread, world):
    """retry_on, reconcile, encode, decode, … mean the same."""

    @effect(retry_on=ConnectionError, encode=str, decode=int)
    def once(n: int) -> int:
        world.act()
        if world.count() == 1:
            raise ConnectionError
        return n

    graph = one_node(lambda state: {"out": [once(7)]}, saver)
    with pytest.raises(ConnectionError):
        graph.invoke({"out": []}, thread())
    assert graph.invoke(None, thread())["out"] == [7]
    assert world.count() == 2


def test_an_option_that_does_not_exist_is_refused():
    """As with any function."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'retries'"):
        effect(retries=3)(lambda: None)


def test_above_the_tool_decorator_it_says_where_it_belongs():
    """A tool is no function, and its arguments are not validated yet there."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    with pytest.raises(UsageError, match="first @tool, then @effect"):
        effect(pay)


def test_methods_and_bare_and_named_forms(saver, one_node, thread, world):
    """The object that a method was reached through is no argument of the action."""

    class Shop:
        @effect(name="shop.buy")
        def buy(self, what: str) -> str:
            world.act(what)
            return what

    @effect
    def sell(what: str) -> str:
        world.act(what)
        return what

    graph = one_node(lambda state: {"out": [Shop().buy("tea"), Shop().buy("tea"), sell("cup"), sell("cup")]}, saver)
    graph.invoke({"out": []}, thread())
    assert world.lines() == ["tea", "cup"]


# ---- node() ----------------------------------------------------------------------------------------------------------


def test_node_binds_the_thread_for_plain_effects_of_the_core(saver, one_node, thread, world, run_async, database):
    """Code that knows nothing of LangGraph is once only in it. Sync and async."""

    @c4a.effect(name="plain")
    def plain(n: int) -> int:
        world.act()
        return n

    @c4a.effect(name="plain")
    async def aplain(n: int) -> int:
        world.act()
        return n

    async def work(state):
        return {"out": [await aplain(1)]}

    async def run():
        async with AsyncSqliteSaver.from_conn_string(str(database)) as inner:
            other = LedgerSaver(inner)
            result = await one_node(node(work), other).ainvoke({"out": []}, thread())
            other.ledger.close()
            return result

    graph = one_node(node(lambda state, config: {"out": [plain(1), c4a.current_run()]}), saver)
    assert graph.invoke({"out": []}, thread())["out"] == [1, "T"]
    assert graph.invoke({"out": []}, thread())["out"] == [1, "T"] * 2
    run_async(run())
    assert world.count() == 1
    assert c4a.current_run() is None


def test_node_refuses_what_is_no_function(one_node):
    """A subgraph's nodes are wrapped where they are added."""
    with pytest.raises(UsageError, match="wraps a function"):
        node(one_node(lambda state: {}))
