"""A program to be killed while it undoes. Bookings and charges are lines of the world, and so are their reversals."""

import asyncio
import os
import sys
from pathlib import Path

import call4agents_core as c4a
from call4agents_core.testing import World, kill_at, serve
from call4agents_core.testing.kills import die

ledger = c4a.init(sys.argv[1])
world = World(Path(sys.argv[2]))
dies_after: list[str] = []  # the line of the world after which the process is killed


def act(line):
    world.act(line)
    if line in dies_after:
        die()


@c4a.effect(name="book", undo=lambda seat, result: act(f"cancel {seat} {result}"))
def book(seat):
    act(f"book {seat}")
    return f"ref-{seat}"


async def refund(amount):
    act(f"refund {amount}")
    if "SLOW" in os.environ:
        await asyncio.sleep(0.05)


@c4a.effect(name="charge", undo=refund)
def charge(amount):
    act(f"charge {amount}")


def trip(run="r"):
    """Two bookings and a charge between them."""
    with c4a.run(run):
        book("1A")
        charge(10)
        book("1B")


def undo(run="r", dry_run=False):
    """The tools whose actions were reversed now, and earlier."""
    report = c4a.undo(run, dry_run=dry_run)
    return [[one.tool for one in found] for found in (report.undone, report.already)]


def aundo(run="r"):
    report = asyncio.run(c4a.aundo(run))
    return [[one.tool for one in found] for found in (report.undone, report.already)]


def resolve(tool, outcome, run="r"):
    """Settle the one doubt about a tool."""
    (doubt,) = [row for row in ledger.store.actions(run=run, tool=tool) if row.state in ("started", "in-doubt")]
    c4a.resolve(run, doubt.action, c4a.happened("as seen") if outcome == "happened" else c4a.did_not_happen())


def call(tool, value, run="r"):
    with c4a.run(run):
        return {"book": book, "charge": charge}[tool](value)


def die_after(line):
    dies_after.append(line)


serve(
    trip=trip,
    undo=undo,
    aundo=aundo,
    resolve=resolve,
    call=call,
    die_after=die_after,
    kill_at=lambda point, nth=1: kill_at(ledger, point, nth=nth),
    verify=lambda: list(ledger.verify().faults),
)
