"""A no that is enforced, and requests: what a person is shown, and what becomes of it."""

import pickle
import threading

import pytest

import call4agents_core as c4a
from call4agents_core import _rules, _scope
from call4agents_core.errors import ApprovalDenied, ApprovalRequired, EffectInDoubt, NotInitialised, UsageError
from tests.kit import Boom, entries_of, in_thread

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


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


# ---- no --------------------------------------------------------------------------------------------------------------


def test_a_no_cancels_every_yes_and_lasts_until_a_new_one(pay, paid):
    """However often somebody had said yes; who said no and why is told."""
    c4a.approve(pay, amount=1)
    c4a.approve(pay, amount=1)
    c4a.deny(pay, amount=1, c4a_by="boss", c4a_reason="too much")
    for _ in range(2):
        with pytest.raises(ApprovalDenied, match=r"by boss \(too much\)") as caught:
            pay(1)
    assert (caught.value.by, caught.value.reason) == ("boss", "too much")
    assert paid == []
    assert c4a.pending() == []
    c4a.approve(pay, amount=1)
    assert pay(1) == "paid 1 to alice"


def test_a_no_is_enforced_where_no_yes_is_needed(paid):
    """Also for an effect without approval=, and for one whose condition says that it needs none."""

    @c4a.effect(name="free")
    def free(n):
        paid.append(n)

    @c4a.effect(name="small", approval=lambda n: n > 100)
    def small(n):
        paid.append(n)

    for tool in (free, small):
        c4a.deny(tool, n=1)
        with pytest.raises(ApprovalDenied):
            tool(1)
        tool(2)
    assert paid == [2, 2]
    c4a.approve(free, n=1)
    free(1)
    assert paid == [2, 2, 1]


def test_a_no_concerns_its_own_arguments_and_run(pay, paid):
    """Others are asked for as before."""
    c4a.deny(pay, amount=1)
    with pytest.raises(ApprovalRequired):
        pay(2)
    with c4a.run("other"), pytest.raises(ApprovalRequired):
        pay(1)


def test_asking_anew_after_a_no_only_turns_the_refusal_into_a_request(pay, paid):
    """A call never does so by itself."""
    c4a.deny(pay, amount=1)
    with pytest.raises(ApprovalDenied):
        pay(1)
    request = c4a.request_approval(pay, amount=1)
    with pytest.raises(ApprovalRequired) as caught:
        pay(1)
    assert caught.value.request.id == request.id
    request.approve()
    assert pay(1) == "paid 1 to alice"


def test_a_no_to_what_is_done_changes_nothing(pay, paid):
    """By arguments it means the next action of them; the recorded result stays what calls get."""
    c4a.approve(pay, amount=1)
    pay(1)
    c4a.deny(pay, amount=1)
    assert pay(1) == "paid 1 to alice"
    assert len(paid) == 1


def test_the_first_action_of_its_arguments_that_is_not_done_is_meant(paid):
    """With repeat="run", each yes is for the next time."""

    @c4a.effect(approval=True, repeat="run")
    def pay(amount):
        paid.append(amount)
        return len(paid)

    for n in (1, 2, 3):
        with pytest.raises(ApprovalRequired):
            pay(10)
        c4a.approve(pay, amount=10)
        assert pay(10) == n
    with pytest.raises(ApprovalRequired):
        pay(10)


# ---- requests --------------------------------------------------------------------------------------------------------


def test_a_refusal_opens_a_request_and_names_it_from_then_on(pay, paid):
    """One open request for one call; the text says the whole command."""
    with pytest.raises(ApprovalRequired) as first:
        pay(10, "bob")
    with pytest.raises(ApprovalRequired) as second:
        pay(10, to="bob")
    request = first.value.request
    assert second.value.request == request == c4a.request_approval(pay, amount=10, to="bob")
    assert c4a.pending() == [request]
    assert f"call4agents approve {request.id} --ledger {request.ledger}" in str(first.value)


def test_a_request_shows_the_call_as_it_will_run(pay, clock):
    """Run, tool, time, and all arguments with the defaults that apply."""
    request = c4a.request_approval(pay, amount=10, to="bob")
    assert (request.run, request.tool, request.since) == ("r", "pay", clock.time)
    assert request.arguments == {"amount": "10", "to": "'bob'", "note": "None"}


@pytest.mark.parametrize(
    "hidden", ["\x1b[2K", "\x00", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2060", "\n", "\u3164"]
)
def test_what_cannot_be_seen_is_escaped_where_a_person_decides(hidden, pay, paid):
    """Control, format and bidi characters; the tool gets the true text, and the yes covers that."""
    name = f"ali{hidden}ce"
    with pytest.raises(ApprovalRequired) as caught:
        pay(10, name)
    shown = [str(caught.value), *c4a.pending()[0].arguments.values()]
    assert not [text for text in shown if hidden[0] in text]
    c4a.approve(pay, amount=10, to=name)
    with pytest.raises(ApprovalRequired):
        pay(10, "alice")
    pay(10, name)
    assert paid == [(10, name)]


def test_pending_lists_open_requests_newest_first(pay):
    """Of one run or of all; decided ones are gone."""
    one, two = c4a.request_approval(pay, amount=1), c4a.request_approval(pay, amount=2)
    with c4a.run("other"):
        three = c4a.request_approval(pay, amount=3)
    assert c4a.pending() == [three, two, one]
    assert c4a.pending("r") == [two, one]
    assert c4a.pending("nobody") == []
    one.approve()
    two.deny()
    assert c4a.pending() == [three]


def test_a_request_is_decided_by_its_id_in_any_process(pay, paid):
    """It survives pickle, and finds the process's ledger then."""
    request = pickle.loads(pickle.dumps(c4a.request_approval(pay, amount=1)))
    assert request.approve(by="boss").by == "boss"
    pay(1)
    other = c4a.request_approval(pay, amount=2)
    c4a.deny_request(other.id, by="boss", reason="no")
    with pytest.raises(ApprovalDenied):
        pay(2)
    assert len(paid) == 1


def test_a_request_that_was_denied_stays_denied(pay):
    """Its id cannot be approved any more; a second no changes nothing."""
    request = c4a.request_approval(pay, amount=1)
    request.deny(by="boss")
    request.deny(by="boss")
    with pytest.raises(ApprovalDenied, match="boss"):
        request.approve()
    with pytest.raises(ApprovalDenied):
        c4a.approve_request(request.id)


def test_a_request_for_what_is_done_is_too_late_to_deny(pay):
    """It says what can be done instead; a yes changes nothing."""
    request = c4a.request_approval(pay, amount=1)
    request.approve()
    pay(1)
    with pytest.raises(UsageError, match="too late"):
        request.deny()
    request.approve()
    assert pay(1) == "paid 1 to alice"


def test_a_double_click_gives_one_right(pay, paid, ledger):
    """By request, by id and by arguments: one entry, one payment, and all callers get its result."""
    request = c4a.request_approval(pay, amount=1)
    request.approve(by="boss")
    request.approve(by="boss")
    c4a.approve_request(request.id)
    c4a.approve(pay, amount=1)
    assert entries_of(ledger) == 2
    outcomes = [in_thread(lambda: pay(1)) for _ in range(6)]
    assert [outcome() for outcome in outcomes] == ["paid 1 to alice"] * 6
    assert len(paid) == 1


def test_a_second_click_that_comes_late_runs_nothing_again(pay, paid):
    """After the call, in doubt or done."""

    @c4a.effect(approval=True)
    def fail(n):
        paid.append(n)
        raise Boom

    request = c4a.request_approval(fail, n=1)
    request.approve()
    with pytest.raises(Boom):
        fail(1)
    request.approve()
    with pytest.raises(EffectInDoubt):
        fail(1)
    assert len(paid) == 1


def test_nobody_knows_an_unknown_request():
    """A usage error that says where to look."""
    for decide in (c4a.approve_request, c4a.deny_request):
        with pytest.raises(UsageError, match="call4agents pending"):
            decide("0123456789abcdef")


def test_asking_for_an_action_that_is_done_meanwhile_means_the_next_one(pay, paid, ledger, monkeypatch):
    """Another caller finishes it between the look and the request."""
    c4a.approve(pay, amount=1)
    ask = _rules.ask

    def slow(state, call):
        if not paid:
            in_thread(lambda: pay(1))()
            state = ledger.state(call.run, call.action)
        return ask(state, call)

    monkeypatch.setattr(_rules, "ask", slow)
    request = c4a.request_approval(pay, amount=1)
    assert len(paid) == 1
    assert c4a.pending() == [request]


def test_two_decisions_at_once_leave_a_stream_in_order(pay, paid, ledger, monkeypatch):
    """Both threads look at the same state; the one that is slower decides anew, and what it writes fits."""
    seen, barrier = [], threading.Barrier(2)
    deny = _rules.deny

    def together(state, **how):
        if len(seen) < 2:
            seen.append(state.last)
            barrier.wait(10)
        return deny(state, **how)

    monkeypatch.setattr(_rules, "deny", together)
    outcomes = [in_thread(lambda who=who: c4a.deny(pay, amount=1, c4a_by=who)) for who in ("one", "two")]
    assert [outcome() for outcome in outcomes] == [None, None]
    assert seen == [0, 0]
    assert ledger.verify() == (2, 1, ())


def test_a_decision_that_cannot_be_written_leaves_the_others_alone(pay, paid, ledger, monkeypatch):
    """What was thought of and not written is nowhere: not in this process's memory either."""
    c4a.request_approval(pay, amount=1)
    append = ledger.store.append

    def broken(drafts, *, durable):
        raise c4a.errors.LedgerError(ledger.location, "the disk is full")

    monkeypatch.setattr(ledger.store, "append", broken)
    with pytest.raises(c4a.errors.LedgerError):
        c4a.approve(pay, amount=1)
    monkeypatch.setattr(ledger.store, "append", append)
    with pytest.raises(ApprovalRequired):
        pay(1)
    c4a.approve(pay, amount=1)
    assert pay(1) == "paid 1 to alice"
    assert ledger.verify().faults == ()


def test_without_a_ledger_nothing_can_be_decided():
    """The error says to call init()."""

    @c4a.effect
    def tool(n):
        """Never runs."""

    _scope._default.clear()
    outside = in_thread(lambda: c4a.approve(tool, n=1), run=None)
    assert isinstance(outside(), NotInitialised)
