"""The command as users run it: a child process, on a ledger in which a bit of everything has happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import call4agents_core as c4a

ROOT = Path(__file__).parents[2]

#: What a terminal must never get to see as it is: a bidi override, an escape sequence, a C1 control, a zero width space.
HIDDEN = "\u202e\x1b[31m\x9b\u200b"

AGENT = """
import os, signal, sys, time
import call4agents_core as c4a

def happens(line):
    with open(os.environ["WORLD"], "a") as file:
        file.write(line + "\\n")

@c4a.effect(name="book", undo=lambda seat: None)
def book(seat):
    happens(f"book {seat}")
    return f"ref-{seat}"

@c4a.effect(name="charge", wait=0.2)
def charge(amount):
    happens(f"charge {amount}")
    if amount == 666: raise ConnectionError("reset by peer")
    if amount == 13: os.kill(os.getpid(), signal.SIGKILL)
    if amount == 7: print("running", flush=True); time.sleep(60)
    return {"charged": amount}

@c4a.effect(name="pay", approval=True)
def pay(amount, to, note=None):
    happens(f"pay {amount} {to}")
    return amount

c4a.init(sys.argv[1])
with c4a.run(sys.argv[2]):
    print(repr(eval(sys.argv[3])))
"""


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as the JSON that it has to be."""
        return json.loads(self.out)


@dataclass
class Cli:
    """Runs commands in a folder of their own, on the ledger at `ledger`."""

    folder: Path
    ledger: Path
    world: Path
    environ: dict[str, str] = field(default_factory=dict)
    python: tuple[str, ...] = (sys.executable,)

    def __call__(self, *words: object, code: int = 0, ledger: bool = True) -> Ended:
        """One command with the exit code that it must have. No error of ours is ever a traceback."""
        line = [*map(str, words), *(["--ledger", str(self.ledger)] if ledger else [])]
        done = self.run(*self.python, "-m", "call4agents_core", *line)
        assert "Traceback" not in done.err, done.err
        assert done.code == code, f"exit {done.code}: {done.out}{done.err}"
        return done

    def agent(self, run: str, expression: str) -> Ended:
        """Evaluate a call of a tool in a process of its own, inside a run."""
        return self.run(sys.executable, "-c", AGENT, str(self.ledger), run, expression)

    def start_agent(self, run: str, expression: str) -> subprocess.Popen[str]:
        """The same, not waited for."""
        command = [sys.executable, "-c", AGENT, str(self.ledger), run, expression]
        return subprocess.Popen(command, cwd=self.folder, env=self.env(), stdout=subprocess.PIPE, text=True)

    def run(self, *command: str) -> Ended:
        """Any command, in the folder."""
        done = subprocess.run(
            command,
            check=False,
            cwd=self.folder,
            env=self.env(),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=100,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def env(self) -> dict[str, str]:
        """The environment of every child: this checkout, and none of the settings of whoever runs the tests."""
        paths = os.pathsep.join([str(ROOT), *filter(None, [self.environ.get("PYTHONPATH", "")])])
        kept = {name: value for name, value in os.environ.items() if not name.startswith("C4A_")}
        return {**kept, "WORLD": str(self.world), **self.environ, "PYTHONPATH": paths}

    def lines(self) -> list[str]:
        """What the tools did in the world."""
        return self.world.read_text().splitlines() if self.world.exists() else []


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command in an empty folder; there is no ledger yet."""
    folder = tmp_path / "here"
    folder.mkdir()
    return Cli(folder, tmp_path / "ledger.sqlite", tmp_path / "world.txt")


@pytest.fixture
def bare(cli: Cli) -> Cli:
    """The command in an interpreter that sees the standard library and this checkout only: no framework, no plugin, no rich."""
    cli.python = (sys.executable, "-S")
    return cli


@dataclass(frozen=True)
class Known:
    """What is in the ledger of `trips`."""

    in_doubt: str  # an action of run trip-2
    asked: str  # requests of run trip-3
    nasty: str


@pytest.fixture
def trips(cli: Cli) -> Known:
    """trip-1: three bookings are done. trip-2: a booking is done, a charge raised. trip-3: two payments wait for a yes."""

    @c4a.effect(name="book", undo=lambda seat: None)
    def book(seat):
        return f"ref-{seat}"

    @c4a.effect(name="charge")
    def charge(amount):
        raise ConnectionError("reset by peer")

    @c4a.effect(name="pay", approval=True)
    def pay(amount, to, note=None):
        return amount

    ledger = c4a.Ledger.open(cli.ledger)
    try:
        with c4a.run("trip-1", ledger=ledger):
            for seat in ("3C", "1A", "2B"):
                book(seat)
        with c4a.run("trip-2", ledger=ledger):
            book("9Z")
            with pytest.raises(ConnectionError):
                charge(666)
            with pytest.raises(c4a.errors.EffectInDoubt) as doubt:
                charge(666)
        with c4a.run("trip-3", ledger=ledger):
            asked = ledger.request_approval(pay, amount=10, to="alice")
            nasty = ledger.request_approval(pay, amount=20, to=f"ali{HIDDEN}ce")
    finally:
        ledger.close()
    return Known(doubt.value.action, asked.id, nasty.id)


@pytest.fixture
def hidden() -> str:
    """Characters that may not reach a terminal."""
    return HIDDEN
