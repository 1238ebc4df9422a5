"""A ledger with many actions: what a repeat, and the commands that list, cost in it."""

from __future__ import annotations

import os
import random
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from benchmarks.children import Child, Subject, WorkerFailed
from benchmarks.commands import call4agents, measured, shown
from benchmarks.samples import Samples, take, turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.settings import Settings

_PER_RUN = 50
_FEW = 10
_TIMES = 20
_OPEN_ENDS = 5
_THREADS = 16
_PORTION = 20_000


def grown(ours: Subject, folder: Path, settings: Settings, tell: Callable[[str], None]) -> Samples:
    """Fill a ledger, then measure: `same` and `anywhere` in it (`full`) and in one of ten actions (`ten`), seconds of each round;
    `list`, `doubt` and `pending`: `time` in seconds and `memory` in bytes; `size`: bytes an action; `fill`: actions per second.
    """
    places = {"full": folder / "full" / "ledger.sqlite", "ten": folder / "ten" / "ledger.sqlite"}
    sizes = {"full": settings.actions, "ten": _FEW}
    found: Samples = {"fill.ours": [_fill(ours, places["full"], settings.actions, tell)]}
    found["size.ours"] = [_bytes_in(places["full"].parent) / settings.actions]
    with Child(ours, places["ten"]) as child:
        child.ask("fill", first=0, last=_FEW, per_run=_PER_RUN, threads=1)
        child.ask("close")
    _repeats(ours, places, sizes, settings, found)
    _lists(places["full"], settings, found)
    return found


def _fill(ours: Subject, location: Path, actions: int, tell: Callable[[str], None]) -> float:
    """New actions by several processes of several threads each, and a few that stay open. Actions per second."""
    with ExitStack() as stack:
        fillers = min(os.cpu_count() or 1, 4)
        children = [stack.enter_context(Child(ours, location)) for _ in range(fillers)]
        children[0].ask("open_ends", count=_OPEN_ENDS)
        children[0].ask("bodies")
        start, done = time.perf_counter(), 0
        while done < actions:
            last = min(done + _PORTION, actions)
            share = -(-(last - done) // (fillers * _PER_RUN)) * _PER_RUN  # whole runs
            for place, child in enumerate(children):
                first = min(done + place * share, last)
                child.tell("fill", first=first, last=min(first + share, last), per_run=_PER_RUN, threads=_THREADS)
            for child in children:
                child.hear()
            done = last
            tell(f"{done} of {actions} actions")
        spent = time.perf_counter() - start
        bodies = sum(child.ask("bodies") for child in children)
        if bodies != actions:
            raise WorkerFailed(f"{bodies} effects ran for {actions} actions")
        for child in children:
            child.ask("close")
    return actions / spent


def _repeats(ours: Subject, places: dict[str, Path], sizes: dict[str, int], settings: Settings, found: Samples) -> None:
    chance = random.Random(7)  # noqa: S311 - the same actions in each run of this benchmark
    with ExitStack() as stack:
        children = {kind: stack.enter_context(Child(ours, place)) for kind, place in places.items()}
        for number, kind in turns(settings.repeats, list(children)):
            numbers = chance.sample(range(sizes[kind]), _FEW)
            values = children[kind].ask("again", numbers=numbers, per_run=_PER_RUN, times=_TIMES)
            children[kind].expect_bodies(0)
            if number:
                take(found, kind, values)


def _lists(location: Path, settings: Settings, found: Samples) -> None:
    expected = {"list": min(50, settings.actions), "doubt": _OPEN_ENDS, "pending": _OPEN_ENDS}
    for command, number in expected.items():
        if len(shown(command, location)) < number:
            raise WorkerFailed(f"call4agents {command} shows less than {number} entries")
    for number, command in turns(settings.reads, list(expected)):
        cost = measured(call4agents(command, "--ledger", str(location)))
        if number:
            found.setdefault(f"{command}.time", []).append(cost.seconds)
            if cost.memory is not None:
                found.setdefault(f"{command}.memory", []).append(cost.memory)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
