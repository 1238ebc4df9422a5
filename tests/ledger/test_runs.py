"""Runs, and what surrounds a call: contexts, threads, ledgers, and many callers of one action."""

import asyncio
import concurrent.futures
import threading
import time

import pytest

import call4agents_core as c4a
from call4agents_core import _scope
from call4agents_core.errors import EffectRunning, NoActiveRun, NotInitialised, UsageError
from tests.kit import Boom, entries_of, in_thread


@pytest.fixture
def ran():
    return []


@pytest.fixture
def pay(ran):
    @c4a.effect(name="pay")
    def pay(n):
        ran.append((c4a.current_run(), n))
        return len(ran)

    return pay


# ---- forms -----------------------------------------------------------------------------------------------------------


def test_a_run_is_open_inside_its_block_and_nowhere_else():
    """Nested, reused, nested in itself, and left by an exception."""
    outer = c4a.run("outer")
    assert c4a.current_run() is None
    with outer:
        assert c4a.current_run() == "outer"
        with c4a.run("inner"):
            assert c4a.current_run() == "inner"
        with outer:
            assert c4a.current_run() == "outer"
        assert c4a.current_run() == "outer"
    with pytest.raises(Boom), outer:
        raise Boom
    assert c4a.current_run() is None


def test_a_run_is_also_a_decorator_and_an_async_block():
    """Each call of the function is inside; a coroutine function stays one."""

    @c4a.run("decorated")
    def inside(n):
        """Says what it does."""
        return c4a.current_run(), n

    @c4a.run("async")
    async def ainside():
        await asyncio.sleep(0)
        return c4a.current_run()

    async def main():
        async with c4a.run("block"):
            assert c4a.current_run() == "block"
        return await asyncio.gather(ainside(), ainside())

    assert [inside(1), inside(n=2)] == [("decorated", 1), ("decorated", 2)]
    assert (inside.__name__, inside.__doc__) == ("inside", "Says what it does.")
    assert asyncio.run(main()) == ["async", "async"]
    assert c4a.current_run() is None


def test_tasks_have_the_run_that_they_were_made_in():
    """And one task's run is not another's."""

    async def where():
        await asyncio.sleep(0)
        return c4a.current_run()

    async def enter(name):
        async with c4a.run(name):
            await asyncio.sleep(0)
            return c4a.current_run()

    async def main():
        async with c4a.run("outer"):
            inherited = asyncio.create_task(where())
        return [await inherited, *await asyncio.gather(enter("one"), enter("two")), await where()]

    assert asyncio.run(main()) == ["outer", "one", "two", None]


@pytest.mark.parametrize("name", ["", "a\0b", "\ud83d", None, 7])
def test_a_run_id_that_no_store_can_hold_is_refused(name):
    """Text, not empty, without NUL and lone surrogates."""
    with pytest.raises(UsageError, match="run id"):
        c4a.run(name)


def test_a_run_id_is_data_whatever_is_in_it(ledger, pay):
    """Quotes, percent signs and newlines reach no SQL and no format."""
    for name in ("'; DROP TABLE c4a_entries; --", "%s %(a)s", "two\nlines", "x" * 5000, "\u202e"):
        with c4a.run(name):
            assert pay(1) == pay(1)
        assert len(ledger.store.actions(run=name)) == 1
    assert ledger.verify().faults == ()


# ---- without ---------------------------------------------------------------------------------------------------------


def test_without_a_ledger_or_a_run_nothing_runs(pay, ran, ledger_path):
    """Each error says what is missing."""
    with c4a.run("r"), pytest.raises(NotInitialised, match="init"):
        pay(1)
    ledger = c4a.init(ledger_path)
    with pytest.raises(NoActiveRun, match="run"):
        pay(1)
    assert ran == []
    assert entries_of(ledger) == 0
    ledger.close()
    _scope._default.clear()


@pytest.mark.usefixtures("ledger")
def test_a_new_thread_has_no_run_and_to_thread_keeps_it(pay, ran):
    """A thread or an executor does not inherit it; asyncio.to_thread does."""

    async def main():
        async with c4a.run("r"):
            loop = asyncio.get_running_loop()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                lost = await asyncio.gather(loop.run_in_executor(pool, pay, 1), return_exceptions=True)
            return lost[0], await asyncio.to_thread(pay, 2)

    lost, kept = asyncio.run(main())
    assert isinstance(lost, NoActiveRun)
    assert "to_thread" in str(lost)
    assert kept == 1
    with c4a.run("r"):
        assert isinstance(in_thread(lambda: pay(3), run=None)(), NoActiveRun)
    assert ran == [("r", 2)]


# ---- ledgers ---------------------------------------------------------------------------------------------------------


def test_a_second_init_replaces_the_ledger_for_new_runs_only(pay, ran, tmp_path):
    """Open runs keep the one that they began with."""
    one = c4a.init(tmp_path / "one.sqlite")
    with c4a.run("r"):
        pay(1)
        two = c4a.init(tmp_path / "two.sqlite")
        pay(2)
        with c4a.run("s"):
            pay(3)
        pay(4)
    with c4a.run("r"):
        assert pay(1) == 5
    assert (len(one.store.actions()), len(two.store.actions())) == (3, 2)
    one.close()
    two.close()
    _scope._default.clear()


def test_a_run_can_name_its_ledger(ledger, pay, tmp_path):
    """Whatever the process's default is."""
    other = c4a.Ledger.open(tmp_path / "other.sqlite")
    with c4a.run("r", ledger=other):
        pay(1)
        assert c4a.pending() == []
    with c4a.run("r"):
        assert pay(1) == 2
    assert (len(ledger.store.actions()), len(other.store.actions())) == (1, 1)
    other.close()


def test_a_ledger_in_memory_is_one_for_all_threads(pay, ran):
    """Sync and async, from every thread, and gone with its process."""
    ledger = c4a.init(":memory:")
    outcomes = [in_thread(lambda: pay(1)) for _ in range(6)]
    assert [outcome() for outcome in outcomes] == [1] * 6

    async def main():
        async with c4a.run("r"):
            return await asyncio.to_thread(pay, 1)

    assert asyncio.run(main()) == 1
    assert ran == [("r", 1)]
    assert ledger.verify().faults == ()
    ledger.close()
    _scope._default.clear()


# ---- one action, many callers ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("ledger", "in_run")
def test_fourteen_threads_that_call_one_action_at_once_run_it_once():
    """One runs it, and all get its result."""
    ran, barrier = [], threading.Barrier(14)

    @c4a.effect
    def pay(n):
        ran.append(n)
        time.sleep(0.05)
        return "paid"

    def call():
        barrier.wait(10)
        return pay(1)

    outcomes = [in_thread(call) for _ in range(14)]
    assert [outcome() for outcome in outcomes] == ["paid"] * 14
    assert ran == [1]


@pytest.mark.usefixtures("ledger", "in_run")
def test_two_ledgers_on_one_file_in_one_process_run_an_action_once(ledger):
    """Each is an owner of its own, and each sees that the other lives."""
    started, go_on, ran = threading.Event(), threading.Event(), []

    @c4a.effect(name="slow", wait=10)
    def slow():
        ran.append(1)
        started.set()
        go_on.wait(20)
        return "slow"

    @c4a.effect(name="slow", wait=0)
    def impatient():
        ran.append(2)

    twin = c4a.Ledger.open(ledger.location)
    first = in_thread(slow)
    assert started.wait(10)
    with c4a.run("r", ledger=twin):
        with pytest.raises(EffectRunning):
            impatient()

        def second():
            with c4a.run("r", ledger=twin):
                return slow()

        waiting = in_thread(second, run=None)
        go_on.set()
        assert (first(), waiting()) == ("slow", "slow")
    assert ran == [1]
    twin.close()


@pytest.mark.usefixtures("ledger", "in_run")
def test_a_caller_waits_as_long_as_wait_says():
    """0: not at all; else until the time is up, or the result is there."""
    started, go_on = threading.Event(), threading.Event()

    def slow():
        started.set()
        go_on.wait(20)
        return "slow"

    patient, hasty = c4a.effect(name="slow", wait=20)(slow), c4a.effect(name="slow", wait=0)(slow)
    short = c4a.effect(name="slow", wait=0.3)(slow)
    first = in_thread(patient)
    assert started.wait(10)
    for effect, least in ((hasty, 0), (short, 0.3)):
        began = time.monotonic()
        with pytest.raises(EffectRunning, match="another caller holds it"):
            effect()
        assert least <= time.monotonic() - began < least + 1
    second = in_thread(patient)
    go_on.set()
    assert (first(), second()) == ("slow", "slow")
