"""Coroutines that are closed from outside, and the loop that goes on whatever the ledger waits for."""

import asyncio
import gc
import threading
import time

import pytest

import call4agents_core as c4a
from call4agents_core import _async
from call4agents_core.errors import EffectInDoubt, EffectRunning
from tests.aio.calls import held, in_loop

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
