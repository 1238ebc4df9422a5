"""A crash and a resume of a real LangGraph agent, each in a process of its own, and what is in the outbox afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from call4agents_core.plugin import Scene

CHECKPOINTS, OUTBOX, THREAD = "checkpoints.sqlite", "outbox.txt", "thread-1"
#: A process that imports LangGraph on a slow machine, in seconds.
_PATIENCE = 120
_OFFLINE = {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}


class Stage(NamedTuple):
    """A folder with the checkpoints of one thread and an outbox."""

    folder: Path
    guarded: bool

    def begin(self, kill: str) -> None:
        """Start the agent; its process ends by SIGKILL ``inside`` its tool or right ``after`` it. Raises RuntimeError if it does not."""
        child = self._child("--kill", kill)
        if child.returncode in (0, 1, 2):
            msg = f"the process that was to be killed ended by itself ({child.returncode}):\n{child.stderr.strip()}"
            raise RuntimeError(msg)

    def resume(self) -> dict[str, Any]:
        """Resume the thread in a new process: its outcome, "finished" or "in doubt". Raises RuntimeError for any other."""
        child = self._child("--resume")
        if child.returncode != 0:
            msg = f"the process that was to resume failed ({child.returncode}):\n{child.stderr.strip()}"
            raise RuntimeError(msg)
        told: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
        return told

    def sent(self) -> list[str]:
        """The e-mails that went out."""
        outbox = self.folder / OUTBOX
        return outbox.read_text(encoding="utf-8").splitlines() if outbox.exists() else []

    def _child(self, *options: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-P", "-m", "call4agents_langgraph.example", "--child", str(self.folder)]
        guarded = ["--guarded"] if self.guarded else []
        return subprocess.run(  # noqa: S603 - our own module
            [*words, *guarded, *options],
            env={**os.environ, **_OFFLINE},
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )


def play(scene: Scene) -> int:
    """Play a scene of `quickstart`: how many e-mails went out. Raises RuntimeError where the scene could not be played as told."""
    stage = Stage(scene.folder, scene.guarded)
    stage.begin(scene.kill)
    stage.resume()
    return len(stage.sent())
