"""What stops an undo: doubts, running actions, reversals that raised, unknown tools. All is listed, nothing older is touched, and
after `resolve` it goes on.
"""
# ruff: noqa: PLW0108 - undo= is given its values by name, and a method of a list has none

from __future__ import annotations

import threading

import pytest

import call4agents_core as c4a
from call4agents_core._registry import _by_name
from call4agents_core.errors import EffectRunning, LedgerError, UndoStopped
from tests.kit import Boom, entries_of, in_thread

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


def stopped(**options):
    """The report of an undo that stops, and what it says."""
    with pytest.raises(UndoStopped) as caught:
        c4a.undo("r", **options)
    assert caught.value.report.clean is False
    return caught.value


def tools(reversals):
    return [one.tool for one in reversals]


# ---- forward actions -------------------------------------------------------------------------------------------------


@pytest.fixture
def in_doubt(trip):
    """Two bookings are done, the charge after them is in doubt."""
    trip.book("1A"), trip.book("1B")
    with pytest.raises(ConnectionError):
        trip.charge(666)
    return trip


def test_a_doubt_stops_it_before_anything_is_touched(in_doubt, ledger):
    """It is listed, with its cause and the command that settles it; the ledger is as it was."""
    before = entries_of(ledger)
    error = stopped()
    (doubt,) = error.report.in_doubt
    assert (doubt.tool, doubt.arguments, doubt.reversal) == ("charge", {"amount": "666"}, doubt.action)
    assert "reset by peer" in doubt.why
    assert f"call4agents resolve r {doubt.action} happened" in str(error)
    assert (error.report.undone, in_doubt.reversed, entries_of(ledger)) == ([], [], before)


def test_a_dry_run_returns_what_would_stop_it(in_doubt, ledger):
    """It does not raise, and lists as undone what would be."""
    report = c4a.undo("r", dry_run=True)
    assert (tools(report.in_doubt), report.undone, report.clean) == (["charge"], [], False)


@pytest.mark.parametrize(
    ("answer", "reversed_then"),
    [(c4a.happened("receipt-666"), ["refund 666 of receipt-666", "cancel 1B", "cancel 1A"]),
     (c4a.did_not_happen(), ["cancel 1B", "cancel 1A"])],
    ids=["happened", "did-not-happen"],
)  # fmt: skip
def test_after_resolve_it_goes_on(in_doubt, answer, reversed_then):
    """What happened is reversed as the newest; what did not is none of its business."""
    c4a.resolve("r", stopped().report.in_doubt[0].action, answer)
    assert c4a.undo("r").clean
    assert in_doubt.reversed == reversed_then


def test_an_older_doubt_stops_it_too(trip):
    """Nobody knows when it happened, so it counts as newest."""
    with pytest.raises(ConnectionError):
        trip.charge(666)
    trip.book("1A")
    assert tools(stopped().report.in_doubt) == ["charge"]
    assert trip.reversed == []


def test_every_doubt_is_listed(trip):
    """A person settles all of them in one go; each newest first."""

    @c4a.effect(name="mail")
    def mail(to):
        raise Boom(to)

    for to in ("ann", "bob"):
        with pytest.raises(Boom):
            mail(to)
    trip.book("1A")
    assert [one.arguments["to"] for one in stopped().report.in_doubt] == ["'bob'", "'ann'"]


def test_a_running_action_stops_it(trip):
    """It is said to be running; once it has ended, the undo goes on."""
    inside, go_on, told = threading.Event(), threading.Event(), []

    @c4a.effect(undo=lambda: told.append("slow"))
    def slow():
        inside.set()
        go_on.wait(20)

    trip.book("1A")
    outcome = in_thread(slow)
    assert inside.wait(10)
    (one,) = stopped().report.in_doubt
    assert one.why == "it is running"
    assert trip.reversed == []
    go_on.set()
    outcome()
    assert c4a.undo("r").clean
    assert (told, trip.reversed) == (["slow"], ["cancel 1A"])


# ---- tools without undo, and unknown ones ----------------------------------------------------------------------------


def test_a_tool_without_an_undo_is_listed_and_passed_over(trip):
    """Declared without undo: it stops nothing, but the run is not clean."""

    @c4a.effect(name="mail")
    def mail(to):
        pass

    trip.book("1A"), mail("ann"), trip.book("1B")
    report = c4a.undo("r")
    assert (tools(report.undone), tools(report.without_undo), report.clean) == (["book", "book"], ["mail"], False)
    assert trip.reversed == ["cancel 1B", "cancel 1A"]


def test_the_intent_says_whether_there_was_an_undo(trip):
    """An undo= that the tool got since then knows nothing of the old call, and one that it lost is missed."""
    told = []

    def tool(name, **options):
        return c4a.effect(name=name, **options)(lambda n: n)

    tool("got")(1)
    tool("lost", undo=lambda n: told.append(n))(1)
    tool("got", undo=lambda n: told.append(n))
    tool("lost")
    trip.book("1A")
    error = stopped()
    assert tools(error.report.without_undo) == ["got"]
    (failed,) = error.report.failed
    assert (failed.tool, failed.why) == ("lost", "lost had an undo= when it was called and has none now")
    assert (told, trip.reversed) == ([], ["cancel 1A"])


def test_a_tool_that_this_process_does_not_know_stops_it(trip, monkeypatch):
    """It is told to import the module; nothing is skipped, and nothing older is touched."""
    trip.book("1A"), trip.charge(10), trip.book("1B")
    charge = _by_name.pop("charge")
    (failed,) = stopped().report.failed
    assert failed.tool == "charge"
    assert "import its module (on the command line: --import MODULE)" in failed.why
    assert trip.reversed == ["cancel 1B"]
    monkeypatch.setitem(_by_name, "charge", charge)
    assert c4a.undo("r").clean
    assert trip.reversed == ["cancel 1B", "refund 10 of receipt-10", "cancel 1A"]


# ---- reversals -------------------------------------------------------------------------------------------------------


class Bank:
    """Refunds raise while it is closed."""

    def __init__(self, error):
        self.error, self.asked = error, []
        c4a.effect(name="pay", undo=self.refund)(lambda amount: amount)(5)

    def refund(self, amount):
        self.asked.append(amount)
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize(
    "error", [Boom("bank closed"), c4a.errors.UsageError("bank closed")], ids=lambda e: type(e).__name__
)
def test_a_reversal_that_raised_stops_it(trip, error):
    """Its exception is the cause; nothing older is touched, and a second undo does not ask again."""
    trip.book("1A")
    bank = Bank(error)
    for _ in range(2):
        caught = stopped()
        (failed,) = caught.report.failed
        assert (failed.tool, "bank closed" in failed.why) == ("pay", True)
        assert f"call4agents resolve r {failed.reversal} happened" in str(caught)
        assert caught.report.in_doubt == []
    assert (bank.asked, trip.reversed) == ([5], [])


def test_the_exception_of_a_reversal_is_the_cause(trip):
    """The very same object, with its traceback."""
    bank = Bank(Boom("bank closed"))
    assert stopped().__cause__ is bank.error


@pytest.mark.parametrize(
    ("answer", "asked"), [(c4a.happened(None), [5]), (c4a.did_not_happen(), [5, 5])], ids=["happened", "did-not-happen"]
)
def test_a_reversal_that_raised_is_resolved_by_a_person(trip, answer, asked):
    """It happened: on to the older ones. It did not: it is tried again."""
    trip.book("1A")
    bank = Bank(Boom("bank closed"))
    c4a.resolve("r", stopped().report.failed[0].reversal, answer)
    bank.error = None
    assert c4a.undo("r").clean
    assert (bank.asked, trip.reversed) == (asked, ["cancel 1A"])


def test_a_reversal_that_is_interrupted_is_in_doubt(trip):
    """KeyboardInterrupt is no answer of the bank; it reaches the caller, and nothing older was touched."""
    trip.book("1A")
    bank = Bank(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        c4a.undo("r")
    assert "KeyboardInterrupt" in stopped().report.failed[0].why
    assert (bank.asked, trip.reversed) == ([5], [])


def test_all_that_stands_in_the_way_of_the_older_ones_is_listed_at_once(trip):
    """Also after a reversal raised: the person who mends one thing sees the next; what has no undo is listed as ever."""

    @c4a.effect(name="mail")
    def mail(to):
        pass

    trip.charge(10), trip.book("1A"), mail("ann")
    bank = Bank(Boom("bank closed"))
    del _by_name["charge"]
    report = stopped().report
    assert tools(report.failed) == ["pay", "charge"]
    assert tools(report.without_undo) == ["mail"]
    assert (report.undone, bank.asked, trip.reversed) == ([], [5], [])


def test_a_running_reversal_stops_another_undo(trip):
    """It is in the list of doubts, said to be running; the one that runs goes on to its end."""
    inside, go_on = threading.Event(), threading.Event()

    def refund():
        inside.set()
        go_on.wait(20)

    trip.book("1A")
    c4a.effect(name="pay", undo=refund)(lambda: None)()
    outcome = in_thread(lambda: c4a.undo("r"))
    assert inside.wait(10)
    (one,) = stopped().report.in_doubt
    assert (one.tool, one.why) == ("pay", "its reversal is running")
    with pytest.raises(EffectRunning):
        c4a.resolve("r", one.reversal, c4a.did_not_happen())
    go_on.set()
    assert outcome().clean
    assert trip.reversed == ["cancel 1A"]


def test_a_ledger_that_cannot_be_written_is_no_failure_of_the_reversal(trip, ledger, monkeypatch):
    """Nothing ran, so its own error passes, and nothing is to be resolved."""
    trip.book("1A")

    def full(drafts, *, durable):
        raise LedgerError(ledger.location, "the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(ledger.store, "append", full)
        with pytest.raises(LedgerError, match="disk is full"):
            c4a.undo("r")
    assert trip.reversed == []
    assert c4a.undo("r").clean


def test_a_reversal_whose_end_could_not_be_written_is_in_doubt(trip, ledger, monkeypatch):
    """It ran; that is known to the world only."""
    trip.book("1A"), trip.book("1B")
    append = ledger.store.append

    def full(drafts, *, durable):
        if not durable:
            raise LedgerError(ledger.location, "the disk is full")
        return append(drafts, durable=durable)

    with monkeypatch.context() as broken:
        broken.setattr(ledger.store, "append", full)
        (one,) = stopped().report.in_doubt
    assert one.why.startswith("its reversal is in doubt: ")
    assert trip.reversed == ["cancel 1B"]
    c4a.resolve("r", one.reversal, c4a.happened(None))
    assert c4a.undo("r").clean
    assert trip.reversed == ["cancel 1B", "cancel 1A"]


def test_a_reversal_that_is_done_needs_no_module_any_more(trip, ledger, monkeypatch):
    """Only `undone` is missing: that can be written by a process that does not know the tool."""
    trip.book("1A")
    with monkeypatch.context() as broken:
        broken.setattr(ledger, "_mark", lambda *facts: pytest.fail("stop here"))
        with pytest.raises(pytest.fail.Exception):
            c4a.undo("r")
    del _by_name["book"]
    assert c4a.undo("r").clean
    assert trip.reversed == ["cancel 1A"]


def test_a_reversal_that_is_done_needs_no_result_any_more(trip, ledger, monkeypatch):
    """What it returned could not be kept, and the process ended before `undone` was written."""
    c4a.effect(name="odd", undo=lambda: object())(lambda: None)()
    with monkeypatch.context() as broken:
        broken.setattr(ledger, "_mark", lambda *facts: pytest.fail("stop here"))
        with pytest.raises(pytest.fail.Exception):
            c4a.undo("r")
    assert c4a.undo("r").clean


def test_the_error_and_its_report_cross_to_another_process(in_doubt):
    """UndoStopped survives pickle, as every exception of ours."""
    import pickle

    error = stopped()
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.report) == (str(error), error.report)
