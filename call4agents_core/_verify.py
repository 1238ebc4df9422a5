"""Looking at the whole ledger: every MAC, every chain, every gap, and the derived tables against the entries."""

from __future__ import annotations

import contextlib
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from call4agents_core import _keys
from call4agents_core._ledger import Core
from call4agents_core.errors import LedgerTampered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from call4agents_core._state import State
    from call4agents_core._types import ActionRow, Row


_MOST_NUMBERS = 1 << 30


class Verified(NamedTuple):
    """What `verify` looked at, and each fault that it found, in words."""

    entries: int
    actions: int
    faults: tuple[str, ...]


class Verifying(Core):
    """Verification, as a method of the ledger."""

    def verify(self, progress: Callable[[int], object] | None = None) -> Verified:
        """Check everything, in bounded memory. ``progress`` is told the number of entries seen so far, now and then."""
        faults = list(self.store.faults())
        entries = actions = 0
        numbers = Numbers()
        for (run, action), rows in groupby(self.store.scan(by_action=True), key=lambda row: (row.run, row.action)):
            stream = list(rows)
            entries, actions = entries + len(stream), actions + 1
            numbers.mark(row.seq for row in stream)
            faults += self._faults_of(run, action, stream, numbers)
            if progress is not None and actions % 1000 == 0:
                progress(entries)
        if self.store.gapless:
            faults += numbers.missing()
        faults += self._forged_requests()
        return Verified(entries, actions, tuple(faults))

    def _faults_of(self, run: str, action: str, stream: list[Row], numbers: Numbers) -> list[str]:
        while True:
            try:
                state = self.folded(run, action, stream)
                if state.stage == "archived" and state.head is not None:
                    numbers.mark(state.head.data["gone"])
            except LedgerTampered as error:
                return [f"entry {error.n} of action {action[:12]} in run {run!r}: {error.why}"]
            faults = list(self._derived_faults(run, action, stream, state))
            newer = self.store.read(run, action) if faults else stream
            if len(newer) <= len(stream):
                return faults
            stream = newer  # the ledger is in use: the derived rows were of a later moment than the entries

    def _derived_faults(self, run: str, action: str, stream: list[Row], state: State) -> Iterator[str]:
        derived = next(iter(self.store.actions(first=stream[0].seq)), None)
        tool = state.head.data["tool"] if state.head is not None else ""
        wanted = (stream[-1].seq, tool, state.name)
        if derived is None or (derived.last, derived.tool, derived.state) != wanted:
            yield f"the derived row of action {action[:12]} ({tool}) in run {run!r} says {_told(derived, tool)}, and its entries say {state.name}"
        for entry in state.requests:
            id = _keys.request_id(action, entry.n)  # noqa: A001 - as the store names it
            row = next(iter(self.store.requests(id=id)), None)
            if row is None or (row.run, row.action, row.open) != (run, action, entry is state.asked):
                yield f"the derived row of request {id} ({tool}) in run {run!r} disagrees with its entries"

    def _forged_requests(self) -> Iterator[str]:
        for row in self.store.requests():
            with contextlib.suppress(LedgerTampered):  # named already
                known = self.state(row.run, row.action).requests
                if row.id not in {_keys.request_id(row.action, entry.n) for entry in known}:
                    yield f"no entry of run {row.run!r} opened the request {row.id}"


def _told(derived: ActionRow | None, tool: str) -> str:
    if derived is None:
        return "nothing"
    return derived.state if derived.tool == tool else f"{derived.state} of {derived.tool}"


class Numbers:
    """Which numbers of entries are accounted for, one bit each: a number that is not belonged to an entry that somebody removed."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self._last = 0
        self._never_given: list[int] = []

    def mark(self, found: Iterable[int]) -> None:
        """These entries are there, or were moved to an archive by an entry that says so."""
        for number in found:
            if not 0 < number < _MOST_NUMBERS:  # written by raw SQL; a bit for it would take all memory
                self._never_given.append(number)
                continue
            self._last = max(self._last, number)
            place = number >> 3
            if place >= len(self._bits):
                self._bits.extend(bytes(place + 1 - len(self._bits)))
            self._bits[place] |= 1 << (number & 7)

    def missing(self, most: int = 100) -> list[str]:
        """The gaps, in words; at most ``most`` of them."""
        gaps = [f"no entry was ever given the number {number}" for number in self._never_given[:most]]
        first = 0
        for number in range(1, self._last + 1):
            if not self._bits[number >> 3] & 1 << (number & 7):
                first = first or number
            elif first:
                gaps.append(_gap(first, number - 1))
                first = 0
                if len(gaps) >= most:
                    break
        return gaps


def _gap(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"
