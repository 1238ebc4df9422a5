"""What tests of ledgers, async calls and cases share: what tools raise, ledgers that close, a clock, raw SQL, and other processes."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import call4agents_core as c4a
from call4agents_core import _scope
from call4agents_core.errors import ApprovalDenied, ApprovalRequired

REFUSED = (ApprovalRequired, ApprovalDenied)


class Boom(Exception):
    """What a tool raises that tells nothing of what happened."""


class Safe(Exception):
    """What retry_on= names: it proves that nothing happened."""


class Opaque:
    """Of no type that a ledger can keep."""

    def __init__(self, text: str = "") -> None:
        self.text = text


# ---- fixtures: import them in a conftest.py --------------------------------------------------------------------------


@pytest.fixture
def ledger(ledger_path: Path) -> Iterator[c4a.Ledger]:
    """The ledger that init() opened for this process; closed and forgotten afterwards."""
    opened = c4a.init(ledger_path)
    yield opened
    opened.close()
    _scope._default.clear()


@pytest.fixture
def in_run() -> Iterator[str]:
    """The test runs inside run "r"."""
    with c4a.run("r"):
        yield "r"


class Clock:
    """The clock of a store. It stands still until a test moves it."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock(ledger: c4a.Ledger, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that the ledger goes by."""
    made = Clock()
    monkeypatch.setattr(ledger.store, "now", made)
    return made


# ---- helpers ---------------------------------------------------------------------------------------------------------


def files_of(ledger: c4a.Ledger) -> bytes:
    """All bytes that a ledger has put on disk, its folder included."""
    place = Path(ledger.location)
    return b"".join(path.read_bytes() for path in sorted(place.parent.rglob("*")) if path.is_file())


def entries_of(ledger: c4a.Ledger) -> int:
    """How many entries a ledger holds."""
    return sum(1 for _ in ledger.store.scan())


def faults(ledger: c4a.Ledger) -> str:
    """What verify finds, a line each."""
    return "\n".join(ledger.verify().faults)


def counting() -> tuple[list[Any], Callable[..., int]]:
    """What ran, and what a tool returns to say the how-manieth run it was."""
    ran: list[Any] = []

    def run(value: object = None) -> int:
        ran.append(value)
        return len(ran)

    return ran, run


def failing(error: BaseException, times: int = 1, **options: Any) -> tuple[Any, list[str]]:
    """An effect that raises so often, then returns; and the idempotency keys of its attempts."""
    keys: list[str] = []

    @c4a.effect(name="pay", **({"wait": 0.2} | options))
    def pay(amount: int) -> str:
        keys.append(c4a.idempotency_key())
        if len(keys) <= times:
            raise error
        return f"paid {amount}"

    return pay, keys


@contextlib.contextmanager
def raw(path: Path | str) -> Iterator[sqlite3.Connection]:
    """A connection to the ledger's file as an attacker has it: the triggers are gone, and nothing is asked of us."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=20)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        yield connection


def in_thread(function: Callable[[], Any], run: str | None = "r") -> Callable[[], Any]:
    """Call it in a thread, inside a run; what this returns waits for the end and gives the value or the exception."""
    got: list[Any] = []

    def work() -> None:
        with c4a.run(run) if run is not None else contextlib.nullcontext():
            try:
                got.append(function())
            except BaseException as error:
                got.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def outcome() -> Any:
        thread.join(30)
        assert got, "the thread has not ended"
        return got[0]

    return outcome


#: What every child has at hand: the ledger of the test, and `say`, which answers by one line of JSON.
PRELUDE = """
import asyncio, json, os, signal, sys, threading, time
import call4agents_core as c4a
from call4agents_core import errors
LEDGER, WORLD = os.environ["KIT_LEDGER"], os.environ["KIT_WORLD"]
def say(*values):  # in one piece: several threads may speak
    sys.stdout.write(json.dumps(values, default=repr) + "\\n")
    sys.stdout.flush()
def die(): os.kill(os.getpid(), signal.SIGKILL)
def act(line="effect"):
    with open(WORLD, "a") as file:
        file.write(line + "\\n"); file.flush(); os.fsync(file.fileno())
def attempt(function, *args, **kwargs):
    try: say("value", function(*args, **kwargs))
    except BaseException as error: say(type(error).__name__, str(error))
"""


class Child:
    """Another process that runs a piece of Python on the same ledger."""

    def __init__(self, folder: Path, code: str, environment: dict[str, str]) -> None:
        code = PRELUDE + textwrap.dedent(code)
        settings = {
            **os.environ,
            "KIT_LEDGER": str(folder / "ledger.sqlite"),
            "KIT_WORLD": str(folder / "world.txt"),
            **environment,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=folder,
            env=settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> list[Any]:
        """The next thing that it says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the child ended with {self.process.wait(10)}"
        return json.loads(line)

    def go_on(self) -> None:
        """Let it go on from its `input()`."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> int:
        """Wait for its end, and read what is left; its exit status."""
        self.rest = [json.loads(line) for line in self.process.communicate(timeout=60)[0].splitlines()]
        return self.process.returncode


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[..., Child]]:
    """Starts children; whatever of them is left at the end of the test is ended."""
    started: list[Child] = []

    def start(code: str, **environment: str) -> Child:
        started.append(Child(tmp_path, code, environment))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


@pytest.fixture
def tell(child: Callable[..., Child]) -> Callable[..., list[list[Any]]]:
    """Runs a child to its end, and gives all that it said. ``status``: how it has to end."""

    def run(code: str, *, status: int = 0, **environment: str) -> list[list[Any]]:
        one = child(code, **environment)
        assert one.end() == status
        return one.rest

    return run
