"""Entries that the contract suite and its child processes can name."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from call4agents_core._types import Draft, Request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from call4agents_core._types import Row, StateName


def action(name: str) -> str:
    """An action id that a test can name."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def draft(
    name: str,
    n: int = 1,
    *,
    run: str = "run",
    tool: str = "pay",
    state: StateName = "started",
    body: bytes | None = None,
    opens: str = "",
    closes: str = "",
) -> Draft:
    """Entry ``n`` of the action ``name``; ``opens`` and ``closes`` are ids of requests."""
    body = body if body is not None else f"{run} {name} {n}".encode()
    mac = hashlib.sha256(body).digest()
    requests = tuple(Request(one, open=one == opens) for one in (opens, closes) if one)
    return Draft(run, action(name), n, body, mac, tool, state, requests)


def contents(rows: Iterable[Row]) -> list[bytes]:
    """The bodies of rows: what tests tell entries by."""
    return [row.body for row in rows]
