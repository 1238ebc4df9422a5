"""A program to be killed while it archives: at a chosen statement of either writer, or call of either store.

Its world has a line for each effect: the run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import call4agents_core as c4a
from call4agents_core.stores.sqlite import SQLiteStore
from call4agents_core.testing import World, end_of, forked, serve
from call4agents_core.testing.kills import die

CALLS = ("append", "read", "sync", "entomb", "scan", "settled_runs")
RUNS, ACTIONS = 6, 3


class Countdown:
    """Counts moments, and ends the process at one."""

    def __init__(self, left: int) -> None:
        self.left, self.passed = left, 0

    def __call__(self) -> None:
        self.passed += 1
        if self.passed == self.left:
            die()


def watch(moment: Countdown) -> None:
    """Every statement of a writer, and every call of a store before and after, is a moment."""

    def watched(name: str) -> Any:
        plain = getattr(SQLiteStore, name)

        def call(store: SQLiteStore, *args: Any, **options: Any) -> Any:
            moment()
            value = plain(store, *args, **options)
            moment()
            return value

        return call

    for name in CALLS:
        setattr(SQLiteStore, name, watched(name))
    writing = SQLiteStore._writing

    def traced(store: SQLiteStore) -> Any:
        writer = writing(store)
        writer.connection.set_trace_callback(lambda _sql: moment())
        return writer

    SQLiteStore._writing = traced  # type: ignore[method-assign]


@c4a.effect(name="pay")
def pay(n):
    world.act(f"pay {c4a.current_run()} {n}")
    return n


@c4a.effect(name="guarded", approval=True)
def guarded(n):
    world.act(f"guarded {c4a.current_run()} {n}")
    return n


def start(ledger_path: str, world_path: str) -> None:
    global ledger, world
    ledger, world = c4a.init(ledger_path), World(Path(world_path))


def work() -> None:
    """Runs that are settled, and one that waits."""
    for run in range(RUNS):
        with c4a.run(f"run {run}"):
            for n in range(ACTIONS - 1):
                pay(n)
            c4a.request_approval(guarded, n=0).approve()
            guarded(0)
    with c4a.run("waiting"):
        for n in range(ACTIONS - 1):
            pay(n)
        c4a.request_approval(guarded, n=0)


def call_again() -> dict[str, int]:
    """Every call of `work` once more: how often it was answered, and how."""
    answers: dict[str, int] = {}
    for run in [*(f"run {n}" for n in range(RUNS)), "waiting"]:
        with c4a.run(run):
            for tool, n in [*((pay, n) for n in range(ACTIONS - 1)), (guarded, 0)]:
                try:
                    tool(n)
                    answer = "returned"
                except c4a.errors.EffectRefused as error:
                    answer = type(error).__name__
                answers[answer] = answers.get(answer, 0) + 1
    return answers


def moments(volume: str) -> int:
    """How many moments there are in an archive of everything."""
    moment = Countdown(0)
    watch(moment)
    ledger.archive(volume, older_than=0)
    return moment.passed


def die_at(ledger_path: str, world_path: str, volume: str, moment: int) -> int:
    """In a child: archive, and be killed at a moment. How the child ended: 0, if the archive has fewer moments."""

    def archive() -> None:
        start(ledger_path, world_path)
        watch(Countdown(moment))
        ledger.archive(volume, older_than=0)

    return end_of(forked(archive))


def checked(volume: str) -> dict[str, Any]:
    """What verify finds in both files, and where each action stands with its record: here, there."""
    archive = c4a.Ledger.open(volume, read_only=True)
    here = {row.action for row in ledger.store.actions() if row.state != "archived"}
    stones = {row.action for row in ledger.store.actions(states=("archived",))}
    there = {row.action for row in archive.store.actions()}
    found = {
        "faults": [*ledger.verify().faults, *archive.verify().faults],
        "twice": sorted(here & there),
        "nowhere": sorted(stones - there),
        "actions": len(here | stones),
        "there": len(there),
    }
    archive.close()
    return found


if __name__ == "__main__":
    if len(sys.argv) == 1:
        serve(die_at=die_at)
    else:
        start(*sys.argv[1:])
        serve(
            work=work,
            call_again=call_again,
            moments=moments,
            archive=lambda volume: list(ledger.archive(volume, older_than=0)),
            checked=checked,
        )
