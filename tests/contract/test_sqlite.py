"""The contract of a store, for SQLite; and what is SQLite's alone."""

from __future__ import annotations

import contextlib
import sqlite3

from call4agents_core.testing import StoreContract


class TestSQLiteStore(StoreContract):
    """A SQLite file passes the contract."""

    database_error = sqlite3.DatabaseError

    def location(self, place):
        return str(place / "ledger.sqlite")

    def execute(self, place, sql):
        with contextlib.closing(sqlite3.connect(self.location(place))) as connection:
            connection.execute(sql)
            connection.commit()
