"""What a yes covers, and how long it holds."""

import dataclasses

import pytest

import call4agents_core as c4a
from call4agents_core.errors import (
    ApprovalRequired,
    EffectInDoubt,
    KeyConflict,
    NoActiveRun,
    UsageError,
)
from tests.kit import Boom, entries_of, in_thread

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


@dataclasses.dataclass
class Refund:
    amount: object


@dataclasses.dataclass
class Charge:
    amount: object


@pytest.fixture
def paid():
    return []


@pytest.fixture
def pay(paid, ledger):
    @c4a.effect(name="pay", approval=True)
    def pay(amount, to="alice", note=None):
        paid.append((amount, to))
        return f"paid {amount} to {to}"

    return pay


# ---- what a yes covers -----------------------------------------------------------------------------------------------


def test_a_yes_runs_the_call_once_however_it_is_spelled(pay, paid):
    """The first call runs, the others get its result; the yes names the default or leaves it out."""
    yes = c4a.approve(pay, amount=10)
    assert (yes.run, yes.tool, yes.by, yes.until) == ("r", "pay", None, None)
    assert [pay(10), pay(10, "alice"), pay(to="alice", amount=10, note=None)] == ["paid 10 to alice"] * 3
    assert paid == [(10, "alice")]


def test_a_yes_to_ten_for_alice_does_not_pay_9999_to_mallory(pay, paid):
    """Exactly these arguments, and exactly this run."""
    c4a.approve(pay, amount=10)
    for call in (
        lambda: pay(9999, "mallory"),
        lambda: pay(10, "mallory"),
        lambda: pay(10, note="x"),
        lambda: pay(10.0),
    ):
        with pytest.raises(ApprovalRequired):
            call()
    with c4a.run("other"), pytest.raises(ApprovalRequired):
        pay(10)
    assert paid == []
    assert pay(10) == "paid 10 to alice"


def test_a_yes_covers_a_class_of_its_own(paid):
    """A yes for Refund(5) does not let Charge(5) run, nor anything else of that shape."""

    @c4a.effect(approval=True)
    def do(what):
        paid.append(what)

    c4a.approve(do, what=Refund(5))
    for other in (Charge(5), {"amount": 5}, [5], Refund(5.0), Refund("5"), "Refund(amount=5)"):
        with pytest.raises(ApprovalRequired):
            do(other)
    do(Refund(5))
    assert paid == [Refund(5)]


def test_a_yes_to_a_parameter_called_cls_covers_its_value(paid):
    """approve(book, cls="economy") does not let book("first") run."""

    @c4a.effect(approval=True)
    def book(cls, seat=1):
        paid.append(cls)

    c4a.approve(book, cls="economy")
    for call in (lambda: book("first"), lambda: book(cls="first"), lambda: book("economy", 2)):
        with pytest.raises(ApprovalRequired):
            call()
    book("economy")
    assert paid == ["economy"]


def test_a_yes_under_a_key_is_not_spent_by_another_spelling(pay, paid):
    """Given under c4a_key for 10, "10.00" has to ask for its own; and 10 still runs."""
    c4a.approve(pay, amount=10, c4a_key="order-7")
    with pytest.raises(ApprovalRequired):
        pay("10.00", c4a_key="order-7")
    with pytest.raises(KeyConflict):
        pay(11, c4a_key="order-7")
    assert paid == []
    assert pay(10, c4a_key="order-7") == "paid 10 to alice"
    assert pay("10.00", c4a_key="order-7") == "paid 10 to alice"
    assert len(paid) == 1


def test_a_yes_belongs_to_its_key(pay, paid):
    """Without a key, or under another one, the same arguments are another action."""
    c4a.approve(pay, amount=10)
    for key in ("a", "b"):
        with pytest.raises(ApprovalRequired):
            pay(10, c4a_key=key)
    c4a.approve(pay, amount=20, c4a_key="order-7")
    with pytest.raises(ApprovalRequired):
        pay(20)
    assert paid == []
    pay(10)
    pay(20, c4a_key="order-7")
    assert len(paid) == 2


def test_a_yes_for_another_run_counts_there(pay, paid):
    """c4a_run= names it; no run has to be open."""
    c4a.approve(pay, amount=10, c4a_run="r-1", c4a_by="boss")
    with pytest.raises(ApprovalRequired):
        pay(10)
    with c4a.run("r-1"):
        assert pay(10) == "paid 10 to alice"


def test_a_decision_on_another_ledger_counts_there(pay, paid, tmp_path):
    """c4a_ledger= names it."""
    other = c4a.Ledger.open(tmp_path / "other.sqlite")
    c4a.approve(pay, amount=10, c4a_ledger=other)
    with pytest.raises(ApprovalRequired):
        pay(10)
    with c4a.run("r", ledger=other):
        assert pay(10) == "paid 10 to alice"
    other.close()


def test_parameters_of_the_tool_may_have_any_name(paid):
    """Ours begin with c4a_, and the tool itself is positional only."""

    @c4a.effect(approval=True)
    def install(tool, by, valid_for, run, reason):
        paid.append(tool)
        return "ok"

    c4a.approve(install, tool="hammer", by="me", valid_for=3, run="x", reason="y")
    with pytest.raises(ApprovalRequired):
        install("hammer", "me", 4, "x", "y")
    assert install("hammer", "me", 3, "x", "y") == "ok"


def test_a_yes_without_approval_does_no_harm(paid):
    """Where none is needed it stands by."""

    @c4a.effect
    def free(n):
        paid.append(n)

    c4a.approve(free, n=1)
    free(1)
    assert paid == [1]


@pytest.mark.parametrize(
    "wrong",
    [c4a.approve, lambda pay: c4a.approve(pay, to="bob"), lambda pay: c4a.approve(pay, amount=1, bogus=1),
     lambda pay: c4a.approve(pay, amount=1, c4a_bogus=1), c4a.deny, lambda pay: c4a.request_approval(pay, to="bob")],
    ids=["nothing", "one missing", "one too many", "an option of ours that is none", "deny", "request"],
)  # fmt: skip
def test_an_incomplete_decision_raises_and_leaves_nothing(wrong, pay, paid, ledger):
    """A TypeError, as the call itself would raise it; the ledger is as it was."""
    with pytest.raises(TypeError):
        wrong(pay)
    assert entries_of(ledger) == 0
    with pytest.raises(ApprovalRequired):
        pay(None, None)
    assert paid == []


@pytest.mark.parametrize("valid_for", [0, -1, "x", float("nan"), float("inf"), True])
def test_a_validity_that_cannot_mean_anything_is_refused(valid_for, pay, ledger):
    """A number of seconds, more than 0."""
    with pytest.raises(UsageError, match="valid_for"):
        c4a.approve(pay, amount=10, c4a_valid_for=valid_for)
    request = c4a.request_approval(pay, amount=10)
    with pytest.raises(UsageError, match="valid_for"):
        request.approve(valid_for=valid_for)
    assert entries_of(ledger) == 1


@pytest.mark.parametrize("thing", ["nobody.knows", print, None])
def test_only_an_effect_can_be_decided_about(thing):
    """By its name only where its module is imported."""
    with pytest.raises(UsageError):
        c4a.approve(thing, amount=1)


def test_a_decision_needs_a_run(pay):
    """The open one, or c4a_run=."""
    outside = in_thread(lambda: c4a.approve(pay, amount=1), run=None)
    assert isinstance(outside(), NoActiveRun)
    with pytest.raises(UsageError, match="c4a_run"):
        c4a.approve(pay, amount=1, c4a_run="")


# ---- how long it holds -----------------------------------------------------------------------------------------------


def test_validity_is_judged_when_the_yes_is_used(pay, paid, clock):
    """Given in time and used too late, by arguments and by request alike."""
    yes = c4a.approve(pay, amount=1, c4a_valid_for=60)
    assert yes.until == clock.time + 60
    c4a.approve(pay, amount=2, c4a_valid_for=600)
    c4a.request_approval(pay, amount=3).approve(by="boss", valid_for=60)
    clock.time += 60
    for amount in (1, 3):
        with pytest.raises(ApprovalRequired):
            pay(amount)
    assert pay(2) == "paid 2 to alice"
    assert paid == [(2, "alice")]


def test_a_yes_that_expired_does_not_hold_for_a_resend(paid, clock):
    """One that was given anew does."""

    @c4a.effect(approval=True, idempotent_for=3600)
    def pay(amount):
        paid.append(amount)
        if len(paid) == 1:
            raise Boom
        return "paid"

    c4a.approve(pay, amount=1, c4a_valid_for=60)
    with pytest.raises(Boom):
        pay(1)
    clock.time += 61
    with pytest.raises(EffectInDoubt):
        pay(1)
    c4a.approve(pay, amount=1)
    assert pay(1) == "paid"
    assert len(paid) == 2
