"""Where a checkpointer keeps its checkpoints, so that the ledger can be opened beside them."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.memory import InMemorySaver

from call4agents_core import Ledger
from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

MEMORY = ":memory:"
_QUESTION = "PRAGMA database_list"


def ledger_beside(saver: BaseCheckpointSaver[Any], secret: bytes | str | None) -> Ledger:
    """The ledger in the database of a checkpointer, on connections of its own. Raises UsageError where the database cannot be told."""
    location = location_of(saver)
    if location is None:
        kind = type(saver).__name__
        msg = (
            f"Where {kind} keeps its checkpoints cannot be told, so no ledger can be opened beside them. "
            f'Open one yourself and pass it: LedgerSaver(saver, ledger=call4agents_core.Ledger.open("path/of/ledger.sqlite")).'
        )
        raise UsageError(msg)
    return Ledger.open(location, secret=secret, beside=location != MEMORY)


def location_of(saver: BaseCheckpointSaver[Any]) -> str | None:
    """The SQLite file of a checkpointer; ":memory:" for one in memory; None where it cannot be told."""
    if isinstance(saver, InMemorySaver):
        return MEMORY
    connection = getattr(saver, "conn", None)
    if isinstance(connection, sqlite3.Connection):
        return _main_file(connection.execute(_QUESTION).fetchall())
    if _is_aiosqlite(connection):
        return _main_file(_asked_aside(connection))
    return None


def needs_the_loop(saver: BaseCheckpointSaver[Any]) -> bool:
    """Whether the checkpointer writes to a SQLite file by steps on the event loop: its write lock may be held until the loop goes on."""
    return _is_aiosqlite(getattr(saver, "conn", None))


def _main_file(databases: list[Any]) -> str:
    """The file of the main database; one without a file lives in memory."""
    return next((str(file) for _, name, file in databases if name == "main" and file), MEMORY)


def _is_aiosqlite(connection: object) -> bool:
    aiosqlite = sys.modules.get("aiosqlite")  # whoever has a connection of it has imported it
    return aiosqlite is not None and isinstance(connection, aiosqlite.Connection)


def _asked_aside(connection: Any) -> list[Any]:
    """Ask an aiosqlite connection on a loop of our own: its worker answers to any loop, and the caller's may be the one that waits."""
    try:
        connection.in_transaction  # noqa: B018 - the one public question to which a connection that is not open yet says so
    except ValueError as error:
        msg = "The database of the checkpointer is not open yet, so its ledger cannot be told. Use it inside `async with`, or run the graph first."
        raise UsageError(msg) from error

    async def ask() -> list[Any]:
        async with connection.execute(_QUESTION) as cursor:
            return list(await cursor.fetchall())

    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, ask()).result()
