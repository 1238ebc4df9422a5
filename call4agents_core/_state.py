"""PURE: what the entries of one action say, folded in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from call4agents_core._types import Entry, StateName

#: How far the attempts at an action have come. "none": none was made; "started": the newest has no end on record.
Stage = Literal["none", "started", "in-doubt", "not-done", "done", "undone", "archived"]


class State:
    """How one action stands. Made by `fold`; the rules read it, and nothing changes it once it is made."""

    __slots__ = (
        "asked",
        "attempt",
        "denial",
        "failure",
        "first_attempt",
        "head",
        "held",
        "last",
        "mac",
        "no",
        "outcome",
        "requests",
        "stage",
        "yes",
    )

    def __init__(self) -> None:
        self.last = 0  # number of the newest entry
        self.mac = b""  # and its MAC, which the next entry is chained to
        self.head: Entry | None = None  # entry 1: names the tool, the key and the ordinal
        self.stage: Stage = "none"
        self.first_attempt: Entry | None = None
        self.attempt: Entry | None = None  # the newest intent
        self.failure: Entry | None = None  # how the newest attempt ended, where it did not end well
        self.outcome: Entry | None = None  # the entry that holds the result
        self.yes: dict[str, Entry] = {}  # unused approvals by the digest that they cover
        self.held: Entry | None = None  # the approval that the newest attempt used up
        self.no: Entry | None = None  # a denial that nobody lifted since
        self.denial: Entry | None = None  # the newest, lifted or not: requests before it stay denied
        self.asked: Entry | None = None  # the open request
        self.requests: list[Entry] = []  # all there were

    @property
    def name(self) -> StateName:
        """The state in the words of the derived table."""
        if self.stage != "none" and self.stage != "not-done":  # noqa: PLR1714 - narrows the type
            return self.stage
        if self.no is not None:
            return "denied"
        if self.asked is not None:
            return "waiting"
        if self.yes:
            return "approved"
        return "not-done" if self.stage == "not-done" else "new"

    @property
    def finished(self) -> bool:
        """Whether a later ordinal may be taken: the action is done, whatever became of it since."""
        return self.stage in ("done", "undone", "archived")

    def followed_by(self, entry: Entry) -> State:
        """The state after one more entry; this one stays as it is, since other threads may be reading it."""
        after = State.__new__(State)
        after.head, after.first_attempt = self.head, self.first_attempt
        after.stage, after.attempt, after.failure, after.outcome = self.stage, self.attempt, self.failure, self.outcome
        after.yes, after.held, after.no = dict(self.yes), self.held, self.no
        after.denial = self.denial
        after.asked, after.requests = self.asked, list(self.requests)
        after.take(entry)
        return after

    def take(self, entry: Entry) -> None:
        """Let one more entry speak, while the state is being made."""
        self.last, self.mac = entry.n, entry.mac
        if self.head is None:
            self.head = entry
        _TAKE[entry.kind](self, entry)

    def _take_approved(self, entry: Entry) -> None:
        self.yes[entry.data["digest"]] = entry  # one right for one digest, however often somebody says yes
        self.no = self.asked = None

    def _take_denied(self, entry: Entry) -> None:
        self.yes.clear()
        self.held = self.asked = None
        self.no = self.denial = entry

    def _take_asked(self, entry: Entry) -> None:
        self.asked = entry
        self.requests.append(entry)

    def _take_intent(self, entry: Entry) -> None:
        self.stage, self.attempt, self.failure = "started", entry, None
        self.first_attempt = self.first_attempt or entry
        used = entry.data.get("uses")
        spent = next((yes for yes in self.yes.values() if yes.n == used), None)
        if spent is not None:
            self.held = self.yes.pop(spent.data["digest"])
        self.asked = None

    def _take_failed(self, entry: Entry) -> None:
        self.stage, self.failure = "in-doubt", entry

    def _take_not_done(self, entry: Entry) -> None:
        self.stage, self.failure = "not-done", entry
        if self.held is not None:  # the yes that the attempt used still holds
            self.yes.setdefault(self.held.data["digest"], self.held)
            self.held = None

    def _take_result(self, entry: Entry) -> None:
        self.stage, self.outcome = "done", entry
        self.asked = None

    def _take_resolved(self, entry: Entry) -> None:
        (self._take_result if entry.data["outcome"] == "happened" else self._take_not_done)(entry)

    def _take_undone(self, entry: Entry) -> None:
        self.stage = "undone"

    def _take_archived(self, entry: Entry) -> None:
        self.stage = "archived"

    def _take_late(self, entry: Entry) -> None:
        """Kept and shown; it changes nothing."""


_TAKE = {
    "asked": State._take_asked,
    "approved": State._take_approved,
    "denied": State._take_denied,
    "intent": State._take_intent,
    "result": State._take_result,
    "failed": State._take_failed,
    "not-done": State._take_not_done,
    "resolved": State._take_resolved,
    "late": State._take_late,
    "undone": State._take_undone,
    "archived": State._take_archived,
}


def fold(entries: Iterable[Entry]) -> State:
    """The state that the entries of one action give, in their order."""
    state = State()
    for entry in entries:
        state.take(entry)
    return state
