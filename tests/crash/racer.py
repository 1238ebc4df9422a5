"""A program that races others: opens a ledger and calls what it is told. Each effect is a line of the world."""

import json
import sqlite3
import time
from pathlib import Path

import call4agents_core as c4a
from call4agents_core.testing import World, kill_at, serve

world = World(Path())
ledger = None


@c4a.effect(name="pay", wait=60)
def pay(amount):
    world.act(f"pay {amount}")
    time.sleep(0.2)
    return f"receipt {amount}"


@c4a.effect(name="guarded", wait=60, approval=True)
def guarded(amount):
    world.act(f"guarded {amount}")
    time.sleep(0.2)
    return f"receipt {amount}"


@c4a.effect(name="write")
def write(n):
    return n


@c4a.effect(name="mark")
def mark(n):
    world.act(f"mark {n}")
    return n


class Mailer:
    @c4a.effect(name="mail")
    def mail(self, to):
        world.act(f"mail {sorted(to)}")
        return sorted(to)


def look(amount):
    world.act("asked")
    return c4a.happened("found")


def charge(amount, take):
    world.act("charge")
    time.sleep(take)
    return "first"


@c4a.effect(name="send", idempotent_for=3600)
def send(amount):
    """An API that knows the key of a request that it has carried out, and answers the repeat as it answered the first."""
    known = world.path.with_name(c4a.idempotency_key())
    if not known.exists():
        world.act(f"send {amount}")
        known.write_text(json.dumps(f"receipt {time.time_ns()}"), encoding="utf-8")
    return json.loads(known.read_text(encoding="utf-8"))


TOOLS = {"pay": pay, "guarded": guarded, "mark": mark, "send": send}


def start(ledger_path, world_path):
    global ledger, world
    ledger, world = c4a.init(ledger_path), World(Path(world_path))


def call(tool, amount=10, run="race"):
    with c4a.run(run):
        return TOOLS[tool](amount)


def approve(tool, amount=10, run="race"):
    c4a.approve(TOOLS[tool], amount=amount, c4a_run=run)


def burst(run, count):
    """So many actions of a run of its own; how many gave what they should."""
    with c4a.run(run):
        return sum(write(n) == n for n in range(count))


def mark_until_killed(run):
    """Actions without end; what has returned is written down beside the world."""
    returned = World(world.path.with_name("returned"))
    with c4a.run(run):
        for n in range(1_000_000):
            returned.act(f"mark {mark(n)}")


def mail(to):
    with c4a.run("race"):
        return Mailer().mail(set(to))


def slow_charge(take, wait):
    """A charge that takes so many seconds, by a caller that waits so long for another one's."""
    tool = c4a.effect(name="charge", wait=wait, reconcile=look, exclude=("take",))(charge)
    with c4a.run("race"):
        return tool(5, take)


def hold(seconds):
    """Another program's write transaction, that takes its time."""
    other = sqlite3.connect(ledger.location, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    time.sleep(seconds)
    other.execute("ROLLBACK")
    other.close()


def be_impatient(seconds):
    """Wait so long for another program's transaction."""
    ledger.store._timeout = seconds


serve(
    start=start,
    call=call,
    approve=approve,
    burst=burst,
    mark_until_killed=mark_until_killed,
    mail=mail,
    slow_charge=slow_charge,
    hold=hold,
    be_impatient=be_impatient,
    kill_at=lambda point: kill_at(ledger, point),
    verify=lambda: list(ledger.verify().faults),
)
