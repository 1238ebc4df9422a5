"""Attempts of this process while they are on their way, and who waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable


class Flight:
    """An attempt of this process while it is on its way; callers that wait are woken at its end."""

    __slots__ = ("_guard", "_over", "_wake")

    def __init__(self, guard: threading.Lock) -> None:
        self._guard, self._over = guard, False
        self._wake: list[Callable[[], object]] = []

    def watch(self, wake: Callable[[], object]) -> None:
        """Have ``wake`` called when the attempt has ended, from whatever thread ends it."""
        with self._guard:
            if not self._over:
                self._wake.append(wake)
                return
        wake()

    def land(self) -> None:
        """The attempt has ended and its end is written, or cannot be."""
        with self._guard:
            self._over, waiting = True, self._wake
        for wake in waiting:
            wake()


class Flights:
    """What is under way in this process, at most one flight for each action."""

    def __init__(self, guard: threading.Lock) -> None:
        self._guard = guard
        self._under_way: dict[str, Flight] = {}

    def take_off(self, action: str) -> Flight | None:
        """None: the flight is the caller's now, who has to `land` it. Else the flight of another caller."""
        with self._guard:
            other = self._under_way.get(action)
            if other is None:
                self._under_way[action] = Flight(self._guard)
        return other

    def land(self, action: str) -> None:
        """The flight is over, if there is one."""
        with self._guard:
            flight = self._under_way.pop(action, None)
        if flight is not None:
            flight.land()

    def of(self, action: str) -> Flight | None:
        """The flight of an action, if there is one."""
        return self._under_way.get(action)

    def __bool__(self) -> bool:
        return bool(self._under_way)
