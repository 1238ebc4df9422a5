"""Many callers at once in one process: threads, and tasks of an event loop that is watched. All times are in seconds."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

#: How often an idle loop comes back to the watcher.
_TICK = 0.002


def crowd(work: Callable[[int], object], threads: int) -> float:
    """Seconds until ``work(0)``, ``work(1)``, … are done, each in a thread of its own. Raises what the first of them raised."""
    failed: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failed.append(error)

    all_threads = [threading.Thread(target=guarded, args=(number,)) for number in range(threads)]
    start = time.perf_counter()
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    spent = time.perf_counter() - start
    if failed:
        raise failed[0]
    return spent


async def watched(act: Callable[[int], Awaitable[Any]], first: int, tasks: int, each: int) -> dict[str, float]:
    """``tasks`` tasks of ``each`` acts: acts per second, and the longest time for which the loop did not come back to a watcher."""
    gaps: list[float] = []

    async def watch() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(_TICK)
            gaps.append(time.perf_counter() - start - _TICK)

    async def work(task: int) -> None:
        for number in range(first + task * each, first + (task + 1) * each):
            await act(number)

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(10 * _TICK)
    gaps.clear()
    start = time.perf_counter()
    await asyncio.gather(*map(work, range(tasks)))
    spent = time.perf_counter() - start
    await asyncio.sleep(2 * _TICK)  # the last gap ends when the watcher is heard again
    watcher.cancel()
    return {"rate": tasks * each / spent, "gap": max(gaps)}
