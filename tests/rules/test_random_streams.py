"""Random streams: whatever callers, people and clocks do, the fold takes what the rules write, and the rules keep their promises.

The promises are checked against the bare entries, by a reader of its own that shares nothing with the fold.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from call4agents_core import _rules
from call4agents_core._rules import Begun
from call4agents_core._state import fold
from call4agents_core._types import Entry
from tests.rules.streams import Call, Stream

DIGESTS = st.sampled_from(["ten", "10.00"])
CALLS = st.builds(
    Call,
    digest=DIGESTS,
    loose=st.sampled_from([{"amount": "10"}, {"amount": "11"}]),
    needs_yes=st.booleans(),
    idempotent_for=st.sampled_from([None, 50.0]),
)


class Reader:
    """What a careful person finds in the entries of one action, read from the newest backwards."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.attempts = [entry for entry in entries if entry.kind == "intent"]

    def ending(self, attempt: Entry) -> str | None:
        """How an attempt ended, by the first word on it; None: no word."""
        for entry in self.entries[attempt.n :]:
            if entry.kind == "intent":
                return "superseded"
            if entry.kind in ("result", "failed", "not-done", "resolved") and entry.data["of"] == attempt.n:
                return entry.data["outcome"] if entry.kind == "resolved" else entry.kind
        return None

    def proved_not_done(self, attempt: Entry) -> bool:
        """The last word on it says so; a resolution may follow a failure."""
        words = [e for e in self.entries if e.kind in ("failed", "not-done", "resolved") and e.data["of"] == attempt.n]
        return bool(words) and (words[-1].kind == "not-done" or words[-1].data.get("outcome") == "did-not-happen")

    def done(self) -> bool:
        return any(e.kind == "result" or e.data.get("outcome") == "happened" for e in self.entries)

    def denied(self) -> bool:
        decisions = [entry.kind for entry in self.entries if entry.kind in ("approved", "denied")]
        return decisions[-1:] == ["denied"]

    def covering(self, digest: str, now: float) -> set[int]:
        """Numbers of the yeses of exactly these arguments that hold now: not expired, not cancelled."""
        last_no = max((e.n for e in self.entries if e.kind == "denied"), default=0)
        return {
            e.n
            for e in self.entries
            if e.kind == "approved"
            and e.data["digest"] == digest
            and e.n > last_no
            and (e.data["until"] is None or now < e.data["until"])
        }


class OneAction(RuleBasedStateMachine):
    """Callers, people and processes that meet at one action."""

    def __init__(self) -> None:
        super().__init__()
        self.stream = Stream()

    # ---- what can happen -----------------------------------------------------------------------------------------

    @rule(call=CALLS, resend=st.booleans())
    def somebody_calls(self, call: Call, resend: bool) -> None:
        stream = self.stream
        before, owner = Reader(list(stream.entries)), stream.owner
        other = _rules.begin(stream.state, call, now=stream.now, owner=owner, resend=resend)
        verdict = stream.call(call, resend=resend)
        if not isinstance(verdict, Begun):
            assert stream.kinds[len(before.entries) :] in ([], ["asked"])
            return
        assert verdict == other[1] == Begun(len(before.entries) + 1)  # two at once want one and the same place
        assert not before.done()
        assert not before.denied()
        self._may_begin(before, owner, call, resend=resend)
        if call.needs_yes:
            self._has_its_yes(before, call)

    def _may_begin(self, before: Reader, owner: str, call: Call, *, resend: bool) -> None:
        for attempt in before.attempts[-1:]:
            if before.proved_not_done(attempt):
                return
            assert resend
            assert call.idempotent_for is not None
            assert before.ending(attempt) == "failed" or owner == "dead"
            assert self.stream.now < before.attempts[0].at + call.idempotent_for

    def _has_its_yes(self, before: Reader, call: Call) -> None:
        used = self.stream.entries[-1].data["uses"]
        assert used in before.covering(call.digest, self.stream.now)
        sharing = [attempt for attempt in before.attempts if attempt.data.get("uses") == used]
        assert all(before.proved_not_done(a) for a in sharing) or call.idempotent_for is not None

    @rule(digest=DIGESTS, valid_for=st.sampled_from([None, 5.0, 100.0]))
    def a_person_says_yes(self, digest: str, valid_for: float | None) -> None:
        self.stream.approve(Call(digest, {"amount": "10"}), valid_for=valid_for)

    @rule()
    def a_person_says_no(self) -> None:
        self.stream.deny()

    @rule(digest=DIGESTS)
    def a_person_is_asked(self, digest: str) -> None:
        self.stream.ask(Call(digest, {"amount": "10"}))

    @rule(outcome=st.sampled_from(["happened", "did-not-happen"]), of_which=st.sampled_from([None, 0, -1]))
    def a_doubt_is_resolved(self, outcome, of_which) -> None:
        attempts = Reader(self.stream.entries).attempts
        about = attempts[of_which].n if attempts and of_which is not None else None
        self.stream.resolve(outcome, about)

    @precondition(lambda self: Reader(self.stream.entries).attempts)
    @rule(end=st.sampled_from(["finish", "fail", "free"]), data=st.data())
    def an_attempt_ends(self, end: str, data: st.DataObject) -> None:
        attempt = data.draw(st.sampled_from(Reader(self.stream.entries).attempts))
        before = Reader(list(self.stream.entries))
        settled = before.ending(attempt) is not None
        getattr(self.stream, end)(attempt.n)
        assert (self.stream.kinds[-1] == "late") is settled

    @rule(owner=st.sampled_from(["alive", "dead", "unknown"]))
    def the_owner_changes(self, owner) -> None:
        self.stream.owner = owner

    @rule(seconds=st.sampled_from([1.0, 10.0, 60.0, -30.0]))
    def time_passes(self, seconds: float) -> None:
        self.stream.now += seconds

    # ---- what always holds ---------------------------------------------------------------------------------------

    @invariant()
    def the_fold_takes_every_prefix(self) -> None:
        for length in range(len(self.stream.entries) + 1):
            state = fold(self.stream.entries[:length])
            assert state.last == length
            assert state.finished == Reader(self.stream.entries[:length]).done()

    @invariant()
    def a_done_action_stays_done_with_its_first_result(self) -> None:
        outcomes = [e for e in self.stream.entries if e.kind == "result" or e.data.get("outcome") == "happened"]
        assert len(outcomes) <= 1
        assert self.stream.state.outcome in (outcomes or [None])

    @invariant()
    def what_is_denied_holds_no_yes(self) -> None:
        if self.stream.state.no is not None:
            assert not self.stream.state.yes
            assert self.stream.state.held is None


TestOneAction = OneAction.TestCase
TestOneAction.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)
