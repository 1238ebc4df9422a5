"""The key for the outside API: one for each action of each ledger, the same for every attempt."""

import re
import threading

import pytest

import call4agents_core as c4a
from call4agents_core.errors import UsageError
from tests.kit import Safe, in_thread


@c4a.effect(name="api")
def api(who, secret="sk-alice-zz"):
    return c4a.idempotency_key()


@pytest.mark.usefixtures("ledger")
def test_the_key_has_the_form_that_every_api_takes():
    """At most 45 characters of [A-Za-z0-9-], and nothing of the arguments in it."""
    with c4a.run("alice"):
        for who in ("alice", "x" * 10_000, "\u202e", ""):
            key = api(who)
            assert re.fullmatch(r"[A-Za-z0-9-]{20,45}", key)
            assert "alice" not in key.lower()
            assert "zz" not in key


def test_the_key_belongs_to_ledger_run_tool_and_arguments(tmp_path):
    """Two ledgers with the same run ids have other keys, so that no API takes the one for the other."""
    other = c4a.effect(name="other")(lambda who: c4a.idempotency_key())
    keys = set()
    for name in ("one", "two"):
        ledger = c4a.Ledger.open(tmp_path / name)
        for run in ("r", "s"):
            with c4a.run(run, ledger=ledger):
                keys |= {api("alice"), api("bob"), api("alice", c4a_key="k"), other("alice")}
        ledger.close()
    assert len(keys) == 16


@pytest.mark.usefixtures("ledger", "in_run")
def test_the_key_is_the_same_for_every_attempt_and_after_a_restart(ledger):
    """Whatever the secret is by then."""
    keys = []

    @c4a.effect(name="pay", retry_on=Safe)
    def pay(amount):
        keys.append(c4a.idempotency_key())
        if len(keys) < 3:
            raise Safe

    for _ in range(2):
        with pytest.raises(Safe):
            pay(5)
    ledger.rotate_secret()
    ledger.close()
    again = c4a.Ledger.open(ledger.location)
    with c4a.run("r", ledger=again):
        pay(5)
    again.close()
    assert len(keys) == 3
    assert len(set(keys)) == 1


@pytest.mark.usefixtures("ledger", "in_run")
def test_each_deliberate_repeat_has_a_key_of_its_own():
    """Otherwise the API would drop what was meant."""
    again = c4a.effect(name="again", repeat="run")(lambda n: c4a.idempotency_key())
    assert len({again(1), again(1), again(1)}) == 3


@pytest.mark.usefixtures("ledger", "in_run")
def test_the_header_holds_the_key():
    """Idempotency-Key, or the name that the API wants."""

    @c4a.effect
    def pay():
        return c4a.idempotency_headers(), c4a.idempotency_headers("X-Key"), c4a.idempotency_key()

    usual, other, key = pay()
    assert (usual, other) == ({"Idempotency-Key": key}, {"X-Key": key})


@pytest.mark.usefixtures("ledger", "in_run")
def test_the_key_of_an_inner_action_does_not_leak_into_the_outer():
    """Each attempt has its own, also while another runs inside it."""

    @c4a.effect
    def outer(n):
        before = c4a.idempotency_key()
        inner = api("inner")
        return before, inner, c4a.idempotency_key()

    before, inner, after = outer(1)
    assert before == after != inner


@pytest.mark.usefixtures("ledger", "in_run")
def test_outside_an_effect_there_is_no_key():
    """Also in a run, after an effect, and in a new thread inside one."""
    for ask in (c4a.idempotency_key, c4a.idempotency_headers):
        with pytest.raises(UsageError, match="inside an effect"):
            ask()
    api("alice")
    with pytest.raises(UsageError):
        c4a.idempotency_key()

    @c4a.effect
    def outer():
        return type(in_thread(c4a.idempotency_key)())

    assert outer() is UsageError


@pytest.mark.usefixtures("ledger")
def test_keys_of_parallel_threads_do_not_mix():
    """Each thread has its own attempt."""
    barrier = threading.Barrier(6)

    @c4a.effect
    def pay(n):
        before = c4a.idempotency_key()
        barrier.wait(10)
        return before == c4a.idempotency_key()

    outcomes = [in_thread(lambda n=n: pay(n)) for n in range(6)]
    assert [outcome() for outcome in outcomes] == [True] * 6
