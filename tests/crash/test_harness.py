"""The harness itself: workers, the world, and points to be killed at."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import call4agents_core as c4a
from call4agents_core import Ledger
from call4agents_core.errors import UsageError
from call4agents_core.stores.memory import MemoryStore
from call4agents_core.testing import (
    AFTERMATH,
    Answer,
    KillPoint,
    Worker,
    WorkerEnded,
    World,
    around,
    check_killed,
    end_of,
    forked,
    kill_at,
    killed,
)

pytestmark = pytest.mark.crash

HELPFUL = """
import os, signal, sys, time
from call4agents_core.testing import serve

def loud(text):
    print(text)
    sys.stdout.write(text)
    return text

serve(loud=loud, divide=lambda a, b: a / b, sleep=time.sleep, leave=lambda code: os._exit(code), pid=os.getpid)
"""


@pytest.fixture
def worker():
    with Worker("-c", HELPFUL) as worker:
        yield worker


# ---- workers -------------------------------------------------------------------------------------------------------


def test_a_worker_answers_orders_in_their_order(worker):
    """Given one after the other, or all before any is answered."""
    assert worker.ask("pid") == Answer(worker.pid)
    for a in (6, 8):
        worker.tell("divide", a=a, b=2)
    assert [worker.hear(), worker.hear()] == [Answer(3.0), Answer(4.0)]


def test_an_exception_is_an_answer(worker):
    """Its name and its text; the worker goes on."""
    assert worker.ask("divide", a=1, b=0) == Answer(None, "ZeroDivisionError", "division by zero")
    assert worker.ask("fly").error == "KeyError"
    assert worker.alive


def test_what_a_worker_prints_is_no_answer(worker):
    """Tools print."""
    assert worker.ask("loud", text='["forged", "", ""]\n') == Answer('["forged", "", ""]\n')
    assert worker.ask("divide", a=1, b=1) == Answer(1.0)


def test_a_worker_that_ends_or_is_silent_is_an_error(worker):
    """How it ended is told; a silent one is killed, so that no test hangs."""
    worker.tell("leave", code=3)
    with pytest.raises(WorkerEnded, match="ended with 3"):
        worker.hear()
    with Worker("-c", HELPFUL.replace("sleep=time.sleep", "sleep=lambda: time.sleep(60)")) as silent:
        silent.tell("sleep")
        with pytest.raises(WorkerEnded):
            silent.hear(patience=0.05)
        assert silent.ended() == -signal.SIGKILL


def test_a_killed_worker_is_gone(worker):
    """And orders to it are errors."""
    worker.kill()
    assert not worker.alive
    with Worker("-c", "") as other:
        other.ended()
        with pytest.raises(WorkerEnded):
            other.ask("pid")


def test_a_forked_child_says_how_it_ended(capfd):
    """0, or 1 with the traceback of what it raised."""
    assert end_of(forked(lambda: None)) == 0
    assert end_of(forked(lambda: 1 / 0)) == 1
    assert "ZeroDivisionError" in capfd.readouterr().err


# ---- the world -----------------------------------------------------------------------------------------------------


def test_the_world_counts_effects_of_all_processes(world):
    """Each line whole, none lost."""
    children = [forked(lambda i=i: [world.act(f"child {i}") for _ in range(20)]) for i in range(4)]
    assert [end_of(child) for child in children] == [0] * 4
    assert world.count() == 80
    assert [world.count(f"child {i}") for i in range(4)] == [20] * 4
    assert set(world.lines()) == {f"child {i}" for i in range(4)}


def test_a_world_in_which_nothing_happened_has_no_effects(tmp_path):
    """Its file is made by the first."""
    assert World(tmp_path / "none").lines() == []


# ---- points --------------------------------------------------------------------------------------------------------


def test_points_have_names():
    """And come back from them."""
    for point in (*AFTERMATH, *around("approved", "denied", "resolved")):
        assert KillPoint.named(str(point)) == point
    for nonsense in ("", "in", "in the intent", "near intent", "before lunch"):
        with pytest.raises(UsageError):
            KillPoint.named(nonsense)


def test_a_point_that_was_not_reached_is_a_failure_and_not_counted():
    """Else a matrix could be green that killed nobody."""
    before = killed.copy()
    for code in (0, 1, -signal.SIGTERM):
        with pytest.raises(AssertionError, match="not reached"):
            check_killed(code, KillPoint("in", "intent"))
    assert killed == before


def test_the_inside_of_a_transaction_that_cannot_be_reached_is_refused():
    """Rather than never."""
    ledger = Ledger.open(":memory:")
    store, ledger.store = ledger.store, MemoryStore()
    with pytest.raises(UsageError):
        kill_at(ledger, "in intent")
    store.close()


@pytest.mark.parametrize("where", ["before", "in", "after"])
def test_the_nth_entry_of_a_kind_is_the_point(ledger_path, world, where):
    """What comes before it is done; of the nth, as much as the point says."""

    @c4a.effect(name="pay")
    def pay(amount):
        world.act(f"pay {amount}")

    def work():
        ledger = Ledger.open(ledger_path)
        kill_at(ledger, f"{where} result", nth=2)
        with c4a.run("run", ledger=ledger):
            for amount in (1, 2, 3):
                pay(amount)

    assert end_of(forked(work)) == -signal.SIGKILL
    assert world.lines() == ["pay 1", "pay 2"]
    ledger = Ledger.open(ledger_path, read_only=True)
    states = [row.state for row in ledger.store.actions()]
    assert states == ["done" if where == "after" else "started", "done"]
    ledger.close()


def test_others_work_on_while_one_waits_for_its_point(ledger_path):
    """Everything else of the store is as it was."""
    ledger = Ledger.open(ledger_path)
    kill_at(ledger, "before denied")

    @c4a.effect(name="pay")
    def pay(amount):
        return amount

    with c4a.run("run", ledger=ledger):
        assert [pay(1), pay(1)] == [1, 1]
    assert ledger.verify().faults == ()
    assert Path(ledger.store.location) == ledger_path
    ledger.close()
