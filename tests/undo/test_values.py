"""What undo= is given: the arguments and the result that it names, as they were; and what was not kept stops it."""
# ruff: noqa: PLW0108 - undo= is given its values by name, and a method of a list has none

from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

import call4agents_core as c4a
from call4agents_core.errors import EffectInDoubt, UndoStopped
from tests.kit import Boom, Opaque, entries_of, failing, files_of

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


@dataclasses.dataclass(frozen=True)
class Receipt:
    number: int
    when: dt.datetime


def test_arguments_and_result_come_with_their_types(ledger):
    """As they ran, defaults filled in, from a ledger that was opened anew."""
    got = []
    when = dt.datetime(2026, 10, 25, 2, 30, tzinfo=dt.UTC, fold=1)

    @c4a.effect(undo=lambda result, amount, tags, where, note: got.append((amount, tags, where, note, result)))
    def pay(amount, tags, where, note="none"):
        return Receipt(7, when)

    pay(Decimal("10.00"), {"a", "b"}, Path("x/y"))
    ledger.close()
    c4a.init(ledger.location).undo("r")
    assert got == [(Decimal("10.00"), {"a", "b"}, Path("x/y"), "none", Receipt(7, when))]
    assert isinstance(got[0][0], Decimal)
    assert got[0][4].when.fold == 1


def test_an_undo_is_given_what_it_names_and_nothing_else(ledger):
    """None at all is fine; ``**`` gets everything that was kept."""
    got = []

    @c4a.effect(undo=lambda: got.append("nothing"))
    def one(a, b):
        return "one"

    @c4a.effect(undo=lambda **everything: got.append(everything), redact="token")
    def two(a, *rest, token, **more):
        return "two"

    one(1, 2)
    two(1, 2, 3, token="hidden", x=4)
    c4a.undo("r")
    assert got == [{"a": 1, "rest": (2, 3), "more": {"x": 4}, "result": "two"}, "nothing"]


def test_a_parameter_called_result_is_the_argument(ledger):
    """The tool's own names come first."""
    got = []

    @c4a.effect(undo=lambda result: got.append(result))
    def note(result):
        return "returned"

    note("given")
    c4a.undo("r")
    assert got == ["given"]


def test_a_result_that_was_encoded_comes_back_decoded(ledger):
    """encode= and decode= hold for undo=, too."""
    got = []

    @c4a.effect(encode=lambda value: value.text, decode=Opaque, undo=lambda result: got.append(result))
    def open_account():
        return Opaque("account 7")

    open_account()
    c4a.undo("r")
    assert [(type(one), one.text) for one in got] == [(Opaque, "account 7")]


# ---- what is kept out of the ledger ----------------------------------------------------------------------------------


def test_an_excluded_argument_is_stored_only_where_undo_names_it(ledger):
    """It still does not count for which action it is."""
    got = []

    @c4a.effect(name="named", exclude=("trace", "other"), undo=lambda n, trace: got.append((n, trace)))
    def named(n, trace, other):
        pass

    @c4a.effect(name="bare", exclude="trace", undo=lambda n: got.append(n))
    def bare(n, trace):
        pass

    named(1, "trace-one", "other-one"), named(1, "trace-two", "other-two")
    bare(2, "trace-three")
    c4a.undo("r")
    assert got == [2, (1, "trace-one")]
    stored = files_of(ledger)
    assert b"trace-one" in stored
    assert not any(text in stored for text in (b"other-one", b"trace-two", b"trace-three"))


def test_a_redacted_argument_is_stored_nowhere(ledger):
    """Neither for the undo nor in its report."""
    got = []

    @c4a.effect(redact="token", undo=lambda n, result: got.append((n, result)))
    def pay(n, token):
        return "paid"

    pay(1, "tk-very-private")
    report = c4a.undo("r")
    assert got == [(1, "paid")]
    assert report.undone[0].arguments == {"n": "1", "token": "<redacted>"}
    assert b"very-private" not in files_of(ledger)


# ---- what was not kept -----------------------------------------------------------------------------------------------


def test_a_result_that_undo_needs_and_that_was_not_kept_stops_it(trip, ledger):
    """Before anything older is touched; what is newer was reversed."""
    called = []

    @c4a.effect(name="odd", undo=lambda result: called.append(result))
    def odd():
        return Opaque("x")

    trip.book("1A"), odd(), trip.book("1B")
    with pytest.raises(UndoStopped, match="takes 'result', which was not kept") as stopped:
        c4a.undo("r")
    (failed,) = stopped.value.report.failed
    assert (failed.tool, failed.reversal) == ("odd", failed.action)
    assert (called, trip.reversed) == ([], ["cancel 1B"])
    assert "resolve" not in str(stopped.value)  # there is nothing to resolve


def test_a_result_that_undo_does_not_need_may_be_lost(trip):
    """Naming the arguments is enough."""
    called = []

    @c4a.effect(undo=lambda n: called.append(n))
    def odd(n):
        return Opaque("x")

    odd(1)
    assert c4a.undo("r").clean
    assert called == [1]


def test_a_lost_result_that_undo_names_beside_everything_stops_it(ledger):
    """With ``**`` it could do without the rest, not without what it names."""
    called = []

    @c4a.effect(undo=lambda result, **rest: called.append(rest))
    def odd(n):
        return Opaque("x")

    odd(1)
    before = entries_of(ledger)
    with pytest.raises(UndoStopped, match="takes 'result'"):
        c4a.undo("r")
    assert (called, entries_of(ledger)) == ([], before)


def test_an_argument_that_undo_needs_and_that_was_not_kept_stops_it(ledger):
    """A c4a_key lets an argument run that cannot be stored."""

    @c4a.effect(undo=lambda handle: None)
    def send(handle):
        pass

    send(Opaque(), c4a_key="one")
    with pytest.raises(UndoStopped, match="takes 'handle', which was not kept"):
        c4a.undo("r")


def test_a_reversal_may_return_what_cannot_be_kept(trip):
    """Nobody needs the result of a reversal."""

    @c4a.effect(undo=lambda: Opaque("refund"))
    def pay():
        pass

    pay()
    assert c4a.undo("r").clean
    assert c4a.undo("r").clean


# ---- how the action was called ---------------------------------------------------------------------------------------


def take_back(amount):
    taken.append(amount)


class Account:
    @c4a.effect(name="Account.pay", undo=take_back)
    def pay(self, amount):
        return amount

    @classmethod
    @c4a.effect(name="Account.open", undo=lambda owner: taken.append(owner))
    def open(cls, owner):
        return owner

    @staticmethod
    @c4a.effect(name="Account.ping", undo=lambda n: taken.append(n))
    def ping(n):
        return n

    @c4a.effect(name="Account.close", undo=lambda self: taken.append(self))
    def close(self):
        pass


taken = []


def test_methods_are_reversed_by_their_arguments(ledger):
    """Of an object, of a class, static: the object that they were reached through is not kept."""
    taken.clear()
    Account().pay(5), Account.open("ann"), Account.ping(1)
    assert c4a.undo("r").clean
    assert taken == [1, "ann", 5]


def test_an_undo_that_asks_for_the_object_of_a_method_stops(ledger):
    """The object is not in the record; the text says what is missing."""
    Account().close()
    with pytest.raises(UndoStopped, match="takes 'self', which was not stored"):
        c4a.undo("r")


def test_actions_under_a_key_of_their_own_are_reversed(ledger):
    """Each key is an action, whatever the arguments are."""
    got = []

    @c4a.effect(undo=lambda amount: got.append(amount))
    def pay(amount):
        pass

    pay(10, c4a_key="order-1"), pay(10, c4a_key="order-2")
    assert c4a.undo("r").clean
    assert got == [10, 10]


def test_each_deliberate_repeat_is_reversed(ledger):
    """repeat="run" makes an action of each call, newest first."""
    got = []

    @c4a.effect(repeat="run", undo=lambda amount, result: got.append(result))
    def pay(amount):
        pay.count = getattr(pay, "count", 0) + 1
        return pay.count

    pay(10), pay(10), pay(10)
    assert len({one.action for one in c4a.undo("r").undone}) == 3
    assert got == [3, 2, 1]


@pytest.mark.parametrize("result", ["by hand", 7, None])
def test_what_a_person_says_happened_is_reversed_with_the_result_that_they_gave(ledger, result):
    """A doubt that was resolved is done like any other."""
    got = []
    pay, _ = failing(Boom(), undo=lambda amount, result: got.append((amount, result)))
    with pytest.raises(Boom):
        pay(5)
    with pytest.raises(EffectInDoubt) as doubt:
        pay(5)
    c4a.resolve("r", doubt.value.action, c4a.happened(result))
    assert c4a.undo("r").clean
    assert got == [(5, result)]


def test_the_arguments_are_those_of_the_attempt_that_ran(ledger):
    """Where one key stands for spellings of one call, the newest attempt counts."""
    got = []
    pay, _ = failing(KeyError(), retry_on=KeyError, undo=lambda amount: got.append(amount))
    with pytest.raises(KeyError):
        pay(10, c4a_key="k")
    pay(Decimal("10.00"), c4a_key="k")
    c4a.undo("r")
    assert [(type(one), one) for one in got] == [(Decimal, Decimal("10.00"))]
