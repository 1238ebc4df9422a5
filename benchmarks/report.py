"""What was measured, as text, as Markdown and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.goals import GOALS, PLAIN, Goal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.samples import Samples, Spread

_NOT_MEASURED = "not measured"
HEAD = ("what", "measured", "half of the rounds", "goal", "met")
HEAD_PLAIN = ("what", "measured", "half of the rounds")


class Measured(NamedTuple):
    """One run of the benchmarks. ``notes``: what was left out, and why."""

    machine: dict[str, str]
    settings: dict[str, int]
    notes: list[str]
    samples: Samples

    def as_json(self) -> dict[str, Any]:
        """All of it, with the figures made of the samples."""
        return {**self._asdict(), "figures": [_as_json(goal, self.samples) for goal in GOALS]}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Measured:
        """What `as_json` gave."""
        return cls(found["machine"], found["settings"], found["notes"], found["samples"])


def text(measured: Measured) -> str:
    """For a terminal."""
    parts = [
        *(f"{name}: {value}" for name, value in _about(measured).items()),
        *(f"Note: {note}" for note in measured.notes),
        "",
        *_columns([HEAD, *rows(measured.samples)]),
        "",
        *_columns([HEAD_PLAIN, *plain_rows(measured.samples)]),
    ]
    return "\n".join(parts) + "\n"


def markdown(measured: Measured) -> str:
    """For docs/performance.md: what it was measured on, the ratios, and the plain times."""
    about = [f"| {name} | {value} |" for name, value in _about(measured).items()]
    notes = [f"\n{note}" for note in measured.notes]
    return "\n".join([
        "| | |", "|---|---|", *about, *notes, "",
        *_table(HEAD, rows(measured.samples)), "",
        *_table(HEAD_PLAIN, plain_rows(measured.samples)),
    ]) + "\n"  # fmt: skip


def rows(samples: Samples) -> list[tuple[str, ...]]:
    """The figures that have goals, and those beside them."""
    return [_row(goal, goal.found(samples)) for goal in GOALS]


def plain_rows(samples: Samples) -> list[tuple[str, ...]]:
    """Times, rates and sizes on this machine."""
    return [_row(goal, goal.found(samples))[:3] for goal in PLAIN]


def _row(goal: Goal, found: Spread | None) -> tuple[str, ...]:
    bound = "" if goal.bound is None else f"{'at least' if goal.at_least else 'at most'} {goal.bound:g} {goal.unit}"
    if found is None:
        return goal.what, _NOT_MEASURED, "", bound, ""
    met = "" if goal.bound is None else "yes" if goal.met(found.median) else "NO"
    return (
        goal.what,
        f"{_figure(found.median)} {goal.unit}",
        f"{_figure(found.low)} to {_figure(found.high)}",
        bound,
        met,
    )


def _figure(value: float) -> str:
    """Two places where they say something, three digits at least."""
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def _about(measured: Measured) -> dict[str, str]:
    return measured.machine | {"actions in the full ledger": f"{measured.settings['actions']:,}"}


def _columns(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines)]


def _as_json(goal: Goal, samples: Samples) -> dict[str, Any]:
    found = goal.found(samples)
    facts: dict[str, Any] = {"what": goal.what, "unit": goal.unit, "goal": goal.bound, "at_least": goal.at_least}
    if found is None:
        return facts | {"value": None, "met": None}
    met = None if goal.bound is None else goal.met(found.median)
    return facts | {"value": found.median, "low": found.low, "high": found.high, "met": met}
