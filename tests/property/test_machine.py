"""Several real processes call, decide, resolve and are killed, in any order; a model of the rules says what each of them has to find."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from call4agents_core.testing import AFTERMATH, Answer, KillPoint, Worker, World, check_killed

pytestmark = [pytest.mark.crash, pytest.mark.timeout(900)]

WORKER = Path(__file__).with_name("machine_worker.py")
PROCESSES = 3
ARGUMENTS = (1, 2, 3)
DECISIONS = ("approve", "deny", "request", "approve_request")


class Spares:
    """Processes that are up and wait for a ledger, since starting one takes longer than what it is to do."""

    def __init__(self, count):
        self._ready = deque(Worker(WORKER) for _ in range(count))

    def take(self):
        """One that is ready; another one gets ready meanwhile."""
        if len(self._ready) <= 2:
            self._ready.append(Worker(WORKER))
        return self._ready.popleft()

    def give_back(self, worker):
        self._ready.append(worker)

    def close(self):
        for worker in self._ready:
            worker.kill()


@dataclass
class Action:
    """What the model knows of one action. ``rights``: effects that were permitted so far, by the words of the promises."""

    tool: str
    x: int
    stage: str = "none"  # none, running, in doubt, not done, done
    result: str = ""
    yes: bool = False  # one that nobody used
    held: bool = False  # the one that the newest attempt used up
    no: bool = False
    request: str = ""  # the open one
    requests: list[str] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    effects: int = 0
    proofs: int = 0  # how often it was said, or proved, that the newest attempt did not happen
    yeses: int = 0

    @property
    def name(self):
        return f"{self.tool} {self.x}"

    @property
    def decidable(self):
        """Whether a decision by arguments means this action: the first of them that is not done."""
        return self.stage != "done"

    def expected(self):
        """What a call does now, in the name of its error; "" if it returns the result, "begins" if the tool starts."""
        if self.stage in ("running", "in doubt", "done"):
            return {"running": "EffectRunning", "in doubt": "EffectInDoubt", "done": ""}[self.stage]
        if self.no and not self.request:
            return "ApprovalDenied"
        needs_yes = self.tool == "guarded" or self.no
        return "begins" if self.yes or not needs_yes else "ApprovalRequired"

    def begin(self):
        if self.tool == "guarded" or self.no:
            self.yes, self.held = False, True
        self.request = ""

    def end(self, stage, result=""):
        self.stage, self.result = stage, result
        self.request = "" if stage == "done" else self.request
        if stage == "not done":
            self.proofs += 1
            self.yes, self.held = self.yes or self.held, False

    def approve(self):
        if not self.yes:
            self.yes, self.no, self.request = True, False, ""
            self.yeses += 1

    def deny(self):
        self.denied |= set(self.requests)
        self.yes, self.held, self.no, self.request = False, False, True, ""


ACTIONS = st.tuples(st.sampled_from(["free", "guarded"]), st.sampled_from(ARGUMENTS))


class Machine(RuleBasedStateMachine):
    """Three processes on one ledger, six actions, one world."""

    spares: Spares

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="c4a-machine-"))
        self.world = World(self.folder / "world.txt")
        self.actions = {(tool, x): Action(tool, x) for tool in ("free", "guarded") for x in ARGUMENTS}
        self.idle = [self.new_process() for _ in range(PROCESSES)]
        self.inside = {}  # action: the process that hangs inside it
        self.turn = 0

    def new_process(self):
        worker = self.spares.take()
        self.start(worker)
        return worker

    def start(self, worker):
        where = {"ledger_path": str(self.folder / "ledger.sqlite"), "world_path": str(self.world.path)}
        assert worker.ask("start", **where) == Answer()

    @property
    def process(self):
        """The idle ones by turns, so that each sees what the others did."""
        self.turn += 1
        return self.idle[self.turn % len(self.idle)]

    def replace(self, worker):
        """One that has ended, by another."""
        worker.close()
        self.idle.remove(worker)
        self.idle.append(self.new_process())

    # ---- calls --------------------------------------------------------------------------------------------------

    def call(self, worker, action, **how):
        return worker.ask("call", tool=action.tool, x=action.x, **how)

    def refused(self, action, answer):
        """Whether a call that the model expects not to start the tool did what it has to."""
        expected = action.expected()
        assert answer.error == expected
        if expected == "":
            assert answer == Answer(action.result)
        if expected == "ApprovalRequired":
            action.request = action.request or "opened by a call"

    def ready(self):
        """The actions whose call starts the tool."""
        return sorted(key for key, action in self.actions.items() if action.expected() == "begins")

    def one_that_begins(self, data):
        return self.actions[data.draw(st.sampled_from(self.ready()))]

    @rule(key=ACTIONS)
    def calls(self, key):
        action = self.actions[key]
        answer = self.call(self.process, action)
        if action.expected() != "begins":
            self.refused(action, answer)
            return
        assert answer == Answer(f"receipt of {action.name}")
        action.begin()
        action.effects += 1
        action.end("done", answer.value)

    @precondition(lambda self: self.ready())
    @rule(data=st.data(), proof=st.booleans())
    def calls_and_the_tool_raises(self, data, proof):
        action = self.one_that_begins(data)
        answer = self.call(self.process, action, then="refuse" if proof else "break")
        assert answer.error == ("NothingHappened" if proof else "ConnectionError")
        action.begin()
        action.effects += not proof
        action.end("not done" if proof else "in doubt")

    @precondition(lambda self: self.ready())
    @rule(data=st.data(), point=st.sampled_from(list(AFTERMATH)))
    def calls_and_is_killed(self, data, point):
        action, worker = self.one_that_begins(data), self.process
        worker.tell("call", tool=action.tool, x=action.x, then=str(point))
        check_killed(worker.ended(), point)
        self.replace(worker)
        if point in (KillPoint("before", "intent"), KillPoint("in", "intent")):
            return
        action.begin()
        action.effects += AFTERMATH[point].effects
        action.end("done" if point == KillPoint("after", "result") else "in doubt", f"receipt of {action.name}")

    @precondition(lambda self: len(self.idle) >= 2)
    @rule(key=ACTIONS)
    def two_call_at_once(self, key):
        action = self.actions[key]
        if action.stage == "running":
            return
        pair = self.idle[:2]
        for worker in pair:
            worker.tell("call", tool=action.tool, x=action.x, patient=True)
        answers = [worker.hear() for worker in pair]
        if action.expected() != "begins":
            for answer in answers:
                self.refused(action, answer)
            return
        assert answers == [Answer(f"receipt of {action.name}")] * 2
        action.begin()
        action.effects += 1
        action.end("done", answers[0].value)

    # ---- inside an effect ---------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.idle) >= 2 and self.ready())
    @rule(data=st.data())
    def calls_and_stays_inside(self, data):
        action, worker = self.one_that_begins(data), self.process
        worker.tell("call", tool=action.tool, x=action.x, then="hang")
        self.look_until((self.folder / f"inside {action.name}").exists)
        self.idle.remove(worker)
        self.inside[action.tool, action.x] = worker
        action.begin()
        action.effects += 1
        action.stage = "running"

    def look_until(self, condition):
        until = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < until
            time.sleep(0.002)

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def comes_out(self, data):
        key, worker = self.leaves(data)
        action = self.actions[key]
        (self.folder / f"release {action.name}").touch()
        assert worker.hear() == Answer(f"receipt of {action.name}")
        self.idle.append(worker)
        action.end("done", f"receipt of {action.name}")

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def is_killed_inside(self, data):
        key, worker = self.leaves(data)
        worker.kill()
        (self.folder / f"inside {self.actions[key].name}").unlink()
        self.idle.append(self.new_process())
        self.actions[key].end("in doubt")

    def leaves(self, data):
        key = data.draw(st.sampled_from(sorted(self.inside)))
        return key, self.inside.pop(key)

    @rule()
    def an_idle_one_is_killed(self):
        worker = self.process
        worker.kill()
        self.replace(worker)

    @rule()
    def an_idle_one_is_started_anew(self):
        """It closes its ledger and opens it again."""
        self.start(self.process)

    # ---- decisions ----------------------------------------------------------------------------------------------

    def approve(self, action):
        assert self.process.ask("approve", tool=action.tool, x=action.x) == Answer()
        if action.decidable:
            action.approve()

    def deny(self, action):
        assert self.process.ask("deny", tool=action.tool, x=action.x) == Answer()
        if action.decidable:
            action.deny()

    def request(self, action):
        """Ask in advance, or anew after a no."""
        if action.decidable:
            answer = self.process.ask("request", tool=action.tool, x=action.x)
            assert not answer.error
            assert action.request in ("", "opened by a call", answer.value)
            action.request = answer.value
            action.requests.append(answer.value)

    def approve_request(self, action):
        """By the id of the newest request, which may have been answered since."""
        if action.requests:
            newest = action.requests[-1]
            answer = self.process.ask("approve_request", id=newest)
            denied = newest in action.denied
            assert answer.error == ("ApprovalDenied" if denied else "")
            if action.decidable and not denied:
                action.approve()

    @rule(key=ACTIONS, decisions=st.lists(st.sampled_from(DECISIONS), min_size=1, max_size=4), call=st.booleans())
    def is_decided_about(self, key, decisions, call):
        """By several people, one after the other; and perhaps it is called at once."""
        for decision in decisions:
            getattr(self, decision)(self.actions[key])
        if call:
            self.calls(key)

    @rule(key=ACTIONS, happened=st.booleans())
    def resolves(self, key, happened):
        action = self.actions[key]
        answer = self.process.ask("resolve", tool=action.tool, x=action.x, happened=happened)
        if action.stage == "in doubt":
            assert answer == Answer()
            action.end("done" if happened else "not done", f"seen {action.name}")
        else:
            assert answer.error == ("EffectRunning" if action.stage == "running" else "UsageError")

    # ---- what always holds --------------------------------------------------------------------------------------

    @invariant()
    def effects_are_those_of_the_model(self):
        for action in self.actions.values():
            assert self.world.count(action.name) == action.effects

    @invariant()
    def no_action_happens_twice_unless_somebody_said_that_it_did_not(self):
        for action in self.actions.values():
            assert self.world.count(action.name) <= 1 + action.proofs

    @invariant()
    def nothing_happens_without_a_yes(self):
        for action in self.actions.values():
            if action.tool == "guarded":
                assert self.world.count(action.name) <= (action.yeses and action.yeses + action.proofs)

    def teardown(self):
        try:
            for key in sorted(self.inside):
                self.inside[key].kill()
                self.actions[key].end("in doubt")
            self.a_new_process_finds_it_all()
        finally:
            for worker in self.idle:
                self.spares.give_back(worker)
            shutil.rmtree(self.folder)

    def a_new_process_finds_it_all(self):
        """The ledger is sound, and every action stands as the model says."""
        worker = self.new_process()
        self.idle.append(worker)
        assert worker.ask("verify") == Answer([])
        for action in self.actions.values():
            if action.expected() != "begins":
                self.refused(action, self.call(worker, action))
        self.effects_are_those_of_the_model()
        assert worker.ask("verify") == Answer([])


def run_machine(examples, steps, phases):
    Machine.spares = Spares(PROCESSES)
    try:
        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                phases=phases,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                print_blob=True,
            ),
        )
    finally:
        Machine.spares.close()


def test_processes_that_call_decide_and_die_find_what_the_rules_say():
    """An effect never more than once, never without a yes that covers it, never against a no; the ledger stays sound."""
    run_machine(
        10, 15, [phase for phase in Phase if phase is not Phase.shrink]
    )  # fifteen steps are short enough to be read


@pytest.mark.slow
def test_processes_that_call_decide_and_die_for_long_find_what_the_rules_say():
    """The same, longer."""
    run_machine(60, 40, list(Phase))
