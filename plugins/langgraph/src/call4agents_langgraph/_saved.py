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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from call4agents_core.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

    V = TypeVar("V")

#: How long an effect waits for its checkpoint, and after how long it looks into the database itself, in seconds.
WAIT, LOOK = 30.0, 1.0
_REMEMBERED = 10_000


class Checkpoint(NamedTuple):
    """One checkpoint by the names that it is saved under."""

    thread: str
    namespace: str
    id: str

    @property
    def key(self) -> tuple[str, str]:
        """Ids are unique in a thread."""
        return self.thread, self.id

    @property
    def graph(self) -> tuple[str, str]:
        """The graph, or subgraph, whose state it is."""
        return self.thread, self.namespace

    def config(self) -> RunnableConfig:
        """What a checkpointer finds it by."""
        return {"configurable": {"thread_id": self.thread, "checkpoint_ns": self.namespace, "checkpoint_id": self.id}}


class Saved:
    """What one checkpointer has saved, as far as this process has seen; thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._ids: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._graphs: OrderedDict[tuple[str, str], BaseException | None] = OrderedDict()
        self._waiting: list[_Waiting] = []

    # ---- what the checkpointer's methods tell --------------------------------------------------------------------

    def reading(self, config: Mapping[str, Any]) -> None:
        """A graph that begins reads its newest checkpoint: from now on it is known to save here."""
        with self._guard:
            _remember(self._graphs, _names(config), None)

    def read(self, found: CheckpointTuple | None) -> None:
        """A checkpoint came out of the database, so it is in it."""
        if found is not None:
            self._saved(Checkpoint(*_names(found.config), found.checkpoint["id"]))

    @contextlib.contextmanager
    def saving(self, config: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> Generator[None]:
        """Around a put: afterwards the checkpoint is saved; or neither it nor any later one of this graph will be."""
        with self._guard:
            self._graphs.setdefault(_names(config), None)
        try:
            yield
        except BaseException as error:
            self._broken(_names(config), error)
            raise
        self._saved(Checkpoint(*_names(config), checkpoint["id"]))

    def _saved(self, checkpoint: Checkpoint) -> None:
        with self._guard:
            _remember(self._graphs, checkpoint.graph, None)
            _remember(self._ids, checkpoint.key, None)
            over = [waiting for waiting in self._waiting if waiting.wanted.key == checkpoint.key]
        for waiting in over:
            waiting.tell(None)

    def _broken(self, graph: tuple[str, str], error: BaseException) -> None:
        with self._guard:
            _remember(self._graphs, graph, error)
            over = [waiting for waiting in self._waiting if waiting.wanted.graph == graph]
        for waiting in over:
            waiting.tell(error)

    # ---- who waits -----------------------------------------------------------------------------------------------

    def missing(self, thread: str, levels: Mapping[str, str]) -> list[Checkpoint]:
        """Those checkpoints that are not known to be saved. ``levels``: id by namespace, of the graph and the graphs around it;
        a graph that saves elsewhere, or not at all, has none here.
        """
        wanted = [Checkpoint(thread, namespace, checkpoint) for namespace, checkpoint in levels.items()]
        with self._guard:
            return [one for one in wanted if one.graph in self._graphs and one.key not in self._ids]

    def wait(self, wanted: Checkpoint, look: Callable[[Checkpoint], bool], location: str) -> None:
        """Block until a checkpoint is saved. Raises LedgerError if it cannot be, or not within `WAIT` seconds."""
        landed = threading.Event()
        with self._watched(wanted, landed.set) as waiting:
            until = time.monotonic() + WAIT
            while not landed.wait(LOOK):
                if look(wanted):
                    return
                _give_up_after(until, location)
            waiting.check(location)

    async def await_(self, wanted: Checkpoint, look: Callable[[Checkpoint], Awaitable[bool]], location: str) -> None:
        """`wait`, without blocking the loop."""
        loop, landed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(landed.set)

        with self._watched(wanted, wake) as waiting:
            until = time.monotonic() + WAIT
            while not await _within(landed, LOOK):
                if await look(wanted):
                    return
                _give_up_after(until, location)
            waiting.check(location)

    @contextlib.contextmanager
    def _watched(self, wanted: Checkpoint, wake: Callable[[], object]) -> Generator[_Waiting]:
        waiting = _Waiting(wanted, wake)
        with self._guard:
            known, error = wanted.key in self._ids, self._graphs.get(wanted.graph)
            self._waiting.append(waiting)
        if known or error is not None:
            waiting.tell(None if known else error)
        try:
            yield waiting
        finally:
            with self._guard:
                self._waiting.remove(waiting)


class _Waiting:
    """One effect that waits for a checkpoint."""

    def __init__(self, wanted: Checkpoint, wake: Callable[[], object]) -> None:
        self.wanted = wanted
        self._wake = wake
        self._error: BaseException | None = None

    def tell(self, error: BaseException | None) -> None:
        """It is saved, or cannot be."""
        self._error = error
        self._wake()

    def check(self, location: str) -> None:
        """Raises LedgerError if it cannot be saved."""
        if self._error is not None:
            why = "the checkpoint that this step began from could not be saved"
            raise LedgerError(location, why, "So the effect did not start.") from self._error


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


def _remember(known: OrderedDict[tuple[str, str], V], key: tuple[str, str], value: V) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _REMEMBERED:
        known.popitem(last=False)
