"""Group commit for SQLite: whoever is alone commits at once; callers that come meanwhile share the next transaction and its sync."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from call4agents_core.errors import LedgerError
from call4agents_core.stores._sqlite_schema import translated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from call4agents_core._types import Draft

    T = TypeVar("T")

#: Longest time that a result waits for its sync, in seconds; the design promises one second.
SYNC_WITHIN = 0.5

_MOST_RUNS = 10_000

_INSERT_ENTRY = "INSERT INTO c4a_entries (run, action, n, body, mac) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_INSERT_ACTION = "INSERT INTO c4a_actions (first, last, tool, state) VALUES (?, ?, ?, ?)"
_UPDATE_ACTION = "UPDATE c4a_actions SET last = ?, state = ? WHERE first = (SELECT seq FROM c4a_entries WHERE run = ? AND action = ? AND n = 1)"
_INSERT_RUN = "INSERT INTO c4a_runs (first, run) VALUES (?, ?) ON CONFLICT DO NOTHING"
_UPSERT_REQUEST = (
    "INSERT INTO c4a_requests (id, first, seq, open) SELECT ?, seq, ?, ? FROM c4a_entries WHERE run = ? AND action = ? AND n = 1 "
    "ON CONFLICT (id) DO UPDATE SET open = excluded.open"
)


class _Ticket:
    """One caller's entries on their way into a transaction."""

    __slots__ = ("drafts", "durable", "error", "settled", "written")

    def __init__(self, drafts: Sequence[Draft], durable: bool) -> None:
        self.drafts, self.durable = drafts, durable
        self.settled = False
        self.written = False
        self.error: LedgerError | None = None

    def answer(self) -> bool:
        if self.error is not None:
            raise self.error
        return self.written


class Writer:
    """The one writing connection of a process. ``check`` is asked around each durable commit whether the file is still the one opened."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        location: str,
        timeout: float,
        lock: threading.Lock,
        check: Callable[[], None],
    ) -> None:
        self.connection, self.lock = connection, lock
        self._location, self._timeout, self._check = location, timeout, check
        self._queue: deque[_Ticket] = deque()
        self._runs: set[str] = set()
        self._full = True
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA busy_timeout = 0")  # `_take_the_file` waits more fairly
        self._unsynced = self._sync_is_coming = False
        self._closed = False

    def append(self, drafts: Sequence[Draft], durable: bool) -> bool:
        """`Store.append`."""
        ticket = _Ticket(drafts, durable)
        self._queue.append(ticket)
        try:
            with self.lock:
                if not ticket.settled:
                    self._commit(self._waiting())
        except BaseException:
            self._take_back(ticket)
            raise
        return ticket.answer()

    def _take_back(self, ticket: _Ticket) -> None:
        """Its caller was interrupted: nobody writes it from now on, or it is written before the caller goes on."""
        try:
            self._queue.remove(ticket)
        except ValueError:
            with self.lock:
                pass

    def _waiting(self) -> list[_Ticket]:
        batch: list[_Ticket] = []
        while self._queue:
            batch.append(self._queue.popleft())
        return batch

    def _commit(self, batch: list[_Ticket]) -> None:
        """One transaction for all. A taken place fails only its own caller; a failed commit fails every member."""
        durable = any(ticket.durable for ticket in batch)
        error: LedgerError | None = None
        try:
            self._transact(batch, durable)
        except sqlite3.Error as failure:
            error = translated(failure, self._location)
            error.__cause__ = failure
        except LedgerError as failure:
            error = failure
        except BaseException:
            error = LedgerError(self._location, "writing was interrupted", "Nothing was written.")
            raise
        finally:
            if error is not None:
                self._roll_back()
            for ticket in batch:
                ticket.error, ticket.settled = error, True

    def _transact(self, batch: list[_Ticket], durable: bool) -> None:
        self._sync_mode(full=durable)
        self._take_the_file()
        if durable:
            self._check()
        for ticket in batch:
            ticket.written = self._insert_all(ticket.drafts)
        self.connection.execute("COMMIT")
        self._remember(batch)
        if durable:
            self._check()
            self._unsynced = False
        elif not self._unsynced:
            self._sync_soon()

    def _remember(self, batch: list[_Ticket]) -> None:
        """Runs that surely have their row: most actions are not the first of their run."""
        if len(self._runs) > _MOST_RUNS:
            self._runs.clear()
        self._runs.update(draft.run for ticket in batch if ticket.written for draft in ticket.drafts)

    def _sync_mode(self, *, full: bool) -> None:
        if full is not self._full:
            self.connection.execute("PRAGMA synchronous = FULL" if full else "PRAGMA synchronous = NORMAL")
            self._full = full

    def _take_the_file(self) -> None:
        """BEGIN IMMEDIATE with short, even waits: SQLite's own grow to a tenth of a second and let late comers pass."""
        until = time.monotonic() + self._timeout
        while True:
            try:
                self.connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(random.uniform(0.0002, 0.002))  # noqa: S311 - spreads the waiters, no secret
            else:
                return

    def _insert_all(self, drafts: Sequence[Draft]) -> bool:
        if len(drafts) == 1:
            return self._insert(drafts[0])
        execute = self.connection.execute
        execute("SAVEPOINT c4a_caller")
        written = all(self._insert(draft) for draft in drafts)
        if not written:
            execute("ROLLBACK TO c4a_caller")
        execute("RELEASE c4a_caller")
        return written

    def _insert(self, draft: Draft) -> bool:
        execute, action = self.connection.execute, bytes.fromhex(draft.action)
        cursor = execute(_INSERT_ENTRY, (draft.run, action, draft.n, draft.body, draft.mac))
        if cursor.rowcount != 1:
            return False
        seq = cursor.lastrowid
        if draft.n == 1:
            execute(_INSERT_ACTION, (seq, seq, draft.tool, draft.state))
            if draft.run not in self._runs:
                execute(_INSERT_RUN, (seq, draft.run))
        else:
            execute(_UPDATE_ACTION, (seq, draft.state, draft.run, action))
        for request in draft.requests:
            execute(_UPSERT_REQUEST, (request.id, seq, request.open, draft.run, action))
        return True

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do work in a durable transaction of its own; whatever it raises undoes it."""
        with self.lock:
            try:
                self._sync_mode(full=True)
                self._take_the_file()
                done = work(self.connection)
                self.connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
            self._check()
            return done

    # ---- results reach the disk within a second -----------------------------------------------------------------

    def _sync_soon(self) -> None:
        """Called under the lock. The thread ends by itself, so that a ledger nobody holds any more can go."""
        self._unsynced = True
        if self._sync_is_coming:
            return
        self._sync_is_coming = True
        try:
            threading.Thread(target=self._sync_later, name="c4a-sync", daemon=True).start()
        except RuntimeError:  # the interpreter is ending and starts no more threads
            self._sync_is_coming = False
            self.sync()

    def _sync_later(self) -> None:
        time.sleep(SYNC_WITHIN)
        self._sync_is_coming = False  # first, so that whatever is written from here on has another one coming
        if self._unsynced and not self._closed:
            with contextlib.suppress(OSError):
                self.sync()

    def sync(self) -> None:
        """Bring what was committed without a sync to disk. The log has no locks on it, so a handle of our own does no harm."""
        if self._location == ":memory:":
            return
        self._unsynced = False
        with contextlib.suppress(FileNotFoundError):  # a checkpoint has synced and removed it
            handle = os.open(self._location + "-wal", os.O_RDWR)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def close(self) -> None:
        """Sync and close."""
        with self.lock:
            self._closed = True
            if self._unsynced:
                with contextlib.suppress(OSError):
                    self.sync()
            self.connection.close()
