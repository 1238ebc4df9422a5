"""The end of an attempt, and who may say it. The rules alone, without a disk."""

import pytest

from call4agents_core._rules import Begun, Doubt, Recorded, Running, Settled
from tests.rules.streams import Call, Stream

HOUR = Call(idempotent_for=3600.0)


def test_a_result_that_comes_after_a_person_said_it_happened_changes_nothing():
    """It is kept and shown; what was answered stays the answer."""
    stream = Stream()
    attempt = stream.begin()
    stream.resolve("happened")
    stream.finish(attempt)
    assert stream.kinds == ["intent", "resolved", "late"]
    assert stream.call() == Recorded(stream.entries[1])


def test_a_result_that_comes_after_a_new_attempt_does_not_end_that_one():
    """The old attempt was taken for dead and was not: its result is late, the new attempt goes on."""
    stream = Stream()
    first = stream.begin(HOUR)
    second = stream.begin(HOUR, resend=True)
    stream.finish(first)
    assert stream.kinds == ["intent", "intent", "late"]
    stream.owner = "alive"
    assert stream.call() == Running(stream.entries[1])
    stream.finish(second)
    assert stream.call() == Recorded(stream.entries[3])


@pytest.mark.parametrize("end", ["finish", "fail", "free"])
def test_no_end_overwrites_another(end):
    """Result, failure and proof alike: the first end of an attempt counts."""
    for first in ("finish", "fail", "free"):
        stream = Stream()
        attempt = stream.begin()
        getattr(stream, first)(attempt)
        before = stream.state.name
        getattr(stream, end)(attempt)
        assert stream.kinds[-1] == "late"
        assert stream.state.name == before


def test_a_late_proof_that_nothing_happened_frees_nothing():
    """Somebody has answered already that it happened."""
    stream = Stream()
    attempt = stream.begin()
    stream.resolve("happened")
    stream.free(attempt)
    assert isinstance(stream.call(), Recorded)


def test_a_doubt_can_be_resolved_both_ways():
    """Happened: its result is recorded. Did not happen: a new attempt may be made."""
    stream = Stream()
    stream.begin()
    assert stream.resolve("happened") is None
    assert stream.call() == Recorded(stream.entries[1])
    stream = Stream()
    stream.fail(stream.begin())
    assert stream.resolve("did-not-happen") is None
    assert stream.call() == Begun(4)


def test_what_runs_cannot_be_resolved():
    """A live owner is never taken for a dead one."""
    stream = Stream()
    stream.begin()
    stream.owner = "alive"
    assert stream.resolve("did-not-happen") == Running(stream.entries[0])
    assert stream.kinds == ["intent"]


def test_a_person_can_resolve_what_nobody_can_tell():
    """The owner is unknown: no program may answer, a person who looked may."""
    stream = Stream()
    stream.begin()
    stream.owner = "unknown"
    assert stream.resolve("happened") is None
    assert isinstance(stream.call(), Recorded)


def test_where_there_is_no_doubt_there_is_nothing_to_resolve():
    """New, waiting, done, proved not done: each says how it stands."""
    stream, said = Stream(), []
    said.append(stream.resolve("happened"))
    stream.ask()
    said.append(stream.resolve("happened"))
    stream.free(stream.begin())
    said.append(stream.resolve("happened"))
    stream.finish(stream.begin())
    said.append(stream.resolve("did-not-happen"))
    assert said == [Settled("it is new"), Settled("it is waiting"), Settled("it is not-done"), Settled("it is done")]
    assert "resolved" not in stream.kinds


def test_an_answer_about_one_attempt_says_nothing_of_a_later_one():
    """reconcile= was asked about the first; meanwhile a second was made, which may well have happened."""
    stream = Stream()
    first = stream.begin(HOUR)
    stream.begin(HOUR, resend=True)
    assert stream.resolve("did-not-happen", attempt=first) == Settled("another attempt was made since")
    assert isinstance(stream.call(), Doubt)
    assert stream.resolve("did-not-happen", attempt=2) is None
    assert isinstance(stream.call(), Begun)


def test_an_answer_is_about_the_newest_attempt_and_says_so():
    """The entry names the attempt that it resolves."""
    stream = Stream()
    stream.begin(HOUR)
    stream.begin(HOUR, resend=True)
    stream.resolve("happened")
    assert stream.entries[-1].data["of"] == 2
