"""The one place where entries leave a SQLite ledger: a whole settled run is replaced by one entry for each of its actions."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from call4agents_core._types import OPEN_STATES, Row, Stone
from call4agents_core.stores._sqlite_schema import DRIVER_ERRORS, NEVER_DELETED, connect, translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ALLOW = "DROP TRIGGER c4a_entries_never_deleted"
_NEWEST = "SELECT max(seq) FROM c4a_entries"
_LAST = "SELECT max(seq) FROM c4a_entries WHERE run = ?"
_LAST_OF_ACTION = "SELECT max(seq) FROM c4a_entries WHERE run = ? AND action = ?"
_REMOVE = "DELETE FROM c4a_entries WHERE run = ? AND action = ?"
_PUT = "INSERT INTO c4a_entries (seq, run, action, n, body, mac) VALUES (?, ?, ?, 1, ?, ?)"
_MARK = "UPDATE c4a_actions SET first = ?, last = ?, state = 'archived' WHERE first = ?"
_FORGET = "DELETE FROM c4a_requests WHERE first IN (SELECT seq FROM c4a_entries WHERE run = ? AND n = 1)"
_BEGIN_AGAIN = "UPDATE c4a_runs SET first = (SELECT min(seq) FROM c4a_entries WHERE run = ?) WHERE run = ?"
_SETTLED = f"""
SELECT newest.seq, newest.run, newest.action, newest.n, newest.body, newest.mac
FROM (SELECT DISTINCT e.run FROM c4a_actions a JOIN c4a_entries e ON e.seq = a.first WHERE a.state <> 'archived') moved
JOIN c4a_entries newest ON newest.seq = (SELECT max(seq) FROM c4a_entries WHERE run = moved.run)
WHERE moved.run NOT IN (
  SELECT e.run FROM c4a_actions a JOIN c4a_entries e ON e.seq = a.first
  WHERE a.state <> 'done' AND a.state IN ({", ".join(f"'{state}'" for state in OPEN_STATES)})
)
"""


def entomb(connection: sqlite3.Connection, run: str, last: int, stones: Iterable[Stone]) -> bool:
    """`Store.entomb`, inside a write transaction that the caller begins and ends.

    Where the newest entry of the ledger goes, a stone takes its number: SQLite would give it to the next entry, and a number
    that was used twice is no longer missed by `verify` when its entry is removed.
    """
    execute = connection.execute
    if execute(_LAST, (run,)).fetchone() != (last,):
        return False
    newest = execute(_NEWEST).fetchone() == (last,)
    execute(_ALLOW)
    execute(_FORGET, (run,))
    for stone in stones:
        action = bytes.fromhex(stone.action)
        ends = newest and execute(_LAST_OF_ACTION, (run, action)).fetchone() == (last,)
        place = last if ends else stone.first
        execute(_REMOVE, (run, action))
        execute(_PUT, (place, run, action, stone.body, stone.mac))
        execute(_MARK, (place, place, stone.first))
    execute(_BEGIN_AGAIN, (run, run))
    execute(NEVER_DELETED)
    return True


def settled_runs(location: str, timeout: float) -> Iterator[Row]:
    """`Store.settled_runs`, on a connection of its own."""
    connection = connect(location, read_only=True, timeout=timeout)
    try:
        for seq, run, action, n, body, mac in connection.execute(_SETTLED):
            yield Row(seq, run, action.hex(), n, body, mac)
    except DRIVER_ERRORS as error:
        raise translated(error, location) from error
    finally:
        connection.close()
