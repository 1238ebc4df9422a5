"""The contract of a store, for SQLite; and what its transactions, its owners and its forks do beyond it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time

import pytest

import call4agents_core as c4a
from call4agents_core import Ledger
from call4agents_core.errors import ApprovalRequired, LedgerBusy, LedgerError
from call4agents_core.stores import _owners, _sqlite_writer
from call4agents_core.testing import StoreContract, end_of, forked
from call4agents_core.testing._drafts import action, contents, draft


class TestSQLiteStore(StoreContract):
    """A SQLite file passes the contract."""

    database_error = sqlite3.DatabaseError

    def location(self, place):
        return str(place / "ledger.sqlite")

    def execute(self, place, sql):
        with contextlib.closing(sqlite3.connect(self.location(place))) as connection:
            connection.execute(sql)
            connection.commit()


@pytest.fixture
def store(ledger_path):
    """A store on an empty file."""
    ledger = Ledger.open(ledger_path)
    yield ledger.store
    ledger.close()


@pytest.fixture
def statements(store):
    """Every statement that the store writes with, from now on."""
    seen = []
    store._writing().connection.set_trace_callback(seen.append)
    return seen


def wait_for(condition, seconds=10.0):
    """Look until it holds; False if it does not in time."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)
    return condition()


# ---- transactions --------------------------------------------------------------------------------------------------


def test_the_log_is_written_ahead_and_synced_where_it_has_to_be(store):
    """WAL; synchronous=FULL for what is durable when append returns, NORMAL for what may follow."""
    connection = store._writing().connection
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    for durable, synchronous in ((True, 2), (False, 1), (True, 2)):
        store.append([draft(f"a{time.monotonic_ns()}")], durable=durable)
        assert connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)


def test_the_new_file_is_synced_before_anything_is_durable_in_it(store):
    """A durable append in a batch makes the whole batch durable: the setting is made before the transaction begins."""
    store.append([draft("a")], durable=False)
    seen = []
    store._writing().connection.set_trace_callback(seen.append)
    store.append([draft("b")], durable=True)
    assert seen[:2] == ["PRAGMA synchronous = FULL", "BEGIN IMMEDIATE"]
    assert seen[-1] == "COMMIT"


def test_a_result_reaches_the_disk_within_a_second(store, monkeypatch):
    """Written without a sync, it is synced by the clock, though nobody writes any more."""
    synced = threading.Event()
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (fsync(handle), synced.set()))
    assert _sqlite_writer.SYNC_WITHIN <= 0.75
    store.append([draft("a")], durable=False)
    assert synced.wait(1.0)


def test_closing_syncs_what_was_not(store, monkeypatch):
    """At once, not by the clock."""
    handles = []
    fsync = os.fsync
    store.append([draft("a")], durable=False)
    monkeypatch.setattr(
        os, "fsync", lambda handle: (handles.append(os.readlink(f"/proc/self/fd/{handle}")), fsync(handle))
    )
    store.close()
    assert handles == [store.location + "-wal"]


def queued(store, *appends):
    """Callers that come while another transaction is under way; what each is told, once that is over."""
    writer = store._writing()
    said = [None] * len(appends)

    def call(i):
        try:
            said[i] = store.append(*appends[i][:1], durable=appends[i][1])
        except LedgerError as error:
            said[i] = type(error)

    callers = [threading.Thread(target=call, args=(i,)) for i in range(len(appends))]
    with writer.lock:
        for caller in callers:
            caller.start()
        assert wait_for(lambda: len(writer._queue) == len(appends))
    for caller in callers:
        caller.join()
    return said


def test_callers_that_wait_share_one_transaction_and_its_sync(store, statements):
    """Group commit: one BEGIN, one COMMIT, for entries of any caller."""
    assert queued(store, *[([draft(f"a{i}")], i % 2 == 0) for i in range(6)]) == [True] * 6
    assert statements.count("BEGIN IMMEDIATE") == statements.count("COMMIT") == 1
    assert len(list(store.scan())) == 6


def test_in_a_shared_transaction_a_taken_place_fails_its_own_caller(store, statements):
    """All that this caller wrote is taken back, and nothing of the others."""
    store.append([draft("taken")], durable=True)
    statements.clear()
    said = queued(
        store,
        ([draft("a")], True),
        ([draft("b", opens="q1"), draft("taken")], True),
        ([draft("c"), draft("c", 2, state="done")], False),
        ([draft("taken")], False),
    )
    assert said == [True, False, True, False]
    assert statements.count("COMMIT") == 1
    assert sorted(contents(store.scan())) == [b"run a 1", b"run c 1", b"run c 2", b"run taken 1"]
    assert store.requests() == []
    assert list(store.faults()) == []


def test_a_failed_commit_fails_every_member(store, ledger_path):
    """Nobody is told that something was written which was not."""
    store._timeout = store._writing()._timeout = 0.05
    with contextlib.closing(sqlite3.connect(ledger_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert queued(store, ([draft("a")], True), ([draft("b")], False)) == [LedgerBusy, LedgerBusy]
    assert list(store.scan()) == []
    assert store.append([draft("a"), draft("b")], durable=True)


def test_another_programs_transaction_is_waited_for(store, ledger_path):
    """As long as the time-out allows; the entry is written then."""
    with contextlib.closing(sqlite3.connect(ledger_path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, other.execute, ("ROLLBACK",))
        release.start()
        assert store.append([draft("a")], durable=True)
        release.join()


def test_an_interrupted_caller_leaves_nothing_behind(store, monkeypatch):
    """Whoever waits for a transaction and is interrupted is written before the interruption goes on, or never."""
    writer = store._writing()

    class Interrupted:
        def __enter__(self):
            raise KeyboardInterrupt

        def __exit__(self, *error): ...

    monkeypatch.setattr(writer, "lock", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        store.append([draft("a")], durable=True)
    monkeypatch.undo()
    assert store.append([draft("b")], durable=True)
    assert contents(store.scan()) == [b"run b 1"]


# ---- owners --------------------------------------------------------------------------------------------------------


def owner_file(store, owner):
    return _owners.Path(store._owners._folder / owner.partition("@")[0])


def test_an_owner_whose_file_is_gone_is_unknown(store):
    """Under the same boot, since the lock may live on in a deleted file: refused and listed, never taken for dead."""
    other = Ledger.open(store.location)
    owner = end_with_an_owner(other)
    assert store.owner_status(owner) == "dead"
    owner_file(store, owner).unlink()
    assert store.owner_status(owner) == "unknown"


def end_with_an_owner(ledger):
    """An owner whose process has ended."""
    out, into = os.pipe()
    end_of(forked(lambda: os.write(into, ledger.store.owner().encode())))
    os.close(into)
    with os.fdopen(out) as pipe:
        return pipe.read()


def test_an_owner_of_another_boot_is_dead(store):
    """Whether its file is there or not: no lock outlives the machine."""
    name, _, boot = store.owner().partition("@")
    assert boot == _owners.boot_id()
    assert store.owner_status(f"{name}@another-boot") == "dead"
    assert store.owner_status("4711-gone@another-boot") == "dead"


def test_files_of_dead_owners_are_removed_where_many_have_piled_up(store):
    """But for those that an open attempt names, and those of the living."""
    mine = store.owner()
    folder = store._owners._folder
    for i in range(60):
        (folder / f"{i}-dead").touch()

    store.tidy_owners(lambda: {f"7-dead@{_owners.boot_id()}"})

    assert sorted(path.name for path in folder.iterdir()) == sorted(["7-dead", mine.partition("@")[0]])
    assert store.owner_status(mine) == "alive"


def test_few_owners_are_left_alone(store):
    """Asking which ones are named takes time that a first call has not."""
    folder = store._owners._folder
    store.owner()
    (folder / "1-dead").touch()
    store.tidy_owners(lambda: pytest.fail("nobody had to be asked"))
    assert (folder / "1-dead").exists()


# ---- in memory -----------------------------------------------------------------------------------------------------


def test_a_ledger_in_memory_does_not_reach_into_a_forked_child():
    """It is refused there, since the child's copy would be a second ledger under the same name."""
    ledger = Ledger.open(":memory:")
    ledger.store.append([draft("a")], durable=True)

    def look():
        with pytest.raises(LedgerError, match="forked"):
            ledger.store.read("run", action("a"))

    assert end_of(forked(look)) == 0
    assert contents(ledger.store.scan()) == [b"run a 1"]
    ledger.close()


# ---- what has to be on disk before anything else happens -------------------------------------------------------------


class Spy:
    """A store that notes which kinds of entries were to be durable."""

    def __init__(self, store):
        self.store, self.durable = store, {}

    def __getattr__(self, name):
        return getattr(self.store, name)

    def append(self, drafts, *, durable):
        for one in drafts:
            self.durable[json.loads(one.body)["kind"]] = durable
        return self.store.append(drafts, durable=durable)


def test_intents_and_decisions_are_on_disk_before_anybody_acts_on_them(ledger_path):
    """A power cut takes neither an intent whose tool has started nor a decision that somebody was told is made."""

    @c4a.effect(name="pay", approval=True)
    def pay(amount):
        return 1 / amount

    ledger = Ledger.open(ledger_path)
    ledger.store = spy = Spy(ledger.store)
    with c4a.run("run", ledger=ledger):
        with pytest.raises(ApprovalRequired):
            pay(0)
        ledger.deny(pay, amount=0)
        ledger.approve(pay, amount=0)
        with pytest.raises(ZeroDivisionError):
            pay(0)
        (doubt,) = ledger.store.actions(states=("in-doubt",))
        ledger.resolve("run", doubt.action, c4a.did_not_happen())
        ledger.approve(pay, amount=1)
        pay(1)
    ledger.close()
    assert {kind for kind, durable in spy.durable.items() if durable} == {"denied", "approved", "intent", "resolved"}
    assert {kind for kind, durable in spy.durable.items() if not durable} == {"asked", "failed", "result"}
