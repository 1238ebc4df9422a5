"""The store's protocol in memory, as short as it can be said: for tests, and to be read as what a store means.

One lock for everything, one process, nothing on disk. A ledger at ``":memory:"`` is SQLite's, and nothing in the product uses this.
"""

from __future__ import annotations

import secrets
import threading
import time
from typing import TYPE_CHECKING

from call4agents_core._keys import FORMAT, KEY_ID_BYTES, LEDGER_ID_BYTES
from call4agents_core._types import ActionRow, Meta, RequestRow, Row, RunRow
from call4agents_core.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from call4agents_core._types import Draft, OwnerStatus, StateName


class MemoryStore:
    """`Store`, without a database."""

    location = "memory"

    def __init__(self, *, new_key_id: Callable[[bytes], bytes] | None = None) -> None:
        ledger_id = secrets.token_bytes(LEDGER_ID_BYTES)
        self.meta = Meta(FORMAT, ledger_id, new_key_id(ledger_id) if new_key_id is not None else bytes(KEY_ID_BYTES))
        self._lock = threading.Lock()
        self._rows: list[Row] = []  # in the order of writing; row i has seq i + 1
        self._streams: dict[tuple[str, str], dict[int, Row]] = {}  # of each action by n
        self._actions: dict[tuple[str, str], ActionRow] = {}  # in the order of their first entries
        self._requests: dict[str, RequestRow] = {}  # in the order of the entries that opened them
        self._me, self._closed = f"memory-{secrets.token_hex(8)}", False

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
        row = Row(len(self._rows) + 1, draft.run, draft.action, draft.n, draft.body, draft.mac)
        self._rows.append(row)
        key = (draft.run, draft.action)
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
            rows = [row for row in self._rows if run in (None, row.run)]
        yield from sorted(rows, key=lambda row: (row.run, row.action, row.n)) if by_action else rows

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
        streams: dict[str, list[ActionRow]] = {}
        for row in self.actions():
            streams.setdefault(row.run, []).append(row)
        found = [RunRow(run, rows[-1].first, max(row.last for row in rows), len(rows)) for run, rows in streams.items()]
        return sorted(found, key=lambda row: row.first, reverse=True)[:limit]

    def requests(self, *, id: str | None = None, run: str | None = None, limit: int | None = None) -> list[RequestRow]:
        """See `Store`."""
        with self._lock:
            newest_first = reversed(list(self._requests.values()))
        found = [row for row in newest_first if run in (None, row.run) and (row.id == id or (id is None and row.open))]
        return found[:limit]

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
        return {"store": "memory", "entries": str(len(self._rows))}

    def close(self, *, keep_owner: bool = False) -> None:
        """See `Store`."""
        self._closed = True
