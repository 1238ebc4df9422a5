"""Effects of every kind of callable: methods, static and class methods, partials, objects, bound methods."""

import functools
import inspect

import pytest

import call4agents_core as c4a
from call4agents_core.errors import UnstableArgument, UsageError
from tests.kit import counting

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


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
