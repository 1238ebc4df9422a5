"""The driver of a call's steps on an event loop, and how its callers wait for the disk without blocking it. Loaded by the first async use."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from call4agents_core._ledger import Flight, Known
from call4agents_core._scope import inside
from call4agents_core._steps import Ask, Do, Wait, steps, warn_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from concurrent.futures import Future

    from call4agents_core._call import Call
    from call4agents_core._ledger import Core

    T = TypeVar("T")


#: How long a coroutine that is closed from outside waits for its end to be written, in seconds: it cannot await.
CLOSING = 2.0


async def aperform(
    ledger: Core, call: Call, body: Callable[[], Awaitable[Any]], *, pauses: tuple[type[BaseException], ...] = ()
) -> Any:
    """`perform`, for a body to be awaited."""
    found = await adrive(ledger, steps(ledger, call))
    if isinstance(found, Known):
        return found.value
    try:
        with inside(found):
            value = await body()
    except pauses as signal:
        cause = f"it paused: {type(signal).__name__}"
        await off_loop(ledger, lambda: ledger.withdraw(found, cause))
        raise
    except GeneratorExit as closing:
        with contextlib.suppress(TimeoutError):  # it is written as soon as the disk allows
            ledger.executor().submit(ledger.fail, found, closing).result(CLOSING)
        raise
    except BaseException as raised:
        await off_loop(ledger, functools.partial(ledger.fail, found, raised))
        raise
    await off_loop(ledger, lambda: ledger.finish(found, value))
    return value


to_thread = asyncio.to_thread


async def adrive(ledger: Core, call_steps: Generator[Do | Wait | Ask, Any, T]) -> T:
    """Run the steps without ever blocking the loop: the disk is waited for in the ledger's threads, other callers on the loop."""
    answer: Any = None
    while True:
        try:
            step = call_steps.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        try:
            answer = await _do(ledger, step)
        except BaseException as error:
            call_steps.throw(error)


async def _do(ledger: Core, step: Do | Wait | Ask) -> Any:
    match step:
        case Do(work):
            return await off_loop(ledger, work, too_late=ledger.withdraw_if_begun)
        case Wait(None, seconds):
            await asyncio.sleep(seconds)
        case Wait(Flight() as flight, seconds):
            await _landed(flight, seconds)
        case Ask(question):
            return await _asked(question)
        case _:
            raise AssertionError(step)
    return None


async def _landed(flight: Flight, seconds: float) -> None:
    loop, landed = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # its loop was closed
            loop.call_soon_threadsafe(landed.set)

    flight.watch(wake)
    try:
        await asyncio.wait_for(landed.wait(), seconds)
    except TimeoutError:
        return


async def _asked(question: Callable[[], Any]) -> Any:
    try:
        answer = await asyncio.to_thread(question)
        return await answer if inspect.isawaitable(answer) else answer
    except Exception as error:
        warn_of(error)
        return None


async def off_loop(ledger: Core, work: Callable[[], T], *, too_late: Callable[[T], object] | None = None) -> T:
    """Do blocking work in the ledger's threads, to its end even if the caller is cancelled meanwhile: then the cancellation goes on
    after it, and ``too_late`` is told in the same threads what came of it.
    """
    future: Future[T] = ledger.executor().submit(copy_context().run, work)
    waiting = asyncio.wrap_future(future)
    try:
        return await asyncio.shield(waiting)
    except (asyncio.CancelledError, GeneratorExit) as error:
        if future.done() and future.exception() is not None:
            raise
        if isinstance(error, GeneratorExit):  # the coroutine is being closed: it must not wait
            if too_late is not None:
                future.add_done_callback(lambda done: too_late(done.result()) if done.exception() is None else None)
            raise
        await _to_its_end(waiting)
        if too_late is not None and future.exception() is None:
            await _to_its_end(asyncio.wrap_future(ledger.executor().submit(too_late, future.result())))
        raise


async def _to_its_end(waiting: asyncio.Future[Any]) -> None:
    """Wait for the end of a write, whatever else happens to this task."""
    while not waiting.done():
        try:
            await asyncio.wait([waiting])
        except asyncio.CancelledError:
            continue
