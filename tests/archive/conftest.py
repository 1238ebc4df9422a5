"""A ledger with tools of every kind, its archive beside it, and what both are asked after an archive."""

from __future__ import annotations

from pathlib import Path

import pytest

import call4agents_core as c4a
from call4agents_core.testing import World
from tests.kit import Boom, Safe, child, clock, ledger, tell

__all__ = ["child", "clock", "ledger", "tell"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """What the tools did."""
    return World(tmp_path / "world.txt")


class Tools:
    """Effects whose every execution is a line of the world."""

    def __init__(self, world: World) -> None:
        def act(tool: str, n: object) -> str:
            world.act(f"{tool} {c4a.current_run()} {n}")
            return f"{tool} {n}"

        @c4a.effect(name="pay", undo=lambda n: world.act(f"refund {n}"))
        def pay(n):
            return act("pay", n)

        @c4a.effect(name="guarded", approval=True)
        def guarded(n):
            return act("guarded", n)

        @c4a.effect(name="again", repeat="run")
        def again(n):
            return act("again", n)

        @c4a.effect(name="risky", retry_on=(Safe,), wait=0.1)
        def risky(n):
            act("risky", n)
            raise Safe if n == "safe" else Boom

        self.pay, self.guarded, self.again, self.risky = pay, guarded, again, risky


@pytest.fixture
def tools(world: World) -> Tools:
    return Tools(world)


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """Where the archive goes; nothing is there yet."""
    return tmp_path / "archive.sqlite"


@pytest.fixture
def sound(ledger: c4a.Ledger, volume: Path):
    """Asserts that verify finds nothing in the ledger, nor in its archive."""

    def check() -> None:
        assert ledger.verify().faults == ()
        archive = c4a.Ledger.open(volume, read_only=True)
        assert archive.verify().faults == ()
        archive.close()

    return check


@pytest.fixture
def archived(volume: Path):
    """Tool and state of each action in the archive, run by run."""

    def look() -> dict[str, list[tuple[str, str]]]:
        archive = c4a.Ledger.open(volume, read_only=True)
        found: dict[str, list[tuple[str, str]]] = {}
        for row in archive.store.actions():
            found.setdefault(row.run, []).append((row.tool, row.state))
        archive.close()
        return {run: sorted(actions) for run, actions in found.items()}

    return look
