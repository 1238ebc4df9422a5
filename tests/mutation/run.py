"""Takes each named guard out of a copy of the code: one of its tests must fail. `make mutate`, or with words that a guard's name holds.

A guard of guards.toml is an edit (file, old text, new text) and the tests that hold it. Guards of one file are a batch, and
each batch has a control: an edit that changes nothing, after which all tests of the batch have to pass. Exits with 1 if a guard
survives, if its edit no longer applies exactly once, or if its tests cannot run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
GUARDS = Path(__file__).with_name("guards.toml")
COPIED = ("call4agents_core", "tests", "pyproject.toml", "README.md")
LONGEST = 120  # seconds that the tests of one guard may take
PASSED, FAILED = 0, 1  # how pytest ends; everything else means that it could not run them


class Edit(NamedTuple):
    """Text of a file that is replaced by another; it has to stand there exactly once."""

    file: str
    old: str
    new: str

    def applied_to(self, text: str) -> str:
        """The text without the guard. Raises ValueError where the edit does not apply."""
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self.file} holds the text of the edit {found} times, not once")
        return text.replace(self.old, self.new)


class Guard(NamedTuple):
    """One line that keeps a promise, and the tests that must fail without it."""

    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


def guards() -> list[Guard]:
    """All that guards.toml lists, in its order."""
    return [_guard(entry) for entry in tomllib.loads(GUARDS.read_text(encoding="utf-8"))["guard"]]


def _guard(entry: dict[str, Any]) -> Guard:
    edits = [entry, *entry.get("also", [])]
    return Guard(
        entry["name"], tuple(Edit(one["file"], one["old"], one["new"]) for one in edits), tuple(entry["tests"])
    )


# ---- running ---------------------------------------------------------------------------------------------------------


class Copy:
    """A copy of the tree, in which edits are made and tests run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        unwanted = shutil.ignore_patterns("__pycache__", "*.pyc")
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=unwanted)
            else:
                shutil.copy(source, folder / name)
        where = self._python("-c", "import call4agents_core; print(call4agents_core.__file__)").stdout.strip()
        if not Path(where).is_relative_to(folder):
            raise SystemExit(f"the tests would run on {where}, not on the copy in {folder}")

    @contextmanager
    def without(self, edits: tuple[Edit, ...]) -> Iterator[None]:
        """The tree with these edits made. Raises ValueError where one does not apply."""
        before: dict[Path, str] = {}
        try:
            for edit in edits:
                path = self.folder / edit.file
                text = path.read_text(encoding="utf-8")
                before.setdefault(path, text)
                path.write_text(edit.applied_to(text), encoding="utf-8")
            yield
        finally:
            for path, text in before.items():
                path.write_text(text, encoding="utf-8")

    def test(self, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        """Run tests until the first one fails."""
        options = (
            "-x",
            "-q",
            "--no-header",
            "--tb=line",
            "-p",
            "no:cacheprovider",
            "-p",
            "pytest_timeout",
            "-o",
            "timeout=15",
        )
        return self._python("-m", "pytest", *options, *tests)

    def _python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        # Compiled files would be taken for current where two edits of one length fall into one second.
        # Plugins of frameworks that happen to be installed take longer to load than the tests to run.
        settings = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=settings,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )


def verdict(copy: Copy, guard: Guard) -> str:
    """Whether a test failed without the guard: "held", or what is wrong."""
    try:
        with copy.without(guard.edits):
            done = copy.test(guard.tests)
    except ValueError as error:
        return f"NO LONGER APPLIES: {error}"
    except subprocess.TimeoutExpired:
        return "held"  # without it nothing ends
    if done.returncode == FAILED:
        return "held"
    if done.returncode == PASSED:
        return "SURVIVED: all its tests pass without it"
    return f"COULD NOT RUN: {(done.stdout + done.stderr).strip()[-300:]}"


def control(copy: Copy, batch: list[Guard]) -> str:
    """Whether all tests of the batch pass after an edit that changes nothing: "held", or what is wrong."""
    path = copy.folder / batch[0].edits[0].file
    text = path.read_text(encoding="utf-8")
    tests = tuple(dict.fromkeys(test for guard in batch for test in guard.tests))
    path.write_text(text + "\n# nothing changed\n", encoding="utf-8")
    try:
        done = copy.test(tests)
    except subprocess.TimeoutExpired:
        return f"FAILED: its tests take longer than {LONGEST} seconds"
    finally:
        path.write_text(text, encoding="utf-8")
    return "held" if done.returncode == PASSED else f"FAILED: {(done.stdout + done.stderr).strip()[-600:]}"


def main(words: list[str]) -> int:
    chosen = [guard for guard in guards() if not words or any(word in guard.name for word in words)]
    held = broken = 0
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Copy(Path(folder))
        for file, found in groupby(sorted(chosen, key=_file), key=_file):
            batch = list(found)
            broken += _told(f"control: {file}", lambda batch=batch: control(copy, batch)) != "held"
            for guard in batch:
                held += _told(guard.name, lambda guard=guard: verdict(copy, guard)) == "held"
    print(f"{held} of {len(chosen)} guards are held by a test; {broken} controls failed")
    return 0 if chosen and held == len(chosen) and not broken else 1


def _file(guard: Guard) -> str:
    return guard.edits[0].file


def _told(name: str, judge: Any) -> str:
    began = time.monotonic()
    said: str = judge()
    print(f"{time.monotonic() - began:6.1f} s  {name}: {said}", flush=True)
    return said


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
