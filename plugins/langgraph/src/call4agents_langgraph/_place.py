"""Where a call stands: which ledger and run it belongs to, and where in the graph it was made."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph.config import get_config

import call4agents_core as c4a
from call4agents_core import Ledger
from call4agents_core.errors import NoActiveRun, UsageError
from call4agents_core.plugin import current_ledger, current_run, default_ledger
from call4agents_langgraph._saver import LedgerSaver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from call4agents_langgraph._saved import Checkpoint

# Private names of LangGraph; tests/test_place.py holds them against the installed release.
_CHECKPOINTER = "__pregel_checkpointer"
_RUNTIME = "__pregel_runtime"
_DURABILITY = "__pregel_durability"


class Place(NamedTuple):
    """The run of a call, where its ledger comes from, and what its intent tells of the graph."""

    run: str
    source: LedgerSaver | Ledger
    where: dict[str, Any]
    levels: dict[
        str, str
    ]  # checkpoints that the step began from, by namespace; none where none is saved before the end

    def ready(self, tool: str) -> Ledger:
        """The ledger, once the checkpoint that the step began from is saved. Blocks; raises UsageError where it must not."""
        if not isinstance(self.source, LedgerSaver):
            return self.source
        on_loop = _is_on_a_loop()
        if on_loop and self.source._c4a_needs_the_loop:
            msg = (
                f"{tool} is an effect on a plain function and was called on the event loop, while its ledger shares a SQLite file with a "
                "checkpointer that needs the loop to finish its own writes. Make the function async, make the node a plain function, "
                f"or call it through asyncio.to_thread({tool.rpartition('.')[2]}, …)."
            )
            raise UsageError(msg)
        ledger = self.source.ledger
        if not on_loop:  # there, a checkpoint that is saved by the loop would never be
            for checkpoint in self._missing():
                self.source._c4a_companion.saved.wait(checkpoint, self._look, ledger.location)
        return ledger

    async def aready(self) -> Ledger:
        """`ready`, without blocking the loop."""
        if not isinstance(self.source, LedgerSaver):
            return self.source
        saver = self.source
        ledger = saver.ledger if saver._c4a_companion.is_open else await asyncio.to_thread(lambda: saver.ledger)
        for checkpoint in self._missing():
            await saver._c4a_companion.saved.await_(checkpoint, self._alook, ledger.location)
        return ledger

    def _missing(self) -> list[Checkpoint]:
        assert isinstance(self.source, LedgerSaver)
        return self.source._c4a_companion.saved.missing(self.run, self.levels)

    def _look(self, checkpoint: Checkpoint) -> bool:
        assert isinstance(self.source, LedgerSaver)
        try:
            return self.source.get_tuple(checkpoint.config()) is not None
        except NotImplementedError:  # an async checkpointer: only its own report counts
            return False

    async def _alook(self, checkpoint: Checkpoint) -> bool:
        assert isinstance(self.source, LedgerSaver)
        try:
            return await self.source.aget_tuple(checkpoint.config()) is not None
        except NotImplementedError:
            return False


def place_of(tool: str, tool_call: str | None = None) -> Place:
    """The place of the code that runs now. Raises UsageError where there is no ledger, or no run."""
    config = _running_config()
    configurable: Mapping[str, Any] = config.get("configurable", {})
    thread = configurable.get("thread_id")
    where, levels = _where(config, tool_call), _levels(configurable)
    saver = configurable.get(_CHECKPOINTER)
    if isinstance(saver, LedgerSaver):
        if thread is None:
            msg = f'{tool} was called in a graph that runs without a thread. Invoke it with {{"configurable": {{"thread_id": …}}}}.'
            raise UsageError(msg)
        return Place(c4a.run(str(thread)).id, saver, where, levels)
    run = current_run()
    if run is not None:
        return Place(run, current_ledger(tool), where, {})
    ledger = default_ledger()
    if ledger is None:
        msg = (
            f"{tool} was called where no ledger can be found. Compile the graph with one beside its checkpoints, "
            "builder.compile(checkpointer=LedgerSaver(saver)), or call call4agents_core.init() once when the program starts."
        )
        raise UsageError(msg)
    if thread is not None:
        return Place(c4a.run(str(thread)).id, ledger, where, {})
    if config:
        msg = (
            f"{tool} was called in a graph that has neither a thread nor an open run. Compile it with a checkpointer and invoke it with "
            f'{{"configurable": {{"thread_id": …}}}}, or open a run around it: with call4agents_core.run("…").'
        )
        raise UsageError(msg)
    raise NoActiveRun(tool)


def _running_config() -> Mapping[str, Any]:
    """The configuration of the node, task or tool that runs now; empty outside of them all, and in threads that copied no context."""
    try:
        return get_config()
    except RuntimeError:
        return {}


def _where(config: Mapping[str, Any], tool_call: str | None) -> dict[str, Any]:
    metadata = config.get("metadata") or {}
    configurable = config.get("configurable", {})
    info = getattr(configurable.get(_RUNTIME), "execution_info", None)
    found = {
        "node": metadata.get("langgraph_node"),
        "step": metadata.get("langgraph_step"),
        "checkpoint": getattr(info, "checkpoint_id", None),
        "task": getattr(info, "task_id", None),
        "namespace": getattr(info, "checkpoint_ns", None),
        "tool_call": tool_call,
    }
    return {name: value for name, value in found.items() if isinstance(value, (str, int)) and value != ""}


def _levels(configurable: Mapping[str, Any]) -> dict[str, str]:
    if configurable.get(_DURABILITY) == "exit":
        return {}
    levels: Mapping[str, str | None] = configurable.get("checkpoint_map") or {}
    return {namespace: checkpoint for namespace, checkpoint in levels.items() if checkpoint}


def _is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
