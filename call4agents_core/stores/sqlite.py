"""The ledger in a SQLite file: a connection that writes, a connection that reads, an owners folder beside the file."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from call4agents_core._types import Meta
from call4agents_core.errors import LedgerError, LedgerNotFound, LedgerReadOnly
from call4agents_core.stores import _mounts, _sqlite_archive, _sqlite_schema
from call4agents_core.stores._owners import Owners
from call4agents_core.stores._sqlite_reader import Reader
from call4agents_core.stores._sqlite_writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from call4agents_core._types import ActionRow, Draft, OwnerStatus, RequestRow, Row, RunRow, StateName, Stone

    T = TypeVar("T")

#: How long a caller waits for another program's write transaction, in seconds.
TIMEOUT = 30.0
#: From this many files in the owners folder on, those of dead owners that nothing names are removed.
_TIDY_FROM = 50
#: Bytes of the smallest SQLite database that has anything in it.
_SMALLEST = 512
#: How long a fork waits for each thread of the parent that is inside SQLite, in seconds.
_FORK_WAIT = 0.5

_open_stores: weakref.WeakSet[SQLiteStore] = weakref.WeakSet()
_abandoned: list[object] = []  # a forked child never closes what it inherited: that could touch the parent's file


def side_folder(location: str) -> Path:
    """Where secret and owners of a ledger lie: `.c4a/` itself for `.c4a/ledger.sqlite`, `X.c4a/` for any other file X."""
    path = Path(os.path.realpath(location))
    if path.parent.name == ".c4a" and path.name == "ledger.sqlite":
        return path.parent
    return path.with_name(path.name + ".c4a")


class SQLiteStore:
    """`Store` on one SQLite file, or in memory."""

    gapless = True

    def __init__(
        self,
        location: str,
        *,
        new: Callable[[bytes], bytes] | Meta | None = None,
        read_only: bool = False,
        beside: bool = False,
        timeout: float = TIMEOUT,
    ) -> None:
        """Open the ledger, or make it: ``new`` gives the key id for its ledger id, or what an archive says of itself.

        ``beside``: the ledger may be made among other tables.
        """
        self._in_memory = location == ":memory:"
        self.location = location if self._in_memory else os.path.realpath(location)
        self._read_only, self._timeout = read_only, timeout
        self._owners = Owners(side_folder(location) / "owners")
        self._opening = threading.Lock()
        self._reader: Reader | None = None
        self._writer: Writer | None = None
        self._identity: tuple[int, int] | None = None
        self._born, self._closed = os.getpid(), False
        try:
            self.meta = self._open(new, beside)
        except _sqlite_schema.DRIVER_ERRORS as error:
            self._drop()
            raise _sqlite_schema.translated(error, self.location) from error
        except BaseException:
            self._drop()
            raise
        _open_stores.add(self)

    # ---- opening ------------------------------------------------------------------------------------------------

    def _open(self, new: Callable[[bytes], bytes] | Meta | None, beside: bool) -> Meta:
        make = new is not None and not self._read_only
        if not self._in_memory:
            self._look_at_the_place(make)
        connection = self._reading().connection
        meta = _sqlite_schema.read_meta(connection, self.location, beside=beside)
        if meta is not None:
            self._check_kind(meta, new)
            if make:
                _sqlite_schema.use_wal(connection, self._timeout)  # a copy made by VACUUM INTO has lost it
            return meta
        if new is None or not make:
            raise LedgerNotFound(self.location, "there is no ledger in it")
        _sqlite_schema.use_wal(connection, self._timeout)
        return _sqlite_schema.create(connection, self.location, new, beside=beside)

    def _check_kind(self, meta: Meta, wanted: object) -> None:
        """An archive takes what archiving brings, of its own ledger, and is never acted on."""
        if isinstance(wanted, Meta):
            if not meta.archive or meta.ledger_id != wanted.ledger_id:
                raise LedgerError(
                    self.location,
                    "it is no archive of this ledger",
                    "Give another destination; this one was not touched.",
                )
        elif meta.archive and not self._read_only:
            raise LedgerReadOnly(
                self.location,
                "it is an archive",
                "Act on the ledger that it came from; commands that read may read it.",
            )

    def _look_at_the_place(self, make: bool) -> None:
        path = Path(self.location)
        if path.is_dir():
            raise LedgerError(self.location, "it is a folder", "Name a file in it.")
        if not path.exists() and not make:
            raise LedgerNotFound(self.location)
        if path.exists() and 0 < path.stat().st_size < _SMALLEST:  # SQLite would take it for empty
            raise LedgerError(
                self.location, "the file is no SQLite database", "Name another location; this file was not touched."
            )
        if not self._read_only:
            refuse = _mounts.judge_here(path).refuse
            if refuse:
                raise LedgerError(self.location, refuse)
        if make:
            _sqlite_schema.make_file(path)

    def _reading(self) -> Reader:
        if self._reader is None:
            with self._opening:
                if self._reader is None:
                    self._reader = Reader(self._connect(), self.location, threading.Lock())
        return self._reader

    def _writing(self) -> Writer:
        if self._writer is None:
            reader = self._reading()
            with self._opening:
                if self._read_only:
                    raise LedgerReadOnly(self.location, "it was opened for reading", "Open it with init() to write.")
                if self._writer is None:
                    own = reader.connection if self._in_memory else self._connect()
                    lock = reader.lock if self._in_memory else threading.Lock()
                    self._writer = Writer(own, self.location, self._timeout, lock, self._still_there)
        return self._writer

    def _connect(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerError(self.location, "it was closed", "Open it again with init() or Ledger.open().")
        if self._in_memory and os.getpid() != self._born:
            raise LedgerError(
                self.location,
                "a ledger in memory does not reach into a forked process",
                "Call init() there, or use a file.",
            )
        connection = _sqlite_schema.connect(self.location, read_only=self._read_only, timeout=self._timeout)
        if self._identity is None and not self._in_memory:
            self._identity = _identity(self.location)
        return connection

    def _still_there(self) -> None:
        """A file that was deleted or replaced while open would let the next process run everything again."""
        if not self._in_memory and _identity(self.location) != self._identity:
            raise LedgerError(
                self.location,
                "its file was deleted or replaced while it was open, so nothing written to it counts",
                "Put the file back, or call init() again.",
            )

    # ---- Store --------------------------------------------------------------------------------------------------

    def append(self, drafts: Sequence[Draft], *, durable: bool) -> bool:
        """See `Store`."""
        try:
            return self._writing().append(drafts, durable)
        except _sqlite_schema.DRIVER_ERRORS as error:
            raise _sqlite_schema.translated(error, self.location) from error

    def read(self, run: str, action: str) -> list[Row]:
        """See `Store`."""
        return self._reading().stream(run, action)

    def scan(self, *, run: str | None = None, by_action: bool = False) -> Iterator[Row]:
        """See `Store`."""
        return self._reading().scan(run, by_action, self._timeout)

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
        return self._reading().actions(run=run, tool=tool, states=states, first=first, limit=limit)

    def runs(self, *, limit: int | None = None) -> list[RunRow]:
        """See `Store`."""
        return self._reading().runs(limit)

    def requests(self, *, id: str | None = None, run: str | None = None, limit: int | None = None) -> list[RequestRow]:
        """See `Store`."""
        return self._reading().requests(id=id, run=run, limit=limit)

    def sync(self) -> None:
        """See `Store`."""
        if self._writer is not None:
            self._writer.sync()

    def settled_runs(self) -> Iterator[Row]:
        """See `Store`."""
        return _sqlite_archive.settled_runs(self.location, self._timeout)

    def entomb(self, run: str, last: int, stones: Iterable[Stone]) -> bool:
        """See `Store`."""
        return self._alone(lambda connection: _sqlite_archive.entomb(connection, run, last, stones))

    def rekey(self, key_id: bytes) -> None:
        """See `Store`."""
        self._alone(lambda connection: _sqlite_schema.write_key_id(connection, key_id))
        self.meta = self.meta._replace(key_id=key_id)

    def key_id(self) -> bytes:
        """See `Store`."""
        ((found,),) = self._reading().select("SELECT value FROM c4a_meta WHERE name = 'key_id'")
        return bytes(found)

    def _alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._writing().alone(work)
        except _sqlite_schema.DRIVER_ERRORS as error:
            raise _sqlite_schema.translated(error, self.location) from error

    def owner(self) -> str:
        """See `Store`."""
        if self._in_memory:
            return f"memory-{os.getpid()}@"
        try:
            return self._owners.me()
        except OSError as error:
            raise LedgerReadOnly(
                self.location,
                f"the folder of its owners cannot be written ({error})",
                "Give this user the right to write there.",
            ) from error

    def owner_status(self, owner: str) -> OwnerStatus:
        """See `Store`."""
        if self._in_memory:
            return "alive" if owner == self.owner() else "dead"
        return self._owners.status(owner)

    def tidy_owners(self, named: Callable[[], set[str]]) -> None:
        """See `Store`."""
        if not self._in_memory and self._owners.count() > _TIDY_FROM:
            self._owners.sweep(named)

    def now(self) -> float:
        """See `Store`."""
        return time.time()

    def faults(self) -> Iterator[str]:
        """See `Store`."""
        return self._reading().faults()

    def describe(self) -> dict[str, str]:
        """See `Store`."""
        return self._reading().describe()

    def close(self, *, keep_owner: bool = False) -> None:
        """See `Store`."""
        if self._closed or os.getpid() != self._born:
            return
        self._closed = True
        self._owners.release(keep_file=keep_owner)
        self._drop()

    def __del__(self) -> None:
        """A ledger that nobody holds any more gives back its files. Who was its owner is seen dead from then on."""
        try:  # noqa: SIM105 - at the very end of the interpreter not even contextlib is there
            self.close(keep_owner=True)
        except Exception:  # noqa: S110
            pass

    def _drop(self) -> None:
        writer, reader = self._writer, self._reader
        self._writer = self._reader = None
        if writer is not None:
            writer.close()
        if reader is not None:
            with reader.lock:
                reader.connection.close()

    # ---- fork ---------------------------------------------------------------------------------------------------

    def _hold(self) -> list[threading.Lock]:
        """Wait until no thread of ours is inside SQLite, whose own locks a child would inherit in whatever state they are."""
        held = (
            [self._opening] if self._opening.acquire(timeout=_FORK_WAIT) else []
        )  # opening a connection is inside, too
        locks = {part.lock for part in (self._writer, self._reader) if part is not None}
        return held + [lock for lock in locks if lock.acquire(timeout=_FORK_WAIT)]

    def _be_born_again(self) -> None:
        """In a forked child nothing that was open counts: connections, locks and the owner are made anew when they are needed."""
        _abandoned.extend((self._reader, self._writer))
        self._opening, self._reader, self._writer = threading.Lock(), None, None
        if not self._in_memory:
            self._born = os.getpid()


def _identity(location: str) -> tuple[int, int] | None:
    try:
        found = os.stat(location)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


_held_for_fork: list[threading.Lock] = []


def _before_fork() -> None:
    for store in list(_open_stores):
        _held_for_fork.extend(store._hold())


def _after_fork_in_parent() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release()


def _after_fork_in_child() -> None:
    _held_for_fork.clear()
    for store in list(_open_stores):
        store._be_born_again()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
