"""A process of the state machine: calls two tools as it is told, and meets its fate inside them where it is told so."""

import time
from pathlib import Path

import call4agents_core as c4a
from call4agents_core.plugin import Call, effect_of
from call4agents_core.testing import World, kill_at, serve

RUN = "machine"
ledger = None
world = World(Path())
fate = [""]  # what the tool meets inside


class NothingHappened(Exception):
    """What proves that the tool did not act."""


def act(tool, x):
    """One effect, unless the fate says otherwise. "hang" acts, and then waits for the release or for a kill."""
    if fate[0] == "refuse":
        raise NothingHappened
    world.act(f"{tool} {x}")
    if fate[0] == "break":
        msg = "the connection broke"
        raise ConnectionError(msg)
    if fate[0] == "hang":
        inside, release = world.path.with_name(f"inside {tool} {x}"), world.path.with_name(f"release {tool} {x}")
        inside.touch()
        while not release.exists():
            time.sleep(0.002)
        inside.unlink()
        release.unlink()
    return f"receipt of {tool} {x}"


def tools(wait):
    """Both tools, for callers that wait so long for each other."""

    @c4a.effect(name="free", wait=wait, retry_on=NothingHappened)
    def free(x):
        return act("free", x)

    @c4a.effect(name="guarded", wait=wait, retry_on=NothingHappened, approval=True)
    def guarded(x):
        return act("guarded", x)

    return {"free": free, "guarded": guarded}


PATIENT, HASTY = tools(30), tools(0)


def start(ledger_path, world_path):
    global ledger, world
    if ledger is not None:
        ledger.close()
    ledger, world = c4a.init(ledger_path), World(Path(world_path))


def call(tool, x, then="", patient=False):
    """Call a tool. ``then``: its fate inside, or the point at which this process is killed."""
    fate[0] = then
    store = ledger.store
    if " " in then:
        kill_at(ledger, then)
    try:
        with c4a.run(RUN):
            return (PATIENT if patient else HASTY)[tool](x)
    finally:
        ledger.store = store


def approve(tool, x):
    c4a.approve(HASTY[tool], x=x, c4a_run=RUN)


def deny(tool, x):
    c4a.deny(HASTY[tool], x=x, c4a_run=RUN)


def request(tool, x):
    return c4a.request_approval(HASTY[tool], x=x, c4a_run=RUN).id


def approve_request(id):
    c4a.approve_request(id)


def resolve(tool, x, happened):
    _, effect, _ = effect_of(HASTY[tool])
    action = Call(effect, RUN, ledger.ledger_id, {"x": x}, receiver=False, key=None).action
    c4a.resolve(RUN, action, c4a.happened(f"seen {tool} {x}") if happened else c4a.did_not_happen())


serve(
    start=start,
    call=call,
    approve=approve,
    deny=deny,
    request=request,
    approve_request=approve_request,
    resolve=resolve,
    verify=lambda: list(ledger.verify().faults),
)
