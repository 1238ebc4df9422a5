"""Many callers at once: threads, processes, one yes, many writers, killed writers, a live second caller."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import call4agents_core as c4a
from call4agents_core import Ledger
from call4agents_core.testing import Answer, Worker
from call4agents_core.testing._threads import together

pytestmark = pytest.mark.crash

RACER = Path(__file__).with_name("racer.py")


class Field:
    """Processes on one ledger and one world."""

    def __init__(self, ledger_path, world, stack):
        self.where = {"ledger_path": str(ledger_path), "world_path": str(world.path)}
        self.stack = stack

    def process(self, **env):
        """A new process that has opened the ledger."""
        racer = self.stack.enter_context(Worker(RACER, env=os.environ | env))
        racer.tell("start", **self.where)
        return racer

    def processes(self, count):
        """So many, all of them up."""
        racers = [self.process() for _ in range(count)]
        assert [racer.hear() for racer in racers] == [Answer()] * count
        return racers


@pytest.fixture
def field(ledger_path, world):
    with ExitStack() as stack:
        yield Field(ledger_path, world, stack)


def all_at_once(racers, order, arguments=lambda i: {}):
    """The answers of all to one order, given to all before any is heard."""
    for i, racer in enumerate(racers):
        racer.tell(order, **arguments(i))
    return [racer.hear() for racer in racers]


def sound(racer):
    """The ledger has no faults, by the eyes of a process."""
    return racer.ask("verify") == Answer([])


def wait_for(condition, seconds=30.0):
    """Look until it holds; fails if it does not in time."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to this"
        time.sleep(0.005)


# ---- one action ----------------------------------------------------------------------------------------------------


def test_14_threads_call_one_action_and_it_runs_once(ledger_path, world):
    """R13: all get the result; a lock by call id would miss it."""

    @c4a.effect(name="pay", wait=30)
    def pay(amount):
        world.act()
        time.sleep(0.1)
        return {"receipt": amount}

    ledger = Ledger.open(ledger_path)

    def call(i):
        with c4a.run("race", ledger=ledger):
            return pay(10)

    assert together(14, call) == [{"receipt": 10}] * 14
    assert world.count() == 1
    assert ledger.verify().faults == ()
    ledger.close()


def test_8_processes_call_one_action_and_it_runs_once(field, world):
    """All get the result. They lose together, action after action (R14)."""
    racers = field.processes(8)
    for amount in (10, 11, 12):
        assert (
            all_at_once(racers, "call", lambda i, n=amount: {"tool": "pay", "amount": n})
            == [Answer(f"receipt {amount}")] * 8
        )
    assert world.lines() == ["pay 10", "pay 11", "pay 12"]
    assert sound(racers[0])


def test_8_processes_on_one_yes_run_once(field, world):
    """D20: one yes is one right, also for a double click: the others get the result."""
    racers = field.processes(8)
    racers[0].ask("approve", tool="guarded")
    racers[1].ask("approve", tool="guarded")
    assert all_at_once(racers, "call", lambda i: {"tool": "guarded"}) == [Answer("receipt 10")] * 8
    assert world.count() == 1
    assert sound(racers[0])


def test_8_processes_without_a_yes_open_one_request(field, world):
    """Nothing runs, and a person is asked once."""
    racers = field.processes(8)
    answers = all_at_once(racers, "call", lambda i: {"tool": "guarded"})
    assert {answer.error for answer in answers} == {"ApprovalRequired"}
    assert len({answer.text for answer in answers}) == 1  # all name the same request
    assert world.count() == 0
    assert sound(racers[0])


def test_a_method_with_a_set_is_one_action_in_new_processes(field, world):
    """Whatever the order in which each process's hashes put the set."""
    words = ["alice", "bob", "carol", "dave", "eve"]
    for seed in ("1", "2", "3"):
        racer = field.process(PYTHONHASHSEED=seed)
        assert racer.hear() == Answer()
        assert racer.ask("mail", to=words) == Answer(words)
    assert world.count() == 1


def test_a_charge_that_was_killed_is_resumed_under_its_key(field, world):
    """D08: the outside API drops the repeat, and the caller gets the original answer. One charge."""
    dying = field.processes(1)[0]
    dying.ask("kill_at", point="before result")
    dying.tell("call", tool="send")
    assert dying.ended() == -9
    (original,) = [path for path in world.path.parent.iterdir() if path.name.startswith("c4a-")]

    one, two = field.processes(2)

    answers = all_at_once([one, two], "call", lambda i: {"tool": "send"})
    assert answers == [Answer(original.read_text(encoding="utf-8").strip('"'))] * 2
    assert world.count() == 1
    assert sound(one)


# ---- many records --------------------------------------------------------------------------------------------------


def nothing_is_lost(field, writers, records):
    racers = field.processes(writers)
    written = all_at_once(racers, "burst", lambda i: {"run": f"run {i}", "count": records})
    assert written == [Answer(records)] * writers
    ledger = Ledger.open(field.where["ledger_path"], read_only=True)
    assert len(ledger.store.actions(states=("done",))) == writers * records
    assert ledger.verify()[:2] == (2 * writers * records, writers * records)
    ledger.close()
    assert sound(racers[0])


def test_8_writers_lose_no_record_of_30(field):
    """240 of 240."""
    nothing_is_lost(field, 8, 30)


@pytest.mark.slow
def test_20_writers_lose_no_record_of_150(field):
    """3000 of 3000."""
    nothing_is_lost(field, 20, 150)


def nothing_is_lost_while_the_file_is_held(field, writers, records):
    holder, *racers = field.processes(1 + writers)
    holder.tell("hold", seconds=4)
    wait_for(lambda: is_held(field.where["ledger_path"]))
    began = time.monotonic()
    written = all_at_once(racers, "burst", lambda i: {"run": f"run {i}", "count": records})
    assert written == [Answer(records)] * writers
    assert time.monotonic() - began > 2
    assert holder.hear() == Answer()
    assert sound(holder)


def test_a_transaction_that_is_held_costs_8_writers_no_record(field):
    """D28: while another program holds the file for 4 s nobody loses a record or sees an error."""
    nothing_is_lost_while_the_file_is_held(field, 8, 10)


@pytest.mark.slow
def test_a_transaction_that_is_held_costs_20_writers_no_record(field):
    """D28, as it was reported."""
    nothing_is_lost_while_the_file_is_held(field, 20, 150)


def is_held(path):
    """Whether another program is writing to a SQLite file."""
    other = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return True
    else:
        return False
    finally:
        other.close()


def test_above_the_time_out_the_tool_has_not_run(field, world):
    """D28: LedgerBusy, with nothing written; later the call runs."""
    holder, racer = field.processes(2)
    racer.ask("be_impatient", seconds=0.2)
    holder.tell("hold", seconds=2)
    wait_for(lambda: is_held(field.where["ledger_path"]))
    assert racer.ask("call", tool="pay").error == "LedgerBusy"
    assert world.count() == 0
    assert holder.hear() == Answer()
    assert racer.ask("call", tool="pay") == Answer("receipt 10")
    assert sound(racer)


def test_5_kills_during_writes_leave_the_file_intact(field, world, ledger_path):
    """What returned is recorded, nothing happens twice, and `verify` finds no fault after each kill."""
    seed = random.randrange(10**6)
    dice, returned = random.Random(seed), type(world)(world.path.with_name("returned"))
    for i in range(5):
        writer = field.processes(1)[0]
        before = world.count()
        writer.tell("mark_until_killed", run=f"run {i}")
        wait_for(lambda so_far=before: world.count() > so_far)
        time.sleep(dice.uniform(0.0, 0.2))
        writer.kill()
        marked, kept = world.lines()[before:], returned.lines()
        with_doubt = Ledger.open(ledger_path)
        assert with_doubt.verify().faults == (), f"seed {seed}"
        done = len(with_doubt.store.actions(run=f"run {i}", states=("done",)))
        with_doubt.close()
        assert marked == [f"mark {n}" for n in range(len(marked))]
        assert len(kept) <= done <= len(marked) <= done + 1, f"seed {seed}"
        returned.path.unlink(missing_ok=True)


# ---- a live owner, and a dead one ----------------------------------------------------------------------------------


def test_a_second_caller_of_a_live_action_waits_or_is_told(field, world):
    """D01: 3 s are no time-out. reconcile= is not asked while the first lives, and nothing starts a second time."""
    first, patient, hasty = field.processes(3)
    first.tell("slow_charge", take=3, wait=0)
    wait_for(lambda: world.count("charge") == 1)
    patient.tell("slow_charge", take=0, wait=30)
    began = time.monotonic()
    assert hasty.ask("slow_charge", take=0, wait=0.3).error == "EffectRunning"
    assert time.monotonic() - began < 2
    assert patient.hear() == first.hear() == hasty.ask("slow_charge", take=0, wait=0) == Answer("first")
    assert world.lines() == ["charge"]
    assert sound(first)


def test_reconcile_is_asked_once_after_the_owner_was_killed(field, world):
    """By a caller that waited all the time; its answer is everybody's."""
    first, waiting, later = field.processes(3)
    first.tell("slow_charge", take=60, wait=0)
    wait_for(lambda: world.count("charge") == 1)
    waiting.tell("slow_charge", take=0, wait=60)
    assert later.ask("slow_charge", take=0, wait=0.2).error == "EffectRunning"
    assert world.count("asked") == 0
    first.kill()
    assert waiting.hear() == later.ask("slow_charge", take=0, wait=0) == Answer("found")
    assert world.lines() == ["charge", "asked"]
    assert sound(later)


def test_six_that_wait_do_not_starve_the_owner(field, world):
    """Its result is written as soon as its tool has returned, and they all have it soon after."""
    owner, *six = field.processes(7)
    owner.tell("slow_charge", take=1, wait=0)
    wait_for(lambda: world.count("charge") == 1)
    began = time.monotonic()
    for racer in six:
        racer.tell("slow_charge", take=0, wait=60)
    assert owner.hear() == Answer("first")
    assert time.monotonic() - began < 5
    assert [racer.hear() for racer in six] == [Answer("first")] * 6
    assert time.monotonic() - began < 10
    assert world.lines() == ["charge"]
