"""Async effects follow the same rules: the table, decisions, keys and results, each awaited."""

import asyncio
import threading
import time

import pytest

import call4agents_core as c4a
from call4agents_core.errors import (
    EffectInDoubt,
    EffectRefused,
    EffectRunning,
    KeyConflict,
    NoActiveRun,
    ResultNotKept,
    UnstableArgument,
)
from tests.aio.calls import in_loop, payer
from tests.kit import Boom, Opaque, Safe

pytestmark = pytest.mark.usefixtures("ledger")


# ---- the table -------------------------------------------------------------------------------------------------------


def test_an_async_action_runs_once_however_it_is_spelled():
    """And its result keeps its type."""
    pay, keys = payer()

    async def work():
        return [await pay(5), await pay(amount=5), await pay(5, "alice"), await pay(6)]

    assert in_loop(work) == [(5, "alice")] * 3 + [(6, "alice")]
    assert len(keys) == 2


def test_a_gather_of_one_action_runs_it_once():
    """One task runs it, and the others get its result."""
    pay, keys = payer(wait=10)

    async def work():
        return await asyncio.gather(*(pay(5) for _ in range(30)))

    assert in_loop(work) == [(5, "alice")] * 30
    assert len(keys) == 1


def test_a_gather_of_one_action_that_raises_leaves_the_others_in_doubt():
    """Nobody runs it a second time."""
    pay, keys = payer(fail={1: Boom()}, wait=10)

    async def work():
        return await asyncio.gather(*(pay(5) for _ in range(10)), return_exceptions=True)

    found = in_loop(work)
    assert sorted(type(one).__name__ for one in found) == ["Boom"] + ["EffectInDoubt"] * 9
    assert len(keys) == 1


def test_two_hundred_tasks_run_two_hundred_actions():
    """More tasks than the ledger has threads."""
    pay, keys = payer(wait=30)

    async def work():
        return await asyncio.gather(*(pay(n) for n in range(200)))

    assert in_loop(work) == [(n, "alice") for n in range(200)]
    assert len(set(keys)) == 200


def test_keys_of_parallel_tasks_do_not_mix():
    """Each task has its own attempt, also across an await and around an inner action."""

    @c4a.effect
    async def inner(n):
        return c4a.idempotency_key()

    @c4a.effect
    async def outer(n):
        before = c4a.idempotency_key()
        await asyncio.sleep(0.01)
        within = await inner(n)
        return before, within, c4a.idempotency_key()

    async def work():
        return await asyncio.gather(*(outer(n) for n in range(20)))

    found = in_loop(work)
    assert all(before == after != within for before, within, after in found)
    assert len({key for one in found for key in one}) == 40


def test_whatever_an_async_tool_raises_leaves_it_in_doubt_unless_retry_on_names_it():
    """The same object is re-raised, and the key stays the same between attempts."""
    safe, boom = Safe("not sent"), Boom("why")
    pay, keys = payer(fail={1: safe, 2: boom}, retry_on=Safe)

    async def work():
        with pytest.raises(Safe) as first:
            await pay(5)
        with pytest.raises(Boom) as second:
            await pay(5)
        with pytest.raises(EffectInDoubt, match="why"):
            await pay(5)
        return first.value, second.value

    assert in_loop(work) == (safe, boom)
    assert (len(keys), len(set(keys))) == (2, 1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit], ids=lambda kind: kind.__name__)
def test_an_interrupt_out_of_an_async_tool_leaves_it_in_doubt(error):
    """It ends the loop, and the record is there before it does."""
    pay, keys = payer(fail={1: error("why")})
    with pytest.raises(error):
        in_loop(lambda: pay(5))

    async def again():
        with pytest.raises(EffectInDoubt, match=error.__name__):
            await pay(5)

    in_loop(again)
    assert len(keys) == 1


def test_an_async_action_is_sent_again_inside_its_window(clock):
    """And no later."""
    pay, keys = payer(fail={1: Boom(), 2: Boom()}, idempotent_for=3600)

    async def work():
        for step in (0, 3000):
            clock.time += step
            with pytest.raises(Boom):
                await pay(5)
        clock.time += 545
        with pytest.raises(EffectInDoubt):
            await pay(5)

    in_loop(work)
    assert (len(keys), len(set(keys))) == (2, 1)


async def awaited(answer):
    await asyncio.sleep(0)
    return answer() if callable(answer) else answer


def broken():
    raise RuntimeError("the bank is closed")


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize(
    ("answer", "result"),
    [(c4a.happened({"id": 7}), {"id": 7}), (c4a.did_not_happen(), (5, "alice")), (c4a.unknown(), None), (broken, None), (None, None)],
    ids=["happened", "did not happen", "unknown", "raises", "None"],
)  # fmt: skip
def test_reconcile_is_asked_about_an_async_action(answer, result, is_async):
    """Sync ones in a thread, async ones on the loop; any other answer than the three means unknown."""
    asked = []

    def look(amount, idempotency_key):
        asked.append((amount, idempotency_key))
        return awaited(answer) if is_async else answer() if callable(answer) else answer

    pay, keys = payer(fail={1: Boom()}, reconcile=look)

    async def work():
        with pytest.raises(Boom):
            await pay(5)
        if result is None:
            with pytest.raises(EffectInDoubt):
                await pay(5)
            return None
        return [await pay(5), await pay(5)]

    assert in_loop(work) == (None if result is None else [result] * 2)
    assert asked == [(5, keys[0])]


def test_of_many_tasks_one_asks_reconcile():
    """The others take its answer, and one new attempt is made."""
    asked = []

    async def look():
        asked.append(1)
        await asyncio.sleep(0.1)
        return c4a.did_not_happen()

    pay, keys = payer(fail={1: Boom()}, reconcile=look, wait=10)

    async def work():
        with pytest.raises(Boom):
            await pay(5)
        return await asyncio.gather(*(pay(5) for _ in range(8)))

    assert in_loop(work) == [(5, "alice")] * 8
    assert (len(asked), len(keys)) == (1, 2)


def test_a_running_async_action_is_held_and_not_reconciled():
    """A second task waits as long as wait= says; the first one's result is there afterwards."""
    asked, ran, started = [], [], asyncio.Event()

    async def look():
        asked.append(1)
        return c4a.did_not_happen()

    @c4a.effect(reconcile=look, wait=0.1)
    async def slow():
        ran.append(1)
        started.set()
        await asyncio.sleep(0.5)
        return "slow"

    async def work():
        first = asyncio.create_task(slow())
        await started.wait()
        with pytest.raises(EffectRunning):
            await slow()
        return [await first, await slow()]

    assert in_loop(work) == ["slow", "slow"]
    assert (ran, asked) == ([1], [])


def test_an_async_action_called_from_inside_its_own_body_is_refused():
    """Directly, or from a task that it has made."""

    @c4a.effect
    async def outer(n):
        for call in (lambda: outer(n), lambda: asyncio.create_task(outer(n))):
            with pytest.raises(EffectRunning, match="own body"):
                await call()
        return "done"

    assert in_loop(lambda: outer(1)) == "done"


def test_two_loops_in_two_threads_share_the_ledger():
    """Each waits on its own loop; each action runs once."""
    pay, keys = payer(wait=10)
    found = []

    def loop(n):
        found.append(in_loop(lambda: asyncio.gather(pay(1), pay(n), pay(1))))

    threads = [threading.Thread(target=loop, args=(n,)) for n in (2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    loop(5)
    assert sorted(one[1][0] for one in found) == [2, 3, 4, 5]
    assert all(one[0] == one[2] == (1, "alice") for one in found)
    assert len(keys) == 5


def test_a_sync_and_an_async_caller_share_one_action():
    """Through one name: whoever comes second waits for the first."""
    ran, started = [], threading.Event()

    @c4a.effect(name="shared", wait=10)
    def sync():
        ran.append("sync")
        started.set()
        time.sleep(0.2)
        return "result"

    @c4a.effect(name="shared", wait=10)
    async def other():
        ran.append("async")

    async def work():
        first = asyncio.create_task(asyncio.to_thread(sync))
        await asyncio.to_thread(started.wait, 10)
        return [await other(), await first]

    assert in_loop(work) == ["result", "result"]
    assert ran == ["sync"]


def test_without_a_run_an_async_action_does_not_run():
    """The error comes from the await."""
    pay, keys = payer()
    with pytest.raises(NoActiveRun):
        asyncio.run(pay(5))
    assert keys == []


def test_arguments_results_and_options_of_async_effects():
    """Methods, keys, exclusion, redaction, results of no known type, repeats."""
    ran = []

    class Account:
        @c4a.effect
        async def pay(self, amount):
            ran.append(amount)
            return len(ran)

    @c4a.effect(exclude=("context",), redact=("token",))
    async def give(n, context=None, token=""):
        ran.append(n)
        return Opaque() if n else b"\xff"

    again = c4a.effect(name="again", repeat="run")(give.__wrapped__)
    refuse = c4a.effect(name="refuse", repeat="refuse")(give.__wrapped__)

    async def work():
        assert [await Account().pay(1), await Account().pay(1)] == [1, 1]
        assert [await give(0, Opaque(), token="t"), await give(0, None, token="t")] == [b"\xff"] * 2
        assert isinstance(await give(1), Opaque)
        with pytest.raises(ResultNotKept):
            await give(1)
        with pytest.raises(UnstableArgument):
            await give(float("nan"))
        await give(2, c4a_key="k")
        with pytest.raises(KeyConflict):
            await give(3, c4a_key="k")
        before = len(ran)
        assert [await again(0), await again(0)] == [b"\xff"] * 2
        await refuse(0)
        with pytest.raises(EffectRefused, match="refuse"):
            await refuse(0)
        assert len(ran) == before + 3

    in_loop(work)
