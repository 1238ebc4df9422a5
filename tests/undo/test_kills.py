"""A process that undoes is killed between two reversals and inside one; a new process goes on, and each reversal happens once."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from call4agents_core.testing import Answer, KillPoint, Worker, check_killed

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]

TRAVELLER = Path(__file__).with_name("traveller.py")
DONE = ["book 1A", "charge 10", "book 1B"]
REVERSED = ["cancel 1B ref-1B", "refund 10", "cancel 1A ref-1A"]


class Travellers:
    """Processes of one ledger and one world."""

    def __init__(self, ledger_path, world):
        self.ledger_path, self.world = ledger_path, world

    def new(self, **env):
        return Worker(TRAVELLER, self.ledger_path, self.world.path, env={**os.environ, **env})

    def ask(self, order, **arguments):
        """What a new process answers."""
        with self.new() as worker:
            return worker.ask(order, **arguments)

    def die(self, point, order="undo", nth=1, **arguments):
        """A new process does this, and is killed at the point around the nth entry of that kind."""
        with self.new() as worker:
            assert worker.ask("kill_at", point=str(point), nth=nth) == Answer()
            worker.tell(order, **arguments)
            check_killed(worker.ended(), point)

    def die_after(self, line, order, **arguments):
        """A new process does this, and is killed as soon as this has happened in the world, before it is known."""
        with self.new() as worker:
            worker.ask("die_after", line=line)
            worker.tell(order, **arguments)
            assert worker.ended() == -signal.SIGKILL

    def reversed(self):
        """What happened in the world after the trip."""
        assert self.world.lines()[: len(DONE)] == DONE
        return self.world.lines()[len(DONE) :]


@pytest.fixture
def travellers(ledger_path, world):
    """After a trip that was made by a process which has ended since."""
    made = Travellers(ledger_path, world)
    assert made.ask("trip") == Answer()
    return made


def test_another_process_reverses_what_this_one_did(travellers):
    """From the record alone: types, order, once; and what was reversed does not run again."""
    assert travellers.ask("undo", dry_run=True) == Answer([["book", "charge", "book"], []])
    assert travellers.ask("undo") == Answer([["book", "charge", "book"], []])
    assert travellers.ask("undo") == Answer([[], ["book", "charge", "book"]])
    assert travellers.reversed() == REVERSED
    assert travellers.ask("call", tool="book", value="1A").error == "EffectUndone"
    assert travellers.ask("verify") == Answer([])


# ---- killed between two reversals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["undo", "aundo"])
@pytest.mark.parametrize(
    "point", [KillPoint("after", "result"), KillPoint("before", "undone"), KillPoint("in", "undone")], ids=str
)
def test_killed_between_the_result_of_a_reversal_and_undone(travellers, point, order):
    """The reversal is done, and only the word for it is missing: the next undo says it and goes on."""
    travellers.die(point, order, nth=2)
    assert travellers.reversed() == REVERSED[:2]
    assert travellers.ask(order) == Answer([["charge", "book"], ["book"]])
    assert travellers.reversed() == REVERSED
    assert travellers.ask("verify") == Answer([])


@pytest.mark.parametrize(
    "point", [KillPoint("after", "undone"), KillPoint("before", "intent"), KillPoint("in", "intent")], ids=str
)
def test_killed_between_two_reversals(travellers, point):
    """The first is done for good; the second has not begun."""
    nth = 1 if point.kind == "undone" else 2
    travellers.die(point, nth=nth)
    assert travellers.reversed() == REVERSED[:1]
    assert travellers.ask("undo") == Answer([["charge", "book"], ["book"]])
    assert travellers.reversed() == REVERSED
    assert travellers.ask("verify") == Answer([])


def test_killed_again_and_again(travellers):
    """Each process gets one word further; each reversal happens once."""
    for point in ("before intent", "before undone", "in undone", "after undone"):
        travellers.die(KillPoint.named(point))
    assert travellers.reversed() == REVERSED[:1]
    assert travellers.ask("undo") == Answer([["charge", "book"], ["book"]])
    assert travellers.reversed() == REVERSED


# ---- killed inside one -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "happened"),
    [(KillPoint("after", "intent"), False), (KillPoint("before", "result"), True), (KillPoint("in", "result"), True)],
    ids=str,
)
def test_killed_inside_a_reversal(travellers, point, happened):
    """It is in doubt: nothing older is touched, by whichever process, until a person says what happened. Then it goes on."""
    travellers.die(point, nth=2)
    for _ in range(2):
        refused = travellers.ask("undo")
        assert refused.error == "UndoStopped"
        assert "its reversal is in doubt" in refused.text
    assert travellers.reversed() == REVERSED[: 1 + happened]
    answer = "happened" if happened else "did-not-happen"
    assert travellers.ask("resolve", tool="charge.undo", outcome=answer) == Answer()
    assert travellers.ask("undo") == Answer([["charge", "book"], ["book"]])
    assert travellers.reversed() == REVERSED
    assert travellers.ask("verify") == Answer([])


# ---- a forward action was killed -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reversed_then"), [("happened", ["refund 99", *REVERSED]), ("did-not-happen", REVERSED)]
)
def test_a_charge_that_was_killed_inside_stops_the_undo_before_anything_is_touched(travellers, answer, reversed_then):
    """The bookings stay; once a person has looked, it goes on as they say."""
    travellers.die_after("charge 99", "call", tool="charge", value=99)
    for order in ("undo", "aundo"):
        refused = travellers.ask(order)
        assert refused.error == "UndoStopped"
        assert "charge(amount=99)" in refused.text
    assert travellers.reversed() == ["charge 99"]
    travellers.ask("resolve", tool="charge", outcome=answer)
    assert travellers.ask("undo").error == ""
    assert travellers.reversed() == ["charge 99", *reversed_then]


# ---- two at once -----------------------------------------------------------------------------------------------------


def test_processes_that_undo_one_run_at_once_reverse_each_action_once(travellers, repetitions):
    """Whoever finds the other at it waits or stops; in the end all is reversed, each once and in order."""
    for i in range(repetitions):
        run, before = f"race {i}", len(travellers.world.lines())
        assert travellers.ask("trip", run=run) == Answer()
        workers = [travellers.new(SLOW="1") for _ in range(3)]
        try:
            for worker in workers:
                worker.ask("verify")  # all have started
            for worker in workers:
                worker.tell("undo", run=run)
            answers = [worker.hear() for worker in workers]
        finally:
            for worker in workers:
                worker.close()
        assert {answer.error for answer in answers} <= {"", "UndoStopped"}
        assert travellers.ask("undo", run=run).error == ""
        assert travellers.world.lines()[before + len(DONE) :] == REVERSED
    assert travellers.ask("verify") == Answer([])


def test_two_threads_that_undo_one_run_at_once_reverse_each_action_once(travellers, ledger_path):
    """In one process, with one ledger."""
    import call4agents_core as c4a

    told = []
    ledger = c4a.Ledger.open(ledger_path)
    tool = c4a.effect(name="tool", undo=lambda n: told.append(n))(lambda n: n)  # noqa: PLW0108 - by name
    with c4a.run("threads", ledger=ledger):
        for n in range(20):
            tool(n)

    def undo():
        while True:
            try:
                return ledger.undo("threads")
            except c4a.errors.UndoStopped:  # the other one is at it
                continue

    threads = [threading.Thread(target=undo) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.close()
    assert told == list(reversed(range(20)))
