"""Clocks around calls. All times are in seconds."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def timed(act: Callable[[int], object], number: int) -> float:
    """How long ``act(number)`` takes."""
    start = time.perf_counter()
    act(number)
    return time.perf_counter() - start


def turn_about(numbers: Iterable[int], **acts: Callable[[int], object]) -> dict[str, float]:
    """The median time of each act. They take turns, number by number, so that a slow moment meets all of them."""
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for number in numbers:
        for name, act in acts.items():
            taken[name].append(timed(act, number))
    return {name: statistics.median(times) for name, times in taken.items()}
