"""Cases from public reports: timeouts that stop nothing, contexts that get lost, and identical calls side by side."""

import asyncio
import concurrent.futures
import contextvars
import threading

import pytest

import call4agents_core as c4a
from call4agents_core.errors import EffectInDoubt, EffectRunning, NoActiveRun
from tests.kit import in_thread

pytestmark = pytest.mark.usefixtures("ledger")


def test_d11_a_sync_tool_that_goes_on_after_its_time_out_runs_once():
    """D11: the framework gives up on the thread, which goes on; the retry is told that it runs, and gets its result later."""
    ran, go_on = [], threading.Event()

    @c4a.effect(wait=0.1)
    def slow(n):
        ran.append(n)
        go_on.wait(20)
        return "done"

    async def agent():
        async with c4a.run("r"):
            running = asyncio.to_thread(slow, 1)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(running, 0.2)
            with pytest.raises(EffectInDoubt) as caught:
                await asyncio.to_thread(slow, 1)
            assert isinstance(caught.value, EffectRunning)
            go_on.set()
            for _ in range(100):
                try:
                    return await asyncio.to_thread(slow, 1)
                except EffectRunning:
                    await asyncio.sleep(0.01)
            return None

    assert asyncio.run(agent()) == "done"
    assert ran == [1]


def test_d15_an_executor_has_no_run_and_says_so():
    """D15: context variables get lost in executor threads: an error that says so, never another run in silence."""
    ran = []

    @c4a.effect
    def pay(n):
        ran.append((c4a.current_run(), n))
        return n

    async def agent():
        async with c4a.run("r"):
            loop = asyncio.get_running_loop()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                for lost in (loop.run_in_executor(pool, pay, 1), asyncio.wrap_future(pool.submit(pay, 1))):
                    with pytest.raises(NoActiveRun, match="to_thread"):
                        await lost
                context = contextvars.copy_context()
                assert await loop.run_in_executor(pool, context.run, pay, 2) == 2
            return await asyncio.to_thread(pay, 3)

    assert asyncio.run(agent()) == 3
    assert ran == [("r", 2), ("r", 3)]


def test_r13_an_identical_call_while_the_first_is_slow_is_the_same_action():
    """R13: the model repeats itself, under another invocation: one effect, and both get the result."""
    ran, started, go_on = [], threading.Event(), threading.Event()

    @c4a.effect(wait=20)
    def slow(city):
        ran.append(city)
        started.set()
        go_on.wait(20)
        return f"weather in {city}"

    with c4a.run("r"):
        first = in_thread(lambda: slow("Rome"))
        assert started.wait(10)
        second = in_thread(lambda: slow(city="Rome"))
        go_on.set()
        assert first() == second() == "weather in Rome"
    assert ran == ["Rome"]


def test_d25_the_key_of_one_action_never_leaks_into_the_next():
    """D25: side by side and inside one another, each request has its own key; outside there is none."""

    @c4a.effect
    async def inner(n):
        return c4a.idempotency_headers()["Idempotency-Key"]

    @c4a.effect
    async def outer(n):
        mine = c4a.idempotency_key()
        await asyncio.sleep(0)
        theirs = await inner(n)
        return mine, theirs, c4a.idempotency_key()

    async def agent():
        async with c4a.run("alice"):
            found = await asyncio.gather(*(outer(n) for n in range(10)))
            with pytest.raises(c4a.errors.UsageError):
                c4a.idempotency_headers()
            return found

    found = asyncio.run(agent())
    keys = {key for one in found for key in one}
    assert all(mine == again for mine, _, again in found)
    assert len(keys) == 20
    assert all(len(key) <= 255 and "alice" not in key for key in keys)


def test_r35_parallel_calls_do_not_swap_their_results():
    """R35, the plain half: two calls at once, with nothing but their arguments to tell them apart."""
    ran = []

    @c4a.effect
    async def ask(city):
        ran.append(city)
        await asyncio.sleep(0.05 if city == "Rome" else 0)
        return f"weather in {city}"

    async def agent():
        async with c4a.run("r"):
            return await asyncio.gather(ask("Rome"), ask("Oslo"), ask("Rome"))

    assert asyncio.run(agent()) == ["weather in Rome", "weather in Oslo", "weather in Rome"]
    assert sorted(ran) == ["Oslo", "Rome"]
