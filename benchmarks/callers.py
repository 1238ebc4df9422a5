"""New, approved and repeated actions: of one caller, of threads, of tasks, and of processes on one file."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from benchmarks.children import Child, Subject
from benchmarks.samples import Samples, take, turns

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.settings import Settings

#: Numbers of actions are never used twice in a ledger: each round of each measurement has so many of its own.
_ROOM = 1_000_000
_THREADS, _TASKS, _PROCESSES = 32, 200, 8


def one_caller(subjects: list[Subject], folder: Path, settings: Settings) -> Samples:
    """`new`, `approved` and `repeated` of ledgers, `one` and `two` durable inserts of the floor: median seconds of each round."""
    found: Samples = {}
    with ExitStack() as stack:
        children = _started(stack, subjects, folder / "one-caller")
        for number, kind in turns(settings.rounds, list(children)):
            times = children[kind].ask("single", first=number * _ROOM, count=settings.calls)
            if kind != "floor":
                children[kind].expect_bodies(2 * settings.calls)
            if number:
                take(found, kind, times)
    return found


def threads(subjects: list[Subject], folder: Path, settings: Settings) -> Samples:
    """`threads`: new actions per second."""
    ledgers = [subject for subject in subjects if subject.kind != "floor"]
    return _crowd(
        "threads", ledgers, folder, settings, {"rate": "threads"}, threads=_THREADS, each=settings.each_thread
    )


def tasks(subjects: list[Subject], folder: Path, settings: Settings) -> Samples:
    """`tasks`: new actions per second; `gap`: the longest gap of the event loop, in seconds."""
    return _crowd(
        "tasks", subjects, folder, settings, {"rate": "tasks", "gap": "gap"}, tasks=_TASKS, each=settings.each_task
    )


def _crowd(
    order: str, subjects: list[Subject], folder: Path, settings: Settings, names: dict[str, str], **size: int
) -> Samples:
    found: Samples = {}
    each, callers = size["each"], size[order]
    with ExitStack() as stack:
        children = _started(stack, subjects, folder / order)
        for number, kind in turns(settings.crowds, list(children)):
            values = children[kind].ask(order, first=number * _ROOM, **size)
            if kind != "floor":
                children[kind].expect_bodies(callers * each)
            if number:
                take(found, kind, {name: values[value] for value, name in names.items()})
    return found


def processes(subjects: list[Subject], folder: Path, settings: Settings) -> Samples:
    """`processes`: new actions per second of 8 processes on one file; `stall`: the longest that one action took, in seconds."""
    found: Samples = {}
    with ExitStack() as stack:
        crowds = {
            subject.kind: [
                stack.enter_context(Child(subject, folder / "processes" / subject.kind / "ledger.sqlite"))
                for _ in range(_PROCESSES)
            ]
            for subject in subjects
            if subject.kind != "floor"
        }
        for number, kind in turns(settings.crowds, list(crowds)):
            values = _burst(crowds[kind], number, settings.each_process)
            if number:
                take(found, kind, values)
    return found


def _burst(children: list[Child], number: int, count: int) -> dict[str, float]:
    start = time.perf_counter()
    for place, child in enumerate(children):
        child.tell("burst", first=number * _ROOM, count=count, run=f"process-{place}")
    answers: list[dict[str, Any]] = [child.hear() for child in children]
    spent = time.perf_counter() - start
    for child in children:
        child.expect_bodies(count)
    return {"processes": len(children) * count / spent, "stall": max(answer["longest"] for answer in answers)}


def _started(stack: ExitStack, subjects: list[Subject], folder: Path) -> dict[str, Child]:
    return {
        subject.kind: stack.enter_context(Child(subject, folder / subject.kind / "ledger.sqlite"))
        for subject in subjects
    }
