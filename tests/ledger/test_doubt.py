"""An attempt that nobody knows the end of: what a tool raises, what a person says of it, and a process that died."""

import asyncio
import threading

import pytest

import call4agents_core as c4a
from call4agents_core.errors import (
    ApprovalRequired,
    EffectInDoubt,
    EffectRunning,
    LedgerError,
    UsageError,
)
from call4agents_core.stores import _owners
from tests.kit import Boom, Safe, failing, in_thread

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


# ---- what the tool raises --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [Boom("why"), KeyboardInterrupt("why"), SystemExit("why"), GeneratorExit("why"), asyncio.CancelledError("why"),
     StopIteration("why"), BaseException("why")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_whatever_a_tool_raises_leaves_the_action_in_doubt(error):
    """It is re-raised, the very same object; later calls are refused at once, with the facts."""
    pay, keys = failing(error, times=9)
    with pytest.raises(type(error)) as caught:
        pay(5)
    assert caught.value is error
    for _ in range(2):
        with pytest.raises(EffectInDoubt, match=type(error).__name__) as doubt:
            pay(5)
        assert not isinstance(doubt.value, EffectRunning)
    assert (doubt.value.run, doubt.value.tool) == ("r", "pay")
    assert "why" in doubt.value.cause
    assert f"call4agents resolve r {doubt.value.action} happened" in str(doubt.value)
    assert len(keys) == 1


class TwoArguments(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")
        self.two = two


class Rude(Exception):
    def __str__(self):
        raise RuntimeError("no text for you")

    __repr__ = __str__


def test_the_original_exception_keeps_everything_it_has():
    """Attributes, cause and traceback: a caller that knows it sees no difference."""
    cause = ValueError("cause")
    error = TwoArguments(1, open)

    @c4a.effect
    def pay():
        raise error from cause

    with pytest.raises(TwoArguments) as caught:
        pay()
    assert caught.value is error
    assert (error.two, error.__cause__) == (open, cause)
    assert caught.traceback[-1].name == "pay"


def test_an_exception_that_has_no_text_is_re_raised_too():
    """Its own __str__ raises; the record names its class, and the action is in doubt and not held for ever."""
    error = Rude()
    pay, _ = failing(error)
    with pytest.raises(Rude) as caught:
        pay(5)
    assert caught.value is error
    with pytest.raises(EffectInDoubt, match="Rude") as doubt:
        pay(5)
    assert not isinstance(doubt.value, EffectRunning)


def test_an_exception_in_retry_on_frees_the_action():
    """It proves that nothing happened: the next call is a new attempt under the same key."""
    pay, keys = failing(Safe("not sent"), times=2, retry_on=(Safe,))
    for _ in range(2):
        with pytest.raises(Safe):
            pay(5)
    assert [pay(5), pay(5)] == ["paid 5"] * 2
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_a_subclass_of_what_retry_on_names_frees_the_action_and_nothing_else_does():
    """As in an except clause."""

    class Safer(Safe):
        pass

    pay, _ = failing(Safer(), retry_on=Safe)
    with pytest.raises(Safer):
        pay(5)
    assert pay(5) == "paid 5"
    pay, _ = failing(Boom(), retry_on=(Safe, KeyError))
    with pytest.raises(Boom):
        pay(6)
    with pytest.raises(EffectInDoubt):
        pay(6)


def test_the_yes_of_an_attempt_that_proved_nothing_holds_on():
    """No second yes is needed for the new attempt, and a no in between stops it."""
    pay, keys = failing(Safe(), times=1, retry_on=Safe, approval=True)
    c4a.approve(pay, amount=5)
    with pytest.raises(Safe):
        pay(5)
    assert pay(5) == "paid 5"
    assert len(keys) == 2
    pay, keys = failing(Safe(), times=1, retry_on=Safe, approval=True)
    c4a.approve(pay, amount=6)
    with pytest.raises(Safe):
        pay(6)
    c4a.deny(pay, amount=6, c4a_reason="changed my mind")
    with pytest.raises(c4a.errors.ApprovalDenied, match="changed my mind"):
        pay(6)
    assert len(keys) == 1


def test_an_action_called_from_inside_its_own_body_is_refused():
    """It would wait for itself; the outer attempt goes on."""
    seen = []

    @c4a.effect(wait=0.1)
    def outer(n):
        with pytest.raises(EffectRunning, match="own body") as caught:
            outer(n)
        seen.append(caught.value)
        return outer(n - 1) if n else "bottom"

    assert outer(2) == "bottom"
    assert len(seen) == 3


# ---- a person --------------------------------------------------------------------------------------------------------


def in_doubt():
    pay, keys = failing(Boom())
    with pytest.raises(Boom):
        pay(5)
    with pytest.raises(EffectInDoubt) as caught:
        pay(5)
    return pay, keys, caught.value.action


def test_a_person_resolves_a_doubt_both_ways():
    """By the action's id or the beginning of it."""
    pay, _, action = in_doubt()
    c4a.resolve("r", action[:8].upper(), c4a.happened("by hand"), by="boss", note="seen at the bank")
    assert [pay(5), pay(5)] == ["by hand"] * 2
    with c4a.run("r2"):
        pay, _ = failing(Boom())
        with pytest.raises(Boom):
            pay(5)
        with pytest.raises(EffectInDoubt) as caught:
            pay(5)
        c4a.resolve("r2", caught.value.action, c4a.did_not_happen())
        assert pay(5) == "paid 5"


def test_what_is_settled_cannot_be_resolved():
    """Done stays done: the answer is refused and changes nothing."""
    pay, _, action = in_doubt()
    c4a.resolve("r", action, c4a.happened("by hand"))
    with pytest.raises(UsageError, match="it is done"):
        c4a.resolve("r", action, c4a.did_not_happen())
    assert pay(5) == "by hand"


@pytest.mark.parametrize("outcome", [True, None, "happened", c4a.unknown(), c4a.happened], ids=repr)
def test_a_person_can_say_two_things_only(outcome):
    """Unknown is no answer: it is a doubt already."""
    _, _, action = in_doubt()
    with pytest.raises(UsageError, match=r"happened\(result\)"):
        c4a.resolve("r", action, outcome)


def test_an_action_that_nobody_knows_cannot_be_resolved():
    """No such run, no such action, or several that begin so."""
    in_doubt()
    for run, action in (("r", "ffff"), ("nobody", ""), ("r", "")):
        with pytest.raises(UsageError, match=r"action"):
            c4a.resolve(run, action, c4a.did_not_happen())


def test_a_running_action_cannot_be_resolved():
    """There is nothing to resolve yet."""
    started, go_on = threading.Event(), threading.Event()

    @c4a.effect(wait=0)
    def slow():
        started.set()
        go_on.wait(20)
        return "slow"

    outcome = in_thread(slow)
    assert started.wait(10)
    with pytest.raises(EffectRunning) as caught:
        slow()
    with pytest.raises(EffectRunning, match="alive"):
        c4a.resolve("r", caught.value.action, c4a.did_not_happen())
    go_on.set()
    assert outcome() == "slow"


def test_a_refusal_is_no_failure_of_the_ledger():
    """The four kinds of error are told apart by their base."""
    assert not issubclass(EffectInDoubt, LedgerError)
    assert not issubclass(ApprovalRequired, EffectInDoubt)


# ---- a process that died ---------------------------------------------------------------------------------------------

DIES = """
@c4a.effect(name="pay", idempotent_for=3600)
def pay(amount):
    act()
    die()
c4a.init(LEDGER)
with c4a.run("r"): pay(5)
"""


def test_an_attempt_whose_process_was_killed_is_in_doubt(tell, world, ledger):
    """Not running, and not lost: the cause says that its process ended."""
    tell(DIES, status=-9)
    pay, keys = failing(Boom(), times=0)
    with pytest.raises(EffectInDoubt, match="its process ended inside it") as caught:
        pay(5)
    assert not isinstance(caught.value, EffectRunning)
    assert (world.count(), len(keys)) == (1, 0)


def test_an_attempt_whose_owner_nobody_can_tell_is_never_reconciled_or_sent_again(tell, world, ledger, tmp_path):
    """Its file in the owners folder is gone under the same boot: refused, and left to a person."""
    tell(DIES, status=-9)
    for file in (tmp_path / "ledger.sqlite.c4a" / "owners").iterdir():
        file.unlink()
    asked = []
    pay, keys = failing(Boom(), times=0, idempotent_for=3600, reconcile=lambda: asked.append(1))
    with pytest.raises(EffectInDoubt, match="owners folder") as caught:
        pay(5)
    assert (world.count(), keys, asked) == (1, [], [])
    c4a.resolve("r", caught.value.action, c4a.happened("seen"))
    assert pay(5) == "seen"


def test_an_attempt_of_an_earlier_boot_is_dead(tell, world, ledger, monkeypatch):
    """After a power cut the owner's lock cannot live anywhere."""
    tell(DIES, status=-9)
    monkeypatch.setattr(_owners, "boot_id", lambda: "another boot")
    pay, keys = failing(Boom(), times=0, idempotent_for=3600)
    assert pay(5) == "paid 5"
    assert len(keys) == 1


def test_an_end_that_is_written_between_two_looks_is_no_doubt(ledger, monkeypatch):
    """A caller reads "running"; before it looks for the owner, the owner has written its result and left."""
    started, go_on = threading.Event(), threading.Event()

    @c4a.effect(wait=5)
    def slow():
        started.set()
        go_on.wait(20)
        return "slow"

    look = ledger.owner_status
    outcome = in_thread(slow)
    assert started.wait(10)

    def late(action, state):
        if state.stage == "started":
            go_on.set()
            assert outcome() == "slow"
        return look(action, state)

    monkeypatch.setattr(ledger, "owner_status", late)
    assert slow() == "slow"
