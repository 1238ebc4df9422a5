"""What may clear a doubt without a person: reconcile=, and a resend while the outside API knows the key."""

import asyncio
import logging
import threading
import time

import pytest

import call4agents_core as c4a
from call4agents_core.errors import EffectInDoubt, EffectRunning
from tests.kit import Boom, Opaque, failing, in_thread

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


# ---- reconcile= ------------------------------------------------------------------------------------------------------


async def aio(answer):
    await asyncio.sleep(0)
    return answer


def asking(answer, **options):
    asked = []

    def look(amount, idempotency_key):
        asked.append((amount, idempotency_key))
        return answer() if callable(answer) else answer

    pay, keys = failing(Boom(), reconcile=look, **options)
    with pytest.raises(Boom):
        pay(5)
    return pay, keys, asked


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: lambda: aio(value)], ids=["sync", "async"])
@pytest.mark.parametrize("result", [None, {"id": 7}, (1, b"x")], ids=repr)
def test_reconcile_that_says_happened_gives_the_result(result, wrap):
    """Its result, with its type, is the result of the action from then on; it is asked once, by argument and key."""
    pay, keys, asked = asking(wrap(c4a.happened(result)))
    assert [pay(5), pay(5)] == [result] * 2
    assert len(keys) == 1
    assert asked == [(5, keys[0])]


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: lambda: aio(value)], ids=["sync", "async"])
def test_reconcile_that_says_did_not_happen_frees_the_action(wrap):
    """A new attempt is made under the same key."""
    pay, keys, asked = asking(wrap(c4a.did_not_happen()))
    assert [pay(5), pay(5)] == ["paid 5"] * 2
    assert (len(keys), len(set(keys)), len(asked)) == (2, 1, 1)


def broken():
    raise RuntimeError("the bank is closed")


async def abroken():
    raise RuntimeError("the bank is closed")


NO_ANSWERS = {
    "unknown": c4a.unknown(),
    "unknown, async": lambda: aio(c4a.unknown()),
    "None": None,
    "True": True,
    "False": False,
    "its name": "happened",
    "the function itself": c4a.happened,
    "it raises": broken,
    "it raises, async": abroken,
}


@pytest.mark.parametrize(
    "answer", [(lambda: c4a.happened) if v is c4a.happened else v for v in NO_ANSWERS.values()], ids=NO_ANSWERS
)
def test_any_other_answer_of_reconcile_means_unknown(answer, caplog):
    """The action stays in doubt; only its own three answers count, and its own failure is logged."""
    caplog.set_level(logging.CRITICAL + 1)
    pay, keys, asked = asking(answer)
    with pytest.raises(EffectInDoubt):
        pay(5)
    assert (len(keys), len(asked)) == (1, 1)


def test_a_failing_reconcile_is_logged(caplog):
    """Otherwise nobody would learn why the action stays in doubt."""
    pay, _, _ = asking(broken)
    with pytest.raises(EffectInDoubt):
        pay(5)
    assert "the bank is closed" in caplog.text


def test_reconcile_may_be_async_inside_a_running_loop():
    """A sync effect that is called on a loop has its async reconcile= run aside."""
    pay, keys, _ = asking(lambda: aio(c4a.happened("found")))

    async def main():
        return pay(5)

    assert asyncio.run(main()) == "found"
    assert len(keys) == 1


def test_what_reconcile_finds_goes_through_encode():
    """It answers with what the tool would have returned."""

    @c4a.effect(encode=lambda value: value.text, decode=Opaque, reconcile=lambda: c4a.happened(Opaque("found")))
    def give():
        raise Boom

    with pytest.raises(Boom):
        give()
    assert [give().text, give().text] == ["found", "found"]


def test_reconcile_is_not_asked_while_the_attempt_runs():
    """A live owner is never taken for a dead one."""
    asked, started, go_on = [], threading.Event(), threading.Event()

    @c4a.effect(wait=0.1, reconcile=lambda: asked.append(1) or c4a.did_not_happen())
    def slow():
        started.set()
        go_on.wait(20)
        return "slow"

    outcome = in_thread(slow)
    assert started.wait(10)
    with pytest.raises(EffectRunning):
        slow()
    go_on.set()
    assert outcome() == "slow"
    assert asked == []


def test_of_many_callers_one_asks_and_the_others_take_the_answer():
    """One process asks once, and the new attempt is one."""
    pay, keys, asked = asking(lambda: time.sleep(0.2) or c4a.did_not_happen(), wait=10)
    outcomes = [in_thread(lambda: pay(5)) for _ in range(6)]
    assert [outcome() for outcome in outcomes] == ["paid 5"] * 6
    assert (len(keys), len(asked)) == (2, 1)


# ---- idempotent_for= -------------------------------------------------------------------------------------------------


def test_inside_the_window_the_action_is_sent_again_under_the_same_key(clock):
    """The outside API drops the duplicate; after the window it is in doubt."""
    pay, keys = failing(Boom(), times=2, idempotent_for=3600)
    with pytest.raises(Boom):
        pay(5)
    clock.time += 3000
    with pytest.raises(Boom):
        pay(5)
    clock.time += 500
    assert [pay(5), pay(5)] == ["paid 5"] * 2
    assert (len(keys), len(set(keys))) == (3, 1)


@pytest.mark.parametrize("step", [3600, 3541, -1], ids=["expired", "inside the margin", "the clock stepped back"])
def test_outside_the_window_the_action_is_in_doubt(clock, step):
    """Its start is the first attempt, its end keeps a margin of a minute, and a clock that stepped back counts as expired."""
    pay, keys = failing(Boom(), idempotent_for=3600)
    with pytest.raises(Boom):
        pay(5)
    clock.time += step
    with pytest.raises(EffectInDoubt):
        pay(5)
    assert len(keys) == 1


def test_reconcile_goes_before_the_resend():
    """Only where it has nothing to say is the action sent again."""
    pay, keys, asked = asking(c4a.happened("found"), idempotent_for=3600)
    assert pay(5) == "found"
    assert (len(keys), len(asked)) == (1, 1)


def test_a_resend_follows_a_reconcile_that_knows_nothing():
    """Asked first, then sent again."""
    pay, keys, asked = asking(c4a.unknown(), idempotent_for=3600)
    assert pay(5) == "paid 5"
    assert (len(keys), len(asked)) == (2, 1)
