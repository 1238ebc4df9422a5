"""Undo: newest finished first, each reversal an action of its own and once only; what was undone stays undone."""
# ruff: noqa: PLW0108 - undo= is given its values by name, and a method of a list has none

from __future__ import annotations

import threading

import pytest

import call4agents_core as c4a
from call4agents_core.errors import EffectUndone, NoActiveRun
from tests.kit import entries_of, in_thread

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


def tools(reversals):
    return [one.tool for one in reversals]


def amounts(reversals):
    return [next(iter(one.arguments.values())) for one in reversals]


# ---- order -----------------------------------------------------------------------------------------------------------


def test_the_newest_is_reversed_first(trip):
    """Whatever tool it is of; the report has the same order."""
    trip.book("1A"), trip.charge(10), trip.book("1B")
    report = c4a.undo("r")
    assert trip.reversed == ["cancel 1B", "refund 10 of receipt-10", "cancel 1A"]
    assert tools(report.undone) == ["book", "charge", "book"]
    assert amounts(report.undone) == ["'1B'", "10", "'1A'"]
    assert report.clean


def test_the_order_is_that_of_the_ends_and_not_of_the_beginnings(ledger):
    """What was done last may rest on what was done before."""
    inside, go_on, told = threading.Event(), threading.Event(), []

    @c4a.effect(undo=lambda n: told.append(n))
    def slow(n):
        inside.set()
        go_on.wait(20)

    @c4a.effect(undo=lambda n: told.append(n))
    def quick(n):
        pass

    outcome = in_thread(lambda: slow("slow"))
    assert inside.wait(10)
    quick("quick")
    go_on.set()
    outcome()
    c4a.undo("r")
    assert told == ["slow", "quick"]


def test_only_the_run_that_is_named_is_reversed(trip):
    """The same action in another run stays done."""
    trip.book("1A")
    with c4a.run("other"):
        trip.book("1A")
    c4a.undo("r")
    assert trip.reversed == ["cancel 1A"]
    with c4a.run("other"):
        assert trip.book("1A") == "ref-1A"


def test_without_a_name_it_is_the_open_run(trip):
    """And where none is open, nothing is guessed."""
    trip.book("1A")
    assert tools(c4a.undo().undone) == ["book"]
    assert isinstance(in_thread(c4a.undo, run=None)(), NoActiveRun)


def test_a_run_in_which_nothing_was_done_is_clean(trip):
    """There is nothing to reverse, and nothing is written."""
    assert c4a.undo("nobody") == c4a.undo("nobody", dry_run=False)
    assert c4a.undo("nobody").clean


# ---- once ------------------------------------------------------------------------------------------------------------


def test_each_reversal_happens_once(trip):
    """A second undo says what an earlier one did, and does nothing."""
    trip.book("1A"), trip.book("1B")
    first, second = c4a.undo("r"), c4a.undo("r")
    assert trip.reversed == ["cancel 1B", "cancel 1A"]
    assert (tools(first.undone), tools(first.already)) == (["book", "book"], [])
    assert (second.undone, tools(second.already), second.clean) == ([], ["book", "book"], True)


def test_a_reversal_is_an_action_with_intent_and_result(trip, ledger):
    """Its tool is the tool's name with .undo; `undone` names it; it is not reversed itself."""
    trip.book("1A")
    (one,) = c4a.undo("r").undone
    (row,) = ledger.store.actions(run="r", tool="book.undo")
    assert (row.action, row.state) == (one.reversal, "done")
    kinds = [entry.kind for entry in entries(ledger, one.reversal)]
    assert kinds == ["intent", "result"]
    undone = entries(ledger, one.action)[-1]
    assert (undone.kind, undone.data["by"]) == ("undone", one.reversal)


def entries(ledger, action):
    state, found = type(ledger.state("r", action))(), []
    for row in ledger.store.read("r", action):
        found.append(ledger.checked("r", action, row, state))
        state.take(found[-1])
    return found


def test_a_reversal_has_an_idempotency_key_of_its_own(ledger):
    """The outside API drops a second refund; it must not take the refund for the charge."""
    keys = []

    @c4a.effect(undo=lambda: keys.append(c4a.idempotency_key()))
    def charge():
        keys.append(c4a.idempotency_key())

    charge()
    c4a.undo("r")
    assert len(set(keys)) == 2


# ---- afterwards ------------------------------------------------------------------------------------------------------


def test_what_was_undone_is_refused(trip):
    """The recorded result no longer holds, and the action does not run again."""
    trip.book("1A")
    c4a.undo("r")
    with pytest.raises(EffectUndone):
        trip.book("1A")
    assert trip.reversed == ["cancel 1A"]


def test_a_run_goes_on_after_its_undo_and_is_undone_again(trip):
    """What was done since is reversed; what was reversed before is not."""
    trip.book("1A")
    c4a.undo("r")
    assert trip.book("1B") == "ref-1B"
    report = c4a.undo("r")
    assert trip.reversed == ["cancel 1A", "cancel 1B"]
    assert (amounts(report.undone), amounts(report.already)) == (["'1B'"], ["'1A'"])


def test_what_was_never_done_is_in_no_list(trip):
    """A denied call, one that waits for a yes, and one that is proved not to have happened."""

    @c4a.effect(retry_on=KeyError, undo=lambda: None)
    def unlucky():
        raise KeyError

    @c4a.effect(approval=True, undo=lambda n: None)
    def guarded(n):
        pass

    with pytest.raises(KeyError):
        unlucky()
    with pytest.raises(c4a.errors.ApprovalRequired):
        guarded(1)
    c4a.deny(guarded, n=2)
    report = c4a.undo("r")
    assert report == type(report)("r", report.ledger)


# ---- dry run ---------------------------------------------------------------------------------------------------------


def test_a_dry_run_lists_in_order_and_writes_nothing(trip, ledger):
    """The order is that of the real one, and no undo= is called."""
    trip.book("1A"), trip.charge(10)
    before = entries_of(ledger)
    report = c4a.undo("r", dry_run=True)
    assert tools(report.undone) == ["charge", "book"]
    assert (report.dry_run, trip.reversed, entries_of(ledger)) == (True, [], before)
    assert tools(c4a.undo("r").undone) == ["charge", "book"]


def test_a_dry_run_of_a_ledger_that_may_only_be_read(trip, ledger):
    """A person who may not write may still ask."""
    trip.book("1A")
    looking = c4a.Ledger.open(ledger.location, read_only=True)
    assert tools(looking.undo("r", dry_run=True).undone) == ["book"]
    with pytest.raises(c4a.errors.LedgerReadOnly):
        looking.undo("r")
    looking.close()
    assert trip.reversed == []
