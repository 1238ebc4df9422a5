"""A ledger and its effects, by the names that this project and call4agents 0.5.0 share. The body of each effect only counts."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from importlib import import_module
from typing import Any

from benchmarks.worker.crowds import crowd, watched
from benchmarks.worker.timing import timed, turn_about


class Lost(Exception):
    """What the effect raises that is to be left in doubt."""


class Ledgers:
    """Orders about one ledger of ``library``; times in seconds. ``bodies`` counts the effects that ran."""

    def __init__(self, library: str, location: str) -> None:
        self._library: Any = import_module(library)
        self._ledger: Any = self._library.init(location)
        self._counter = itertools.count()
        effect = self._library.effect
        self._new = effect(name="bench.new")(self._act)
        self._approved = effect(name="bench.approved", approval=True)(self._act)
        self._async = effect(name="bench.async")(self._act_async)
        self._doubtful = effect(name="bench.doubtful")(self._lose)

    def _act(self, number: int) -> dict[str, int]:
        next(self._counter)
        return {"number": number}

    async def _act_async(self, number: int) -> dict[str, int]:
        return self._act(number)

    def _lose(self, number: int) -> None:
        raise Lost(number)

    def bodies(self) -> int:
        """How many effects have run since this was asked last."""
        found = next(self._counter)
        self._counter = itertools.count()
        return found

    # ---- one caller ---------------------------------------------------------------------------------------------

    def single(self, first: int, count: int) -> dict[str, float]:
        """Medians of new, approved and repeated actions in a run of their own, alone in one thread."""
        numbers = range(first, first + count)
        with self._library.run(f"single-{first}"):
            for number in numbers:
                self._library.approve(self._approved, number=number)
            taken = turn_about(numbers, new=self._new, approved=self._approved)
            return taken | turn_about(numbers, repeated=self._new)

    # ---- many callers -------------------------------------------------------------------------------------------

    def threads(self, first: int, threads: int, each: int) -> dict[str, float]:
        """New actions per second by threads that share a run."""

        def work(thread: int) -> None:
            with self._library.run(f"threads-{first}"):
                for number in range(first + thread * each, first + (thread + 1) * each):
                    self._new(number)

        return {"rate": threads * each / crowd(work, threads)}

    def tasks(self, first: int, tasks: int, each: int) -> dict[str, float]:
        """New actions per second by tasks that share a run, and the longest gap of their event loop."""
        with self._library.run(f"tasks-{first}"):
            return asyncio.run(watched(self._async, first, tasks, each))

    def burst(self, first: int, count: int, run: str) -> dict[str, float]:
        """New actions, one after the other, beside other processes: the longest that one of them took."""
        with self._library.run(run):
            return {"longest": max(timed(self._new, number) for number in range(first, first + count))}

    # ---- a ledger that has grown --------------------------------------------------------------------------------

    def fill(self, first: int, last: int, per_run: int, threads: int) -> float:
        """New actions ``first`` to ``last``, in runs of ``per_run`` each. Seconds."""
        starts = iter(range(first, last, per_run))

        def work(_: int) -> None:
            for start in starts:  # shared by all threads: each takes the next run
                with self._library.run(_run_of(start, per_run)):
                    for number in range(start, min(start + per_run, last)):
                        self._new(number)

        return crowd(work, threads)

    def open_ends(self, count: int) -> None:
        """Actions in doubt and open requests, ``count`` of each."""
        for number in range(count):
            with self._library.run(f"open-{number}"):
                self._library.request_approval(self._approved, number=number)
                with contextlib.suppress(Lost):
                    self._doubtful(number)

    def again(self, numbers: list[int], per_run: int, times: int) -> dict[str, float]:
        """Repeats of actions that `fill` has made, by a ledger that was opened for it: the first of each, and ``times`` more of each."""
        self._ledger.close()
        self._ledger = self._library.init(self._ledger.location)
        first = [self._again(number, per_run) for number in numbers][1:]  # the first of all prepares the statements
        more = [self._again(number, per_run) for _ in range(times) for number in numbers]
        return {"anywhere": sorted(first)[len(first) // 2], "same": sorted(more)[len(more) // 2]}

    def _again(self, number: int, per_run: int) -> float:
        with self._library.run(_run_of(number - number % per_run, per_run)):
            return timed(self._new, number)

    def close(self) -> float:
        """Close the ledger. Seconds."""
        start = time.perf_counter()
        self._ledger.close()
        return time.perf_counter() - start


def _run_of(first: int, per_run: int) -> str:
    return f"run-{first // per_run:07d}"
