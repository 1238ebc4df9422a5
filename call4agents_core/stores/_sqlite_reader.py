"""Reading a SQLite ledger: one action's stream, the derived tables, everything in order, and what is wrong with the file."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from call4agents_core._types import ActionRow, RequestRow, Row, RunRow
from call4agents_core.errors import LedgerError
from call4agents_core.stores import _mounts
from call4agents_core.stores._sqlite_schema import DRIVER_ERRORS, connect, translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from call4agents_core._types import StateName

_STREAM = "SELECT seq, n, body, mac FROM c4a_entries WHERE run = ? AND action = ? ORDER BY n"
_RUNS = """
SELECT r.run, r.first, max(e.seq), count(*) FILTER (WHERE e.n = 1)
FROM (SELECT first, run FROM c4a_runs ORDER BY first DESC LIMIT ?) r JOIN c4a_entries e ON e.run = r.run GROUP BY r.first ORDER BY r.first DESC
"""
_WRONG_RUNS = """
SELECT e.run FROM (SELECT run, min(seq) AS first FROM c4a_entries GROUP BY run) e LEFT JOIN c4a_runs r ON r.run = e.run
WHERE r.first IS NOT e.first LIMIT 100
"""
_ORPHANS = "SELECT first, tool FROM c4a_actions a WHERE NOT EXISTS (SELECT 1 FROM c4a_entries e WHERE e.seq = a.first AND e.n = 1) LIMIT 100"


class Reader:
    """The one reading connection of a process; any thread may use it, one at a time."""

    def __init__(self, connection: sqlite3.Connection, location: str, lock: threading.Lock) -> None:
        self.connection, self.lock = connection, lock
        self._location = location

    def select(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        try:
            with self.lock:
                return self.connection.execute(sql, values).fetchall()
        except DRIVER_ERRORS as error:
            raise translated(error, self._location) from error

    def stream(self, run: str, action: str) -> list[Row]:
        """`Store.read`."""
        found = self.select(_STREAM, (run, bytes.fromhex(action)))
        return [Row(seq, run, action, n, _bytes(body), _bytes(mac)) for seq, n, body, mac in found]

    def scan(self, run: str | None, by_action: bool, timeout: float) -> Iterator[Row]:
        """`Store.scan`. A long read has a connection of its own, so that it holds nobody up."""
        where, order = ("WHERE run = ?" if run is not None else ""), ("run, action, n" if by_action else "seq")
        sql = f"SELECT seq, run, action, n, body, mac FROM c4a_entries {where} ORDER BY {order}"
        own = self._location != ":memory:"
        connection = connect(self._location, read_only=True, timeout=timeout) if own else self.connection
        try:
            for seq, name, action, n, body, mac in connection.execute(sql, () if run is None else (run,)):
                if seq is None:
                    raise LedgerError(
                        self._location, "the file is damaged", "Keep a copy of it, and go on from a backup."
                    )
                yield Row(seq, _text(name), _bytes(action).hex(), n, _bytes(body), _bytes(mac))
        except DRIVER_ERRORS as error:
            raise translated(error, self._location) from error
        finally:
            if own:
                connection.close()

    def actions(
        self, *, run: str | None, tool: str | None, states: Sequence[StateName], first: int | None, limit: int | None
    ) -> list[ActionRow]:
        """`Store.actions`."""
        tests = {"e.run = ?": run, "a.tool = ?": tool, "a.first = ?": first}
        where = [test for test, value in tests.items() if value is not None]
        values: list[object] = [value for value in tests.values() if value is not None]
        if states:
            where.append(f"a.state IN ({', '.join('?' * len(states))})")
            values += states
            if "done" not in states:
                where.append("a.state <> 'done'")  # lets SQLite use the index of the few that are not done
        sql = (
            "SELECT a.first, a.last, e.run, e.action, a.tool, a.state FROM c4a_actions a JOIN c4a_entries e ON e.seq = a.first"
            f"{' WHERE ' if where else ''}{' AND '.join(where)} ORDER BY a.first DESC LIMIT ?"
        )
        return [
            ActionRow(one, last, name, bytes(action).hex(), of, state)
            for one, last, name, action, of, state in self.select(sql, (*values, _most(limit)))
        ]

    def runs(self, limit: int | None) -> list[RunRow]:
        """`Store.runs`."""
        return [RunRow(*row) for row in self.select(_RUNS, (_most(limit),))]

    def requests(self, *, id: str | None, run: str | None, limit: int | None) -> list[RequestRow]:
        """`Store.requests`."""
        tests = {"r.id = ?": id, "e.run = ?": run}
        where = [test for test, value in tests.items() if value is not None] + (["r.open"] if id is None else [])
        values = [value for value in tests.values() if value is not None]
        sql = (
            "SELECT r.id, e.run, e.action, r.open FROM c4a_requests r JOIN c4a_entries e ON e.seq = r.first "
            f"WHERE {' AND '.join(where)} ORDER BY r.seq DESC LIMIT ?"
        )
        return [
            RequestRow(key, name, bytes(action).hex(), bool(still))
            for key, name, action, still in self.select(sql, (*values, _most(limit)))
        ]

    def faults(self) -> Iterator[str]:
        """`Store.faults`."""
        for (text,) in self.select("PRAGMA integrity_check(20)"):
            if text != "ok":
                yield f"the database is damaged: {text}"
        for (run,) in self.select(_WRONG_RUNS):
            yield f"the derived row of run {run!r} does not fit its entries"
        for first, tool in self.select(_ORPHANS):
            yield f"the action of {tool} that began with entry {first} is gone"

    def describe(self) -> dict[str, str]:
        """`Store.describe`."""
        ((mode,),) = self.select("PRAGMA journal_mode")
        ((entries,),) = self.select("SELECT coalesce(max(seq), 0) FROM c4a_entries")
        facts = {"store": f"SQLite {sqlite3.sqlite_version}", "journal mode": str(mode), "entries": str(entries)}
        if self._location != ":memory:":
            refuse, warn = _mounts.judge_here(Path(self._location))
            facts |= {"bytes": str(os.path.getsize(self._location)), "place": refuse or warn or "a local disk"}
        return facts


def _bytes(value: object) -> bytes:
    """What a column holds, as bytes: raw SQL can leave any type there, and the MAC is to judge it."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _most(limit: int | None) -> int:
    return -1 if limit is None else limit
