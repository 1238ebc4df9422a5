"""aundo, and undo() of what is async: in a loop, outside one."""

from __future__ import annotations

import asyncio
import functools
import threading

import pytest

import call4agents_core as c4a
from call4agents_core.errors import UndoStopped, UsageError
from tests.kit import Boom, entries_of

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


class Both:
    """One tool with an async undo=, after one with a plain undo=; done in that order."""

    def __init__(self, wrap=lambda function: function):
        self.told, self.threads, self.keys = [], [], []

        @c4a.effect(name="plain", undo=self.plainly)
        def plain(n):
            return n

        async def patiently(n, result):
            await asyncio.sleep(0)
            self.keys.append(c4a.idempotency_key())
            self.told.append(f"async {n} {result}")

        @c4a.effect(name="async", undo=wrap(patiently))
        async def later(n):
            return n * 10

        asyncio.run(later(2))
        plain(1)

    def plainly(self, n):
        self.threads.append(threading.current_thread())
        self.keys.append(c4a.idempotency_key())
        self.told.append(f"plain {n}")


def test_aundo_awaits_what_is_async_and_runs_the_rest_in_a_thread(ledger):
    """Newest first all the same, and the loop goes on meanwhile."""
    both = Both()

    async def main():
        report = await c4a.aundo("r")
        return report, threading.current_thread()

    report, loop_thread = asyncio.run(main())
    assert both.told == ["plain 1", "async 2 20"]
    assert report.clean
    assert both.threads != [loop_thread]
    assert len(set(both.keys)) == 2


def test_aundo_has_the_rules_of_undo(trip):
    """Dry run, UndoStopped with its cause, resolve, and on."""
    bank = {"error": Boom("closed")}

    async def refund(n):
        if bank["error"]:
            raise bank["error"]

    trip.book("1A")
    c4a.effect(name="pay", undo=refund)(lambda n: n)(1)

    async def main():
        assert [one.tool for one in (await c4a.aundo("r", dry_run=True)).undone] == ["pay", "book"]
        with pytest.raises(UndoStopped) as stopped:
            await c4a.aundo("r")
        assert stopped.value.__cause__ is bank["error"]
        assert trip.reversed == []
        await c4a.aresolve("r", stopped.value.report.failed[0].reversal, c4a.did_not_happen())
        bank["error"] = None
        return await c4a.aundo("r")

    assert asyncio.run(main()).clean
    assert trip.reversed == ["cancel 1A"]


def test_a_cancelled_reversal_is_in_doubt(trip):
    """The cancellation reaches the caller; nothing older is touched, and nothing is asked twice."""
    asked, begun = [], asyncio.Event()

    async def refund():
        asked.append("refund")
        begun.set()
        await asyncio.sleep(30)

    trip.book("1A")
    c4a.effect(name="pay", undo=refund)(lambda: None)()

    async def main():
        task = asyncio.create_task(c4a.aundo("r"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(UndoStopped, match="CancelledError"):
            await c4a.aundo("r")

    asyncio.run(main())
    assert (asked, trip.reversed) == (["refund"], [])


def test_undo_outside_a_loop_runs_what_is_async(ledger):
    """To its end, in a loop of its own."""
    both = Both()
    assert c4a.undo("r").clean
    assert both.told == ["plain 1", "async 2 20"]


class Callable:
    """A callable object whose call is async."""

    def __init__(self, function):
        self.function = function

    async def __call__(self, n, result):
        await self.function(n, result)


@pytest.mark.parametrize(
    "wrap", [lambda function: function, functools.partial, Callable], ids=["function", "partial", "object"]
)
def test_undo_in_a_loop_refuses_what_is_async_before_anything_is_written(ledger, wrap):
    """Even where something newer is plain: it says aundo, and nothing is reversed. A dry run needs no loop."""
    both = Both(wrap)

    async def main():
        before = entries_of(ledger)
        with pytest.raises(UsageError, match=r"undo= of async is async.*await aundo\(\)"):
            c4a.undo("r")
        assert (both.told, entries_of(ledger)) == ([], before)
        assert len(c4a.undo("r", dry_run=True).undone) == 2
        assert (await c4a.aundo("r")).clean
        assert c4a.undo("r").undone == []  # what was undone needs no loop

    asyncio.run(main())
    assert both.told == ["plain 1", "async 2 20"]


def test_undo_in_a_loop_reverses_what_is_plain(trip):
    """As blocking as any plain function."""
    trip.book("1A")

    async def main():
        return c4a.undo("r")

    assert asyncio.run(main()).clean
    assert trip.reversed == ["cancel 1A"]
