"""``python -m call4agents_langgraph.example``: what a crash does to an agent of LangGraph, without and with a ledger.

Nothing is sent anywhere; no key and no network is needed. ``--resume FOLDER`` resumes the agent that the example leaves in doubt.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from call4agents_core.plugin import command
from call4agents_langgraph._play import CHECKPOINTS, OUTBOX, THREAD, Stage

_WHERE = {
    "after": "right after its tool has sent the e-mail, before LangGraph has saved the tool's answer",
    "inside": "inside its tool, when the e-mail is out and the tool has not returned",
}


def main(words: list[str] | None = None) -> int:
    """Play all crashes; or, for `--child`, be the agent."""
    parser = argparse.ArgumentParser(prog="python -m call4agents_langgraph.example", description=__doc__)
    parser.add_argument(
        "--resume", nargs="?", const=True, metavar="FOLDER", help="resume the agent whose files are there"
    )
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--guarded", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--kill", choices=("inside", "after"), help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.child is not None:
        _say(json.dumps(_be_the_agent(given.child, given)))
    elif given.resume is True:
        parser.error("--resume needs the folder that the example named")
    elif given.resume is not None:
        _resumed(Stage(Path(given.resume).resolve(), guarded=True))
    else:
        _show_all(Path(tempfile.mkdtemp(prefix="call4agents-langgraph-")))
    return 0


def _be_the_agent(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    from call4agents_langgraph._scene import act

    return act(folder, guarded=given.guarded, kill=given.kill, resume=given.resume is True)


def _show_all(folder: Path) -> None:
    _say('An agent of LangGraph sends one e-mail. Its checkpoints are in SQLite, with durability="sync".')
    scenes = [(kill, guarded) for kill in _WHERE for guarded in (False, True)]
    stages = [Stage(folder / f"{kill}-{'with' if guarded else 'without'}", guarded) for kill, guarded in scenes]
    with ThreadPoolExecutor(len(scenes)) as together:  # most of the time goes into starting processes
        outcomes = list(together.map(_played, stages, [kill for kill, _ in scenes]))
    for (kill, guarded), stage, told in zip(scenes, stages, outcomes, strict=True):
        if not guarded:
            _say(f"\nIts process is killed {_WHERE[kill]}.\nThen a new process resumes the thread.")
        who = "With a ledger beside its checkpoints" if guarded else "With LangGraph alone"
        _say(f"  {who}: e-mails sent: {len(stage.sent())}. The resume {_outcome(told)}")
    _show_how_to_resolve(stages[-1])


def _played(stage: Stage, kill: str) -> dict[str, Any]:
    stage.folder.mkdir()
    stage.begin(kill)
    return stage.resume()


def _outcome(told: dict[str, Any]) -> str:
    if told["outcome"] == "finished":
        return f"finished: {told['text']!r}"
    return f"stopped, since nobody could know whether the e-mail is out:\n    {told['text']}"


def _show_how_to_resolve(stage: Stage) -> None:
    ledger = str(stage.folder / CHECKPOINTS)
    _say(
        f"\nWhat was done, and what is in doubt, is in the ledger:\n"
        f"  {command('show', THREAD, ledger=ledger)}\n"
        f"  {command('doubt', ledger=ledger)}\n"
        f"The outbox, {stage.folder / OUTBOX}, holds the e-mail. So it happened: type the resolve command above, and resume:\n"
        f"  python -m call4agents_langgraph.example --resume {stage.folder}"
    )


def _resumed(stage: Stage) -> None:
    told = stage.resume()
    _say(f"The resume {_outcome(told)}\nE-mails sent: {len(stage.sent())}.")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    raise SystemExit(main())
