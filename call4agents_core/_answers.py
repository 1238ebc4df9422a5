"""What a call is told: the result, who holds the action, what is in doubt, or a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from call4agents_core import _codec, _keys, _rules, _stored
from call4agents_core._requests import ApprovalRequest
from call4agents_core._streams import Streams
from call4agents_core.errors import (
    ApprovalDenied,
    ApprovalRequired,
    EffectArchived,
    EffectInDoubt,
    EffectRefused,
    EffectRunning,
    EffectUndone,
    KeyConflict,
    ResultNotKept,
)

if TYPE_CHECKING:
    from call4agents_core._call import Call
    from call4agents_core._flights import Flight
    from call4agents_core._requests import Decides
    from call4agents_core._state import State
    from call4agents_core._types import Entry


class Attempt(NamedTuple):
    """One try at an action that this process holds: its intent is durable as entry ``n``.

    ``state`` is how the action stood after it; None where it is not sure that the intent reached the ledger.
    """

    call: Call
    n: int
    state: State | None


class Known(NamedTuple):
    """The action is done and this is its recorded result."""

    value: Any


class Held(NamedTuple):
    """Somebody holds the action: ``error`` says so, ``flight`` is there where it is this process."""

    error: EffectRunning
    flight: Flight | None


class Doubtful(NamedTuple):
    """The action is in doubt: ``error`` says so. ``askable``: reconcile= may be asked about ``attempt``."""

    error: EffectInDoubt
    attempt: int
    askable: bool


class Answers(Streams):
    """Verdicts of the rules in the words of callers."""

    def answer(
        self, call: Call, state: State, verdict: _rules.Verdict, flight: Flight | None
    ) -> Known | Held | Doubtful:
        facts: dict[str, Any] = {"run": call.run, "tool": call.effect.tool, "action": call.action}
        match verdict:
            case _rules.Recorded(entry):
                return Known(self._value(call, entry, facts))
            case _rules.Running(attempt):
                return Held(self.running(call, attempt.at), flight)
            case _rules.Doubt(attempt, cause, askable):
                return Doubtful(
                    EffectInDoubt(**facts, since=attempt.at, cause=cause, ledger=self.location, attempt=attempt.n),
                    attempt.n,
                    askable,
                )
            case _rules.Conflict(arguments):
                raise KeyConflict(call.effect.tool, call.run, call.given_key or "", arguments)
            case _rules.Refused(why, entry):
                raise self._refusal(why, entry or state.asked, facts)
            case _:
                raise AssertionError(verdict)

    def running(self, call: Call, since: float) -> EffectRunning:
        return EffectRunning(
            run=call.run,
            tool=call.effect.tool,
            action=call.action,
            since=since,
            cause="another caller holds it right now",
            ledger=self.location,
        )

    def _refusal(self, why: str, entry: Entry | None, facts: dict[str, Any]) -> EffectRefused:
        if why == "undone":
            return EffectUndone(**facts)
        if why == "repeated":
            return EffectRefused.repeated(**facts)
        assert entry is not None
        if why == "archived":
            return EffectArchived(**facts, was=entry.data["was"])
        if why == "denied":
            return ApprovalDenied(**facts, by=entry.data["by"], reason=entry.data["reason"])
        return ApprovalRequired(self.request_in(entry, **facts))

    def request_in(self, entry: Entry, *, run: str, tool: str, action: str) -> ApprovalRequest:
        """The request that an entry opened, as a person sees it."""
        shown_to = _stored.shown_arguments(entry.data["args"])
        name = _keys.request_id(action, entry.n)
        request = ApprovalRequest(name, run, tool, action, shown_to, entry.at, self.location)
        return request.at(cast("Decides", self))  # whoever decides has opened a Ledger

    def _value(self, call: Call, entry: Entry, facts: dict[str, Any]) -> Any:
        kept = entry.data["result"]
        try:
            return _stored.restored(kept, call.effect.options.decode)
        except _codec.NotRestorable as error:
            raise ResultNotKept(**facts, shown=_stored.text_of(kept), why=str(error)) from error
