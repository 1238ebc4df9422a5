"""The table "Calling an action" of the design, row by row, without a disk."""

import pytest

from call4agents_core._rules import DIED, UNKNOWN_OWNER, Begun, Doubt, Recorded, Refused, Running
from call4agents_core._types import Note
from tests.rules.streams import Call, Stream


def test_a_new_action_writes_its_intent_and_begins():
    """New, and nothing in the way: the intent is entry 1, then the tool runs."""
    stream = Stream()
    assert stream.call() == Begun(1)
    assert stream.kinds == ["intent"]


def test_a_new_action_that_was_denied_is_refused_even_where_no_yes_is_needed():
    """A no counts for every effect, with or without approval=."""
    for needs_yes in (False, True):
        stream = Stream()
        no = stream.deny()
        assert stream.call(Call(needs_yes=needs_yes)) == Refused("denied", no)
        assert stream.kinds == ["denied"]


def test_a_new_action_that_needs_a_yes_asks_for_it_and_does_not_begin():
    """The refusal opens a request, once."""
    stream, call = Stream(), Call(needs_yes=True)
    assert stream.call(call) == Refused("waiting")
    assert stream.call(call) == Refused("waiting", stream.entries[0])
    assert stream.kinds == ["asked"]


def test_a_running_action_is_held_by_its_live_owner():
    """Owner alive: nobody else begins, and nobody asks reconcile=."""
    stream = Stream()
    stream.begin()
    stream.owner = "alive"
    for resend in (False, True):
        assert stream.call(Call(idempotent_for=3600), resend=resend) == Running(stream.entries[0])
    assert stream.kinds == ["intent"]


def test_a_done_action_gives_its_recorded_result():
    """Done: nothing runs, whatever the owner does by now."""
    stream = Stream()
    stream.finish(stream.begin())
    for owner in ("alive", "dead", "unknown"):
        stream.owner = owner
        assert stream.call() == Recorded(stream.entries[1])
        assert stream.call(Call(needs_yes=True)) == Recorded(stream.entries[1])
    assert stream.kinds == ["intent", "result"]


def test_a_done_action_is_refused_where_repeats_are():
    """repeat="refuse" says no to the second call, and writes nothing."""
    stream = Stream()
    stream.finish(stream.begin())
    assert stream.call(Call(repeat="refuse")) == Refused("repeated")
    assert len(stream.entries) == 2


def test_an_action_whose_owner_is_dead_is_in_doubt_and_may_be_asked_about():
    """Its process ended inside it: it may have happened."""
    stream = Stream()
    stream.begin()
    assert stream.call() == Doubt(stream.entries[0], DIED, askable=True)
    assert stream.kinds == ["intent"]


def test_an_action_whose_owner_nobody_can_tell_is_in_doubt_and_never_asked_about():
    """Unknown is not dead: the attempt can still be running, so neither reconcile= nor a resend is allowed."""
    stream = Stream()
    stream.begin()
    stream.owner = "unknown"
    for resend in (False, True):
        found = stream.call(Call(idempotent_for=3600), resend=resend)
        assert found == Doubt(stream.entries[0], UNKNOWN_OWNER, askable=False)


@pytest.mark.parametrize("owner", ["alive", "dead", "unknown"])
def test_an_action_that_raised_is_in_doubt_whatever_its_process_does_now(owner):
    """The attempt has an end on record, so nothing of it can still be running."""
    stream = Stream()
    stream.fail(stream.begin())
    stream.owner = owner
    assert stream.call() == Doubt(stream.entries[0], "it raised Boom()", askable=True)


def test_an_action_that_is_proved_not_done_gets_a_new_attempt():
    """retry_on=, or a person, says that nothing happened."""
    stream = Stream()
    stream.free(stream.begin())
    assert stream.call() == Begun(3)
    stream.fail(3)
    stream.resolve("did-not-happen")
    assert stream.call() == Begun(6)
    assert stream.kinds == ["intent", "not-done", "intent", "failed", "resolved", "intent"]


@pytest.mark.parametrize("word", ["undone", "archived"])
def test_an_action_that_was_undone_or_archived_never_runs_again(word):
    """Undone and archived are refusals of their own, with or without a yes."""
    stream = Stream()
    stream.finish(stream.begin())
    stream.write(Note(word, {}))
    assert stream.call().why == word
    assert stream.approve() is None
    assert stream.deny() is None
    assert stream.call(Call(needs_yes=True)).why == word
    assert len(stream.entries) == 3


def test_the_state_has_the_name_that_the_table_gives_it():
    """The derived table and the command line name states by what the fold says."""
    stream, names = Stream(), []
    names.append(stream.state.name)
    stream.ask()
    names.append(stream.state.name)
    stream.deny()
    names.append(stream.state.name)
    stream.approve()
    names.append(stream.state.name)
    stream.begin(Call(needs_yes=True))
    names.append(stream.state.name)
    stream.fail(4)
    names.append(stream.state.name)
    stream.resolve("did-not-happen")
    names.append(stream.state.name)  # the yes that the attempt used holds again
    stream.deny()
    stream.approve(Call("other"))
    stream.finish(stream.begin())
    names.append(stream.state.name)
    assert names == ["new", "waiting", "denied", "approved", "started", "in-doubt", "approved", "done"]


def test_an_action_that_was_only_denied_or_asked_for_is_not_finished():
    """A later ordinal may be taken only once this one is done."""
    stream = Stream()
    assert not stream.state.finished
    stream.ask()
    assert not stream.state.finished
    stream.approve()
    stream.begin(Call(needs_yes=True))
    assert not stream.state.finished
    stream.fail(3)
    assert not stream.state.finished
    stream.resolve("happened")
    assert stream.state.finished
