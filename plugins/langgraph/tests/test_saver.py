"""LedgerSaver is the checkpointer that it wraps, and has a ledger in the same database."""

from __future__ import annotations

import copy
import inspect
import sqlite3

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from call4agents_core import Ledger
from call4agents_core.errors import UsageError
from call4agents_langgraph import LedgerSaver
from call4agents_langgraph._forwarding import OVERRIDABLE

pytestmark = pytest.mark.framework


class Delegating(BaseCheckpointSaver):
    """A checkpointer that overrides nothing, and hands everything to another one."""

    def __init__(self, inner):
        object.__setattr__(self, "inner", inner)

    def __getattribute__(self, name):
        if name in {"inner", "__class__", "__dict__"}:
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "inner"), name)


class Foreign(InMemorySaver):
    """Somebody else's, with a method and a put_writes of an older form."""

    def __init__(self):
        super().__init__()
        self.mood = "calm"

    def put_writes(self, config, writes, task_id):
        return super().put_writes(config, writes, task_id)


def overridden(saver):
    return {name for name in OVERRIDABLE if getattr(type(saver), name) is not getattr(BaseCheckpointSaver, name)}


@pytest.mark.parametrize("kind", [InMemorySaver, Foreign])
def test_it_overrides_what_the_checkpointer_overrides_and_nothing_else(kind):
    """LangGraph and its conformance suite tell by the class what a checkpointer can do."""
    plain = kind()
    assert overridden(LedgerSaver(plain)) == overridden(plain)


def test_it_overrides_what_a_sqlite_checkpointer_overrides(saver):
    """The sync one has no async writes, and the wrapper must not pretend to have them."""
    assert overridden(saver) == {name for name in OVERRIDABLE if name in vars(SqliteSaver)}


def test_what_it_overrides_is_read_from_the_object_not_from_its_class():
    """A checkpointer may delegate everything without overriding anything."""
    wrapped = LedgerSaver(Delegating(InMemorySaver()), ledger=":memory:")
    assert overridden(wrapped) == overridden(InMemorySaver())
    wrapped.put_writes({"configurable": {"thread_id": "T", "checkpoint_ns": "", "checkpoint_id": "1"}}, [], "task")


@pytest.mark.parametrize("kind", [InMemorySaver, Foreign])
def test_methods_keep_their_signatures(kind):
    """LangGraph reads from put_writes' signature whether it takes task_path."""
    plain = kind()
    wrapped = LedgerSaver(plain)
    for name in overridden(plain):
        assert inspect.signature(getattr(wrapped, name)) == inspect.signature(getattr(plain, name)), name


def test_coroutines_stay_coroutines():
    """What is awaited is told by the function, not by calling it."""
    wrapped = LedgerSaver(InMemorySaver())
    assert {name for name in overridden(wrapped) if inspect.iscoroutinefunction(getattr(wrapped, name))} == {
        name for name in overridden(wrapped) if inspect.iscoroutinefunction(getattr(InMemorySaver, name))
    }


def test_versions_serializer_and_config_specs_are_the_checkpointers():
    """The base's own would continue a thread with versions of another type, or decode with another serializer."""
    plain = InMemorySaver()
    wrapped = LedgerSaver(plain)
    assert isinstance(wrapped.get_next_version(None, None), str)
    assert wrapped.serde is plain.serde
    assert wrapped.config_specs == plain.config_specs
    wrapped.serde = JsonPlusSerializer()
    assert plain.serde is wrapped.serde


def test_unknown_attributes_are_the_checkpointers_to_read_and_to_set(saver):
    """setup(), conn, lock, pipe, …: whatever the checkpointer has beyond the base."""
    saver.setup()
    assert isinstance(saver.conn, sqlite3.Connection)
    assert saver.is_setup is True
    saver.is_setup = False
    assert saver._c4a_saver.is_setup is False
    with pytest.raises(AttributeError, match="no_such_thing"):
        saver.no_such_thing  # noqa: B018


def test_entering_it_enters_the_checkpointer_and_gives_the_wrapper():
    """Whoever enters the wrapper must not get the plain checkpointer."""
    wrapped = LedgerSaver(InMemorySaver())
    with wrapped as entered:
        assert entered is wrapped


def test_a_checkpointer_that_cannot_be_entered_cannot_be_entered_wrapped(saver):
    """As the plain one."""
    with pytest.raises(TypeError), saver:
        pass


def test_a_clone_for_an_allowlist_is_a_wrapper_with_the_same_ledger(monkeypatch):
    """LangGraph clones the checkpointer for each graph; all of them are one ledger."""
    serde = JsonPlusSerializer(allowed_msgpack_modules=[("somewhere", "Kind")])
    wrapped = LedgerSaver(InMemorySaver(serde=serde))
    clone = wrapped.with_allowlist([("elsewhere", "Kind")])
    assert isinstance(clone, LedgerSaver)
    assert clone is not wrapped
    assert clone.serde is not wrapped.serde
    assert clone.ledger is wrapped.ledger
    assert type(clone) is type(wrapped)


def test_without_a_need_for_a_clone_it_is_itself():
    """As the plain checkpointer, which returns itself."""
    wrapped = LedgerSaver(InMemorySaver())
    if InMemorySaver().with_allowlist([]) is not None and wrapped._c4a_saver.with_allowlist([]) is wrapped._c4a_saver:
        assert wrapped.with_allowlist([]) is wrapped
    assert copy.copy(wrapped).ledger is wrapped.ledger


def test_a_wrapped_one_is_not_wrapped_again(saver):
    """Two ledgers for one graph would each know half."""
    with pytest.raises(UsageError, match="is a LedgerSaver already"):
        LedgerSaver(saver)


def test_what_is_no_checkpointer_is_refused():
    """Also True, which LangGraph takes for a subgraph's checkpointer."""
    with pytest.raises(UsageError, match="wraps a checkpointer"):
        LedgerSaver(True)


# ---- the ledger ------------------------------------------------------------------------------------------------------


def test_constructing_it_opens_nothing(saver, database):
    """A graph without effects has no ledger."""
    assert not saver._c4a_companion.is_open
    assert not database.with_name("checkpoints.sqlite.c4a").exists()


def test_the_ledger_is_in_the_same_file_on_connections_of_its_own(saver, database):
    """So that a backup holds both, and neither waits inside a transaction of the other."""
    saver.setup()
    assert saver.ledger.location == str(database.resolve())
    tables = {name for (name,) in saver.conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"checkpoints", "writes", "c4a_entries"} <= tables
    saver.conn.execute("BEGIN IMMEDIATE")
    assert saver.ledger.pending() == []
    saver.conn.rollback()


def test_the_ledger_may_come_before_the_checkpoints(saver):
    """Whoever is first makes the file."""
    assert saver.ledger.pending() == []
    saver.setup()


@pytest.mark.parametrize(
    "make", [InMemorySaver, lambda: SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))]
)
def test_checkpoints_in_memory_have_a_ledger_in_memory(make):
    """It lives as long as they do."""
    wrapped = LedgerSaver(make())
    assert wrapped.ledger.location == ":memory:"
    if hasattr(wrapped, "conn"):
        wrapped.conn.close()


def test_a_checkpointer_whose_database_cannot_be_told_asks_for_a_ledger(tmp_path):
    """Said when the ledger is needed, with what to do."""

    class Elsewhere(BaseCheckpointSaver):
        pass

    with pytest.raises(UsageError, match=r"Elsewhere.*ledger=call4agents_core\.Ledger\.open"):
        LedgerSaver(Elsewhere()).ledger  # noqa: B018
    ledger = Ledger.open(tmp_path / "own.sqlite")
    assert LedgerSaver(Elsewhere(), ledger=ledger).ledger is ledger
    ledger.close()


def test_a_location_will_do_for_a_ledger(tmp_path):
    """To keep ledger and checkpoints apart."""
    wrapped = LedgerSaver(InMemorySaver(), ledger=tmp_path / "own.sqlite", secret="of sixteen bytes or more")
    assert wrapped.ledger.location == str((tmp_path / "own.sqlite").resolve())
    wrapped.ledger.close()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"scope": "step"}, "not in this release"),
        ({"scope": "turn"}, "not possible"),
        ({"ledger": "open", "secret": "of sixteen bytes or more"}, "not both"),
    ],
)
def test_options_that_cannot_mean_anything_are_refused(options, text):
    """At once, not at the first effect."""
    if options.get("ledger") == "open":
        options = {**options, "ledger": Ledger.open(":memory:")}
    with pytest.raises(UsageError, match=text):
        LedgerSaver(InMemorySaver(), **options)


# ---- on an event loop ------------------------------------------------------------------------------------------------


def test_the_ledger_of_an_async_checkpointer_is_found_on_its_loop_and_off_it(database, run_async):
    """`.ledger` is a plain attribute: it must not need the loop that asks for it."""

    async def on_the_loop():
        async with AsyncSqliteSaver.from_conn_string(str(database)) as plain:
            saver = LedgerSaver(plain)
            location = saver.ledger.location
            saver.ledger.close()
            return location

    assert run_async(on_the_loop()) == str(database.resolve())


def test_an_async_checkpointer_that_is_not_open_yet_says_so(database, run_async):
    """Instead of waiting for a database that nobody opens."""
    import aiosqlite

    async def ask():
        with pytest.raises(UsageError, match="not open yet"):
            LedgerSaver(AsyncSqliteSaver(aiosqlite.connect(database))).ledger  # noqa: B018

    run_async(ask())


def test_case_r05_a_sync_method_of_an_async_checkpointer_on_its_loop_is_an_error_not_a_deadlock(database, run_async):
    """R05: langgraph#7857, a sync put inside the event loop waited for ever."""
    import asyncio

    async def read():
        async with AsyncSqliteSaver.from_conn_string(str(database)) as plain:
            with pytest.raises(asyncio.InvalidStateError):
                LedgerSaver(plain).get_tuple({"configurable": {"thread_id": "T"}})

    run_async(read())
