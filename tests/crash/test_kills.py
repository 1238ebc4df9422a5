"""Processes are ended by SIGKILL at every point of a call and of a decision; a new process finds what the rules promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from call4agents_core.testing import AFTERMATH, Answer, KillPoint, Worker, around, check_killed

pytestmark = [pytest.mark.crash, pytest.mark.timeout(600)]

PAYER = Path(__file__).with_name("payer.py")


class Deaths:
    """Processes that all did the same, each in a run of its own, and were killed at the same point."""

    def __init__(self, nursery, ledger_path, world, repetitions):
        self.nursery, self.ledger_path, self.world = nursery, ledger_path, world
        self.runs = [f"run {i}" for i in range(repetitions)]

    def die(self, point, *orders):
        """In every run, in a process of its own: carry out the orders, and be killed at the point by the last of them."""
        where = {"ledger_path": str(self.ledger_path), "world_path": str(self.world.path), "point": str(point)}
        for run in self.runs:
            ended = self.nursery.ask("die", run=run, orders=orders, **where)
            check_killed(ended.value, point)

    def survivor(self):
        """A new process."""
        return Worker(PAYER, self.ledger_path, self.world.path)

    def find(self, tool, effects, next_call):
        """A new process finds so many effects in every run, does on a call what it has to, and the ledger is sound."""
        with self.survivor() as survivor:
            for run in self.runs:
                assert self.world.count(f"{tool} {run}") == effects
                answer = survivor.ask("call", tool=tool, run=run)
                assert answer.error == ("" if next_call in ("runs", "returns") else next_call)
                assert self.world.count(f"{tool} {run}") == effects + (next_call == "runs")
                if not answer.error:
                    assert survivor.ask("call", tool=tool, run=run) == answer
                    assert self.world.count(f"{tool} {run}") == effects + (next_call == "runs")
            assert survivor.ask("verify") == Answer([])


@pytest.fixture(scope="module")
def nursery():
    """Where processes are forked that are to be killed."""
    with Worker(PAYER) as worker:
        yield worker


@pytest.fixture
def deaths(nursery, ledger_path, world, repetitions):
    """As many as C4A_REPEAT says, on one ledger."""
    return Deaths(nursery, ledger_path, world, repetitions)


def points(*found):
    return pytest.mark.parametrize("point", found, ids=[str(point).replace(" ", "-") for point in found])


# ---- a call --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["pay", "apay"])
@points(*AFTERMATH)
def test_a_killed_call_happens_at_most_once(deaths, point, tool):
    """Before the intent is committed nothing happened; from then on until the result is, it is in doubt; then it is done."""
    deaths.die(point, ("call", {"tool": tool}))
    deaths.find(tool, *AFTERMATH[point])


@points(*AFTERMATH)
def test_a_killed_call_spends_its_yes_with_the_intent(deaths, point):
    """Before the intent is committed the yes is there; afterwards it is spent, and nothing runs on it again."""
    deaths.die(point, ("approve", {"tool": "guarded"}), ("call", {"tool": "guarded"}))
    unused = 1 if AFTERMATH[point].next_call == "runs" else 0
    with deaths.survivor() as survivor:
        assert [survivor.ask("unused_yeses", run=run) for run in deaths.runs] == [Answer(unused)] * len(deaths.runs)
    deaths.find("guarded", *AFTERMATH[point])


def test_a_yes_still_holds_for_a_killed_call_that_is_proved_not_to_have_happened(deaths):
    """The yes that the attempt used up covers the next attempt, and no other."""
    deaths.die(KillPoint("after", "intent"), ("approve", {"tool": "guarded"}), ("call", {"tool": "guarded"}))
    with deaths.survivor() as person:
        for run in deaths.runs:
            assert person.ask("resolve", run=run, outcome="did-not-happen") == Answer()
    deaths.find("guarded", 0, "runs")
    deaths.find("guarded", 1, "returns")


# ---- decisions -----------------------------------------------------------------------------------------------------


@points(*around("asked"))
def test_a_killed_request_is_opened_once(deaths, point):
    """Whether it was written or not: the next call gets one request, and nothing runs."""
    deaths.die(point, ("call", {"tool": "guarded"}))
    deaths.find("guarded", 0, "ApprovalRequired")
    with deaths.survivor() as person:
        assert sorted(person.ask("pending").value) == sorted(deaths.runs)


@points(*around("approved"))
def test_a_killed_yes_is_given_or_not(deaths, point):
    """Committed, it lets one call run; before, none."""
    deaths.die(point, ("call", {"tool": "guarded"}), ("approve", {"tool": "guarded"}))
    deaths.find("guarded", 0, "runs" if point.where == "after" else "ApprovalRequired")


@points(*around("denied"))
def test_a_killed_no_is_said_or_not(deaths, point):
    """Committed, it takes the yes away; before, the yes holds."""
    deaths.die(point, ("approve", {"tool": "guarded"}), ("deny", {"tool": "guarded"}))
    deaths.find("guarded", 0, "ApprovalDenied" if point.where == "after" else "runs")


def test_a_no_takes_the_yes_away_for_good(deaths):
    """Asked anew, the action waits for another yes: the one before the no does not come back."""
    deaths.die(KillPoint("after", "denied"), ("approve", {"tool": "guarded"}), ("deny", {"tool": "guarded"}))
    with deaths.survivor() as person:
        for run in deaths.runs:
            assert person.ask("request", run=run, tool="guarded") == Answer()
    deaths.find("guarded", 0, "ApprovalRequired")


@pytest.mark.parametrize(("outcome", "then"), [("happened", "returns"), ("did-not-happen", "runs")])
@points(*around("resolved"))
def test_a_killed_answer_to_a_doubt_counts_or_not(deaths, point, outcome, then):
    """Committed, it settles the action; before, the doubt stays."""
    deaths.die(point, ("call", {"tool": "pay", "breaks": True}), ("resolve", {"outcome": outcome}))
    deaths.find("pay", 1, then if point.where == "after" else "EffectInDoubt")
