"""One call of an effect, step by step. The steps are written once; two small drivers run them: here without an event loop, in `_async` on one.

A step is handed out as what is to be done: `Do` blocks for the disk, `Wait` for another caller, `Ask` calls reconcile=.
"""

from __future__ import annotations

import inspect
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from call4agents_core._ledger import Attempt, Core, Doubtful, Flight, Held, Known
from call4agents_core._outcomes import DidNotHappen, Happened
from call4agents_core._scope import enclosing_attempts, inside
from call4agents_core.errors import EffectRunning, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from call4agents_core._call import Call

    T = TypeVar("T")

#: How often another process's attempt is looked at, in seconds: soon at first, then less and less.
_FIRST_LOOK, _LAST_LOOK = 0.005, 0.1


Begin = Attempt | Known | Held | Doubtful


class Do(NamedTuple):
    """Call this: it reads and writes the ledger, and may block for the disk."""

    work: Callable[[], Any]


class Wait(NamedTuple):
    """Wait for the flight to land, at most so many seconds; without a flight, just so long."""

    flight: Flight | None
    seconds: float


class Ask(NamedTuple):
    """Ask reconcile=, which may be async; the answer is sent back, or None if it raised."""

    question: Callable[[], Any]


def steps(ledger: Core, call: Call, found: Begin | None = None) -> Generator[Do | Wait | Ask, Any, Attempt | Known]:
    """From the call to the start of its tool (an Attempt), or to the recorded result (Known). Raises the refusals.

    ``found``: what a first try gave, where one was made.
    """
    if call.repeat == "run":
        yield Do(lambda: ledger.mean_first_open(call))
    _refuse_own_body(ledger, call)
    options = call.effect.options
    until, look, resend = time.monotonic() + options.wait, _FIRST_LOOK, options.reconcile is None
    while True:
        if found is None:
            found = yield Do(partial(ledger.begin, call, resend=resend))
        if isinstance(found, (Attempt, Known)):
            return found
        if isinstance(found, Held):
            left = until - time.monotonic()
            if left <= 0:
                raise found.error
            yield Wait(found.flight, left if found.flight is not None else min(look, left))
            look = min(look * 1.5, _LAST_LOOK)
        elif isinstance(found, Doubtful):
            if options.reconcile is None or resend or not found.askable:
                raise found.error
            resend = not (yield from _reconcile(ledger, call, found))
        found = None


def _refuse_own_body(ledger: Core, call: Call) -> None:
    """An action called from inside its own body would wait for itself."""
    for attempt in enclosing_attempts():
        if attempt.call.action == call.action and attempt.call.ledger_id == call.ledger_id:
            raise EffectRunning(
                run=call.run,
                tool=call.effect.tool,
                action=call.action,
                since=ledger.store.now(),
                cause="it was called from inside its own body",
                ledger=ledger.location,
            )


def _reconcile(ledger: Core, call: Call, doubt: Doubtful) -> Generator[Do | Wait | Ask, Any, bool]:
    """Ask the outside world about an attempt; True: look again, for the ledger may know more now. Of several callers in one process
    one asks, and the others take its answer.
    """
    flight = ledger.ask_alone(call.action)
    if flight is not None:
        yield Wait(flight, call.effect.options.wait)
        return False
    try:
        reconcile = call.effect.options.reconcile
        assert reconcile is not None
        question = reconcile
        answer = yield Ask(lambda: question({**call.values, "idempotency_key": call.idempotency_key()}))
        if not isinstance(answer, (Happened, DidNotHappen)):
            return False
        yield Do(
            lambda: ledger.settle(
                call.run,
                call.action,
                answer,
                {"by": None, "note": "", "via": "reconcile"},
                attempt=doubt.attempt,
                call=call,
            )
        )
        return True
    finally:
        ledger.asked(call.action)


def perform(ledger: Core, call: Call, body: Callable[[], Any], *, pauses: tuple[type[BaseException], ...] = ()) -> Any:
    """Run the body of a call at most once, or return what is recorded. ``pauses``: what a framework raises to pause the
    tool and call it again, which is no failure: the attempt counts as not made.
    """
    found: Begin | None = None
    if call.repeat != "run" and not enclosing_attempts():  # the usual call needs no steps
        found = ledger.begin(call, resend=call.effect.options.reconcile is None)
    if not isinstance(found, (Attempt, Known)):
        found = drive(steps(ledger, call, found))
    if isinstance(found, Known):
        return found.value
    try:
        with inside(found):
            value = _not_a_coroutine(call, body())
    except pauses as signal:
        ledger.withdraw(found, f"it paused: {type(signal).__name__}")
        raise
    except BaseException as error:
        ledger.fail(found, error)
        raise
    ledger.finish(found, value)
    return value


def _not_a_coroutine(call: Call, value: Any) -> Any:
    """A coroutine for a result means that the tool has only begun; to call that done would lose the action."""
    if inspect.iscoroutine(value):
        value.close()
        msg = f"{call.effect.tool} returned a coroutine, which was closed and did not run. Let @effect decorate the async function itself, or a wrapper that is async too."
        raise UsageError(msg)
    return value


# ---- without an event loop -----------------------------------------------------------------------------------------


def drive(call_steps: Generator[Do | Wait | Ask, Any, T]) -> T:
    """Run the steps in this thread."""
    answer: Any = None
    while True:
        try:
            step = call_steps.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        try:
            answer = _do(step)
        except BaseException as error:
            call_steps.throw(error)


def _do(step: Do | Wait | Ask) -> Any:
    match step:
        case Do(work):
            return work()
        case Wait(None, seconds):
            time.sleep(seconds)
        case Wait(Flight() as flight, seconds):
            landed = threading.Event()
            flight.watch(landed.set)
            landed.wait(seconds)
        case Ask(question):
            return _asked(question)
        case _:
            raise AssertionError(step)
    return None


def _asked(question: Callable[[], Any]) -> Any:
    """What reconcile= answers; its own failure means unknown."""
    try:
        answer = question()
        return run_to_its_end(answer) if inspect.isawaitable(answer) else answer
    except Exception as error:
        warn_of(error)
        return None


def warn_of(error: Exception) -> None:
    """Tell the log that reconcile= itself failed."""
    import logging

    logging.getLogger("call4agents").warning("reconcile= raised, so the action stays in doubt", exc_info=error)


def run_to_its_end(awaitable: Any) -> Any:
    """Await something from synchronous code: in a loop of its own, in a thread of its own where this one has a running loop."""
    import asyncio

    async def wrapped() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wrapped())
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, wrapped()).result()
