"""Whole programs: how long they take, and how much memory at most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.children import WorkerFailed, environment
from benchmarks.samples import Samples, take, turns

if TYPE_CHECKING:
    from benchmarks.settings import Settings

_LAUNCH = Path(__file__).with_name("launch.py")


class Cost(NamedTuple):
    """Seconds, and bytes of memory at most where the system tells."""

    seconds: float
    memory: float | None


def call4agents(*words: str) -> list[str]:
    """The command line of our command: the installed script, else the module."""
    name = "call4agents.exe" if os.name == "nt" else "call4agents"
    script = Path(sysconfig.get_path("scripts")) / name
    return [str(script), *words] if script.exists() else [sys.executable, "-m", "call4agents_core", *words]


def measured(words: list[str]) -> Cost:
    """Run a program to its end, which must be a good one."""
    launch = [sys.executable, "-I", "-S", str(_LAUNCH), *words]
    done = subprocess.run(launch, capture_output=True, check=True, env=_environment())  # noqa: S603 - our own command
    seconds, memory, code = done.stdout.split()
    if int(code):
        raise WorkerFailed(f"{' '.join(words)} ended with {int(code)}")
    return Cost(float(seconds), float(memory) or None)


def shown(command: str, location: Path) -> list[Any]:
    """What a command that lists says of a ledger."""
    words = call4agents(command, "--json", "--ledger", str(location))
    done = subprocess.run(words, capture_output=True, check=True, env=_environment())  # noqa: S603 - our own command
    found: list[Any] = json.loads(done.stdout)
    return found


def starts(location: Path, settings: Settings) -> Samples:
    """`bare`, `import`, `help` and `list`: seconds of a whole process."""
    programs = {
        "bare": [sys.executable, "-c", "pass"],
        "import": [sys.executable, "-c", "import call4agents_core"],
        "help": call4agents("--help"),
        "list": call4agents("list", "--limit", "5", "--ledger", str(location)),
    }
    found: Samples = {}
    for number, name in turns(settings.starts, list(programs)):
        words = programs[name]
        cost = measured(words)
        if number:
            take(found, "start", {name: cost.seconds})
    return found


def _environment() -> dict[str, str]:
    return {name: value for name, value in environment().items() if name != "PYTHONPATH"}
