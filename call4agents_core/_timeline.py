"""What the ledger holds of a run, as a person reads it: action after action in the order of what was done, each with its entries.

Everything is read through the ledger's own check, so nothing is told on the word of an entry whose MAC does not fit.
"""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from call4agents_core import _keys, _rules, _stored
from call4agents_core._shown import escaped
from call4agents_core._state import State
from call4agents_core.errors import LedgerTampered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from call4agents_core._ledger import Core
    from call4agents_core._types import Entry, Row


class Placed(NamedTuple):
    """An entry of an action, and its place among all entries of the ledger."""

    seq: int
    entry: Entry


class RecordedAction(NamedTuple):
    """One action with all its entries, checked.

    ``standing`` is how it stands in the words of the command line: the state, but "running" or "in-doubt" for an attempt that
    has no end on record, by whether its owner lives. ``doubt`` says why where it is in doubt. Texts are escaped.
    """

    run: str
    action: str
    state: State
    entries: tuple[Placed, ...]
    standing: str
    doubt: _rules.Doubt | None
    idempotency_key: str

    @property
    def head(self) -> Mapping[str, Any]:
        """Entry 1: names the tool, the ordinal and the given key."""
        return self.entries[0].entry.data

    @property
    def tool(self) -> str:
        """The tool's name."""
        return escaped(str(self.head["tool"]))

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments as they ran; before the first attempt, as they were approved or asked for."""
        spoken = [placed.entry for placed in self.entries if "args" in placed.entry.data]
        entry = self.state.attempt or (spoken[-1] if spoken else None)
        return arguments_of(entry) if entry is not None else {}

    @property
    def call(self) -> str:
        """The call as one would write it."""
        return call_text(self.tool, self.arguments)

    @property
    def result(self) -> str | None:
        """The recorded result as text, if the action is done."""
        outcome = self.state.outcome
        return None if outcome is None or "result" not in outcome.data else _stored.text_of(outcome.data["result"])

    @property
    def has_undo(self) -> bool:
        """Whether the tool had an undo when it was last called."""
        return self.state.attempt is not None and bool(self.state.attempt.data.get("undo"))

    @property
    def where(self) -> Mapping[str, Any]:
        """Where in its framework the action was called, as a plugin noted it."""
        return self.state.attempt.data.get("where", {}) if self.state.attempt is not None else {}

    @property
    def place(self) -> int:
        """Where the action stands in the timeline: its first attempt, else its first entry."""
        first = self.state.first_attempt
        return next(
            (placed.seq for placed in self.entries if first is not None and placed.entry.n == first.n),
            self.entries[0].seq,
        )

    @property
    def began(self) -> float:
        """When it was first attempted, else first spoken of; seconds since the epoch."""
        return (self.state.first_attempt or self.entries[0].entry).at

    def told(self) -> Iterator[tuple[Entry, str]]:
        """Each entry, and what it says in words."""
        attempts: dict[int, int] = {}
        for _, entry in self.entries:
            if entry.kind == "intent":
                attempts[entry.n] = len(attempts) + 1
            yield entry, _in_words(entry, attempts)


def recorded(ledger: Core, run: str, action: str) -> RecordedAction:
    """One action that has entries. Raises LedgerTampered."""
    return _checked(ledger, run, action, ledger.store.read(run, action))


def timeline(ledger: Core, run: str) -> list[RecordedAction]:
    """All actions of a run in the order in which they were first attempted. Raises LedgerTampered."""
    streams = groupby(ledger.store.scan(run=run, by_action=True), key=lambda row: row.action)
    return sorted((_checked(ledger, run, action, rows) for action, rows in streams), key=lambda one: one.place)


def _checked(ledger: Core, run: str, action: str, rows: Iterable[Row]) -> RecordedAction:
    state, entries = State(), list[Placed]()
    for row in rows:
        entry = ledger.checked(run, action, row, state)
        state.take(entry)
        entries.append(Placed(row.seq, entry))
    if not entries:
        raise LedgerTampered(ledger.location, run=run, action=action, n=1, why="it is missing")
    standing, doubt = _standing(ledger, action, state)
    key = _keys.idempotency_key(ledger.ledger_id, action)
    return RecordedAction(run, action, state, tuple(entries), standing, doubt, key)


def _standing(ledger: Core, action: str, state: State) -> tuple[str, _rules.Doubt | None]:
    if state.stage not in ("started", "in-doubt"):
        return state.name, None
    found = _rules.doubt_of(state, ledger.owner_status(action, state))
    return ("running", None) if isinstance(found, _rules.Running) else ("in-doubt", found)


# ---- texts ---------------------------------------------------------------------------------------------------------


def local_time(at: float, precision: str = "milliseconds") -> str:
    """Seconds since the epoch as local time with its UTC offset, in the form of ISO 8601."""
    return datetime.fromtimestamp(at).astimezone().isoformat(timespec=precision)


def arguments_of(entry: Entry) -> dict[str, str]:
    """The arguments that an entry holds, as text by name."""
    return _stored.shown_arguments(entry.data.get("args", {}))


def call_text(tool: str, arguments: Mapping[str, str]) -> str:
    """A call as one would write it."""
    return f"{tool}({', '.join(f'{escaped(name)}={text}' for name, text in arguments.items())})"


def _in_words(entry: Entry, attempts: Mapping[int, int]) -> str:
    """One entry; ``attempts`` counts the intents so far by their entry number."""
    data = entry.data
    attempt = f"attempt {attempts.get(entry.n) or attempts.get(data.get('of', 0), '?')}"
    match entry.kind:
        case "asked":
            return "a yes was asked for"
        case "approved":
            until = data["until"]
            return f"approved{_by(data)}" + (
                f", valid until {local_time(until, 'seconds')}" if until is not None else ""
            )
        case "denied":
            return f"denied{_by(data)}{_colon(data['reason'])}"
        case "intent":
            owner = escaped(str(data["owner"]).partition("@")[0])
            return f"{attempt} began, owner {owner}" + (", and used up the yes" if "uses" in data else "")
        case "resolved":
            return _resolved(data)
        case "undone":
            return f"undone by action {escaped(str(data.get('by')))[:12]}"
        case "archived":
            return "its record has moved to an archive"
        case "late":
            return f"{attempt} ended late, which changes nothing: it {_ended(str(data['end']), data)}"
        case _:
            return f"{attempt} {_ended(entry.kind, data)}"


def _ended(kind: str, data: Mapping[str, Any]) -> str:
    if kind == "result":
        return f"returned {_stored.text_of(data['result'])}"
    cause = escaped(str(data["cause"]))
    if kind == "failed":
        return f"raised {cause}, so it may have happened"
    return (
        f"raised {cause}, which proves that nothing happened"
        if data["proof"] == "retry_on"
        else f"was not made: {cause}"
    )


def _resolved(data: Mapping[str, Any]) -> str:
    who = "reconcile= answered" if data.get("via") == "reconcile" else f"resolved{_by(data)}"
    happened = data["outcome"] == "happened"
    what = f"it happened, with the result {_stored.text_of(data['result'])}" if happened else "it did not happen"
    return f"{who}: {what}" + (f" ({escaped(str(data['note']))})" if data.get("note") else "")


def _by(data: Mapping[str, Any]) -> str:
    return f" by {escaped(str(data['by']))}" if data.get("by") else ""


def _colon(text: str | None) -> str:
    return f": {escaped(text)}" if text else ""
