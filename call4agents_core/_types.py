"""The plain data that rules, ledger and stores hand to each other."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

#: How an action stands, as the derived table and the command line name it.
StateName = Literal[
    "new", "waiting", "approved", "denied", "started", "in-doubt", "not-done", "done", "undone", "archived"
]

#: What a store knows of the process that holds an attempt. "unknown" is never taken for "dead".
OwnerStatus = Literal["alive", "dead", "unknown"]

EntryKind = Literal[
    "asked", "approved", "denied", "intent", "result", "failed", "not-done", "resolved", "late", "undone", "archived"
]


class Row(NamedTuple):
    """One entry as a store keeps it; ``body`` and ``mac`` are opaque to the store."""

    seq: int
    run: str
    action: str
    n: int
    body: bytes
    mac: bytes


class Request(NamedTuple):
    """What the derived table of requests is told by an entry."""

    id: str
    open: bool


class Draft(NamedTuple):
    """One entry to be appended: number ``n`` of its action, and what the derived tables say after it."""

    run: str
    action: str
    n: int
    body: bytes
    mac: bytes
    tool: str
    state: StateName
    requests: tuple[Request, ...] = ()


class Entry(NamedTuple):
    """One entry whose MAC was checked, its body decoded."""

    n: int
    kind: EntryKind
    at: float
    data: dict[str, Any]
    mac: bytes


class Note(NamedTuple):
    """What a rule wants written as the next entry of an action."""

    kind: EntryKind
    data: dict[str, Any]


#: States that keep a run from being archived: somebody may still act or decide.
OPEN_STATES: tuple[StateName, ...] = ("started", "in-doubt", "waiting", "approved")


class Stone(NamedTuple):
    """What an archived action leaves behind: entry 1 of its stream, in the place of all others. ``first``: its old number."""

    action: str
    first: int
    body: bytes
    mac: bytes


class ActionRow(NamedTuple):
    """One action in the derived table: where its stream is, and how it stands. Carries no authority."""

    first: int
    last: int
    run: str
    action: str
    tool: str
    state: StateName


class RunRow(NamedTuple):
    """One run in the derived table; ``first`` and ``last`` are entry numbers of the ledger."""

    run: str
    first: int
    last: int
    actions: int


class RequestRow(NamedTuple):
    """One request for approval in the derived table."""

    id: str
    run: str
    action: str
    open: bool


class Meta(NamedTuple):
    """What a ledger says of itself: its format, its random id, the secret that it belongs to (by key id), and whether it is an archive."""

    format: int
    ledger_id: bytes
    key_id: bytes
    archive: bool = False
