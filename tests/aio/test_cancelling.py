"""Cancellation and closing, in every phase of a call: no false doubt, no lost result, and no blocked loop."""

import asyncio
import gc
import threading
import time
from contextlib import contextmanager

import pytest

import call4agents_core as c4a
from call4agents_core import _async
from call4agents_core.errors import EffectInDoubt, EffectRunning
from tests.kit import Boom, raw

pytestmark = pytest.mark.usefixtures("ledger")


@pytest.fixture
def ran():
    return []


@pytest.fixture
def pay(ran, ledger):
    @c4a.effect(name="pay", wait=0.2)
    async def pay(n):
        ran.append(n)
        return n

    return pay


@contextmanager
def held(ledger):
    """Another connection holds the write lock of the file."""
    with raw(ledger.location) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            db.execute("ROLLBACK")


def in_loop(work):
    async def main():
        async with c4a.run("r"):
            return await work()

    return asyncio.run(main())


async def until(condition):
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("waited in vain")


# ---- cancelled -------------------------------------------------------------------------------------------------------


def test_cancelled_before_it_has_begun_leaves_nothing(pay, ran, ledger):
    """The call was never made."""

    async def work():
        task = asyncio.create_task(pay(1))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await pay(1)

    assert in_loop(work) == 1
    assert ran == [1]


@pytest.mark.parametrize("cancels", [1, 3])
def test_cancelled_while_the_intent_is_written_leaves_no_doubt(cancels, pay, ran, ledger):
    """The write goes to its end and is taken back: the tool did not run, and the action is new. Impatience changes nothing."""

    async def work():
        await pay(0)
        with held(ledger):
            task = asyncio.create_task(pay(1))
            await asyncio.sleep(0.1)
            for _ in range(cancels):
                task.cancel()
                await asyncio.sleep(0.02)
            assert not task.done()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ran == [0]
        return await pay(1)

    assert in_loop(work) == 1
    assert ran == [0, 1]
    assert ledger.verify().faults == ()


def test_a_timeout_while_the_intent_is_written_leaves_no_doubt(pay, ran, ledger):
    """asyncio.timeout cancels too, and raises its own TimeoutError."""

    async def work():
        await pay(0)
        with held(ledger):
            asyncio.get_running_loop().call_later(0.4, release.set)
            task = asyncio.create_task(asyncio.wait_for(pay(1), 0.1))
            await release.wait()
        with pytest.raises(TimeoutError):
            await task
        return await pay(1)

    release = asyncio.Event()
    assert in_loop(work) == 1
    assert ran == [0, 1]


def test_cancelled_inside_the_tool_leaves_it_in_doubt(ran, ledger):
    """It may have happened; the cancellation goes on, and the cause names it."""

    @c4a.effect(wait=0.2)
    async def slow():
        ran.append(1)
        await asyncio.sleep(60)

    async def work():
        task = asyncio.create_task(slow())
        await until(lambda: ran)
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(EffectInDoubt, match="Cancelled") as caught:
            await slow()
        assert not isinstance(caught.value, EffectRunning)

    in_loop(work)
    assert ran == [1]


def test_a_tool_that_ends_in_spite_of_its_cancellation_is_done(ran, ledger):
    """What counts is how it ended."""

    @c4a.effect
    async def stubborn():
        ran.append(1)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "done all the same"

    async def work():
        task = asyncio.create_task(stubborn())
        await until(lambda: ran)
        task.cancel()
        return [await task, await stubborn()]

    assert in_loop(work) == ["done all the same"] * 2
    assert ran == [1]


def test_cancelled_while_the_result_is_written_loses_nothing(ran, ledger):
    """The write goes to its end, then the cancellation goes on; the next call gets the result."""

    @c4a.effect(name="slow", wait=5)
    async def slow():
        ran.append(1)
        holding.__enter__()
        return "result"

    holding = held(ledger)

    async def work():
        task = asyncio.create_task(slow())
        await until(lambda: ran)
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.sleep(0.05)
        assert not task.done()
        holding.__exit__(None, None, None)
        with pytest.raises(asyncio.CancelledError):
            await task
        return await slow()

    assert in_loop(work) == "result"
    assert ran == [1]


def test_cancelled_while_a_failure_is_written_loses_nothing(ran, ledger):
    """The doubt is on record with the tool's own cause."""

    @c4a.effect(name="slow", wait=0.2)
    async def slow():
        ran.append(1)
        holding.__enter__()
        raise Boom("why")

    holding = held(ledger)

    async def work():
        task = asyncio.create_task(slow())
        await until(lambda: ran)
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.sleep(0.05)
        holding.__exit__(None, None, None)
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(EffectInDoubt, match="why"):
            await slow()

    in_loop(work)


def test_cancelled_while_it_waits_for_another_caller_leaves_the_other_alone(ran, ledger):
    """The one that waits goes; the one that runs returns its result."""

    @c4a.effect(wait=30)
    async def slow():
        ran.append(1)
        await go_on.wait()
        return "slow"

    go_on = asyncio.Event()

    async def work():
        first = asyncio.create_task(slow())
        await until(lambda: ran)
        second = asyncio.create_task(slow())
        await asyncio.sleep(0.1)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        go_on.set()
        return [await first, await slow()]

    assert in_loop(work) == ["slow", "slow"]
    assert ran == [1]


def test_cancelled_while_reconcile_is_asked_leaves_the_doubt_as_it_was(ran, ledger):
    """The next caller asks again."""
    asked = []

    async def look():
        asked.append(1)
        await asyncio.sleep(0 if len(asked) > 1 else 60)
        return c4a.happened("found")

    @c4a.effect(reconcile=look)
    async def pay():
        ran.append(1)
        raise Boom

    async def work():
        with pytest.raises(Boom):
            await pay()
        task = asyncio.create_task(pay())
        await until(lambda: asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await pay()

    assert in_loop(work) == "found"
    assert (len(ran), len(asked)) == (1, 2)


def test_a_task_group_that_fails_leaves_its_other_effects_in_order(pay, ran, ledger):
    """Cancelled siblings are done, new or in doubt, never lost."""

    @c4a.effect(wait=0.2)
    async def breaks():
        await until(lambda: len(ran) == 3)
        raise Boom

    async def together():
        async with asyncio.TaskGroup() as group:
            group.create_task(breaks())
            for n in range(3):
                group.create_task(pay(n))

    async def work():
        with pytest.raises(ExceptionGroup):
            await together()
        return [await pay(n) for n in range(3)]

    assert in_loop(work) == [0, 1, 2]
    assert sorted(ran) == [0, 1, 2]


# ---- closed from outside ---------------------------------------------------------------------------------------------


def close_inside(tool, ran):
    """Begin a call on a loop, and close its coroutine while its tool waits: it gets no chance to await."""
    loop = asyncio.new_event_loop()
    try:
        with c4a.run("r"):
            call = tool()
            task = loop.create_task(call)
            while not ran:
                loop.run_until_complete(asyncio.sleep(0.01))
            task._log_destroy_pending = False
            yield call
    finally:
        task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        gc.collect()


@pytest.fixture
def endless(ran, ledger):
    @c4a.effect(name="endless", wait=0.2)
    async def endless():
        ran.append(1)
        await asyncio.Event().wait()

    return endless


def test_a_coroutine_that_is_closed_from_outside_is_in_doubt_at_once(endless, ran):
    """It cannot await, so its end is written while close() waits."""
    for call in close_inside(endless, ran):
        call.close()

        async def again():
            with pytest.raises(EffectInDoubt, match="GeneratorExit") as caught:
                await endless()
            assert not isinstance(caught.value, EffectRunning)

        in_loop(again)
    assert ran == [1]


def test_closing_waits_for_the_ledger_a_bounded_time_only(endless, ran, ledger, monkeypatch):
    """Where the file is held longer, the end is written as soon as it is free; close() itself raises nothing."""
    monkeypatch.setattr(_async, "CLOSING", 0.1)
    for call in close_inside(endless, ran):
        with held(ledger):
            began = time.monotonic()
            call.close()
            assert time.monotonic() - began < 2

        async def again():
            with pytest.raises(EffectInDoubt, match="GeneratorExit"):
                await endless()

        for _ in range(100):
            if [row.state for row in ledger.store.actions()] == ["in-doubt"]:
                break
            time.sleep(0.02)
        in_loop(again)


def test_closed_while_the_intent_is_written_leaves_no_doubt(pay, ran, ledger):
    """The intent is taken back as soon as it is written."""
    loop = asyncio.new_event_loop()
    with c4a.run("r"):
        loop.run_until_complete(loop.create_task(pay(0)))
        call = pay(1)
        with held(ledger):
            task = loop.create_task(call)
            loop.run_until_complete(asyncio.sleep(0.1))
            task._log_destroy_pending = False
            call.close()
        task.cancel()
        loop.run_until_complete(asyncio.sleep(0.1))
        for _ in range(100):
            if {row.state for row in ledger.store.actions()} == {"done", "not-done"}:
                break
            time.sleep(0.02)
        assert loop.run_until_complete(loop.create_task(pay(1))) == 1
    loop.close()
    assert ran == [0, 1]


# ---- the loop --------------------------------------------------------------------------------------------------------


class Heartbeat:
    """Measures how long a loop stood still at most."""

    def __init__(self):
        self.longest = 0.0

    async def beat(self):
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.005)
            now = time.monotonic()
            self.longest, last = max(self.longest, now - last), now


@pytest.mark.parametrize("what", ["call", "decide"])
def test_the_loop_goes_on_while_another_program_holds_the_file(what, pay, ran, ledger):
    """Only the caller waits, not the loop."""

    @c4a.effect(name="ask", approval=True)
    async def ask(n):
        return n

    async def work():
        await pay(0)
        heart = Heartbeat()
        beating = asyncio.create_task(heart.beat())
        with held(ledger):
            task = asyncio.create_task(pay(1) if what == "call" else c4a.aapprove(ask, n=1))
            await asyncio.sleep(0.6)
            assert not task.done()
        await task
        beating.cancel()
        return heart.longest

    assert in_loop(work) < 0.3


def test_a_burst_of_calls_does_not_stop_the_loop(ledger, ran, pay):
    """New actions wait for the disk in the ledger's threads."""

    async def work():
        heart = Heartbeat()
        beating = asyncio.create_task(heart.beat())
        await asyncio.gather(*(pay(n) for n in range(100)))
        beating.cancel()
        return heart.longest

    assert in_loop(work) < 0.3
    assert len(ran) == 100


def test_waiting_for_another_caller_holds_no_thread(ledger, ran):
    """More tasks may wait than the ledger has threads, and the owner's own result is not starved."""

    @c4a.effect(name="slow", wait=20)
    async def slow():
        ran.append(1)
        await asyncio.sleep(0.3)
        return "slow"

    async def work():
        return await asyncio.wait_for(asyncio.gather(*(slow() for _ in range(100))), 15)

    assert in_loop(work) == ["slow"] * 100
    assert ran == [1]


def test_a_waiter_whose_loop_is_gone_does_not_disturb_the_owner(ledger, ran, monkeypatch):
    """It left without a word; the one that runs still lands."""
    started, go_on = threading.Event(), threading.Event()

    @c4a.effect(name="slow", wait=20)
    def slow():
        started.set()
        go_on.wait(20)
        return "slow"

    @c4a.effect(name="slow", wait=20)
    async def waiting():
        """Never runs."""

    with c4a.run("r"):
        found = []
        thread = threading.Thread(target=lambda: found.append(c4a.run("r")(slow)()))
        thread.start()
        assert started.wait(10)
        loop = asyncio.new_event_loop()
        task = loop.create_task(waiting())
        loop.run_until_complete(asyncio.sleep(0.2))
        task._log_destroy_pending = False
        loop.close()
        go_on.set()
        thread.join(10)
        assert found == ["slow"]
        assert slow() == "slow"
    task.get_coro().close()
