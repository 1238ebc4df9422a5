"""Archive: whole settled runs move to another ledger file, and each of their actions leaves one entry that says that it was done.

The destination is a volume of the same ledger: it has its id and its secrets, so every entry keeps its MAC. A run is copied,
brought to disk, and only then replaced; killed anywhere in between, the next archive goes on and nothing is lost or doubled.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from call4agents_core import _keys
from call4agents_core._ledger import Core
from call4agents_core._types import OPEN_STATES, Draft, Request, Stone
from call4agents_core.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from call4agents_core._state import State
    from call4agents_core._types import Row
    from call4agents_core.stores._protocol import Store

_DAY = 86_400.0


class Archived(NamedTuple):
    """What an archive moved: runs, their actions and entries; and how many runs were too young or in use."""

    runs: int
    actions: int
    entries: int
    kept: int


class Archiving(Core):
    """Archiving, as a method of the ledger."""

    def move_to(self, volume: Store, older_than: float, progress: Callable[[str], object] | None = None) -> Archived:
        """Move every settled run whose newest entry is at least ``older_than`` days old. Bounded memory, whatever the size."""
        before = self.store.now() - older_than * _DAY
        self._copied = self.keyring.current  # with all older ones, before this was called
        runs = actions = entries = kept = 0
        for newest in self.store.settled_runs():
            moved = self._move(newest, volume) if json.loads(newest.body)["at"] <= before else None
            if moved is None:
                kept += 1
                continue
            runs, actions, entries = runs + 1, actions + moved[0], entries + moved[1]
            if progress is not None:
                progress(newest.run)
        return Archived(runs, actions, entries, kept)

    def _move(self, newest: Row, volume: Store) -> tuple[int, int] | None:
        """Copy a run, bring the copy to disk, replace it here; None if somebody has used it meanwhile."""
        actions = entries = 0
        for rows, state in self._streams(newest.run):
            if state.name in OPEN_STATES:
                return None
            self._copy(rows, state, volume)
            actions, entries = actions + 1, entries + len(rows)
        self._copy_new_secret(volume)
        volume.sync()
        moved = self.store.entomb(newest.run, newest.seq, map(self._stone, self._streams(newest.run)))
        return (actions, entries) if moved else None

    def _streams(self, run: str) -> Iterator[tuple[list[Row], State]]:
        """The actions of a run that have not moved yet, each checked."""
        for action, found in groupby(self.store.scan(run=run, by_action=True), key=lambda row: row.action):
            rows = list(found)
            state = self.folded(run, action, rows)
            if state.stage != "archived":
                yield rows, state

    def _copy(self, rows: list[Row], state: State, volume: Store) -> None:
        """The entries of one action, as they are; those that an archive which was killed has copied are there already."""
        assert state.head is not None
        tool = state.head.data["tool"]
        asked = {entry.n: (Request(_keys.request_id(rows[0].action, entry.n), open=False),) for entry in state.requests}
        while True:
            there = volume.read(rows[0].run, rows[0].action)
            if [(row.body, row.mac) for row in there] != [(row.body, row.mac) for row in rows[: len(there)]]:
                raise LedgerError(
                    volume.location,
                    f"it holds other entries of action {rows[0].action[:12]}",
                    "Give another destination.",
                )
            drafts = [
                Draft(row.run, row.action, row.n, row.body, row.mac, tool, state.name, asked.get(row.n, ()))
                for row in rows[len(there) :]
            ]
            if not drafts or volume.append(drafts, durable=False):
                return  # else another archive has copied some of them meanwhile

    def _copy_new_secret(self, volume: Store) -> None:
        """Where the secret was changed since the archive was opened, entries that it has got may need the new one."""
        if self.keyring.current != self._copied:
            from call4agents_core.stores.sqlite import side_folder

            self._secrets.copy_to(side_folder(volume.location) / "secret")
            self._copied = self.keyring.current

    def _stone(self, stream: tuple[list[Row], State]) -> Stone:
        rows, state = stream
        assert state.head is not None
        known = state.head.data
        data: dict[str, Any] = {
            "v": _keys.FORMAT,
            "kind": "archived",
            "at": self.store.now(),
            **{name: known[name] for name in ("tool", "ordinal", "key", "reverses") if name in known},
            "was": state.name,
            "gone": [row.seq for row in rows],
        }
        body = json.dumps(data, separators=(",", ":")).encode("ascii")
        mac = self.keyring.sign(rows[0].run, rows[0].action, 1, b"", body)
        return Stone(rows[0].action, rows[0].seq, body, mac)
