"""Which checkpoints are saved: an effect starts only after the checkpoint that its step began from.

LangGraph saves in the background (durability="async" is its default, and "sync" has gaps too). A process that dies inside an effect
would leave an intent, and a graph that has forgotten how it came there.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from call4agents_core.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

#: How long an effect waits for its checkpoint, and after how long it looks into the database itself, in seconds.
WAIT, LOOK = 30.0, 1.0
_REMEMBERED = 10_000


class Checkpoint(NamedTuple):
    """One checkpoint by the names that it is saved under."""

    thread: str
    namespace: str
    id: str

    def config(self) -> RunnableConfig:
        """What a checkpointer finds it by."""
        return {"configurable": {"thread_id": self.thread, "checkpoint_ns": self.namespace, "checkpoint_id": self.id}}


class Saved:
    """What one checkpointer has saved, as far as this process has seen; thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._ids: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._graphs: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._waiting: dict[tuple[str, str], list[Callable[[BaseException | None], object]]] = {}

    # ---- what the checkpointer's methods tell --------------------------------------------------------------------

    def reading(self, config: Mapping[str, Any]) -> None:
        """A graph that begins reads its newest checkpoint: from now on it is known to save here."""
        thread, namespace = _names(config)
        with self._guard:
            _remember(self._graphs, (thread, namespace))

    def read(self, found: CheckpointTuple | None) -> None:
        """A checkpoint came out of the database, so it is in it."""
        if found is not None:
            self._tell((_names(found.config)[0], found.checkpoint["id"]), None)

    @contextlib.contextmanager
    def saving(self, config: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> Generator[None]:
        """Around a put: afterwards the checkpoint is saved, or will not be."""
        thread, namespace = _names(config)
        with self._guard:
            _remember(self._graphs, (thread, namespace))
        try:
            yield
        except BaseException as error:
            self._tell((thread, checkpoint["id"]), error)
            raise
        self._tell((thread, checkpoint["id"]), None)

    def _tell(self, key: tuple[str, str], error: BaseException | None) -> None:
        with self._guard:
            if error is None:
                _remember(self._ids, key)
            waiting = self._waiting.pop(key, ())
        for wake in waiting:
            wake(error)

    # ---- who waits -----------------------------------------------------------------------------------------------

    def missing(self, thread: str, levels: Mapping[str, str]) -> list[Checkpoint]:
        """Those checkpoints that are not known to be saved. ``levels``: id by namespace, of the graph and the graphs around it;
        a graph that saves elsewhere, or not at all, has none here.
        """
        with self._guard:
            return [
                Checkpoint(thread, namespace, checkpoint)
                for namespace, checkpoint in levels.items()
                if (thread, namespace) in self._graphs and (thread, checkpoint) not in self._ids
            ]

    def wait(self, wanted: Checkpoint, look: Callable[[Checkpoint], bool], location: str) -> None:
        """Block until a checkpoint is saved. Raises LedgerError if it cannot be, or not within `WAIT` seconds."""
        landed = threading.Event()
        with self._watched(wanted, landed.set) as outcome:
            until = time.monotonic() + WAIT
            while not landed.wait(LOOK):
                if look(wanted):
                    return
                _give_up_after(until, location)
            outcome.check(location)

    async def await_(self, wanted: Checkpoint, look: Callable[[Checkpoint], Any], location: str) -> None:
        """`wait`, without blocking the loop; ``look`` is awaited."""
        loop, landed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(landed.set)

        with self._watched(wanted, wake) as outcome:
            until = time.monotonic() + WAIT
            while not await _within(landed, LOOK):
                if await look(wanted):
                    return
                _give_up_after(until, location)
            outcome.check(location)

    @contextlib.contextmanager
    def _watched(self, wanted: Checkpoint, wake: Callable[[], object]) -> Generator[_Outcome]:
        outcome, key = _Outcome(), (wanted.thread, wanted.id)

        def tell(error: BaseException | None) -> None:
            outcome.error = error
            wake()

        with self._guard:
            known = key in self._ids
            if not known:
                self._waiting.setdefault(key, []).append(tell)
        if known:
            wake()
        try:
            yield outcome
        finally:
            with self._guard:
                waiting = self._waiting.get(key, [])
                if tell in waiting:
                    waiting.remove(tell)
                if not waiting:
                    self._waiting.pop(key, None)


class _Outcome:
    error: BaseException | None = None

    def check(self, location: str) -> None:
        if self.error is not None:
            why = "the checkpoint that this step began from could not be saved"
            raise LedgerError(location, why, "So the effect did not start.") from self.error


def _give_up_after(until: float, location: str) -> None:
    if time.monotonic() > until:
        why = f"the checkpoint that this step began from was not saved within {WAIT:g} seconds"
        raise LedgerError(location, why, "So the effect did not start. Look at what holds up the checkpointer.")


async def _within(landed: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(landed.wait(), seconds)
    except TimeoutError:
        return False
    return True


def _names(config: Mapping[str, Any]) -> tuple[str, str]:
    configurable = config.get("configurable", {})
    return str(configurable.get("thread_id")), str(configurable.get("checkpoint_ns") or "")


def _remember(known: OrderedDict[tuple[str, str], None], key: tuple[str, str]) -> None:
    known[key] = None
    known.move_to_end(key)
    if len(known) > _REMEMBERED:
        known.popitem(last=False)
