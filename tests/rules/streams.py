"""One action without a disk: what the rules say is written into a list, under a clock that stands still until a test moves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from call4agents_core import _rules
from call4agents_core._rules import Begun, Verdict
from call4agents_core._state import State, fold
from call4agents_core._types import Entry, Note, OwnerStatus

START = 1_000_000.0
RESULT = {"result": {"value": "paid"}}
CAUSE = {"cause": "Boom()"}


@dataclass(frozen=True)
class Call:
    """What the rules have to know of a call. ``digest`` stands for its exact arguments, ``loose`` for them without their spelling."""

    digest: str = "ten"
    loose: dict[str, str] | None = None
    needs_yes: bool = False
    idempotent_for: float | None = None
    repeat: Literal["return", "run", "refuse"] = "return"

    def intent(self) -> dict[str, Any]:
        return self.request()

    def request(self) -> dict[str, Any]:
        found: dict[str, Any] = {"args": {}, "digest": self.digest}
        return found if self.loose is None else {**found, "loose": self.loose}


class Stream:
    """The entries of one action. ``owner`` is what the store would say of the process that holds its newest attempt."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.now = START
        self.owner: OwnerStatus = "dead"

    @property
    def state(self) -> State:
        """Folded anew from the entries, as every process does it."""
        return fold(self.entries)

    @property
    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.entries]

    def write(self, note: Note | None) -> Entry | None:
        if note is None:
            return None
        entry = Entry(len(self.entries) + 1, note.kind, self.now, note.data, b"")
        self.entries.append(entry)
        return entry

    # ---- what callers do -----------------------------------------------------------------------------------------

    def call(self, call: Call | None = None, *, resend: bool = False) -> Verdict:
        """One call, as the ledger makes it: the rule decides, and what it says is written."""
        note, verdict = _rules.begin(self.state, call or Call(), now=self.now, owner=self.owner, resend=resend)
        entry = self.write(note)
        if isinstance(verdict, Begun):
            assert entry is not None
            assert entry.kind == "intent"
            assert entry.n == verdict.n
        return verdict

    def begin(self, call: Call | None = None, *, resend: bool = False) -> int:
        """A call that has to start an attempt; its number."""
        verdict = self.call(call, resend=resend)
        assert isinstance(verdict, Begun), verdict
        return verdict.n

    def finish(self, attempt: int) -> None:
        self.write(_rules.end(self.state, attempt, "result", RESULT))

    def fail(self, attempt: int) -> None:
        self.write(_rules.end(self.state, attempt, "failed", CAUSE))

    def free(self, attempt: int) -> None:
        """The attempt raised what retry_on= names."""
        self.write(_rules.end(self.state, attempt, "not-done", {**CAUSE, "proof": "retry_on"}))

    # ---- what people do ------------------------------------------------------------------------------------------

    def ask(self, call: Call | None = None) -> object:
        note, answer = _rules.ask(self.state, call or Call())
        self.write(note)
        return answer

    def approve(self, call: Call | None = None, *, valid_for: float | None = None) -> Entry | None:
        until = None if valid_for is None else self.now + valid_for
        return self.write(_rules.approve(self.state, (call or Call()).request(), by="boss", until=until))

    def deny(self) -> Entry | None:
        return self.write(_rules.deny(self.state, by="boss", reason="no"))

    def resolve(self, outcome: Literal["happened", "did-not-happen"], attempt: int | None = None) -> object:
        data: dict[str, Any] = {"outcome": outcome, **(RESULT if outcome == "happened" else {})}
        note, answer = _rules.resolve(self.state, self.owner, data, attempt)
        self.write(note)
        return answer
