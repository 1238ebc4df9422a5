"""idempotent_for=: when an action in doubt may be sent again under the same key. The rules alone, without a disk."""

import pytest

from call4agents_core._rules import Begun, Doubt, Running
from tests.rules.streams import START, Call, Stream

HOUR = Call(idempotent_for=3600.0)
NEEDY = Call(idempotent_for=3600.0, needs_yes=True)


def in_doubt(call: Call = HOUR) -> Stream:
    stream = Stream()
    stream.begin(call)
    return stream


def test_an_action_in_doubt_is_sent_again_inside_the_window():
    """Its owner is dead or it raised; the key is the same, so the outside API drops the duplicate."""
    stream = in_doubt()
    assert stream.call(HOUR, resend=True) == Begun(2)
    stream.fail(2)
    assert stream.call(HOUR, resend=True) == Begun(4)


def test_nothing_is_sent_again_unless_reconcile_has_nothing_to_say():
    """The caller allows the resend only after that."""
    assert isinstance(in_doubt().call(HOUR), Doubt)


def test_nothing_is_sent_again_without_idempotent_for():
    """The default: in doubt at once."""
    assert isinstance(in_doubt().call(Call(), resend=True), Doubt)


def test_nothing_is_sent_again_while_an_attempt_can_still_run():
    """Neither under a live owner nor under one that nobody can tell."""
    stream = in_doubt()
    stream.owner = "alive"
    assert isinstance(stream.call(HOUR, resend=True), Running)
    stream.owner = "unknown"
    assert isinstance(stream.call(HOUR, resend=True), Doubt)


@pytest.mark.parametrize(
    ("window", "margin"), [(10.0, 1.0), (60.0, 6.0), (600.0, 60.0), (3600.0, 60.0), (86400.0, 60.0)]
)
def test_the_window_keeps_a_margin_of_a_tenth_and_at_most_a_minute(window, margin):
    """The request needs time to arrive before the API forgets the key."""
    call = Call(idempotent_for=window)
    for late, again in ((window - margin - 0.001, True), (window - margin, False), (window, False)):
        stream = in_doubt(call)
        stream.now = START + late
        assert isinstance(stream.call(call, resend=True), Begun) is again


def test_the_window_starts_at_the_first_attempt():
    """A resend does not make it longer: the API counts from when it saw the key first."""
    stream = in_doubt()
    stream.now = START + 3000
    stream.fail(stream.begin(HOUR, resend=True))
    stream.now = START + 3600
    assert isinstance(stream.call(HOUR, resend=True), Doubt)


def test_a_clock_that_stepped_back_counts_as_expired():
    """Behind the first attempt, or behind any later one."""
    stream = in_doubt()
    stream.now = START - 1
    assert isinstance(stream.call(HOUR, resend=True), Doubt)
    stream.now = START + 100
    stream.begin(HOUR, resend=True)
    stream.now = START + 50
    assert isinstance(stream.call(HOUR, resend=True), Doubt)
    stream.now = START + 100
    assert isinstance(stream.call(HOUR, resend=True), Begun)


def test_a_resend_of_an_approved_action_goes_on_under_its_yes():
    """One yes runs one action, however many attempts its key allows."""
    stream = Stream()
    yes = stream.approve()
    stream.begin(NEEDY)
    stream.begin(NEEDY, resend=True)
    assert stream.entries[-1].data["uses"] == yes.n


def test_a_resend_needs_a_yes_that_still_covers_it():
    """An expired or a cancelled yes allows none; a new one does, and is spent by it."""
    stream = Stream()
    stream.approve(valid_for=60)
    stream.begin(NEEDY)
    stream.now += 61
    assert isinstance(stream.call(NEEDY, resend=True), Doubt)
    stream.approve(valid_for=60)
    assert isinstance(stream.call(NEEDY, resend=True), Begun)
    assert stream.entries[-1].data["uses"] == 3
    assert stream.state.yes == {}


def test_a_resend_in_another_spelling_needs_a_yes_of_its_own():
    """Under one key 10 and "10.00" are one action, and a yes covers exact arguments."""
    ten = Call("ten", {"amount": "10"}, needs_yes=True, idempotent_for=3600.0)
    spelled = Call("10.00", {"amount": "10"}, needs_yes=True, idempotent_for=3600.0)
    stream = Stream()
    stream.approve(ten)
    stream.begin(ten)
    assert isinstance(stream.call(spelled, resend=True), Doubt)
    assert isinstance(stream.call(ten, resend=True), Begun)


def test_a_resend_without_any_yes_where_one_is_needed_stays_a_doubt():
    """The policy of the effect may have become stricter since the first attempt."""
    assert isinstance(in_doubt(HOUR).call(NEEDY, resend=True), Doubt)


def test_a_no_stops_the_resend():
    """With and without approval=, until somebody says yes again."""
    for call in (HOUR, NEEDY):
        stream = Stream()
        stream.approve()
        stream.begin(call)
        stream.deny()
        assert isinstance(stream.call(call, resend=True), Doubt)
        stream.approve()
        assert isinstance(stream.call(call, resend=True), Begun)


def test_what_is_not_in_doubt_has_no_window():
    """After a proof that nothing happened a new attempt is made at any time."""
    stream = in_doubt()
    stream.free(1)
    stream.now = START + 10**9
    assert isinstance(stream.call(HOUR), Begun)
