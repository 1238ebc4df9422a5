"""The store's protocol in memory, as short as it can be said: for tests, and to be read as what a store means.

One lock for everything, one process, nothing on disk. A ledger at ``":memory:"`` is SQLite's, and nothing in the product uses this.
"""

from __future__ import annotations

import secrets
import threading
import time
from typing import TYPE_CHECKING

from call4agents_core._keys import FORMAT, KEY_ID_BYTES, LEDGER_ID_BYTES
from call4agents_core._types import OPEN_STATES, ActionRow, Meta, RequestRow, Row, RunRow
from call4agents_core.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from call4agents_core._types import Draft, OwnerStatus, StateName, Stone


class MemoryStore:
    """`Store`, without a database."""

    location = "memory"
    gapless = True

    def __init__(self, *, new: Callable[[bytes], bytes] | None = None) -> None:
        """``new``: the key id for the ledger id."""
        ledger_id = secrets.token_bytes(LEDGER_ID_BYTES)
        self.meta = Meta(FORMAT, ledger_id, new(ledger_id) if new is not None else bytes(KEY_ID_BYTES))
        self._lock = threading.Lock()
        self._last = 0
        self._streams: dict[tuple[str, str], dict[int, Row]] = {}  # of each action by n
        self._actions: dict[tuple[str, str], ActionRow] = {}  # in the order of their first entries
        self._requests: dict[str, RequestRow] = {}  # in the order of the entries that opened them
        self._me, self._closed = f"memory-{secrets.token_hex(8)}", False

    # ---- entries ------------------------------------------------------------------------------------------------

    def append(self, drafts: Sequence[Draft], *, durable: bool) -> bool:
        """See `Store`."""
        places = {(draft.run, draft.action, draft.n) for draft in drafts}
        with self._lock:
            if self._closed:
                raise LedgerError(self.location, "it was closed")
            if len(places) < len(drafts) or any(n in self._streams.get((run, action), ()) for run, action, n in places):
                return False
            for draft in drafts:
                self._write(draft)
            return True

    def _write(self, draft: Draft) -> None:
        self._last += 1
        key = (draft.run, draft.action)
        row = Row(self._last, *key, draft.n, draft.body, draft.mac)
        self._streams.setdefault(key, {})[draft.n] = row
        known = self._actions.get(key)
        self._actions[key] = ActionRow(known.first if known else row.seq, row.seq, *key, draft.tool, draft.state)
        for request in draft.requests:
            self._requests[request.id] = RequestRow(request.id, *key, request.open)

    def read(self, run: str, action: str) -> list[Row]:
        """See `Store`."""
        with self._lock:
            return [row for _, row in sorted(self._streams.get((run, action), {}).items())]

    def scan(self, *, run: str | None = None, by_action: bool = False) -> Iterator[Row]:
        """See `Store`."""
        with self._lock:
            rows = [row for stream in self._streams.values() for row in stream.values() if run in (None, row.run)]
        yield from sorted(rows, key=lambda row: (row.run, row.action, row.n) if by_action else row.seq)

    def sync(self) -> None:
        """See `Store`. There is no disk."""

    # ---- derived ------------------------------------------------------------------------------------------------

    def actions(
        self,
        *,
        run: str | None = None,
        tool: str | None = None,
        states: Sequence[StateName] = (),
        first: int | None = None,
        limit: int | None = None,
    ) -> list[ActionRow]:
        """See `Store`."""
        with self._lock:
            newest_first = reversed(list(self._actions.values()))
        found = [
            row
            for row in newest_first
            if run in (None, row.run)
            and tool in (None, row.tool)
            and first in (None, row.first)
            and (not states or row.state in states)
        ]
        return found[:limit]

    def runs(self, *, limit: int | None = None) -> list[RunRow]:
        """See `Store`."""
        actions: dict[str, list[ActionRow]] = {}
        for row in self.actions():
            actions.setdefault(row.run, []).append(row)
        found = [RunRow(run, rows[-1].first, max(row.last for row in rows), len(rows)) for run, rows in actions.items()]
        return sorted(found, key=lambda row: row.first, reverse=True)[:limit]

    def requests(self, *, id: str | None = None, run: str | None = None, limit: int | None = None) -> list[RequestRow]:
        """See `Store`."""
        with self._lock:
            newest_first = reversed(list(self._requests.values()))
        found = [row for row in newest_first if run in (None, row.run) and (row.id == id or (id is None and row.open))]
        return found[:limit]

    # ---- archive and secret -------------------------------------------------------------------------------------

    def settled_runs(self) -> Iterator[Row]:
        """See `Store`."""
        for run in self.runs():
            states = {row.state for row in self.actions(run=run.run)}
            if states != {"archived"} and states.isdisjoint(OPEN_STATES):
                yield from (row for row in self.scan(run=run.run) if row.seq == run.last)

    def entomb(self, run: str, last: int, stones: Iterable[Stone]) -> bool:
        """See `Store`."""
        stones = list(stones)  # made by reading the store
        with self._lock:
            if max((row.last for row in self._actions.values() if row.run == run), default=0) != last:
                return False
            for stone in stones:
                key = (run, stone.action)
                self._streams[key] = {1: Row(stone.first, *key, 1, stone.body, stone.mac)}
                self._actions[key] = self._actions[key]._replace(last=stone.first, state="archived")
            gone = {(run, stone.action) for stone in stones}
            self._requests = {row.id: row for row in self._requests.values() if (row.run, row.action) not in gone}
            return True

    def key_id(self) -> bytes:
        """See `Store`."""
        return self.meta.key_id

    def rekey(self, key_id: bytes) -> None:
        """See `Store`."""
        self.meta = self.meta._replace(key_id=key_id)

    # ---- owners and the rest ------------------------------------------------------------------------------------

    def owner(self) -> str:
        """See `Store`. Only this process can see a store in memory."""
        return self._me

    def owner_status(self, owner: str) -> OwnerStatus:
        """See `Store`."""
        return "unknown" if owner != self._me else "dead" if self._closed else "alive"

    def tidy_owners(self, named: Callable[[], set[str]]) -> None:
        """See `Store`. There is one owner."""

    def now(self) -> float:
        """See `Store`."""
        return time.time()

    def faults(self) -> Iterator[str]:
        """See `Store`. What nothing else can reach is not damaged."""
        yield from ()

    def describe(self) -> dict[str, str]:
        """See `Store`."""
        return {"store": "memory", "entries": str(self._last)}

    def close(self, *, keep_owner: bool = False) -> None:
        """See `Store`."""
        self._closed = True
