"""Cases from public reports: a yes that was used for something else, or twice, or too late, and a no that did not last."""

import dataclasses
import json

import pytest

import call4agents_core as c4a
from call4agents_core.errors import ApprovalDenied, ApprovalRequired, EffectInDoubt, UsageError
from tests.kit import REFUSED, Boom, raw

pytestmark = pytest.mark.usefixtures("in_run")


@pytest.fixture
def paid():
    return []


@pytest.fixture
def pay(paid, ledger):
    @c4a.effect(name="pay", approval=True, wait=10)
    def pay(amount, to="alice"):
        paid.append((amount, to))
        return f"paid {amount} to {to}"

    return pay


def test_d10_a_yes_is_bound_to_tool_and_arguments_and_not_to_an_id(pay, paid):
    """D10: an approved call that comes back with another amount is refused; the approved one runs once, under whatever id."""

    @c4a.effect(name="wipe", approval=True)
    def wipe(amount, to="alice"):
        paid.append("wiped")

    request = c4a.request_approval(pay, amount=10)
    request.approve()
    for call in (lambda: pay(9999, "mallory"), lambda: pay(10, "mallory"), lambda: wipe(10)):
        with pytest.raises(ApprovalRequired):
            call()
    assert [pay(10, "alice"), pay(10)] == ["paid 10 to alice"] * 2
    assert paid == [(10, "alice")]


def test_d13_an_approved_action_that_failed_after_its_effect_is_not_run_again(pay, paid):
    """D13: approved, done, and the worker times out: the retry is in doubt, and a flag set by hand approves nothing."""

    @c4a.effect(approval=True)
    def charge(amount):
        paid.append(amount)
        raise TimeoutError

    c4a.approve(charge, amount=5)
    with pytest.raises(TimeoutError):
        charge(5)
    with pytest.raises(EffectInDoubt):
        charge(5)
    assert paid == [5]


def test_d13_a_flag_that_was_set_in_the_database_approves_nothing(pay, paid, ledger):
    """D13, R23: whoever can write the table cannot approve."""
    with pytest.raises(ApprovalRequired):
        pay(10)
    with raw(ledger.location) as db:
        db.execute("UPDATE c4a_actions SET state = 'approved'")
        db.execute("UPDATE c4a_requests SET open = 0")
        (body,) = db.execute("SELECT body FROM c4a_entries").fetchone()
        forged = json.dumps({**json.loads(body), "kind": "approved", "by": "boss", "until": None}).encode()
        db.execute(
            "INSERT INTO c4a_entries (run, action, n, body, mac) SELECT run, action, 2, ?, mac FROM c4a_entries",
            (forged,),
        )
    with pytest.raises(c4a.errors.LedgerTampered):
        pay(10)
    assert paid == []


def test_d14_what_was_shown_is_what_runs(pay, paid):
    """D14: 100 was shown and 50 arrives: refused; and a request shows the arguments as they will run, defaults too."""
    request = c4a.request_approval(pay, amount=100)
    assert request.arguments == {"amount": "100", "to": "'alice'"}
    request.approve()
    with pytest.raises(ApprovalRequired):
        pay(50)
    assert pay(100) == "paid 100 to alice"


ONE_YES = """
@c4a.effect(name="pay", approval=True, wait=20)
def pay(amount):
    act("paid")
    time.sleep(0.2)
    return "paid"
c4a.init(LEDGER)
input()
def call():
    with c4a.run("r"): attempt(pay, 10)
threads = [threading.Thread(target=call) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_d20_eight_callers_in_four_processes_on_one_yes_pay_once(child, ledger, world):
    """D20: whoever comes first pays; the double click gave one right, and all the others get the result."""

    @c4a.effect(name="pay", approval=True)
    def pay(amount):
        """Runs elsewhere."""

    for _ in range(2):
        c4a.approve(pay, amount=10)
    children = [child(ONE_YES) for _ in range(4)]
    for one in children:
        one.go_on()
    heard = [one.hear() for one in children for _ in range(2)]
    assert heard == [["value", "paid"]] * 8
    assert world.count() == 1


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e", "\u2066", "\u00ad", "\x1b[31m", "\u0430"], ids=ascii)
def test_d21_a_character_that_nobody_sees_is_another_call(hidden, pay, paid):
    """D21: a yes for alice is none for a look-alike, and what cannot be seen is escaped where a person reads it."""
    c4a.approve(pay, amount=10, to="alice")
    other = f"{hidden}lice" if hidden == "\u0430" else f"ali{hidden}ce"
    with pytest.raises(ApprovalRequired) as caught:
        pay(10, other)
    shown = caught.value.request.arguments["to"]
    assert shown != "'alice'"
    assert hidden == "\u0430" or hidden[0] not in shown + str(caught.value)
    assert paid == []


def test_r11_an_approved_action_is_not_asked_for_again_when_what_follows_fails(pay, paid):
    """R11: the effect is done, the next model call raises, the agent is resumed: the recorded result, and no new prompt."""

    def agent(model):
        result = pay(10)
        return model(result)

    def down(result):
        raise ConnectionError("model")

    with pytest.raises(ApprovalRequired) as caught:
        agent(down)
    caught.value.request.approve()
    with pytest.raises(ConnectionError):
        agent(down)
    assert agent(lambda result: f"I have {result}") == "I have paid 10 to alice"
    assert c4a.pending() == []
    assert len(paid) == 1


def test_r21_a_no_lasts_and_the_same_call_is_not_asked_for_again(pay, paid):
    """R21: the model asks again and again after a no: refused without a new prompt, until somebody approves."""
    with pytest.raises(ApprovalRequired) as caught:
        pay(10)
    caught.value.request.deny(reason="not today")
    for _ in range(5):
        with pytest.raises(ApprovalDenied, match="not today"):
            pay(10)
        assert c4a.pending() == []
    c4a.approve(pay, amount=10)
    assert pay(10) == "paid 10 to alice"


def test_r22_a_yes_that_ran_out_before_it_was_used_is_none(pay, paid, clock):
    """R22: approved in time and run late."""
    c4a.approve(pay, amount=10, c4a_valid_for=300)
    clock.time += 301
    with pytest.raises(ApprovalRequired):
        pay(10)
    assert paid == []


def test_r40_neither_a_no_nor_a_resolution_changes_what_is_done(pay, paid):
    """R40: cancelling a finished task does not make it cancelled."""
    request = c4a.request_approval(pay, amount=10)
    request.approve()
    pay(10)
    with pytest.raises(UsageError):
        request.deny()
    with pytest.raises(UsageError):
        c4a.resolve("r", request.action, c4a.did_not_happen())
    assert pay(10) == "paid 10 to alice"
    assert len(paid) == 1


@dataclasses.dataclass
class Edited:
    amount: int


def test_r23_an_edited_saved_call_is_refused(paid, ledger):
    """R23: the client holds the state between request and resume, and changes what was approved in it."""

    @c4a.effect(approval=True)
    def do(what):
        paid.append(what)

    saved = {"call": Edited(10)}
    c4a.approve(do, what=saved["call"])
    saved["call"].amount = 9999
    with pytest.raises(REFUSED):
        do(saved["call"])
    assert paid == []


def test_d07_an_effect_that_raises_after_its_effect_is_not_retried_by_itself(paid, ledger):
    """D07, the plain half: a retry policy around the tool meets the doubt, unless retry_on= lists the error."""

    @c4a.effect
    def charge(amount):
        paid.append(amount)
        raise Boom

    errors = []
    for _ in range(3):
        try:
            charge(10)
        except Exception as error:  # as retry policies do
            errors.append(type(error).__name__)
    assert errors == ["Boom", "EffectInDoubt", "EffectInDoubt"]
    assert paid == [10]
