"""A program to be killed: pays, decides and resolves as it is told. Each payment is a line of the world: tool and run."""

import contextlib
import sys
from pathlib import Path

import call4agents_core as c4a
from call4agents_core.testing import World, end_of, forked, kill_at, serve


def act(tool, breaks):
    world.act(f"{tool} {c4a.current_run()}")
    if breaks:
        msg = "the connection broke"
        raise ConnectionError(msg)
    return f"receipt of {c4a.current_run()}"


@c4a.effect(name="pay", exclude=("breaks",))
def pay(amount, breaks=False):
    return act("pay", breaks)


@c4a.effect(name="apay", exclude=("breaks",))
async def apay(amount, breaks=False):
    return act("apay", breaks)


@c4a.effect(name="guarded", approval=True, exclude=("breaks",))
def guarded(amount, breaks=False):
    return act("guarded", breaks)


TOOLS = {"pay": pay, "apay": apay, "guarded": guarded}


def call(run, tool, breaks=False):
    with c4a.run(run):
        result = TOOLS[tool](10, breaks=breaks)
        if tool != "apay":
            return result
        import asyncio

        return asyncio.run(result)


def approve(run, tool):
    c4a.approve(TOOLS[tool], amount=10, c4a_run=run)


def deny(run, tool):
    c4a.deny(TOOLS[tool], amount=10, c4a_run=run)


def request(run, tool):
    c4a.request_approval(TOOLS[tool], amount=10, c4a_run=run)


def resolve(run, outcome):
    (doubt,) = ledger.store.actions(run=run, states=("started", "in-doubt"))
    c4a.resolve(run, doubt.action, c4a.happened("as seen") if outcome == "happened" else c4a.did_not_happen())


ORDERS = {"call": call, "approve": approve, "deny": deny, "resolve": resolve}


def start(ledger_path, world_path):
    global ledger, world
    ledger, world = c4a.init(ledger_path), World(Path(world_path))


def die(ledger_path, world_path, run, point, orders):
    """In a child: carry out the orders, and be killed at the point by the last of them. How the child ended."""

    def work():
        start(ledger_path, world_path)
        for order, arguments in orders[:-1]:
            with contextlib.suppress(c4a.errors.EffectRefused, ConnectionError):  # what the last order is about
                ORDERS[order](run, **arguments)
        kill_at(ledger, point)
        order, arguments = orders[-1]
        ORDERS[order](run, **arguments)

    return end_of(forked(work))


if len(sys.argv) == 1:  # it never opens a ledger, and its children each do
    serve(die=die)
else:
    start(*sys.argv[1:])
    serve(
        **ORDERS,
        request=request,
        unused_yeses=lambda run: sum(len(ledger.state(run, row.action).yes) for row in ledger.store.actions(run=run)),
        pending=lambda: [request.run for request in c4a.pending()],
        verify=lambda: list(ledger.verify().faults),
    )
