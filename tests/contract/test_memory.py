"""The contract of a store, for those that one process has to itself."""

from __future__ import annotations

from call4agents_core import Ledger
from call4agents_core.stores.memory import MemoryStore
from call4agents_core.testing import ArchiveContract, StreamContract


class TestMemoryStore(ArchiveContract):
    """The readable specification does what it specifies."""

    def open_store(self, place):
        return MemoryStore()


class TestSQLiteInMemory(StreamContract):
    """So does the ledger at ``":memory:"``."""

    def open_store(self, place):
        return Ledger.open(":memory:").store
