"""`call4agents selftest`: it passes here, and a copy of the package that lacks one guard does not pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(300)]

PACKAGE = Path(__file__).parents[2] / "call4agents_core"


class Sabotage(NamedTuple):
    """One guard taken out of the code, and the promise that does not hold then."""

    file: str
    old: str
    new: str
    broken: str


SABOTAGES = {
    "the tool runs before its intent is written": Sabotage(
        "_ledger.py",
        "after = self.append(call.run, call.action, call.head, state, note, now, durable=True)",
        "return Attempt(call, state.last, None)",
        "killed after intent",
    ),
    "a taken place is overwritten": Sabotage(
        "stores/_sqlite_writer.py",
        "INSERT INTO c4a_entries (run, action, n, body, mac) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        "INSERT OR REPLACE INTO c4a_entries (run, action, n, body, mac) VALUES (?, ?, ?, ?, ?)",
        "4 processes call one action at once",
    ),
    "the MAC is not checked": Sabotage(
        "_streams.py",
        "if not self.keyring.accepts(row.mac, run, action, row.n, state.mac, row.body):",
        "if False:",
        "an edited and a removed entry are named by verify",
    ),
    "an owner always counts as dead": Sabotage(
        "stores/_owners.py",
        'return "dead" if _lock(handle, shared=True) else "alive"',
        'return "dead"',
        "4 processes call one action at once",
    ),
    "a yes is not used up by a no": Sabotage(
        "_state.py",
        "        self.held = self.asked = None\n        self.no = entry\n",
        "        self.held = self.asked = None\n",
        "a later no is obeyed",
    ),
    "what was reversed is not marked": Sabotage(
        "_undo.py",
        "                yield Do(lambda: self._mark(run, done.action, call.action))\n",
        "                pass\n",
        "undo goes newest first",
    ),
}


def selftest(folder: Path, package: Path = PACKAGE) -> tuple[int, list[str], list[str]]:
    """The exit code, what held and what did not, of the package at that place."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("C4A_")}
    environment = {**kept, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(
        [sys.executable, "-c", "import call4agents_core; print(call4agents_core.__path__[0])"],
        check=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert found.stdout.strip() == str(package)
    done = subprocess.run(
        [sys.executable, "-m", "call4agents_core", "selftest"],
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr, done.stderr
    lines = done.stdout.splitlines()
    return (
        done.returncode,
        [line for line in lines if line.startswith("held ")],
        [line for line in lines if line.startswith("FAILED ")],
    )


@pytest.fixture
def folder(tmp_path):
    """Where the command runs; nothing may be left there."""
    made = tmp_path / "here"
    made.mkdir()
    return made


def test_it_passes_here_and_leaves_nothing(folder):
    """0, a line for each promise, none failed."""
    code, held, failed = selftest(folder)
    assert (code, failed) == (0, [])
    assert len(held) >= 15
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", SABOTAGES)
def test_it_names_the_promise_that_a_sabotaged_copy_breaks(folder, tmp_path, name):
    """1, and the line of the promise. What does not depend on the guard still holds, so the copy itself runs."""
    sabotage = SABOTAGES[name]
    package = tmp_path / "copy" / "call4agents_core"
    shutil.copytree(PACKAGE, package)
    text = (package / sabotage.file).read_text(encoding="utf-8")
    assert text.count(sabotage.old) == 1
    (package / sabotage.file).write_text(text.replace(sabotage.old, sabotage.new), encoding="utf-8")
    code, held, failed = selftest(folder, package)
    assert code == 1
    assert [line for line in failed if sabotage.broken in line], failed
    assert held
    assert list(folder.iterdir()) == []
