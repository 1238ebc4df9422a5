"""Which calls are one action: however arguments are spelled, and however the function is reached."""

import functools
import inspect
import re

import pytest

import call4agents_core as c4a
from call4agents_core.errors import KeyConflict, UnstableArgument, UsageError
from tests.kit import Opaque, entries_of, files_of

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


def counting():
    """A list, and what a tool returns to say the how-manieth run it was."""
    ran: list[object] = []

    def run(value: object = None) -> int:
        ran.append(value)
        return len(ran)

    return ran, run


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


# ---- methods ---------------------------------------------------------------------------------------------------------


class Account:
    """Its objects have no stable encoding."""

    ran: list[object] = []  # noqa: RUF012 - shared on purpose

    def __init__(self, owner: str) -> None:
        self.owner = owner

    def _count(self, *what: object) -> int:
        self.ran.append(what)
        return len(self.ran)

    @c4a.effect
    def pay(self, amount):
        return self._count(self.owner, amount)

    @c4a.effect
    def odd(this, amount):  # noqa: N805 - the name of the first parameter must not matter
        return this._count(this.owner, amount)

    @c4a.effect(key=lambda self, amount: f"{self.owner}-{amount}")
    def own(self, amount):
        return self._count(self.owner, amount)

    @staticmethod
    @c4a.effect
    def fixed(self, amount=1):  # noqa: PLW0211 - the name of the first parameter must not matter
        Account.ran.append(self)
        return len(Account.ran)

    @classmethod
    @c4a.effect
    def made(cls, amount):
        Account.ran.append(cls)
        return len(Account.ran)

    @c4a.effect(approval=True)
    def asked(self, amount):
        return self._count(amount)

    @c4a.effect
    async def apay(self, amount):
        return self._count(amount)


class Savings(Account):
    def pay(self, amount):
        return super().pay(amount)


@pytest.fixture(autouse=True)
def _nothing_ran():
    Account.ran.clear()


def test_the_object_of_a_method_is_not_in_the_key():
    """It was reached through an instance, so another instance after a restart is the same action."""
    assert [Account("a").pay(5), Account("b").pay(amount=5), Account("a").pay(6)] == [1, 1, 2]
    assert [Account("a").odd(5), Account("b").odd(5)] == [3, 3]


def test_an_inherited_and_an_overriding_method_reach_the_same_action():
    """super().pay() and the method called on the class are the method of its object too."""
    assert [Account("a").pay(5), Savings("b").pay(5), Account.pay(Savings("c"), 5)] == [1, 1, 1]


def test_two_objects_that_must_not_share_actions_pass_a_key():
    """key= gets the object; c4a_key= does it for one call."""
    assert [Account("a").own(5), Account("b").own(5), Account("a").own(5)] == [1, 2, 1]
    assert [Account("a").pay(5, c4a_key="a"), Account("b").pay(5, c4a_key="b"), Account("b").pay(5, c4a_key="a")] == [
        3,
        4,
        3,
    ]


def test_the_first_parameter_of_a_static_method_is_in_the_key():
    """Whatever it is called, and through whatever it is reached."""
    assert [Account.fixed("x"), Account("a").fixed("y"), Account.fixed("x"), Account.fixed(self="x")] == [1, 2, 1, 1]


def test_the_class_of_a_class_method_is_not_in_the_key():
    """Through the class, a subclass, or an instance: one action."""
    assert [Account.made(1), Account("a").made(1), Savings.made(1), Account.made(amount=2)] == [1, 1, 1, 2]


def test_plain_parameters_called_self_or_cls_are_in_the_key():
    """The rule goes by how the function was reached, never by the name of a parameter."""
    _, run = counting()

    @c4a.effect
    def book(cls, seat=1):
        return run()

    @c4a.effect
    def take(self):
        return run()

    assert [book("economy"), book("first"), book(cls="economy")] == [1, 2, 1]
    assert [take("a"), take("b"), take(self="a")] == [3, 4, 3]


def test_an_effect_inside_a_class_body_is_no_method_of_another_class():
    """An object that happens to come first is an argument like any other."""
    _, run = counting()

    @c4a.effect
    def pay(account, amount):
        return run()

    with pytest.raises(UnstableArgument, match="account"):
        pay(Account("a"), 5)


def test_a_yes_for_a_method_is_given_through_its_object():
    """The object is left out there as well."""
    c4a.approve(Account("a").asked, amount=5)
    assert Account("b").asked(5) == 1
    with pytest.raises(TypeError):
        c4a.approve(Account.asked, amount=5)


@pytest.mark.parametrize("wrong", [staticmethod, classmethod])
def test_the_decorator_goes_below_static_and_class_method(wrong):
    """Above them it would wrap what hides the function, an async one for instance."""

    def pay(amount):
        """Never runs."""

    with pytest.raises(UsageError, match=r"effect"):
        c4a.effect(wrong(pay))


# ---- other callables -------------------------------------------------------------------------------------------------


def test_partials_and_callable_objects_are_effects():
    """A partial is named by its function, a callable object by its class."""
    _, run = counting()

    def three(a, b, c=3):
        return run()

    class Sender:
        def __call__(self, to):
            return run()

    part, send = c4a.effect(functools.partial(three, 1)), c4a.effect(Sender())
    assert [part(2), part(b=2), part(2, c=4)] == [1, 1, 2]
    assert [send("bob"), send(to="bob")] == [3, 3]
    assert c4a.effect(functools.partial(functools.partial(three, 1), 2))() == 4


def test_a_bound_method_can_be_made_an_effect():
    """It has its object already, so nothing is left out."""
    _, run = counting()

    class Bank:
        def pay(self, amount):
            return run()

    pay = c4a.effect(Bank().pay)
    assert [pay(1), pay(1), pay(2)] == [1, 1, 2]


def test_a_lambda_needs_a_name():
    """Another process would not find it again by the name that Python gives it."""
    with pytest.raises(UsageError, match="name="):
        c4a.effect(lambda amount: amount)
    assert c4a.effect(name="pay")(lambda amount: amount)(3) == 3


def test_the_decorated_function_looks_like_the_function():
    """Name, docstring, signature and kind stay; bare and called decorator are the same."""

    def pay(amount: int, to: str = "x") -> int:
        """Says what it does."""
        return amount

    async def apay(amount):
        return amount

    for one in (c4a.effect(pay), c4a.effect()(pay)):
        assert (one.__name__, one.__doc__, one.__module__) == ("pay", "Says what it does.", __name__)
        assert str(inspect.signature(one)) == "(amount: int, to: str = 'x') -> int"
        assert not inspect.iscoroutinefunction(one)
    assert inspect.iscoroutinefunction(c4a.effect(apay))


def test_a_tool_is_named_by_module_and_function_unless_it_has_a_name():
    """The name in the ledger: an action in doubt says it."""

    @c4a.effect(approval=True)
    def pay():
        """Never runs."""

    @c4a.effect(approval=True, name="bank.pay")
    def renamed():
        """Never runs."""

    assert c4a.request_approval(pay).tool == f"{__name__}.{pay.__qualname__}"
    assert c4a.request_approval(renamed).tool == "bank.pay"
    assert c4a.request_approval("bank.pay").tool == "bank.pay"


def test_two_functions_of_one_name_are_one_tool():
    """A function that moved keeps its actions."""
    _, run = counting()

    def old(amount):
        return run()

    def new(amount):
        return run()

    assert [c4a.effect(name="pay")(old)(1), c4a.effect(name="pay")(new)(1)] == [1, 1]


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
