"""Cancellation and closing, in every phase of a call: no false doubt, no lost result, and no blocked loop."""

import asyncio

import pytest

import call4agents_core as c4a
from call4agents_core.errors import EffectInDoubt, EffectRunning
from tests.aio.calls import held, in_loop, until
from tests.kit import Boom

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
