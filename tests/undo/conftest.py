"""The fixtures of tests/kit.py, and a trip: tools that book and charge, whose reversals are counted in order."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import call4agents_core as c4a
from tests.kit import child, clock, in_run, ledger, tell

__all__ = ["child", "clock", "in_run", "ledger", "tell"]


class Trip(NamedTuple):
    """Two tools of one process, and what was reversed so far, in order."""

    book: Any
    charge: Any
    reversed: list[str]


@pytest.fixture
def trip(ledger: c4a.Ledger) -> Trip:
    """``book`` and ``charge`` have an undo; a charge of 666 raises and is in doubt."""
    told: list[str] = []

    @c4a.effect(name="book", undo=lambda seat: told.append(f"cancel {seat}"))
    def book(seat):
        return f"ref-{seat}"

    @c4a.effect(name="charge", undo=lambda amount, result: told.append(f"refund {amount} of {result}"))
    def charge(amount):
        if amount == 666:
            raise ConnectionError("reset by peer")
        return f"receipt-{amount}"

    return Trip(book, charge, told)
