"""The scenes of quickstart, with real processes ended by SIGKILL and effects counted in a file."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from call4agents_core.plugin import Scene
from call4agents_langgraph import example
from call4agents_langgraph._play import CHECKPOINTS, Stage
from call4agents_langgraph._plugin import plugin

pytestmark = [pytest.mark.framework, pytest.mark.crash]
HERE = Path(__file__).parent


@pytest.mark.parametrize("kill", ["inside", "after"])
def test_a_killed_agent_of_langgraph_sends_twice_alone_and_once_with_a_ledger(kill, tmp_path):
    """The rows of quickstart."""
    for guarded, sent in ((False, 2), (True, 1)):
        folder = tmp_path / str(guarded)
        folder.mkdir()
        assert plugin.play(Scene(folder, guarded, kill)) == sent


@pytest.mark.parametrize("kill", ["inside", "after"])
def test_with_our_guard_broken_the_same_scene_sends_twice(kill, tmp_path, monkeypatch):
    """The scene counts what happens, not what we say."""
    monkeypatch.setenv("PYTHONPATH", str(HERE / "broken_guard"))
    assert plugin.play(Scene(tmp_path, True, kill)) == 2


def test_killed_inside_the_thread_is_in_doubt_until_a_person_has_looked_and_then_goes_on(tmp_path):
    """The person types what the refusal says, in a process that knows nothing of the agent."""
    stage = Stage(tmp_path, guarded=True)
    stage.begin("inside")
    told = stage.resume()
    assert told["outcome"] == "in doubt"
    program, *words = shlex.split(re.search("`(call4agents resolve [^`]+)`", told["text"])[1])
    assert (program, told["action"] in words) == ("call4agents", True)
    result = ["--result", json.dumps("sent to bob")]
    subprocess.run([sys.executable, "-m", "call4agents_core", *words, *result], check=True, capture_output=True)
    assert stage.resume() == {"outcome": "finished", "text": "Done: sent to bob."}
    assert len(stage.sent()) == 1


def test_a_scene_that_cannot_be_played_as_told_fails(tmp_path, monkeypatch):
    """A process that did not come to its tool would count as one e-mail less."""
    monkeypatch.setattr(sys, "executable", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "langgraph.py").write_text("raise ImportError('not here')", encoding="utf-8")
    for guarded in (False, True):
        with pytest.raises(RuntimeError, match="not here"):
            plugin.play(Scene(tmp_path, guarded, "inside"))


def test_a_process_that_was_to_be_killed_and_was_not_is_a_failure(tmp_path, monkeypatch):
    """Then there was no crash to tell of."""
    monkeypatch.setattr(Stage, "_child", lambda self, *options: Ended())
    with pytest.raises(RuntimeError, match="ended by itself"):
        plugin.play(Scene(tmp_path, True, "inside"))


class Ended:
    """A process that ended well."""

    returncode, stderr, stdout = 0, "", ""


@pytest.mark.slow
def test_the_example_tells_what_happened_and_what_to_type(capsys, tmp_path, monkeypatch):
    """Two without and one with, for both kill points, then how to look and to resolve."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert example.main([]) == 0
    told = capsys.readouterr().out
    assert [line.split("e-mails sent: ")[1][0] for line in told.splitlines() if "e-mails sent: " in line] == list(
        "2121"
    )
    (folder,) = tmp_path.glob("*/inside-with")
    assert f"call4agents doubt --ledger {folder / CHECKPOINTS}" in told
    assert f"python -m call4agents_langgraph.example --resume {folder}" in told
    assert example.main(["--resume", str(folder)]) == 0
    again = capsys.readouterr().out
    assert "stopped, since nobody could know" in again
    assert "E-mails sent: 1." in again
    assert os.listdir(folder)


def test_resume_needs_a_folder(capsys):
    """The option without a value is the agent's own."""
    with pytest.raises(SystemExit):
        example.main(["--resume"])
    assert "--resume needs the folder" in capsys.readouterr().err
