"""The agent that selftest tries out. Run as a child process: `python -m call4agents_core.cli._trial LEDGER WORLD`, then told by pipe."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import call4agents_core as c4a
from call4agents_core.testing import World, kill_at, serve

RUN = "selftest"
_ledger = c4a.init(sys.argv[1])
_world = World(Path(sys.argv[2]))


def take_back(amount: int) -> None:
    """Reverses a payment."""
    _world.act(f"take back {amount}")


@c4a.effect(name="pay", wait=30.0, undo=take_back)
def pay(amount: int) -> str:
    """Costs something."""
    _world.act(f"pay {amount}")
    return f"receipt {amount}"


@c4a.effect(name="slow", wait=30.0)
def slow(amount: int) -> str:
    """Takes its time, so that others come meanwhile."""
    _world.act(f"slow {amount}")
    time.sleep(0.3)
    return f"receipt {amount}"


@c4a.effect(name="guarded", approval=True, wait=30.0)
def guarded(amount: int, to: str) -> str:
    """Needs a yes."""
    _world.act(f"guarded {amount} {to}")
    return f"receipt {amount} {to}"


TOOLS: dict[str, Any] = {"pay": pay, "slow": slow, "guarded": guarded}


def call(tool: str, **arguments: Any) -> Any:
    """Call a tool in the run of the selftest."""
    with c4a.run(RUN):
        return TOOLS[tool](**arguments)


def decide(what: str, **arguments: Any) -> None:
    """Approve or deny a call of the guarded tool."""
    with c4a.run(RUN):
        (c4a.approve if what == "approve" else c4a.deny)(guarded, **arguments)


def undo() -> list[str]:
    """Reverse the run; what was reversed."""
    return [one.arguments["amount"] for one in c4a.undo(RUN).undone]


def die_at(point: str) -> None:
    """Be killed there."""
    kill_at(_ledger, point)


def archive(destination: str) -> int:
    """Move the run away; how many actions moved."""
    return _ledger.archive(destination, older_than=0).actions


if __name__ == "__main__":
    serve(
        call=call,
        decide=decide,
        undo=undo,
        archive=archive,
        rotate=_ledger.rotate_secret,
        verify=lambda: list(_ledger.verify().faults),
        kill_at=die_at,
    )
