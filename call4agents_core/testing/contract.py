"""The contract of a store: a suite for pytest that every store has to pass.

A backend's test says where a ledger is and how to write raw SQL to it::

    class TestSQLiteStore(StoreContract):
        database_error = sqlite3.DatabaseError

        def location(self, place):
            return str(place / "ledger.sqlite")

        def execute(self, place, sql): ...
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from call4agents_core.errors import LedgerNotFound, LedgerReadOnly
from call4agents_core.testing import _peer
from call4agents_core.testing._drafts import action, contents, draft
from call4agents_core.testing.contract_archive import ArchiveContract
from call4agents_core.testing.workers import Answer, Worker, WorkerEnded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from call4agents_core.stores._protocol import Store

    Peers = Callable[[], Worker]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


class StoreContract(ArchiveContract):
    """What every store does that several processes may open."""

    #: What opens a store at a location, here and in child processes: ``module:function``, called with location and read_only.
    opener: ClassVar[str] = "call4agents_core.testing._peer:open_location"
    #: What the database raises when it refuses a statement.
    database_error: ClassVar[type[Exception]]
    #: Seconds after which others see that an owner was killed. 0: at once.
    death_shows_within: ClassVar[float] = 0.0

    def location(self, place: Path) -> str:
        """The location of the ledger of a test, always the same for one ``place``, an empty folder of the test's own."""
        raise NotImplementedError

    def execute(self, place: Path, sql: str) -> None:
        """Run one statement as the ledger's own user could, past the store."""
        raise NotImplementedError

    def open_store(self, place: Path, *, read_only: bool = False) -> Store:
        """The store of a test."""
        return _peer.opened_by(self.opener, self.location(place), read_only=read_only)

    @pytest.fixture
    def peers(self, tmp_path: Path) -> Iterator[Peers]:
        """Starts child processes that have opened the same store; they are ended after the test."""
        with contextlib.ExitStack() as started:
            yield lambda: started.enter_context(Worker("-m", _peer.__name__, self.opener, self.location(tmp_path)))

    # ---- opening ------------------------------------------------------------------------------------------------

    def test_what_was_written_is_there_when_it_is_opened_again(self, store: Store, tmp_path: Path) -> None:
        """The same ledger, under the same id."""
        store.append([draft("a", opens="q1")], durable=False)
        meta, actions, requests = store.meta, store.actions(), store.requests()
        store.close()

        again = self.open_store(tmp_path)

        assert (again.meta, again.actions(), again.requests()) == (meta, actions, requests)
        assert contents(again.read("run", action("a"))) == [b"run a 1"]
        again.close()

    def test_two_places_are_two_ledgers(self, store: Store, tmp_path: Path) -> None:
        """Each has a random id of its own, so keys and MACs of one mean nothing in the other."""
        (tmp_path / "other").mkdir()
        other = self.open_store(tmp_path / "other")
        assert other.meta.ledger_id != store.meta.ledger_id
        other.close()

    def test_reading_needs_no_right_to_write(self, store: Store, tmp_path: Path) -> None:
        """Opened for reading, a store reads all and writes nothing."""
        store.append([draft("a", opens="q1")], durable=True)
        reader = self.open_store(tmp_path, read_only=True)
        assert contents(reader.read("run", action("a"))) == contents(reader.scan()) == [b"run a 1"]
        assert (reader.actions(), reader.runs(), reader.requests()) == (store.actions(), store.runs(), store.requests())
        assert list(reader.faults()) == []
        with pytest.raises(LedgerReadOnly):
            reader.append([draft("b")], durable=True)
        reader.close()

    def test_reading_makes_no_ledger(self, tmp_path: Path) -> None:
        """Where there is none, there is none afterwards."""
        for _ in range(2):
            with pytest.raises(LedgerNotFound):
                self.open_store(tmp_path, read_only=True)

    def test_the_database_refuses_to_change_and_to_delete_entries(self, store: Store, tmp_path: Path) -> None:
        """Append only is not the store's good will."""
        store.append([draft("a")], durable=True)
        before = list(store.scan())
        for sql in ("UPDATE c4a_entries SET n = 2", "DELETE FROM c4a_entries"):
            with pytest.raises(self.database_error):
                self.execute(tmp_path, sql)
        assert list(store.scan()) == before

    # ---- what other processes see -------------------------------------------------------------------------------

    @pytest.mark.parametrize("durable", [True, False])
    def test_an_entry_is_visible_to_every_process_at_once(self, store: Store, peers: Peers, durable: bool) -> None:
        """Durable or not: only a power cut tells them apart."""
        peer = peers()
        assert peer.ask("append", names=["ours"]) == Answer(True)
        for n in range(2, 12):
            assert store.append([draft("ours", n)], durable=durable)
            assert peer.ask("count", name="ours") == Answer(n)
            assert peer.ask("append", names=["theirs"], n=n, durable=durable) == Answer(True)
            assert len(store.read("run", action("theirs"))) == n - 1

    def test_an_entry_outlives_its_killed_writer(self, store: Store, peers: Peers) -> None:
        """Written and not yet synced is written, as long as the machine runs."""
        peer = peers()
        assert peer.ask("append", names=["a"], durable=False) == Answer(True)
        peer.kill()
        assert contents(store.read("run", action("a"))) == [b"run a 1"]
        assert list(store.faults()) == []

    def test_of_several_processes_one_gets_a_place(self, store: Store, peers: Peers) -> None:
        """Four processes, forty places, forty winners."""
        racers = [peers() for _ in range(4)]
        for racer in racers:
            assert racer.ask("count", name="a") == Answer(0)  # all are up
        for racer in racers:
            racer.tell("race", places=40)
        won = [racer.hear().value for racer in racers]
        assert [sum(of_one[n] for of_one in won) for n in range(40)] == [1] * 40
        assert [row.n for row in store.read("run", action("a"))] == list(range(1, 41))
        assert list(store.faults()) == []

    # ---- owners -------------------------------------------------------------------------------------------------

    def wait_until_dead(self, store: Store, owner: str) -> None:
        """The owner counts as dead within the time that the store needs to see it."""
        until = time.monotonic() + self.death_shows_within
        while store.owner_status(owner) != "dead" and time.monotonic() < until:
            time.sleep(0.05)
        assert store.owner_status(owner) == "dead"

    def test_a_process_is_alive_until_it_is_killed(self, store: Store, peers: Peers) -> None:
        """Then it is dead. Two processes are two owners."""
        one, two = peers(), peers()
        first, second = one.ask("owner").value, two.ask("owner").value
        assert len({first, second, store.owner()}) == 3
        assert store.owner_status(first) == store.owner_status(second) == "alive"
        assert two.ask("owner_status", owner=first) == Answer("alive")
        one.kill()
        self.wait_until_dead(store, first)
        assert store.owner_status(second) == "alive"

    def test_looking_at_owners_ends_none(self, store: Store, peers: Peers) -> None:
        """Neither one's own nor another's, however many look, and not through a second store of the same process."""
        peer = peers()
        mine, theirs = store.owner(), peer.ask("owner").value
        for _ in range(3):
            assert peer.ask("owner_status", owner=theirs) == peer.ask("owner_status", owner=mine) == Answer("alive")
            assert store.owner_status(theirs) == store.owner_status(mine) == "alive"
            assert peer.ask("look_through_another_store", owner=theirs) == Answer("alive")

    def test_an_owner_that_closed_its_store_is_not_alive(self, store: Store, peers: Peers) -> None:
        """And dead for certain where open attempts name it."""
        tidy, untidy = peers(), peers()
        first, second = tidy.ask("owner").value, untidy.ask("owner").value
        tidy.ask("close", keep_owner=False)
        untidy.ask("close", keep_owner=True)
        assert store.owner_status(first) != "alive"
        assert store.owner_status(second) == "dead"

    def test_an_owner_that_nobody_knows_is_not_taken_for_dead(self, store: Store) -> None:
        """What is called dead may be run again."""
        store.owner()
        assert store.owner_status("4711-0123456789abcdef") == "unknown"

    def test_tidying_keeps_owners_that_live_or_are_named(self, store: Store, peers: Peers) -> None:
        """Without its trace nobody could tell any more that an owner is dead."""
        dead, alive = peers(), peers()
        named, living = dead.ask("owner").value, alive.ask("owner").value
        dead.kill()
        store.tidy_owners(lambda: {named})
        self.wait_until_dead(store, named)
        assert store.owner_status(living) == "alive"

    # ---- fork ---------------------------------------------------------------------------------------------------

    @needs_fork
    def test_a_forked_child_does_not_keep_its_killed_parent_alive(self, store: Store, peers: Peers) -> None:
        """What the kernel lets a child inherit says nothing about the parent."""
        parent = peers()
        owner = parent.ask("owner").value
        child = parent.ask("fork_a_sleeper").value
        try:
            parent.kill()
            os.kill(child, 0)  # it outlives its parent
            self.wait_until_dead(store, owner)
        finally:
            os.kill(child, signal.SIGKILL)

    @needs_fork
    def test_a_forked_child_is_an_owner_of_its_own(self, store: Store, peers: Peers) -> None:
        """And writes through a connection of its own, while the parent goes on."""
        parent = peers()
        owner = parent.ask("owner").value
        assert parent.ask("owner_in_a_forked_child").value not in (owner, None)
        assert store.owner_status(owner) == "alive"
        assert parent.ask("append", names=["a"]) == Answer(True)
        assert list(store.faults()) == []

    @needs_fork
    def test_forking_while_another_thread_writes_hangs_nobody(self, store: Store, peers: Peers) -> None:
        """No lock that a child inherits is held for ever by a thread that it does not have."""
        parent = peers()
        parent.tell("fork_while_writing", forks=20)
        try:
            said: Any = parent.hear(patience=30).value
        except WorkerEnded:
            pytest.fail("parent or child hung for 30 s")
        assert said["children"] == [0] * 20
        assert len(list(store.scan())) == 20 + said["written"]
        assert list(store.faults()) == []
