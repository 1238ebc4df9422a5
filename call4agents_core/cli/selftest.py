"""`call4agents selftest`: does this installation keep its promises on this disk? Real processes, really killed, on a ledger to be thrown away."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from call4agents_core._opening import chosen_location
from call4agents_core.cli._command import FINE, NO, Options, Parser, ledger_option
from call4agents_core.cli._table import say
from call4agents_core.errors import Call4AgentsError
from call4agents_core.testing import AFTERMATH, Answer, KillPoint, Worker, WorkerEnded, World, around, check_killed

if TYPE_CHECKING:
    from collections.abc import Callable

HELP = (
    "Tries this installation out: processes killed at each point of an action and of an approval, races, approvals, undo, tampering, archive, "
    "a new secret. On a ledger to be thrown away, in the folder of yours if there is one, else in the system's temporary folder. "
    "Says what was tried and what held; exits with 1 if something did not."
)
_RACERS = 4


class Trial(NamedTuple):
    """A scratch ledger and the world that its agents act in."""

    folder: Path

    @property
    def ledger(self) -> Path:
        """Where the ledger is."""
        return self.folder / "ledger.sqlite"

    @property
    def world(self) -> World:
        """What happened."""
        return World(self.folder / "world.txt")

    def agent(self) -> Worker:
        """A new process of the agent."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("C4A_")}
        return Worker("-m", "call4agents_core.cli._trial", self.ledger, self.world.path, env=environment)

    def ask(self, order: str, **arguments: object) -> Answer:
        """What a new process answers."""
        with self.agent() as agent:
            return agent.ask(order, **arguments)

    def die(self, point: KillPoint, order: str, **arguments: object) -> None:
        """A new process does this and is killed on the way."""
        with self.agent() as agent:
            agent.ask("kill_at", point=str(point))
            agent.tell(order, **arguments)
            try:
                answer = agent.hear()
            except WorkerEnded:
                check_killed(agent.ended(), point)
            else:
                msg = f"it was to be killed {point}, and answered {answer}"
                raise Failed(msg)


class Failed(Exception):
    """A promise that was not kept, and how."""


def _expect(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        msg = f"{what}: {found!r} instead of {wanted!r}"
        raise Failed(msg)


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    beside = Path(chosen_location(options.ledger)).parent
    home = tempfile.mkdtemp(prefix="c4a-selftest-", dir=beside if beside.is_dir() and beside != Path() else None)
    failures = 0
    try:
        for number, (claim, trial) in enumerate(_trials()):
            folder = Path(home) / str(number)
            folder.mkdir()
            failures += not _held(claim, trial, Trial(folder))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    say(f"{failures} of the promises did not hold here." if failures else "All of it held.")
    return NO if failures else FINE


def _held(claim: str, trial: Callable[[Trial], None], place: Trial) -> bool:
    try:
        trial(place)
    except (Failed, AssertionError, WorkerEnded, Call4AgentsError, OSError) as error:
        say(f"FAILED  {claim}: {error}")
        return False
    say(f"held    {claim}")
    return True


def _trials() -> list[tuple[str, Callable[[Trial], None]]]:
    def killed(point: KillPoint) -> Callable[[Trial], None]:
        return lambda trial: _killed(trial, point)

    def deciding(point: KillPoint) -> Callable[[Trial], None]:
        return lambda trial: _killed_approving(trial, point)

    outcomes = {
        "runs": "the next call runs",
        "returns": "the next call returns the result",
        "EffectInDoubt": "the next call is in doubt",
    }
    return [
        *((f"killed {point}: {outcomes[after.next_call]}", killed(point)) for point, after in AFTERMATH.items()),
        *((f"killed {point}: the yes is there or not, never half", deciding(point)) for point in around("approved")),
        (f"{_RACERS} processes call one action at once: it runs once, and all get its result", _races),
        ("a yes covers one action with exactly its arguments, and a later no is obeyed", _approvals),
        ("undo goes newest first, each reversal once, on after a kill", _undo),
        ("an edited and a removed entry are named by verify", _tampering),
        ("what has moved to an archive never runs again", _archive),
        ("after a change of the secret the old entries still count", _rotation),
    ]


# ---- the trials ----------------------------------------------------------------------------------------------------


def _killed(trial: Trial, point: KillPoint) -> None:
    trial.die(point, "call", tool="pay", amount=1)
    after = AFTERMATH[point]
    _expect(trial.world.count(), after.effects, "effects after the kill")
    answer = trial.ask("call", tool="pay", amount=1)
    wanted = Answer(None, "EffectInDoubt", answer.text) if after.next_call == "EffectInDoubt" else Answer("receipt 1")
    _expect(answer, wanted, "the next call")
    _expect(trial.world.count(), after.effects + (after.next_call == "runs"), "effects after the next call")
    _expect(trial.ask("verify"), Answer([]), "verify")


def _killed_approving(trial: Trial, point: KillPoint) -> None:
    trial.die(point, "decide", what="approve", amount=1, to="ann")
    given = point.where == "after"
    answer = trial.ask("call", tool="guarded", amount=1, to="ann")
    _expect(answer.error, "" if given else "ApprovalRequired", "the call")
    _expect(trial.world.count(), int(given), "effects")
    _expect(trial.ask("verify"), Answer([]), "verify")


def _races(trial: Trial) -> None:
    agents = [trial.agent() for _ in range(_RACERS)]
    try:
        for agent in agents:
            agent.ask("verify")  # all have started
        for agent in agents:
            agent.tell("call", tool="slow", amount=1)
        _expect([agent.hear() for agent in agents], [Answer("receipt 1")] * _RACERS, "answers")
    finally:
        for agent in agents:
            agent.close()
    _expect(trial.world.count(), 1, "effects")


def _approvals(trial: Trial) -> None:
    with trial.agent() as agent:
        _expect(agent.ask("call", tool="guarded", amount=1, to="ann").error, "ApprovalRequired", "a call without a yes")
        agent.ask("decide", what="approve", amount=1, to="ann")
        _expect(agent.ask("call", tool="guarded", amount=1, to="eve").error, "ApprovalRequired", "other arguments")
        _expect(agent.ask("call", tool="guarded", amount=1, to="ann").value, "receipt 1 ann", "the approved call")
        agent.ask("decide", what="approve", amount=2, to="ann")
        agent.ask("decide", what="deny", amount=2, to="ann")
    _expect(trial.ask("call", tool="guarded", amount=2, to="ann").error, "ApprovalDenied", "a call after a later no")
    _expect(trial.world.lines(), ["guarded 1 ann"], "effects")


def _undo(trial: Trial) -> None:
    with trial.agent() as agent:
        for amount in (1, 2):
            agent.ask("call", tool="pay", amount=amount)
    trial.die(KillPoint("before", "undone"), "undo")
    _expect(trial.ask("undo"), Answer(["2", "1"]), "undo after a kill")
    _expect(trial.ask("undo"), Answer([]), "undo of what is undone")
    _expect(trial.world.lines(), ["pay 1", "pay 2", "take back 2", "take back 1"], "effects")
    _expect(trial.ask("call", tool="pay", amount=1).error, "EffectUndone", "a call of what is undone")


def _tampering(trial: Trial) -> None:
    with trial.agent() as agent:
        for amount in (1, 2, 3):
            agent.ask("call", tool="pay", amount=amount)
    _by_hand(trial, "UPDATE c4a_entries SET body = replace(body, 'receipt 1', 'receipt 9') WHERE seq = 2")
    _by_hand(trial, "DELETE FROM c4a_entries WHERE seq IN (3, 4)")
    faults = trial.ask("verify").value
    text = " ".join(faults or ())
    _expect(("MAC" in text, "missing" in text), (True, True), f"faults named, of {faults}")
    _expect(trial.ask("call", tool="pay", amount=1).error, "LedgerTampered", "a call that meets the edited entry")


def _by_hand(trial: Trial, sql: str) -> None:
    with closing(sqlite3.connect(trial.ledger)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        connection.execute(sql)


def _archive(trial: Trial) -> None:
    trial.ask("call", tool="pay", amount=1)
    destination = str(trial.folder / "archive.sqlite")
    _expect([trial.ask("archive", destination=destination).value for _ in range(2)], [1, 0], "actions moved")
    _expect(trial.ask("call", tool="pay", amount=1).error, "EffectArchived", "a call of what has moved")
    _expect(trial.world.count(), 1, "effects")
    _expect(trial.ask("verify"), Answer([]), "verify")


def _rotation(trial: Trial) -> None:
    with trial.agent() as running:
        running.ask("call", tool="pay", amount=1)
        trial.ask("rotate")
        _expect(running.ask("call", tool="pay", amount=2).value, "receipt 2", "a process that was running")
    _expect(trial.ask("call", tool="pay", amount=1).value, "receipt 1", "a result from before")
    _expect(trial.world.count(), 2, "effects")
    _expect(trial.ask("verify"), Answer([]), "verify")
