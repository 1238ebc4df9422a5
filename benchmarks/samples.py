"""What was measured: for each name one value a round, so that names can be compared round by round."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

#: One value a round: medians of the round in seconds, rates per second, sizes in bytes. Names are `what.kind`: `new.ours`.
Samples = dict[str, list[float]]


class Spread(NamedTuple):
    """The median over the rounds, and the quarter of the rounds below and above."""

    median: float
    low: float
    high: float


def take(samples: Samples, kind: str, values: Mapping[str, float]) -> None:
    """Add what one round of one kind gave."""
    for what, value in values.items():
        samples.setdefault(f"{what}.{kind}", []).append(value)


def turns(rounds: int, kinds: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(round, kind): every kind once a round, each round beginning with the next one. Round 0 is for warming up: drop it."""
    for number in range(rounds + 1):
        first = number % len(kinds)
        for kind in (*kinds[first:], *kinds[:first]):
            yield number, kind


def spread(values: Iterable[float]) -> Spread:
    """Median and quarters of at least one value."""
    found = list(values)
    if len(found) == 1:
        return Spread(found[0], found[0], found[0])
    low, median, high = statistics.quantiles(found, n=4, method="inclusive")
    return Spread(median, low, high)


# ---- figures: a value a round, made of samples. KeyError where one was not measured ---------------------------------


def plain(name: str, scale: float = 1.0) -> Callable[[Samples], list[float]]:
    """The sample itself."""
    return lambda samples: [value * scale for value in samples[name]]


def ratio(above: str, below: str) -> Callable[[Samples], list[float]]:
    """``above`` as a multiple of ``below``."""
    return lambda samples: [a / b for a, b in zip(samples[above], samples[below], strict=True)]


def excess(above: str, below: str, scale: float = 1.0) -> Callable[[Samples], list[float]]:
    """By how much ``above`` is more than ``below``."""
    return lambda samples: [(a - b) * scale for a, b in zip(samples[above], samples[below], strict=True)]
