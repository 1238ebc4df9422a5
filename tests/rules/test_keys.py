"""One c4a_key, several calls: conflict, and the forgiveness of spelling. The rules alone, without a disk."""

import pytest

from call4agents_core._rules import Begun, Conflict, Doubt, Recorded, Refused
from call4agents_core._types import Note
from tests.rules.streams import Call, Stream

TEN = Call("ten", {"amount": "10", "to": "alice"})
TEN_SPELLED = Call("10.00", {"amount": "10", "to": "alice"})
ELEVEN = Call("eleven", {"amount": "11", "to": "alice"})


def needy(call: Call) -> Call:
    return Call(call.digest, call.loose, needs_yes=True)


def test_another_value_under_the_same_key_is_a_conflict_in_every_state():
    """The arguments that differ are named, and nothing is written."""
    stream = Stream()
    attempt = stream.begin(TEN)
    for step in (lambda: None, lambda: stream.fail(attempt), lambda: stream.resolve("happened")):
        step()
        before = len(stream.entries)
        assert stream.call(ELEVEN) == Conflict(("amount",))
        assert stream.call(Call("x", {"amount": "11", "to": "bob"}), resend=True) == Conflict(("amount", "to"))
        assert len(stream.entries) == before
    stream.write(Note("undone", {}))
    assert stream.call(ELEVEN) == Conflict(("amount",))


@pytest.mark.parametrize("loose", [{"amount": "10"}, {"amount": "10", "to": "alice", "note": "x"}])
def test_an_argument_that_is_new_or_gone_is_a_conflict(loose):
    """The signature may have changed since; the key stands for what it was used with."""
    stream = Stream()
    stream.begin(TEN)
    assert isinstance(stream.call(Call("y", loose)), Conflict)


def test_another_spelling_under_the_same_key_is_the_same_action():
    """10, 10.0 and "10.00" are one amount where the key says that the call is the same."""
    stream = Stream()
    attempt = stream.begin(TEN)
    assert isinstance(stream.call(TEN_SPELLED), Doubt)
    stream.finish(attempt)
    assert isinstance(stream.call(TEN_SPELLED), Recorded)


def test_the_forgiveness_of_spelling_never_spends_a_yes():
    """A yes covers exact arguments: the other spelling has to ask for its own."""
    stream = Stream()
    stream.approve(TEN)
    assert stream.call(needy(TEN_SPELLED)) == Refused("waiting")
    assert stream.call(needy(TEN)) == Begun(3)


def test_what_was_approved_or_asked_for_fixes_the_key_too():
    """A call with another amount does not get to ask under a key that somebody has decided about."""
    stream = Stream()
    stream.ask(TEN)
    assert isinstance(stream.call(needy(ELEVEN)), Conflict)
    stream.approve(TEN)
    assert isinstance(stream.call(needy(ELEVEN)), Conflict)
    assert stream.kinds == ["asked", "approved"]


def test_a_no_alone_does_not_fix_what_the_key_stands_for():
    """It says which action must not run, not with what."""
    stream = Stream()
    stream.deny()
    assert stream.call(ELEVEN).why == "denied"


def test_without_a_given_key_there_is_no_conflict():
    """The key is the digest then, so other arguments are another action."""
    stream = Stream()
    stream.begin(Call("ten"))
    assert not isinstance(stream.call(Call("eleven")), Conflict)
