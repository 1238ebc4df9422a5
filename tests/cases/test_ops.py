"""Cases from public reports: several processes on one run, and on one file."""

import threading

import pytest

import call4agents_core as c4a
from call4agents_core.errors import LedgerError
from tests.kit import entries_of, raw

EXECUTOR = """
c4a.init(LEDGER)
@c4a.effect(name="step", wait=20)
def step(n):
    act(f"step {n}")
    time.sleep(0.1)
    return n
input()
with c4a.run("r"): say(*[step(n) for n in range(3)])
"""


def test_r14_whoever_loses_the_first_step_loses_the_others_too(child, world):
    """R14: two executors of one run of three actions: three effects in total, and both see all results."""
    two = [child(EXECUTOR) for _ in range(2)]
    for one in two:
        one.go_on()
    assert [one.hear() for one in two] == [[0, 1, 2]] * 2
    assert sorted(world.lines()) == ["step 0", "step 1", "step 2"]


BUSY = """
@c4a.effect(name="write", wait=30)
def write(who, n):
    act(f"{who} {n}")
    return n
ledger = c4a.init(LEDGER)
input()
with c4a.run("r"):
    for n in range(15): write(os.environ["WHO"], n)
say("done")
"""


def test_d28_many_writers_and_one_that_holds_the_file_lose_nothing(child, world, ledger):
    """D28: eight processes write while another program keeps the write lock: no record is lost, and nobody hears of a lock."""
    children = [child(BUSY, WHO=str(n)) for n in range(8)]
    for one in children:
        one.go_on()
    with raw(ledger.location) as db:
        db.execute("BEGIN IMMEDIATE")
        threading.Event().wait(1.5)
        db.execute("ROLLBACK")
    assert [one.hear() for one in children] == [["done"]] * 8
    assert len(set(world.lines())) == world.count() == 120
    assert entries_of(ledger) == 240
    assert ledger.verify().faults == ()


def test_d28_above_the_time_out_the_tool_has_not_run(ledger, world, monkeypatch):
    """D28: a lock that lasts longer is an error of the ledger, before anything happens."""

    @c4a.effect
    def pay(n):
        world.act()

    with c4a.run("r"), raw(ledger.location) as db:
        pay(0)
        monkeypatch.setattr(ledger.store._writing(), "_timeout", 0.3)
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="another program"):
            pay(1)
        db.execute("ROLLBACK")
    assert world.count() == 1
