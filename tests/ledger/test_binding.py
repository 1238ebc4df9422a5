"""Which calls are one action: how arguments are spelled, and c4a_key=, key= and exclude=."""

import re

import pytest

import call4agents_core as c4a
from call4agents_core.errors import KeyConflict, UnstableArgument, UsageError
from tests.kit import Opaque, counting, entries_of, files_of

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


def test_positional_keyword_and_default_are_one_spelling():
    """Bound to the signature, defaults applied: five spellings, one action."""
    _, run = counting()

    @c4a.effect
    def pay(amount, to="alice", *, note=None):
        return run()

    spelled = [pay(1), pay(amount=1), pay(1, "alice"), pay(to="alice", amount=1), pay(1, note=None)]
    assert spelled == [1] * 5
    assert [pay(2), pay(1, "bob"), pay(1, note="x")] == [2, 3, 4]


def test_variadic_arguments_are_in_the_key():
    """*args by position, **kwargs by name and in any order."""
    _, run = counting()

    @c4a.effect
    def send(*to, **options):
        return run()

    assert [send("a", "b"), send("b", "a"), send("a"), send("a", "b")] == [1, 2, 3, 1]
    assert [send(x=1, y=2), send(y=2, x=1), send(x=2, y=1)] == [4, 4, 5]
    assert send(("a", "b")) == 6


def test_positional_only_and_keyword_only_parameters_bind():
    """A name that is positional only may come again inside **kwargs."""
    _, run = counting()

    @c4a.effect
    def pay(amount, /, **more):
        return run(more)

    assert [pay(1, amount=2), pay(1, amount=3), pay(1)] == [1, 2, 3]


def test_a_call_that_does_not_bind_raises_what_python_raises():
    """A TypeError, before anything is written."""
    ran, run = counting()

    @c4a.effect
    def pay(amount, to):
        return run()

    for wrong in (
        pay,
        lambda: pay(1),
        lambda: pay(1, 2, 3),
        lambda: pay(1, to=2, x=3),
        lambda: pay(1, amount=1),
    ):
        with pytest.raises(TypeError):
            wrong()
    assert ran == []


def test_the_tool_gets_its_arguments_as_they_were_passed():
    """Binding is for the key: defaults, *args and objects reach the function untouched."""
    seen = []

    @c4a.effect(exclude=("context",))
    def pay(amount, *rest, context=None, **more):
        seen.append((amount, rest, context, more))

    context = Opaque()
    pay([1], "x", context=context, y={2})
    assert seen == [([1], ("x",), context, {"y": {2}})]
    assert seen[0][2] is context


def test_a_shown_call_has_its_arguments_in_the_order_of_the_signature():
    """However it was spelled: a person reads it as the function is written."""

    @c4a.effect(approval=True)
    def pay(amount, to="alice", note=None):
        """Never runs."""

    for request in (
        c4a.request_approval(pay, amount=10),
        c4a.request_approval(pay, note="x", to="bob", amount=11),
    ):
        assert list(request.arguments) == ["amount", "to", "note"]


def test_a_key_function_gets_all_arguments_in_the_order_of_the_signature():
    """Also where it takes them as *args and the call names them in another order."""
    _, run = counting()

    @c4a.effect(key=lambda *arguments: f"order-{arguments[0]}")
    def pay(order, amount):
        return run()

    assert [pay(7, 10), pay(amount=10, order=7), pay(order=7, amount=10)] == [1, 1, 1]


# ---- c4a_key, key=, exclude= -----------------------------------------------------------------------------------------


def test_c4a_key_says_which_action_a_call_is():
    """The same key is the same action, another key another one, and without it the arguments are the key."""
    _, run = counting()

    @c4a.effect
    def pay(amount):
        return run()

    assert [pay(10, c4a_key="order-7"), pay(10, c4a_key="order-7"), pay(10, c4a_key="order-8"), pay(10)] == [1, 1, 2, 3]
    with c4a.run("other"):
        assert pay(10, c4a_key="order-7") == 4


def test_c4a_key_with_other_arguments_is_a_conflict():
    """It names the argument that differs, and the tool does not run."""
    ran, run = counting()

    @c4a.effect(exclude=("note",))
    def pay(amount, to, note=""):
        return run()

    pay(10, "alice", c4a_key="order-7")
    with pytest.raises(KeyConflict, match=re.escape("exclude=('amount',)")) as caught:
        pay(11, "alice", "reworded", c4a_key="order-7")
    assert caught.value.arguments == ("amount",)
    with pytest.raises(KeyConflict) as caught:
        pay(11, "bob", c4a_key="order-7")
    assert caught.value.arguments == ("amount", "to")
    assert isinstance(caught.value, ValueError)
    assert len(ran) == 1


def test_what_does_not_conflict_under_one_c4a_key():
    """What exclude= leaves out, what cannot be encoded, and how a number is spelled."""
    _, run = counting()

    @c4a.effect(exclude=("note",))
    def pay(amount, session=None, note=""):
        return run()

    assert pay(10, Opaque("a"), c4a_key="k") == 1
    assert pay(10.0, Opaque("b"), c4a_key="k") == 1
    assert pay("10.00", Opaque("c"), note="reworded", c4a_key="k") == 1


@pytest.mark.parametrize("key", ["", "a\0b", "\ud83d", 7, b"k"])
def test_a_key_that_no_store_can_hold_is_refused(key):
    """Text, not empty, without NUL and lone surrogates; from c4a_key= and from key= alike."""
    ran, run = counting()

    def tool():
        return run()

    pay, keyed = c4a.effect(name="pay")(tool), c4a.effect(name="keyed", key=lambda: key)(tool)
    with pytest.raises(UsageError, match="c4a_key"):
        pay(c4a_key=key)
    with pytest.raises(UsageError, match="c4a_key"):
        keyed()
    assert ran == []


def test_an_excluded_argument_counts_for_nothing_and_reaches_the_tool():
    """Positional, keyword, or left out: one action."""
    seen = []

    @c4a.effect(exclude="context")
    def pay(amount, context=None):
        seen.append(context)
        return len(seen)

    first = Opaque()
    assert [pay(1, first), pay(1, context=Opaque()), pay(1), pay(2, first)] == [1, 1, 1, 2]
    assert seen[0] is first


def test_an_excluded_argument_is_not_stored(ledger):
    """It may be a client, a session, or something private."""

    @c4a.effect(exclude=("context",))
    def pay(amount, context):
        return amount

    pay("stored-4711", "private-4711")
    assert b"stored-4711" in files_of(ledger)
    assert b"private-4711" not in files_of(ledger)


def cycle():
    found: list[object] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    "value", [float("nan"), {"a": [float("nan")]}, cycle(), object(), Opaque(), iter(())], ids=repr
)
def test_an_argument_without_stable_bytes_is_refused_before_anything_is_written(value, ledger):
    """The error names the argument; given a key, the call goes through, and a yes never does."""
    ran, run = counting()

    @c4a.effect
    def pay(amount, suspicious):
        return run()

    @c4a.effect(approval=True)
    def ask(suspicious):
        return run()

    for call in (lambda: pay(1, value), lambda: c4a.approve(ask, suspicious=value), lambda: ask(value, c4a_key="k")):
        with pytest.raises(UnstableArgument, match="suspicious") as caught:
            call()
        assert isinstance(caught.value, TypeError)
    assert ran == []
    assert entries_of(ledger) == 0
    assert [pay(1, value, c4a_key="k"), pay(1, value, c4a_key="k")] == [1, 1]
