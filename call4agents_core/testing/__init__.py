"""To prove a store or a plugin: the contract that every store has to pass, and processes killed at every point of the ledger's work.

`StoreContract` is a suite for pytest, `ArchiveContract` and `StreamContract` its parts for a store of one process. `World`
counts effects, `Worker`, `serve` and `forked` run child processes, `kill_at` ends one at a `KillPoint`, and `AFTERMATH` says what a new
process has to find then.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from call4agents_core.testing.kills import AFTERMATH, Aftermath, KillPoint, around, check_killed, kill_at, killed
from call4agents_core.testing.workers import Answer, Worker, WorkerEnded, end_of, forked, serve
from call4agents_core.testing.world import World

if TYPE_CHECKING:
    from call4agents_core.testing.contract import StoreContract
    from call4agents_core.testing.contract_archive import ArchiveContract
    from call4agents_core.testing.contract_streams import StreamContract

__all__ = [
    "AFTERMATH",
    "Aftermath",
    "Answer",
    "ArchiveContract",
    "KillPoint",
    "StoreContract",
    "StreamContract",
    "Worker",
    "WorkerEnded",
    "World",
    "around",
    "check_killed",
    "end_of",
    "forked",
    "kill_at",
    "killed",
    "serve",
]

_SUITES = {
    "StoreContract": f"{__name__}.contract",
    "ArchiveContract": f"{__name__}.contract_archive",
    "StreamContract": f"{__name__}.contract_streams",
}


def __getattr__(name: str) -> Any:
    if name in _SUITES:  # these need pytest, and child processes do not
        import importlib

        import pytest

        pytest.register_assert_rewrite(*(module for module in _SUITES.values() if module not in sys.modules))
        return getattr(importlib.import_module(_SUITES[name]), name)
    msg = f"module 'call4agents_core.testing' has no attribute {name!r}"
    raise AttributeError(msg)
