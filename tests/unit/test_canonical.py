"""The canonical encoding: what it tells apart, what it does not, what it refuses; and its test vectors."""

import dataclasses
import datetime as dt
import json
import pickle
import re
import sys
import threading
import zoneinfo
from collections import OrderedDict, deque
from decimal import Decimal, localcontext
from pathlib import Path, PurePosixPath
from uuid import UUID

import pydantic
import pytest

from call4agents_core._canonical import DEEPEST, Unstable, canonical, loose
from tests.strategies import Access, Charge, Colour, Level, Place, Point, Refund, Seat

NEW_YORK = zoneinfo.ZoneInfo("America/New_York")
MIDNIGHT = dt.datetime(2026, 1, 2)

#: The values of vectors.json, by the text that stands for each there and in docs/record-format.md.
VECTORS = {
    "None": None,
    "True": True,
    "0": 0,
    "-255": -255,
    "2**64": 2**64,
    "1.0": 1.0,
    "-0.0": -0.0,
    '"é"': "é",
    'b"\\x00\\xff"': b"\x00\xff",
    'bytearray(b"a")': bytearray(b"a"),
    '[1, "a"]': [1, "a"],
    '(1, "a")': (1, "a"),
    '{"to": "alice", "amount": 10}': {"to": "alice", "amount": 10},
    '{1, "1"}': {1, "1"},
    "frozenset()": frozenset(),
    "OrderedDict(a=1)": OrderedDict(a=1),
    "deque([1], 3)": deque([1], 3),
    "datetime(2026, 11, 1, 1, 30, fold=1)": dt.datetime(2026, 11, 1, 1, 30, fold=1),
    'datetime(2026, 11, 1, 1, 30, tzinfo=ZoneInfo("America/New_York"))': dt.datetime(2026, 11, 1, 1, 30, tzinfo=NEW_YORK),
    "date(2026, 1, 2)": dt.date(2026, 1, 2),
    "time(1, 2)": dt.time(1, 2),
    "time(1, 2, tzinfo=timezone.utc)": dt.time(1, 2, tzinfo=dt.UTC),
    "timedelta(microseconds=-1)": dt.timedelta(microseconds=-1),
    'Decimal("10.00")': Decimal("10.00"),
    'Decimal("-Infinity")': Decimal("-Infinity"),
    "UUID(int=7)": UUID(int=7),
    'PurePosixPath("/a/b")': PurePosixPath("/a/b"),
    "Colour.RED": Colour.RED,
    "Access(5)": Access.READ | Access.RUN,
    "Point(1, 2)": Point(1, 2),
    "Refund(5)": Refund(5),
}  # fmt: skip


class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    number: int
    seat: Seat | None = None
    _cache: object = pydantic.PrivateAttr(default_factory=object)


class TwinOrder(Order):
    pass


@dataclasses.dataclass
class Texts(list):
    language: str


class Traced(Refund):
    """A plain subclass: it is free to hold what no field tells."""


class Name(str):
    __slots__ = ()


def cycle():
    value = []
    value += [value, value]
    return value


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


UNSTABLE = {
    "an object": object(),
    "a generator": (i for i in ()),
    "a lock": threading.Lock(),
    "a builtin function": len,
    "a lambda": lambda: 0,
    "a class": object,
    "a module": sys,
    "a complex number": 1j,
    "a range": range(3),
    "a memoryview": memoryview(b"x"),
    "an exception": ValueError("x"),
    "a subclass of str": Name("x"),
    "a subclass of datetime": type("Stamp", (dt.datetime,), {})(2026, 1, 1),
    "a dataclass below list": Texts("en"),
    "a cycle": cycle(),
    "too deep a nesting": nested(DEEPEST + 1),
}


def refusal(value):
    with pytest.raises(Unstable) as caught:
        canonical(value)
    return caught.value


def recorded_vectors():
    return json.loads((Path(__file__).parent / "vectors.json").read_text("utf-8"))


def test_the_code_agrees_with_the_vectors():
    """Recorded bytes never change under one version byte."""
    assert {text: canonical(value).hex() for text, value in VECTORS.items()} == recorded_vectors()


def test_the_document_agrees_with_the_vectors():
    """docs/record-format.md prints the very vectors that are tested."""
    document = (Path(__file__).parents[2] / "docs/record-format.md").read_text("utf-8")
    assert dict(re.findall(r"^\| `(.+)` \| `([0-9a-f]+)` \|$", document, re.MULTILINE)) == recorded_vectors()


def test_every_encoding_starts_with_the_version_byte():
    """A later format can be told from this one."""
    assert canonical(None)[:1] == loose(None)[:1] == b"\x01"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True), (1, 1.0), (1, "1"), (None, "None"), ({1: 0}, {"1": 0}), ({1: 0}, {True: 0}), ({"a": None}, {}),
        ({1}, [1]), ({1}, frozenset({1})), ([], {}), (set(), frozenset()), (["ab"], ["a", "b"]),
        ([["a"], "b"], [["a", "b"]]),
        (-0.0, 0.0), (Decimal(10), Decimal("10.00")), (Decimal(0), Decimal("-0")), (2**53, float(2**53)),
        ("é", "e\u0301"),
        (b"a", bytearray(b"a")), ("\ud83d\ude00", "\U0001f600"), (MIDNIGHT, MIDNIGHT.replace(fold=1)),
        (MIDNIGHT, MIDNIGHT.date()),
        (Refund(5), Charge(5)), (Refund(5), {"amount": 5}), (Seat(1, held=1), Seat(1, held=2)),
        (Point(1, 2), Place(1, 2)),
        (Point(1, 2), (1, 2)), (Colour.RED, "red"), (Colour.RED, Colour.BLUE), (Level.LOW, 1),
        (Access.READ, Access.READ | Access.RUN),
        (PurePosixPath("a"), "a"), (Order(number=1), TwinOrder(number=1)),
        (Order(number=1), Order(number=1, seat=Seat(1))),
        (Order(number=1), Order(number=1, gift=True)), (OrderedDict(a=1), {"a": 1}), (deque([1]), deque([1], 2)),
        (dt.time(1), dt.time(1, fold=1)),
    ],
    ids=ascii,
)  # fmt: skip
def test_values_that_are_two_arguments_differ(one, other):
    """Injective (DESIGN 5, Key)."""
    assert canonical(one) != canonical(other)
    assert canonical({"k": [one, 0]}) != canonical({"k": [other, 0]})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, ["a"]], (1, ("a",))),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        ({"aa", "bb", 1, None}, {None, 1, "bb", "aa"}),
        (dt.datetime(2026, 7, 1, tzinfo=NEW_YORK), dt.datetime(2026, 7, 1, tzinfo=dt.timezone(dt.timedelta(hours=-4)))),
        (MIDNIGHT.replace(tzinfo=dt.UTC), MIDNIGHT.replace(tzinfo=dt.UTC, fold=1)),
        (Colour.RED, Colour.CRIMSON),
        (Access.READ | Access.WRITE, Access.ALL),
        (Order(number=1), Order(number=1)),
        (Refund([1]), Refund((1,))),
    ],
    ids=ascii,
)
def test_values_that_are_one_argument_agree(one, other):
    """The wanted equalities (DESIGN 5, Key)."""
    assert canonical(one) == canonical(other)


def test_both_sides_of_a_fold_differ_in_a_zone():
    """An aware datetime counts by local time and UTC offset, and the offset tells the fold."""
    at = dt.datetime(2026, 11, 1, 1, 30, tzinfo=NEW_YORK)
    assert canonical(at) != canonical(at.replace(fold=1))


def test_integers_have_no_limit_of_digits():
    """Python's limit of 4300 digits concerns decimal text only."""
    assert canonical(10**5000) != canonical(10**5000 + 1)


def test_the_context_of_decimal_does_not_count():
    """The letter case of Decimal's exponent is a setting of the thread."""
    with localcontext() as context:
        context.capitals = 0
        context.prec = 1
        small = canonical(Decimal("1.23E+30")), loose(Decimal("123.0"))
    assert small == (canonical(Decimal("1.23E+30")), loose(123))


@pytest.mark.parametrize(
    ("value", "path", "why"),
    [
        (float("nan"), "", "NaN"),
        (Decimal("sNaN"), "", "NaN"),
        ({"k": [Refund(float("nan"))]}, "['k'][0].amount", "NaN"),
        ({"k": (0, {1, object})}, "['k'][1]{<class 'object'>}", "builtins.type"),
        (Order(number=1, seat=Seat(object())), ".seat.row", "builtins.object"),
        (deque([1, 1j]), "[1]", "complex"),
        ({frozenset({range(3)}): 1}, "[frozenset({range(0, 3)})]{range(0, 3)}", "range"),
        (dt.time(1, tzinfo=NEW_YORK), "", "offset depends on the day"),
    ],
)
def test_a_refusal_leads_to_the_part_at_fault(value, path, why):
    """UnstableArgument names what is wrong and where (DESIGN 5, Key)."""
    unstable = refusal(value)
    assert unstable.path == path
    assert why in unstable.why


@pytest.mark.parametrize("name", list(UNSTABLE))
def test_what_has_no_stable_encoding_is_refused(name):
    """Unknown types, subclasses of builtins and cycles are refused rather than guessed at."""
    refusal(UNSTABLE[name])
    refusal({"k": [UNSTABLE[name]]})


def test_attributes_that_no_field_tells_are_refused():
    """A plain subclass of a dataclass may hold more than its fields; leaving that out would make two calls one."""
    plain = Traced(5)
    assert canonical(plain) != canonical(Refund(5))
    plain.reason = "fraud"
    assert refusal([plain]).path == "[0].reason"


def test_nesting_is_taken_to_its_limit_and_no_further():
    """200 levels are encoded, one more is refused with a sentence."""
    canonical(nested(DEEPEST))
    assert "nested deeper" in refusal(nested(DEEPEST + 1)).why


def test_no_recursion_error_leaks_from_a_deep_stack():
    """Close to the limit of the stack the refusal is the same as for too deep a nesting."""

    def dig(levels):
        if levels:
            dig(levels - 1)
        else:
            assert "nested deeper" in refusal(nested(DEEPEST)).why
            assert loose([nested(DEEPEST)]) == b"\x01l1:?"

    dig(sys.getrecursionlimit() - 250)


def test_what_breaks_while_it_is_read_is_refused():
    """The code of a value's author can raise anything; the caller hears Unstable."""

    class Broken(dt.tzinfo):
        def utcoffset(self, when):
            raise LookupError("no table")

    assert "no table" in refusal([MIDNIGHT.replace(tzinfo=Broken())]).why


def test_a_refusal_survives_pickle():
    """Errors cross process pools."""
    again = pickle.loads(pickle.dumps(refusal({"k": float("nan")})))
    assert (again.path, again.why) == ("['k']", refusal(float("nan")).why)


def test_loose_forgives_the_spelling_of_numbers_and_nothing_else():
    """10, 10.0, Decimal("10.00") and "10.00" agree, recursively; True, "010", "1e1" and " 10" do not (DESIGN 5, Key)."""
    assert len({loose({"k": [n]}) for n in (10, 10.0, Decimal("10.00"), Decimal("1E+1"), "10", "10.00")}) == 1
    assert len({loose(n) for n in (0, -0.0, "0", "-0.00", Decimal("-0"))}) == 1
    assert len({loose(n) for n in (0.1, "0.1", Decimal("0.10"))}) == 1
    assert (
        len({loose(n) for n in (1, True, "01", "1e0", " 1", "1.", "+1", "\u0661", "1\n", 1.5, -1, 10, float("inf"))})
        == 13
    )
    assert loose({"10": 1}) == loose({10: "1"})


def test_loose_has_one_marker_for_what_cannot_be_encoded():
    """Two calls that differ only in what cannot be encoded count as one under one given key (DESIGN 5, Key)."""
    assert loose({"a": 1, "b": object()}) == loose({"a": 1, "b": threading.Lock()})
    assert loose({"a": 1, "b": object()}) != loose({"a": 2, "b": object()})
    assert loose(float("nan")) == loose(object()) == b"\x01?"
    assert loose([cycle()]) == loose([object()]) == loose([nested(DEEPEST)])
    assert loose({"a": 1, "b": cycle()}) == loose({"a": 1, "b": object()}) != loose({"a": 2, "b": cycle()})
