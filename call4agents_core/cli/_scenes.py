"""Playing the scenes of quickstart: real child processes, ended by SIGKILL, and what they left in the world."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import call4agents_core
from call4agents_core.cli._demo import HARDEST, WORLD
from call4agents_core.errors import Call4AgentsError
from call4agents_core.plugin import Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

Kill = Literal["inside", "after"]

#: A child that takes longer is stuck; seconds.
_PATIENCE = 30
_KILLED = -HARDEST if os.name == "posix" else HARDEST


class SceneFailed(Call4AgentsError):
    """A child process did not end as its scene says, so nothing can be told by it."""


class Crash(NamedTuple):
    """One crash of one agent: how often its effect happened without and with us, and what the resumed agent was told."""

    agent: str
    kill: Kill
    without: int
    guarded: int
    told: str = ""


class Yes(NamedTuple):
    """What a yes to pay(10, alice) let through."""

    mallory: int
    alice: int
    told: str


def crash(agent: str, kill: Kill, play: Callable[[Scene], int]) -> Crash:
    """Play one crash without us and with us, both at once: most of the time is spent waiting for child processes."""

    def count(guarded: bool) -> int:
        with _folder() as folder:
            return play(Scene(folder, guarded, kill))

    with ThreadPoolExecutor(2) as both:
        without, guarded = both.map(count, (False, True))
    return Crash(agent, kill, without, guarded)


def plain_crash(kill: Kill) -> Crash:
    """The same for the agent in plain Python."""
    told: list[str] = []

    def play(scene: Scene) -> int:
        name = "send-with" if scene.guarded else "send-without"
        _child(name, scene.folder, kill)
        answer = _child(name, scene.folder, "")
        if scene.guarded:
            told.extend(answer.values())
        return _count(scene.folder, "sent bob")

    return crash("plain Python", kill, play)._replace(told=told[0])


def yes() -> Yes:
    """A yes to pay(10, alice), an agent that first pays mallory, a crash right after it paid alice, and a resume."""
    with _folder() as folder:
        _child("pay", folder, "after")
        told = _child("pay", folder, "")
        return Yes(_count(folder, "paid 9999 mallory"), _count(folder, "paid 10 alice"), str(told["returned"]))


@contextlib.contextmanager
def no_settings_from_outside() -> Generator[None]:
    """The scenes have a ledger each; settings for the user's own are put back afterwards."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("C4A_")}
    try:
        yield
    finally:
        os.environ.update(kept)


@contextlib.contextmanager
def _folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="call4agents-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def _count(folder: Path, line: str) -> int:
    world = folder / WORLD
    return world.read_text(encoding="utf-8").splitlines().count(line) if world.exists() else 0


def _child(scene: str, folder: Path, kill: Kill | Literal[""]) -> dict[str, Any]:
    """Run a scene in a process of its own. With ``kill`` it must end by the signal; else it says what the agent was told."""
    command = [sys.executable, "-m", "call4agents_core.cli._demo", scene, str(folder), kill]
    ended = subprocess.run(  # noqa: S603 - our own module, by this interpreter
        command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=_PATIENCE, check=False
    )
    if ended.returncode != (_KILLED if kill else 0):
        lines = ended.stderr.strip().splitlines() or ["it said nothing"]
        msg = f"The scene {scene} could not be played: its process ended with {ended.returncode}: {lines[-1]}"
        raise SceneFailed(msg)
    return {} if kill else json.loads(ended.stdout)


def _environment() -> dict[str, str]:
    """The child starts in an empty folder, so that no file of the user's shadows a module; it has to find this package all the same."""
    paths = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    home = os.path.dirname(os.path.dirname(os.path.abspath(call4agents_core.__file__)))
    if os.path.abspath(sys.path[0]) == home:  # found by where it was started, as in a checkout, not by being installed
        paths.insert(0, home)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
