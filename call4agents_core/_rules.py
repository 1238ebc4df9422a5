"""PURE: all rules of an action. Each takes its state and says what to write next, and what that means for the caller.

Source of every rule: docs/idempotency.md. No clock, no disk, no process is asked here; what a rule has to know comes as an argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from call4agents_core._types import Note

if TYPE_CHECKING:
    from call4agents_core._state import State
    from call4agents_core._types import Entry, OwnerStatus


class Asking(Protocol):
    """What the rules have to know of a call."""

    digest: str  # strict digest of the arguments, hexadecimal
    loose: dict[str, str] | None  # digests that forgive spelling, by argument; only where the call was given a key
    needs_yes: bool
    idempotent_for: float | None
    repeat: Literal["return", "run", "refuse"]

    def intent(self) -> dict[str, Any]:
        """What the intent stores: arguments, owner, whether there is an undo."""
        ...

    def request(self) -> dict[str, Any]:
        """What a request, and an approval of it, stores: the arguments."""
        ...


class Recorded(NamedTuple):
    """The action is done: here is the entry with its result."""

    entry: Entry


class Begun(NamedTuple):
    """The intent is to be written as entry ``n``; once it is durable, the tool runs."""

    n: int


class Running(NamedTuple):
    """Somebody holds the action."""

    attempt: Entry


class Doubt(NamedTuple):
    """It may have happened. ``askable``: no attempt can still be running, so reconcile= may be asked."""

    attempt: Entry
    cause: str
    askable: bool


class Refused(NamedTuple):
    """The action does not run. ``entry``: the request or the denial that says why, where there is one."""

    why: Literal["waiting", "denied", "undone", "archived", "repeated"]
    entry: Entry | None = None


class Conflict(NamedTuple):
    """The key stands for a call with other values of these arguments."""

    arguments: tuple[str, ...]


Verdict = Recorded | Begun | Running | Doubt | Refused | Conflict

DIED = "its process ended inside it, or could not write how it ended"
UNKNOWN_OWNER = "nobody can tell whether its process still runs, since its file in the owners folder is gone"


# ---- calling an action ---------------------------------------------------------------------------------------------


def begin(state: State, call: Asking, *, now: float, owner: OwnerStatus, resend: bool) -> tuple[Note | None, Verdict]:
    """What a call does, by the state of its action (the table of section 5 of the design).

    ``owner`` tells of the process that holds the newest attempt, where that has no end on record. ``resend`` allows a new
    attempt of an action in doubt inside its idempotent_for= window: the caller sets it once reconcile= has nothing to say.
    """
    conflict = _conflict(state, call)
    if conflict:
        return None, Conflict(conflict)
    match state.stage:
        case "done":
            assert state.outcome is not None
            return None, Refused("repeated") if call.repeat == "refuse" else Recorded(state.outcome)
        case "undone":
            return None, Refused("undone")
        case "archived":
            return None, Refused("archived", state.head)
        case "started" | "in-doubt":
            return _again(state, call, now, owner, resend)
        case "none" | "not-done":
            return _afresh(state, call, now)


def _again(state: State, call: Asking, now: float, owner: OwnerStatus, resend: bool) -> tuple[Note | None, Verdict]:
    """An attempt was made and nobody knows how it ended, or it has not ended."""
    doubt = doubt_of(state, owner)
    if isinstance(doubt, Running):
        return None, doubt
    if resend and doubt.askable and in_window(state, call.idempotent_for, now) and state.no is None:
        if not call.needs_yes:
            return _intent(state, call, None)
        for yes in (state.held, state.yes.get(call.digest)):  # the one that was used still holds; else one given since
            if yes is not None and _covers(yes, call, now):
                return _intent(state, call, yes)
    return None, doubt


def doubt_of(state: State, owner: OwnerStatus) -> Running | Doubt:
    """An open attempt: still running, or in doubt and why."""
    assert state.attempt is not None
    if state.failure is not None:
        return Doubt(state.attempt, f"it raised {state.failure.data['cause']}", askable=True)
    if owner == "alive":
        return Running(state.attempt)
    return Doubt(state.attempt, DIED, True) if owner == "dead" else Doubt(state.attempt, UNKNOWN_OWNER, False)


def _afresh(state: State, call: Asking, now: float) -> tuple[Note | None, Verdict]:
    """No attempt was made, or all are proved not to have happened."""
    if state.no is not None and state.asked is None:
        return None, Refused("denied", state.no)
    if state.no is not None or call.needs_yes:
        yes = state.yes.get(call.digest)
        if yes is None or not _covers(yes, call, now):
            return _ask(state, call)
        return _intent(state, call, yes)
    return _intent(state, call, None)


def _intent(state: State, call: Asking, yes: Entry | None) -> tuple[Note, Begun]:
    """The next attempt. Intent and spending of the yes are one entry: no crash can part them."""
    data = call.intent()
    if yes is not None:
        data["uses"] = yes.n
    return Note("intent", data), Begun(state.last + 1)


def _covers(yes: Entry, call: Asking, now: float) -> bool:
    until = yes.data.get("until")
    return yes.data["digest"] == call.digest and (until is None or now < until)


def in_window(state: State, idempotent_for: float | None, now: float) -> bool:
    """Whether the outside API surely still knows the key: the window starts at the first attempt and keeps a margin of a
    tenth, at most 60 seconds; a clock that stepped back behind any attempt counts as expired.
    """
    if idempotent_for is None or state.first_attempt is None or state.attempt is None:
        return False
    margin = min(idempotent_for / 10, 60.0)
    return state.attempt.at <= now and state.first_attempt.at <= now < state.first_attempt.at + idempotent_for - margin


def _conflict(state: State, call: Asking) -> tuple[str, ...]:
    """The arguments in which a call under a given key differs from the action that the key stands for."""
    if call.loose is None or state.last == 0:
        return ()
    known = _loose_of(state)
    if known is None:
        return ()
    return tuple(name for name in sorted(known.keys() | call.loose.keys()) if known.get(name) != call.loose.get(name))


def _loose_of(state: State) -> dict[str, str] | None:
    """What the action was called with: its attempt, else what was approved or asked."""
    newest_yes = max(state.yes.values(), key=lambda yes: yes.n, default=None)
    for entry in (state.attempt, newest_yes, state.asked):
        if entry is not None:
            found: dict[str, str] | None = entry.data.get("loose")
            return found
    return None


# ---- the end of an attempt -----------------------------------------------------------------------------------------


def end(state: State, attempt: int, kind: Literal["result", "failed", "not-done"], data: dict[str, Any]) -> Note:
    """How attempt ``attempt`` ended. Where somebody else has settled the action since, it is late: kept, and changes nothing."""
    if state.stage == "started" and state.attempt is not None and state.attempt.n == attempt:
        return Note(kind, {"of": attempt, **data})
    return Note("late", {"of": attempt, "end": kind, **data})


# ---- decisions -----------------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """The request stands as entry ``n``."""

    n: int


class Settled(NamedTuple):
    """Nothing to decide or to resolve: how the action stands, as a sentence fragment."""

    why: str


def _ask(state: State, call: Asking) -> tuple[Note | None, Refused]:
    """Open a request, or name the one that is open for the same arguments."""
    if state.asked is not None and state.asked.data["digest"] == call.digest:
        return None, Refused("waiting", state.asked)
    return Note("asked", call.request()), Refused("waiting")


def ask(state: State, call: Asking) -> tuple[Note | None, Asked | Settled]:
    """Ask for a yes in advance, or anew after a no: then calls get ApprovalRequired instead of ApprovalDenied."""
    if state.finished:
        return None, Settled(f"it is {state.stage}")
    note, refused = _ask(state, call)
    return note, Asked(refused.entry.n if refused.entry else state.last + 1)


def approve(state: State, request: dict[str, Any], *, by: str | None, until: float | None) -> Note | None:
    """A yes for the arguments of ``request``. Approving what is approved or done changes nothing."""
    if state.finished:
        return None
    same = state.yes.get(request["digest"])
    if same is not None and _lasts(same.data.get("until"), until):
        return None
    return Note("approved", {**request, "by": by, "until": until})


def _lasts(known: float | None, wanted: float | None) -> bool:
    return known is None or (wanted is not None and known >= wanted)


def deny(state: State, *, by: str | None, reason: str | None) -> Note | None:
    """A no: it cancels every unused yes of the action and lasts until a new yes. What is done stays done."""
    return None if state.finished else Note("denied", {"by": by, "reason": reason})


def resolve(
    state: State, owner: OwnerStatus, data: dict[str, Any], attempt: int | None = None
) -> tuple[Note | None, Running | Settled | None]:
    """An answer to a doubt, a person's or reconcile='s. Refused while the attempt runs, and where there is no doubt.

    ``attempt`` binds the answer to the attempt that was looked at: what was found out about one says nothing of a later one.
    """
    if state.stage not in ("started", "in-doubt"):
        return None, Settled(f"it is {state.name}")
    doubt = doubt_of(state, owner)
    if attempt is not None and doubt.attempt.n != attempt:
        return None, Settled("another attempt was made since")
    if isinstance(doubt, Running):
        return None, doubt
    return Note("resolved", {"of": doubt.attempt.n, **data}), None


def undone(state: State, reversal: str) -> Note | None:
    """The action was reversed by the action ``reversal``: its result no longer holds."""
    return Note("undone", {"by": reversal}) if state.stage == "done" else None
