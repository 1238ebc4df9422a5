"""The benchmarks run from end to end. No time that was measured is judged here: the machine of a test has other work."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from benchmarks.children import Child, Subject, WorkerFailed
from benchmarks.goals import GOALS
from tests.docs.pages import ROOT

OURS = Subject("ours", sys.executable)


def benchmarks(*words, cache):
    """`python -m benchmarks` where no package can be had."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PIP_NO_INDEX": "1"}
    words = [sys.executable, "-m", "benchmarks", *map(str, words)]
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_quick_run_measures_all_but_what_cannot_be_had(tmp_path):
    """Every figure is there; those that need call4agents 0.5.0 are left out with a reason, and nothing stays behind."""
    kept, cache = tmp_path / "kept.json", tmp_path / "cache"
    done = benchmarks("--quick", "--json", kept, cache=cache)
    assert done.returncode == 0, done.stderr
    figures = json.loads(kept.read_text(encoding="utf-8"))["figures"]
    assert [figure["what"] for figure in figures] == [goal.what for goal in GOALS]
    needs_memory = {figure["what"] for figure in figures if "memory" in figure["what"]}
    missing = {figure["what"] for figure in figures if figure["value"] is None}
    assert missing - needs_memory == {goal.what for goal in GOALS if "0.5.0" in goal.what}
    assert not missing & needs_memory or sys.platform == "win32"
    assert "call4agents 0.5.0 cannot be had here" in done.stdout
    assert [file for file in cache.rglob("*") if file.is_file()] == []

    shown = benchmarks("--show", kept, cache=cache)
    assert shown.stdout == done.stdout
    as_markdown = benchmarks("--show", kept, "--markdown", cache=cache)
    assert "| what | measured | half of the rounds | goal | met |" in as_markdown.stdout


def test_figure_of_actions_that_did_not_run_is_refused(tmp_path):
    """A ledger that returns recorded results is fast: a measurement that meets it by mistake is stopped."""
    with Child(OURS, tmp_path / "ledger.sqlite") as child:
        child.ask("single", first=0, count=2)
        child.expect_bodies(4)
        child.ask("single", first=0, count=2)  # the same actions again
        with pytest.raises(WorkerFailed, match="0 effects ran for 4 actions"):
            child.expect_bodies(4)


def test_worker_that_fails_is_named(tmp_path):
    """An order that raises, and a process that ends."""
    with Child(OURS, tmp_path / "ledger.sqlite") as child:
        with pytest.raises(WorkerFailed, match="ours: AttributeError"):
            child.ask("no_such_order")
        child.ask("single", first=0, count=1)
    with pytest.raises(WorkerFailed, match="ours: the worker ended with"):
        Child(OURS, tmp_path)  # a folder is no place for a ledger
