"""A file that all processes of a test map into memory: which orders are settled, and where each worker is.

What a killed process has written there stands, so its last word says where it was when it died.
"""

from __future__ import annotations

import mmap
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

_WORD = 4
_MOST_STARTS = 4096  # of workers, in one test
_PHASE_BITS = 3


class Phase(IntEnum):
    """Where a worker is. The three in the middle are inside its tool."""

    IDLE = 0
    CALLING = 1  # it has called the effect: it waits, it reconciles, or the intent is being written
    BEFORE = 2  # in the tool, its request not sent
    INSIDE = 3  # its request is on its way, or with the server
    OVER = 4  # its request is over; the result is on its way into the ledger, or the order is not struck off yet


class Place(NamedTuple):
    """What a worker shows."""

    order: int
    phase: Phase


class Board:
    """The mapped file: words of 32 bits, each written at once. The gate, a receipt for each order, a place for each start of a worker."""

    def __init__(self, path: Path, orders: int) -> None:
        """Map the board; it is made where there is none."""
        size = _WORD * (1 + orders + _MOST_STARTS)
        if not path.exists():
            path.write_bytes(bytes(size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), size)
        self._words = memoryview(self._map).cast("I")
        self.orders = orders

    def open_gate(self, orders: int) -> None:
        """Let the workers take the first so many orders."""
        self._words[0] = orders

    def receipt(self, order: int) -> int:
        """The number of the charge that settled an order; 0: it is not settled."""
        return self._words[1 + order]

    def settle(self, order: int, charge: int) -> None:
        """Strike an order off."""
        self._words[1 + order] = charge

    def open_orders(self) -> list[int]:
        """The orders that may be taken, oldest first."""
        return [order for order in range(min(self._words[0], self.orders)) if not self.receipt(order)]

    @property
    def settled(self) -> int:
        """How many orders are struck off."""
        return self.orders - self._words[1 : 1 + self.orders].tolist().count(0)

    @property
    def all_settled(self) -> bool:
        """Whether there is nothing left to do."""
        return self.settled == self.orders

    def show(self, slot: int, order: int, phase: Phase) -> None:
        """Say where a worker is."""
        self._words[1 + self.orders + slot] = order << _PHASE_BITS | phase

    def place(self, slot: int) -> Place:
        """Where a worker is, or was when it ended."""
        word = self._words[1 + self.orders + slot]
        return Place(word >> _PHASE_BITS, Phase(word & (1 << _PHASE_BITS) - 1))

    def close(self) -> None:
        """Unmap it."""
        self._words.release()
        self._map.close()
