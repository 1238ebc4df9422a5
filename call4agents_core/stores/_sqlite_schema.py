"""Making and opening a SQLite file that holds a ledger."""

from __future__ import annotations

import functools
import os
import secrets
import sqlite3
import time
from typing import TYPE_CHECKING

from call4agents_core._keys import FORMAT, LEDGER_ID_BYTES
from call4agents_core._types import Meta
from call4agents_core.errors import LedgerBusy, LedgerError, LedgerNotFound, LedgerReadOnly, LedgerTooNew

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: c4a_entries is the ledger: nothing in it is ever changed. The other tables are derived from it.
#: An action's row in c4a_actions is found by ``first``, the number of its entry 1; so is a run's in c4a_runs.
NEVER_DELETED = "CREATE TRIGGER c4a_entries_never_deleted BEFORE DELETE ON c4a_entries BEGIN SELECT RAISE(ABORT, 'c4a: an entry is never deleted'); END"

_SCHEMA = f"""
CREATE TABLE c4a_meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE c4a_entries (
  seq INTEGER PRIMARY KEY, run TEXT NOT NULL, action BLOB NOT NULL, n INTEGER NOT NULL, body BLOB NOT NULL, mac BLOB NOT NULL,
  UNIQUE (run, action, n)
);
CREATE TABLE c4a_actions (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, tool TEXT NOT NULL, state TEXT NOT NULL);
CREATE INDEX c4a_actions_open ON c4a_actions (state, first) WHERE state <> 'done';
CREATE TABLE c4a_runs (first INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE);
CREATE TABLE c4a_requests (id TEXT PRIMARY KEY, first INTEGER NOT NULL, seq INTEGER NOT NULL, open INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX c4a_requests_open ON c4a_requests (seq) WHERE open;
CREATE TRIGGER c4a_entries_never_changed BEFORE UPDATE ON c4a_entries BEGIN SELECT RAISE(ABORT, 'c4a: an entry is never changed'); END;
{NEVER_DELETED};
"""

_PAGE = 1024
_CHECKPOINT_PAGES = 8_000

_ADVICE = {
    sqlite3.SQLITE_FULL: (LedgerError, "the disk is full", "Nothing was written. Free some space and call again."),
    sqlite3.SQLITE_BUSY: (
        LedgerBusy,
        "another program holds it for writing",
        "Nothing was written. End the other program's transaction and call again.",
    ),
    sqlite3.SQLITE_LOCKED: (
        LedgerBusy,
        "another program holds it for writing",
        "Nothing was written. End the other program's transaction and call again.",
    ),
    sqlite3.SQLITE_READONLY: (
        LedgerReadOnly,
        "its file or folder does not allow writing",
        "Give this user the right to write to the file and to its folder.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        LedgerError,
        "its file cannot be opened",
        "Look whether the path is a folder, and whether this user may read and write there.",
    ),
    sqlite3.SQLITE_NOTADB: (
        LedgerError,
        "the file is no SQLite database",
        "Name another location; this file was not touched.",
    ),
    sqlite3.SQLITE_CORRUPT: (LedgerError, "the file is damaged", "Keep a copy of it, and go on from a backup."),
    sqlite3.SQLITE_IOERR: (
        LedgerError,
        "the disk failed to read or write",
        "Look at the system's log; nothing was taken for written.",
    ),
}


#: What the driver raises. Where a damaged file has a text in it that is none, its message cannot even be decoded.
DRIVER_ERRORS = (sqlite3.Error, UnicodeDecodeError)


def translated(error: sqlite3.Error | UnicodeDecodeError, location: str) -> LedgerError:
    """A driver's error in the words of the ledger. The code decides, never the text."""
    if isinstance(error, UnicodeDecodeError):
        _, why, advice = _ADVICE[sqlite3.SQLITE_CORRUPT]
        return LedgerError(location, why, advice)
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    kind, why, advice = _ADVICE.get(code, (LedgerError, "SQLite refused", ""))
    return kind(location, f"{why} ({error})", advice)


def connect(path: str, *, read_only: bool, timeout: float) -> sqlite3.Connection:
    """A connection in autocommit mode that any thread may use, one at a time."""
    address = f"file:{_quoted(path)}?mode={'ro' if read_only else 'rw'}" if path != ":memory:" else path
    connection = sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.text_factory = _readable
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    return connection


#: Raw SQL can leave text that is none; reading it must not fail, so that the MAC can judge it.
_readable = functools.partial(str, encoding="utf-8", errors="replace")


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def make_file(path: Path) -> None:
    """An empty file that only this user may read, where there is none; SQLite gives its side files the same mode."""
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        if path.exists():  # another process was faster
            return
        raise LedgerReadOnly(
            str(path), f"its file cannot be made ({error.strerror})", "Name a location where this user may write."
        ) from error


def read_meta(connection: sqlite3.Connection, location: str, *, beside: bool) -> Meta | None:
    """The ledger's own facts; None where the database is empty, or holds other tables and ``beside`` allows a ledger there."""
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "c4a_meta" not in names:
        if names and not beside:
            raise LedgerNotFound(
                location,
                f"the database has no ledger (its tables: {', '.join(sorted(names)[:5])})",
                "Give the ledger a file of its own; this one was not touched.",
            )
        return None
    values = dict(connection.execute("SELECT name, value FROM c4a_meta"))
    try:
        number, ledger_id, key_id = int(values["format"]), values["ledger_id"], values["key_id"]
        if not (isinstance(ledger_id, bytes) and isinstance(key_id, bytes)):
            raise TypeError
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerError(location, "what it says of itself is damaged", "Go on from a backup.") from error
    if number > FORMAT:
        raise LedgerTooNew(
            location,
            f"it has format {number}, and this version reads up to {FORMAT}",
            "Install a newer call4agents-core; the file was not touched.",
        )
    return Meta(number, ledger_id, key_id, archive="archive" in values)


def create(
    connection: sqlite3.Connection, location: str, new: Callable[[bytes], bytes] | Meta, *, beside: bool
) -> Meta:
    """Make the ledger, or find the one that another process made meanwhile. Whoever gets the write lock first makes it, and its secret.

    ``new``: gives the key id of its secret for a ledger id; or what an archive says of itself.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        meta = read_meta(connection, location, beside=beside)
        if meta is None:
            ledger_id = secrets.token_bytes(LEDGER_ID_BYTES)
            meta = new if isinstance(new, Meta) else Meta(FORMAT, ledger_id, new(ledger_id))
            for statement in _statements(_SCHEMA):
                connection.execute(statement)
            rows = [("format", str(meta.format).encode()), ("ledger_id", meta.ledger_id), ("key_id", meta.key_id)]
            rows += [("archive", b"1")] if meta.archive else []
            connection.executemany("INSERT INTO c4a_meta (name, value) VALUES (?, ?)", rows)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return meta


def write_key_id(connection: sqlite3.Connection, key_id: bytes) -> None:
    """The secret that the ledger belongs to from now on."""
    connection.execute("UPDATE c4a_meta SET value = ? WHERE name = 'key_id'", (key_id,))


def _statements(script: str) -> list[str]:
    found: list[str] = []
    part = ""
    for piece in script.split(";"):
        part += piece + ";"
        if sqlite3.complete_statement(part):
            found.append(part)
            part = ""
    return found


def use_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Switch to write-ahead logging. Where several processes do so at once SQLite refuses at once instead of waiting.

    An entry dirties a few pages, each of which is written and synced whole: small ones are the faster ones. The size counts
    for a file that is still empty.
    """
    connection.execute(f"PRAGMA page_size = {_PAGE}")
    until = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.005)
        else:
            return
