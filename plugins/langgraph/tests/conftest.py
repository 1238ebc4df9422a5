"""What the tests of the LangGraph plugin share: a checkpointer on disk with its ledger, a model that is made up, and small graphs."""

from __future__ import annotations

import asyncio
import operator
import os
import sqlite3
import sys
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import call4agents_core as c4a
from call4agents_core.testing.world import World
from call4agents_langgraph import LedgerSaver


class State(TypedDict, total=False):
    amount: int
    out: Annotated[list, operator.add]


class Model(BaseChatModel):
    """Asks for its calls once after each message of a person, then repeats what the tools answered."""

    calls: list
    ids: list

    @property
    def _llm_type(self):
        return "made-up"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *_, **__):
        newest = max(n for n, message in enumerate(messages) if isinstance(message, HumanMessage))
        answers = [str(m.content) for m in messages[newest:] if isinstance(m, ToolMessage)]
        if answers:
            said = AIMessage(" | ".join(answers))
        else:
            ids = self.ids or [f"call-{len(messages)}-{n}" for n in range(len(self.calls))]
            said = AIMessage(
                "", tool_calls=[{"name": n, "args": a, "id": i} for (n, a), i in zip(self.calls, ids, strict=True)]
            )
        return ChatResult(generations=[ChatGeneration(message=said)])


@pytest.fixture
def world(tmp_path):
    """A world in which nothing has happened yet."""
    return World(tmp_path / "world.txt")


@pytest.fixture
def database(tmp_path):
    """Where the checkpoints are; nothing is there yet."""
    return tmp_path / "checkpoints.sqlite"


@pytest.fixture
def opened(database):
    """Opens LedgerSavers on the one database; all are closed in the end."""
    made = []

    def open_saver(kind=SqliteSaver, **options):
        connection = sqlite3.connect(database, check_same_thread=False)
        saver = LedgerSaver(kind(connection), **options)
        made.append((saver, connection))
        return saver

    yield open_saver
    for saver, connection in made:
        if saver._c4a_companion.is_open:
            saver.ledger.close()
        connection.close()


@pytest.fixture
def saver(opened):
    """A LedgerSaver around a SqliteSaver on disk."""
    return opened()


@pytest.fixture
def ledger(tmp_path):
    """The ledger of init()."""
    made = c4a.init(tmp_path / "init.sqlite")
    yield made
    made.close()


@pytest.fixture
def model():
    """Makes a model that asks for calls: (tool, arguments), …; `ids` are the calls' ids, else it makes them up."""
    return lambda *calls, ids=(): Model(calls=list(calls), ids=list(ids))


@pytest.fixture
def one_node():
    """Makes a graph of one node."""

    def make(function, saver=None, state=State, **options):
        builder = StateGraph(state)
        builder.add_node("work", function, **options)
        builder.add_edge(START, "work")
        return builder.compile(checkpointer=saver)

    return make


@pytest.fixture
def tool_loop():
    """Makes a graph of a model and a ToolNode."""

    def make(model, tools, saver=None, **options):
        builder = StateGraph(MessagesState)
        builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        builder.add_node("tools", ToolNode(tools, **options))
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
        builder.add_edge("tools", "model")
        return builder.compile(checkpointer=saver)

    return make


@pytest.fixture
def thread():
    """The configuration of a thread."""
    return lambda name="T", **more: {"configurable": {"thread_id": name, **more}}


@pytest.fixture
def question():
    """What a person says in a turn: each time a new message, since one with the same id would replace the old one."""
    return lambda: {"messages": [HumanMessage("please")]}


@pytest.fixture
def run_async():
    """Runs a coroutine to its end; a loop that hangs is a failure."""
    return lambda coroutine, seconds=20: asyncio.run(asyncio.wait_for(coroutine, seconds))


@pytest.fixture
def intents():
    """The intents of a run, oldest first, as the ledger stores them."""

    def read(ledger, run="T") -> list[dict[str, Any]]:
        states = [ledger.state(run, row.action) for row in ledger.store.actions(run=run)]
        return sorted((state.attempt.data for state in states if state.attempt), key=lambda data: data["at"])

    return read


@pytest.fixture(scope="session", autouse=True)
def _bytecode_for_children(tmp_path_factory):
    """Each child imports all of LangGraph: from bytecode, even where this process may write none beside the sources."""
    kept = {name: os.environ.get(name) for name in ("PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")}
    os.environ["PYTHONPYCACHEPREFIX"] = str(tmp_path_factory.mktemp("bytecode"))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    yield
    for name, value in kept.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch):
    for name in [name for name in os.environ if name.startswith("C4A_") and not name.startswith("C4A_TEST_")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_ledger_left_over(monkeypatch):
    """A test that calls init() leaves nothing to the next."""
    monkeypatch.setattr(sys.modules["call4agents_core._scope"], "_default", [])
