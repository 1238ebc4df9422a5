"""The contract of a store as far as one process can see it: streams of entries, taken places, derived tables, threads."""

from __future__ import annotations

import hashlib
import time
from itertools import groupby
from typing import TYPE_CHECKING

import pytest

from call4agents_core._types import ActionRow, RequestRow, RunRow
from call4agents_core.errors import LedgerError
from call4agents_core.testing._drafts import action, contents, draft
from call4agents_core.testing._threads import together

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from call4agents_core.stores._protocol import Store


class StreamContract:
    """What every store does, seen from one process. A subclass says how to open one.

    class TestMemoryStore(StreamContract):
        def open_store(self, place):
            return MemoryStore()
    """

    def open_store(self, place: Path) -> Store:
        """A store for writing, made where there is none. ``place``: an empty folder of the test's own."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """An empty store, closed after the test."""
        store = self.open_store(tmp_path)
        yield store
        store.close()

    # ---- streams ------------------------------------------------------------------------------------------------

    def test_entries_come_back_as_they_were_written(self, store: Store) -> None:
        """Bodies and MACs are opaque bytes, names of runs any text."""
        run = "Zürich ✓ '; DROP TABLE c4a_entries; -- %s"
        bodies = [b"", b"\x00\xff\xfe", "größer".encode(), b"x" * 1_000_000]
        for n, body in enumerate(bodies, 1):
            assert store.append([draft("a", n, run=run, body=body)], durable=False)

        rows = store.read(run, action("a"))

        assert [(row.run, row.action, row.n) for row in rows] == [(run, action("a"), n) for n in (1, 2, 3, 4)]
        assert [(row.body, row.mac) for row in rows] == [(body, hashlib.sha256(body).digest()) for body in bodies]
        assert [row.seq for row in rows] == sorted({row.seq for row in rows})

    def test_entries_of_an_action_are_in_the_order_of_their_numbers(self, store: Store) -> None:
        """By number, not by text: 10 comes after 9."""
        for n in range(1, 13):
            store.append([draft("a", n)], durable=False)
        assert [row.n for row in store.read("run", action("a"))] == list(range(1, 13))

    def test_an_action_that_nobody_wrote_to_has_no_entries(self, store: Store) -> None:
        """Reading it is no error."""
        assert store.read("run", action("a")) == []

    def test_a_taken_place_is_refused_and_keeps_its_entry(self, store: Store) -> None:
        """Entry n of an action is written by whoever comes first: the only concurrency primitive."""
        assert store.append([draft("a", 1, body=b"first")], durable=True)
        assert not store.append([draft("a", 1, body=b"second", state="done")], durable=True)
        assert contents(store.read("run", action("a"))) == [b"first"]
        assert [row.state for row in store.actions()] == ["started"]

    def test_the_place_is_that_of_an_action_in_its_run(self, store: Store) -> None:
        """The same number of another action, and the same action id in another run, are other places."""
        drafts = [draft("a"), draft("b"), draft("a", run="other")]
        assert [store.append([one], durable=False) for one in drafts] == [True, True, True]
        assert contents(store.read("other", action("a"))) == [b"other a 1"]

    def test_several_drafts_are_written_all_or_none(self, store: Store) -> None:
        """One taken place, and nothing of the others is there, in the derived tables neither."""
        store.append([draft("taken")], durable=False)
        before = (list(store.scan()), store.actions(), store.runs(), store.requests())

        refused = [draft("b", run="new", opens="q1"), draft("taken"), draft("c", run="new")]

        assert not store.append(refused, durable=True)
        assert (list(store.scan()), store.actions(), store.runs(), store.requests()) == before

    def test_several_drafts_may_continue_one_action(self, store: Store) -> None:
        """One transaction, in the order given."""
        assert store.append([draft("a", 1), draft("a", 2, state="done"), draft("b", 1)], durable=True)
        assert contents(store.scan()) == [b"run a 1", b"run a 2", b"run b 1"]
        assert [(row.tool, row.state) for row in store.actions(run="run")] == [("pay", "started"), ("pay", "done")]

    def test_one_place_twice_in_one_append_is_taken(self, store: Store) -> None:
        """The second of two drafts for one place comes too late, and takes the first with it."""
        assert not store.append([draft("a", 1), draft("a", 1)], durable=True)
        assert list(store.scan()) == []

    # ---- scans --------------------------------------------------------------------------------------------------

    def fill(self, store: Store) -> None:
        """Three actions in two runs, their entries mixed."""
        for name, n, run in (("a", 1, "r1"), ("b", 1, "r1"), ("a", 2, "r1"), ("a", 1, "r2"), ("b", 2, "r1")):
            assert store.append([draft(name, n, run=run)], durable=False)

    def test_scan_gives_the_order_of_writing(self, store: Store) -> None:
        """Numbered upwards, of all runs or of one."""
        self.fill(store)
        assert contents(store.scan()) == [b"r1 a 1", b"r1 b 1", b"r1 a 2", b"r2 a 1", b"r1 b 2"]
        assert contents(store.scan(run="r1")) == [b"r1 a 1", b"r1 b 1", b"r1 a 2", b"r1 b 2"]
        seqs = [row.seq for row in store.scan()]
        assert seqs == sorted(set(seqs))

    def test_scan_by_action_gives_stream_after_stream(self, store: Store) -> None:
        """Each stream whole and in the order of its numbers."""
        self.fill(store)
        streams = {
            key: [row.n for row in rows]
            for key, rows in groupby(store.scan(by_action=True), key=lambda row: (row.run, row.action))
        }
        assert streams == {("r1", action("a")): [1, 2], ("r1", action("b")): [1, 2], ("r2", action("a")): [1]}
        assert len(list(store.scan(by_action=True, run="r2"))) == 1

    def test_a_scan_holds_no_writer_up(self, store: Store) -> None:
        """Whoever lists a large ledger may take their time."""
        self.fill(store)
        scan = store.scan()
        next(scan)
        assert store.append([draft("late")], durable=True)
        assert len(list(scan)) >= 4  # whether it sees the late entry is its own affair

    # ---- derived tables -----------------------------------------------------------------------------------------

    def test_actions_are_listed_newest_first(self, store: Store) -> None:
        """By their first entry; tool and state are those of the newest entry."""
        store.append([draft("a", tool="pay", state="started")], durable=False)
        store.append([draft("b", tool="mail", state="waiting", run="r2")], durable=False)
        store.append([draft("a", 2, tool="pay", state="done")], durable=False)
        one, two, three = (row.seq for row in store.scan())

        newest, oldest = (
            ActionRow(two, two, "r2", action("b"), "mail", "waiting"),
            ActionRow(one, three, "run", action("a"), "pay", "done"),
        )

        assert store.actions() == [newest, oldest]
        assert store.actions(limit=1) == [newest]
        assert store.actions(run="run") == [oldest]
        assert store.actions(tool="mail") == [newest]
        assert store.actions(first=one) == [oldest]
        assert store.actions(states=("done", "in-doubt")) == [oldest]
        assert store.actions(states=("waiting",), tool="pay") == []
        assert store.actions(states=("started",)) == []

    def test_runs_are_listed_newest_first(self, store: Store) -> None:
        """By their first entry, with the numbers of their first and last entries, and how many actions they have."""
        self.fill(store)
        one, _, _, four, five = (row.seq for row in store.scan())
        assert store.runs() == [RunRow("r2", four, four, 1), RunRow("r1", one, five, 2)]
        assert store.runs(limit=1) == [RunRow("r2", four, four, 1)]

    def test_requests_are_listed_newest_first_while_they_are_open(self, store: Store) -> None:
        """By id one finds them also when they are closed."""
        store.append([draft("a", run="r1", opens="q1")], durable=False)
        store.append([draft("b", run="r2", opens="q2")], durable=False)
        store.append([draft("c", run="r2", opens="q3")], durable=False)
        assert [row.id for row in store.requests()] == ["q3", "q2", "q1"]
        assert [row.id for row in store.requests(limit=2)] == ["q3", "q2"]
        assert [row.id for row in store.requests(run="r2", limit=1)] == ["q3"]

        store.append([draft("b", 2, run="r2", closes="q2")], durable=False)

        assert [row.id for row in store.requests()] == ["q3", "q1"]
        assert store.requests(id="q2") == [RequestRow("q2", "r2", action("b"), open=False)]
        assert store.requests(id="q1") == [RequestRow("q1", "r1", action("a"), open=True)]
        assert store.requests(id="q9") == []

    def test_one_entry_may_close_a_request_and_open_another(self, store: Store) -> None:
        """As asking anew with other arguments does."""
        store.append([draft("a", 1, opens="q1")], durable=False)
        store.append([draft("a", 2, opens="q2", closes="q1")], durable=False)
        assert [row.id for row in store.requests()] == ["q2"]

    # ---- threads ------------------------------------------------------------------------------------------------

    def test_many_threads_lose_nothing(self, store: Store) -> None:
        """Eight threads, durable and not, each in an action of its own."""

        def write(i: int) -> list[bool]:
            return [store.append([draft(f"a{i}", n)], durable=n % 2 == 0) for n in range(1, 26)]

        assert together(8, write) == [[True] * 25] * 8
        for i in range(8):
            assert [row.n for row in store.read("run", action(f"a{i}"))] == list(range(1, 26))
        assert len({row.seq for row in store.scan()}) == 200
        assert list(store.faults()) == []

    def test_of_many_threads_one_gets_a_place(self, store: Store) -> None:
        """Each place once, and what is there is what the winner wrote."""

        def race(i: int) -> list[bool]:
            return [store.append([draft("a", n, body=b"%d" % i)], durable=True) for n in range(1, 26)]

        won = together(8, race)

        assert [sum(of_one[n] for of_one in won) for n in range(25)] == [1] * 25
        winners = [b"%d" % next(i for i in range(8) if won[i][n]) for n in range(25)]
        assert contents(store.read("run", action("a"))) == winners

    def test_a_conflict_harms_no_other_caller(self, store: Store) -> None:
        """Callers that come at once may share a transaction; a taken place fails its own caller only."""
        store.append([draft("taken")], durable=True)

        def write(i: int) -> list[bool]:
            taken = i % 2 == 0
            drafts = [[draft("taken"), draft(f"b{i}.{k}")] if taken else [draft(f"a{i}.{k}")] for k in range(20)]
            return [store.append(one, durable=True) for one in drafts]

        assert together(8, write) == [[i % 2 == 1] * 20 for i in range(8)]
        assert len(list(store.scan())) == 1 + 4 * 20
        assert list(store.faults()) == []

    # ---- the rest -----------------------------------------------------------------------------------------------

    def test_this_process_is_an_owner_and_alive(self, store: Store) -> None:
        """From the first question until the store is closed."""
        owner = store.owner()
        assert store.owner() == owner
        assert store.owner_status(owner) == "alive"

    def test_threads_that_ask_at_once_are_one_owner(self, store: Store) -> None:
        """Two names for one process, and one of them would be nobody's."""
        assert len(set(together(8, lambda _: store.owner()))) == 1

    def test_the_clock_gives_seconds_since_the_epoch(self, store: Store) -> None:
        """Its own, which is not far from ours."""
        assert abs(store.now() - time.time()) < 60

    def test_a_sound_store_has_no_faults_and_describes_itself(self, store: Store) -> None:
        """For `verify` and `doctor`."""
        self.fill(store)
        assert list(store.faults()) == []
        assert store.describe()["store"]

    def test_closing_twice_is_closing_once(self, store: Store) -> None:
        """And nothing is written any more."""
        store.append([draft("a")], durable=False)
        store.close()
        store.close(keep_owner=True)
        with pytest.raises(LedgerError):
            store.append([draft("b")], durable=True)
