"""The contract of a store as far as archiving and a change of the secret need it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from call4agents_core._types import ActionRow, Stone
from call4agents_core.testing._drafts import action, contents, draft
from call4agents_core.testing.contract_streams import StreamContract

if TYPE_CHECKING:
    from call4agents_core._types import StateName
    from call4agents_core.stores._protocol import Store


def stone(store: Store, name: str, *, run: str = "run") -> Stone:
    """What an archived action leaves behind."""
    body = f"{run} {name} is archived".encode()
    return Stone(action(name), store.read(run, action(name))[0].seq, body, hashlib.sha256(body).digest())


class ArchiveContract(StreamContract):
    """What every store does with settled runs, and with the key id of its ledger."""

    def write(self, store: Store, name: str, *states: StateName, run: str = "run") -> None:
        """One entry for each state that the action goes through."""
        for n, state in enumerate(states, 1):
            assert store.append([draft(name, n, run=run, state=state)], durable=False)

    def test_a_run_is_settled_when_nothing_in_it_is_open(self, store: Store) -> None:
        """Named by its newest entry. Running, in doubt, waiting and approved actions keep it open."""
        self.write(store, "a", "started", "done", run="settled")
        self.write(store, "b", "denied", run="settled")
        self.write(store, "a", "started", "undone", run="undone")
        for state in ("started", "in-doubt", "waiting", "approved"):
            self.write(store, "a", "started", "done", run=state)
            self.write(store, "b", state, run=state)

        assert sorted(contents(store.settled_runs())) == [b"settled b 1", b"undone a 2"]

    def test_an_entombed_run_leaves_one_entry_for_each_action(self, store: Store) -> None:
        """In the place of its first; every other action stays as it is."""
        self.write(store, "a", "started", "done")
        self.write(store, "b", "started", "not-done", "denied")
        store.append([draft("c", opens="q1"), draft("c", 2, closes="q1", state="denied")], durable=False)
        self.write(store, "a", "started", "done", run="other")
        others, last = store.read("other", action("a")), store.runs()[-1].last
        stones = [stone(store, name) for name in ("a", "b", "c")]

        assert store.entomb("run", last, iter(stones))

        for one in stones:
            assert [(row.seq, row.n, row.body, row.mac) for row in store.read("run", one.action)] == [
                (one.first, 1, one.body, one.mac)
            ]
        assert store.actions(run="run", states=("archived",)) == [
            ActionRow(one.first, one.first, "run", one.action, "pay", "archived") for one in reversed(stones)
        ]
        assert store.requests(id="q1") == []
        assert store.read("other", action("a")) == others
        assert contents(store.settled_runs()) == [b"other a 2"]

    def test_a_run_that_was_used_meanwhile_is_not_entombed(self, store: Store) -> None:
        """Nothing is done then, and nothing is lost."""
        self.write(store, "a", "started", "done")
        last = store.runs()[0].last
        stones = [stone(store, "a")]
        self.write(store, "late", "started")
        before = list(store.scan()), store.actions()

        assert not store.entomb("run", last, stones)
        assert (list(store.scan()), store.actions()) == before

    def test_the_first_place_of_an_archived_action_stays_taken(self, store: Store) -> None:
        """Nobody can begin it anew; other actions of the run go on."""
        self.write(store, "a", "started", "done")
        store.entomb("run", store.runs()[0].last, [stone(store, "a")])
        assert not store.append([draft("a", 1)], durable=True)
        assert store.append([draft("b", 1)], durable=True)
        assert contents(store.scan(run="run")) == [b"run a is archived", b"run b 1"]

    def test_the_ledger_can_belong_to_another_secret(self, store: Store) -> None:
        """Written down at once; the ledger stays the same."""
        before = store.meta
        assert store.key_id() == before.key_id
        store.rekey(b"next")
        assert store.key_id() == b"next"
        assert store.meta == before._replace(key_id=b"next")
