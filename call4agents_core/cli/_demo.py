"""The agent in plain Python that quickstart kills. Run as a child process: `python -m call4agents_core.cli._demo SCENE FOLDER KILL`.

Its tools write one line to a file and bring it to disk, so that the file tells what happened in the world, whatever was killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

import call4agents_core as c4a

WORLD = "world.txt"
#: The hardest end there is: no handler, no clean-up. Windows knows only one kind, which is as hard.
HARDEST = getattr(signal, "SIGKILL", signal.SIGTERM)

_scene, _folder, _kill = (*sys.argv[1:], "", "", "")[:3]


def die() -> NoReturn:
    """Power off."""
    os.kill(os.getpid(), HARDEST)
    raise AssertionError


def happens(line: str) -> None:
    """One effect in the world. It is on disk when this returns."""
    with (Path(_folder) / WORLD).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


def send(to: str) -> str:
    """The tool: sends an e-mail, as far as this demo is concerned."""
    happens(f"sent {to}")
    if _kill == "inside":
        die()
    return f"receipt for {to}"


def send_without() -> str:
    """An agent as it is everywhere: it calls its tool."""
    return send("bob")


def send_with() -> str:
    """The same agent with its tool as an effect."""
    effect = c4a.effect(name="send")(send)
    c4a.init(Path(_folder) / "ledger.sqlite")
    with c4a.run("thread-42"):
        return effect("bob")


@c4a.effect(name="pay", approval=True)
def pay(amount: int, to: str) -> str:
    """The tool that needs a yes."""
    happens(f"paid {amount} {to}")
    return f"paid {amount} to {to}"


def pay_with_a_yes() -> str:
    """Somebody says yes to 10 for alice. The agent first tries to pay mallory, then pays alice."""
    c4a.init(Path(_folder) / "ledger.sqlite")
    with c4a.run("thread-42"):
        c4a.approve(pay, amount=10, to="alice", c4a_by="you")
        try:
            pay(9999, "mallory")
        except c4a.errors.ApprovalRequired as refusal:
            told = type(refusal).__name__
        else:
            told = "not refused"
        pay(10, "alice")
        return told


SCENES = {"send-without": send_without, "send-with": send_with, "pay": pay_with_a_yes}


def main() -> None:
    """Play one scene; print what the agent was told, as one line of JSON."""
    try:
        told = {"returned": SCENES[_scene]()}
    except c4a.errors.EffectRefused as refusal:
        told = {"refused": type(refusal).__name__}
    if _kill == "after":
        die()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
