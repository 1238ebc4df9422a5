"""What the disk and SQLite cost without any ledger: durable inserts into a table with a key."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.worker.crowds import watched
from benchmarks.worker.timing import turn_about

_THREADS = 16


class Floor:
    """One connection in WAL mode that syncs each commit, used by one thread at a time."""

    def __init__(self, location: str) -> None:
        self._lock = threading.Lock()
        self._rows = sqlite3.connect(location, isolation_level=None, check_same_thread=False)
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = FULL")
        self._rows.execute("CREATE TABLE floor (key TEXT PRIMARY KEY, body TEXT NOT NULL)")

    def one(self, number: int) -> None:
        """One durable insert: what an intent costs at least."""
        self._insert(f"one-{number}", "intent")

    def two(self, number: int) -> None:
        """Two durable inserts: intent and result, each brought to disk."""
        self._insert(f"intent-{number}", "intent")
        self._insert(f"result-{number}", '{"ok": 1}')

    def _insert(self, key: str, body: str) -> None:
        with self._lock:
            self._rows.execute("INSERT INTO floor (key, body) VALUES (?, ?)", (key, body))

    # ---- orders -------------------------------------------------------------------------------------------------

    def single(self, first: int, count: int) -> dict[str, float]:
        """Median times of the inserts, alone in one thread."""
        return turn_about(range(first, first + count), one=self.one, two=self.two)

    def tasks(self, first: int, tasks: int, each: int) -> dict[str, float]:
        """The same load on an event loop as `Ledgers.tasks`, of bare inserts made in threads."""
        with ThreadPoolExecutor(_THREADS) as threads:

            async def insert(number: int) -> Any:
                return await asyncio.get_running_loop().run_in_executor(threads, self.one, number)

            return asyncio.run(watched(insert, first, tasks, each))
