"""Every option of an effect is checked when the decorator is applied, and says what it cannot mean."""

import functools
import inspect

import pytest

import call4agents_core as c4a
from call4agents_core.errors import EffectRefused, KeyConflict, ResultNotKept, UsageError
from tests.kit import Boom, Opaque, Safe


def pay(amount, to="alice", token=""):
    return amount


async def later(amount):
    return amount


BAD = {
    "wait": [-1, "x", None, float("nan"), float("inf"), True],
    "idempotent_for": [0, -5, "x", float("nan"), float("inf"), True],
    "retry_on": [1, "ValueError", (ValueError, 1), [object], ValueError("instance")],
    "repeat": ["again", True, 1],
    "approval": ["yes", 1, None, lambda nobody: True],
    "reconcile": ["yes", 1, lambda nobody: None],
    "key": ["order", 1, lambda nobody: "k"],
    "undo": ["yes", 1, lambda nobody: None, lambda token: None],
    "exclude": ["nobody", ("amount", "nobody"), [1]],
    "redact": ["nobody", ("nobody",)],
    "name": ["", "a\0b", "\ud83d", 7],
    "encode": [1, str],
    "decode": [1, str],
}
BAD_ONES = [(name, value) for name, values in BAD.items() for value in values]


@pytest.mark.parametrize(("option", "value"), BAD_ONES, ids=range(len(BAD_ONES)))
def test_an_option_that_cannot_mean_anything_is_refused_at_decoration(option, value):
    """The error names the option, so that nobody has to wait for the crash in which it counts."""
    extra = {"redact": "token"} if option == "undo" else {}
    with pytest.raises(UsageError, match=option):
        c4a.effect(**{option: value}, **extra)(pay)


def test_an_undo_may_not_ask_for_what_redact_hides():
    """The value is not stored, so no undo could get it."""
    with pytest.raises(UsageError, match="token"):
        c4a.effect(redact=("token",), undo=lambda amount, token: None)(pay)
    c4a.effect(redact=("token",), undo=lambda amount, result: None)(pay)


def test_options_of_every_good_form_are_taken():
    """One name or several, one exception or several, functions that take all, some or none of the arguments."""
    c4a.effect(exclude="to", redact=["token"], retry_on=Safe, wait=0, idempotent_for=1, repeat="return")(pay)
    c4a.effect(retry_on=[Safe, KeyboardInterrupt], approval=lambda: True, reconcile=lambda **values: None)(pay)
    c4a.effect(approval=lambda amount, to: True, reconcile=lambda idempotency_key: None, key=lambda *values: "k")(pay)
    c4a.effect(encode=str, decode=int, undo=lambda result, amount: None)(pay)


def generator():
    yield 1


async def async_generator():
    yield 1


class Generating:
    def __call__(self):
        yield 1


@pytest.mark.parametrize("function", [generator, async_generator, Generating()])
def test_generators_are_refused(function):
    """They do their work piece by piece, so nobody could call it done."""
    with pytest.raises(UsageError, match="generator"):
        c4a.effect(function)


@pytest.mark.parametrize("thing", [None, 1, "pay"])
def test_only_functions_are_decorated(thing):
    """effect("pay") is no way to give it a name."""
    with pytest.raises(UsageError):
        c4a.effect()(thing)


def test_a_parameter_must_not_look_like_an_option_of_the_call():
    """Names that begin with c4a_ are ours."""
    with pytest.raises(UsageError, match="c4a_key"):
        c4a.effect(name="pay")(lambda c4a_key: None)


def test_a_function_without_a_readable_signature_is_refused():
    """Nobody could bind a call to it; the advice is to wrap it."""
    with pytest.raises(UsageError, match="signature"):
        c4a.effect(type)


# ---- what they do ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("ledger", "in_run")
class TestRepeat:
    """What a call of a done action does."""

    def effect(self, repeat):
        self.ran = []

        @c4a.effect(repeat=repeat)
        def tool(value):
            self.ran.append(value)
            return len(self.ran)

        return tool

    @pytest.mark.parametrize("repeat", [None, "return"])
    def test_return_gives_the_recorded_result(self, repeat):
        """The default in code: a program that runs again gets what it got."""
        tool = self.effect(repeat)
        assert [tool(1), tool(1), tool(2)] == [1, 1, 2]

    def test_run_does_it_again_as_a_new_action(self):
        """Each call is the next ordinal, and each is once only."""
        tool = self.effect("run")
        assert [tool(1), tool(1), tool(1), tool(2)] == [1, 2, 3, 4]

    def test_run_never_passes_over_a_doubt(self):
        """No ordinal beyond one that is in doubt, denied, or waits for a yes."""
        ran = []

        @c4a.effect(repeat="run")
        def tool():
            ran.append(1)
            raise Boom

        with pytest.raises(Boom):
            tool()
        for _ in range(2):
            with pytest.raises(EffectRefused):
                tool()
        other = self.effect("run")
        other(1)
        c4a.deny(other, value=1)
        with pytest.raises(EffectRefused):
            other(1)
        assert (len(ran), len(self.ran)) == (1, 1)

    def test_refuse_says_no_to_the_second_call(self):
        """The error says so, and the tool does not run."""
        tool = self.effect("refuse")
        assert tool(1) == 1
        with pytest.raises(EffectRefused, match="refuse") as caught:
            tool(1)
        assert type(caught.value) is EffectRefused
        assert len(self.ran) == 1

    def test_many_repeats_are_found_by_halving(self, ledger, monkeypatch):
        """The first action that is not done is found in few reads, however many were done."""
        tool = self.effect("run")
        for n in range(40):
            assert tool(1) == n + 1
        reads = []
        read = ledger.store.read
        monkeypatch.setattr(ledger.store, "read", lambda *place: reads.append(place) or read(*place))
        assert tool(1) == 41
        assert len(reads) < 20


@pytest.mark.usefixtures("ledger", "in_run")
def test_encode_and_decode_give_back_what_the_tool_returned():
    """The stored form is the one that encode= gives."""
    ran = []

    @c4a.effect(encode=lambda value: value.text, decode=Opaque)
    def give():
        ran.append(1)
        return Opaque("kept")

    assert [give().text, give().text, type(give())] == ["kept", "kept", Opaque]
    assert ran == [1]


@pytest.mark.usefixtures("ledger", "in_run")
def test_encode_or_decode_that_raises_costs_the_result_and_not_the_action():
    """The caller gets the object; a later call hears that the result was not kept, and why."""

    def broken(value):
        raise Boom("no such form")

    @c4a.effect(name="one", encode=broken, decode=str)
    def one():
        return Opaque("x")

    @c4a.effect(name="two", encode=lambda value: "x", decode=broken)
    def two():
        return Opaque("x")

    for tool, option in ((one, "encode="), (two, "decode=")):
        assert tool().text == "x"
        with pytest.raises(ResultNotKept, match=f"{option} raised Boom.'no such form'"):
            tool()


@pytest.mark.usefixtures("ledger", "in_run")
def test_a_sync_effect_that_returns_a_coroutine_is_not_called_done():
    """Nothing inside a coroutine has run when it is returned: to record it would lose the action."""
    ran = []

    async def inner(amount):
        ran.append(amount)

    @c4a.effect
    def outer(amount):
        return inner(amount)

    with pytest.raises(UsageError, match="coroutine"):
        outer(1)
    with pytest.raises(EffectRefused):
        outer(1)
    assert ran == []


@pytest.mark.usefixtures("ledger", "in_run")
def test_an_approval_function_decides_by_the_arguments():
    """It gets those that it names, defaults applied; what it raises goes to the caller, and nothing runs."""
    ran, asked = [], []

    def large(amount, to):
        asked.append((amount, to))
        return {"x": 1}[to] if to != "alice" else amount > 100

    @c4a.effect(approval=large)
    def tool(amount, to="alice"):
        ran.append(amount)

    tool(5)
    with pytest.raises(EffectRefused):
        tool(500)
    with pytest.raises(KeyError):
        tool(5, "bob")
    c4a.approve(tool, amount=500)
    tool(500)
    assert ran == [5, 500]
    assert asked[:2] == [(5, "alice"), (500, "alice")]


@pytest.mark.usefixtures("ledger", "in_run")
def test_a_key_function_says_which_action_a_call_is():
    """Like c4a_key=, conflicts included; c4a_key= goes before it."""
    ran = []

    @c4a.effect(key=lambda order: f"order-{order}")
    def tool(order, amount):
        ran.append((order, amount))
        return len(ran)

    assert [tool(7, 10), tool(order=7, amount=10), tool(8, 10)] == [1, 1, 2]
    with pytest.raises(KeyConflict):
        tool(7, 11)
    assert tool(7, 11, c4a_key="other") == 3


def test_async_effects_are_known_by_their_function():
    """Not by what a call of them happens to return."""

    class Sender:
        async def __call__(self, to):
            """An async callable object."""

    for function in (later, functools.partial(later, 1), Sender()):
        assert inspect.iscoroutinefunction(c4a.effect(function))
