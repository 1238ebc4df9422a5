"""The codec: values come back with their type, and what would not is refused on the way in or out."""

import dataclasses
import datetime as dt
import decimal
import enum
import io
import ipaddress
import json
import re
import threading
import types
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from pathlib import Path, PurePosixPath, PureWindowsPath

import pydantic
import pytest

from call4agents_core import _codec
from call4agents_core._codec import DEEPEST, NotRestorable, NotStorable, decode, encode, register
from tests.strategies import Access, Colour, Level, Place, Point, Refund, Seat

NEW_YORK = zoneinfo.ZoneInfo("America/New_York")


@dataclasses.dataclass
class Halfway:
    amount: int = dataclasses.field(init=False)


@dataclasses.dataclass
class Failure(Exception):
    code: int


class Frozen(pydantic.BaseModel, frozen=True):
    part: Refund


class Listing(pydantic.RootModel[list[int]]):
    pass


class Outer:
    class Inner(enum.Enum):
        A = (1, 2)


class Name(str):
    __slots__ = ()


def stored(value):
    """Through JSON text, as a ledger does it."""
    return json.loads(json.dumps(encode(value), ensure_ascii=True, allow_nan=False))


def back(value):
    return decode(stored(value))


def nested(levels, wrap):
    value = 1
    for _ in range(levels):
        value = wrap(value)
    return value


KEPT = [
    None, True, 0, -7, 2**63 - 1, -(2**63), 2**63, -(2**70), 1.5, 0.1, -0.0, 1e300, float("nan"), float("inf"),
    float("-inf"),
    "", "é \u202e \0", "\ud83d", "\ud83d\ude00", "\U0001f600", [], [1, [2]], {}, {"a": {"b": [None]}}, {"b": 1, "a": 2},
    (), (1, (2, [3])), {1: "int key"}, {"\ud83d": 1}, {(1, 2): {None: b"x"}},
    {"mixed": (1, b"x", {decimal.Decimal(1)})},
    set(), {1}, frozenset(), frozenset({(1, "a")}), b"", b"\x00\xff", bytearray(b"a"), OrderedDict(b=1, a=2),
    deque([1, (2,)], 3), deque(),
    dt.datetime(2026, 1, 2), dt.datetime(2026, 11, 1, 1, 30, 0, 1, fold=1, tzinfo=NEW_YORK),
    dt.datetime(1, 1, 1, tzinfo=dt.UTC),
    dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1), "CET")),
    dt.datetime.max.replace(tzinfo=zoneinfo.ZoneInfo("UTC")),
    dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=-1, microseconds=5))),
    dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(0), "X")),
    dt.date(2026, 1, 2), dt.time(1, 2, 3, 4, fold=1), dt.time(1, tzinfo=NEW_YORK), dt.timedelta(-1, 5, 3),
    dt.timedelta.max,
    decimal.Decimal("10.00"), decimal.Decimal("-0E+5"), decimal.Decimal("NaN12"), decimal.Decimal("-Infinity"),
    uuid.UUID(int=5),
    Path("/data/x"), Path(), PurePosixPath("a\udcff"), PureWindowsPath("C:\\a"), 1j, complex(-0.0, float("nan")),
    range(3), range(10**30, 0, -7),
    Colour.RED, Colour.CRIMSON, Level.HIGH, Access.READ, Access.READ | Access.RUN, Access(0), Outer.Inner.A,
    re.IGNORECASE | re.MULTILINE,
    Refund(3), Refund(Refund([1])), Seat(1, "B", (1,)), Point(1, [2]), Place(1),
    {"deep": [Refund((Colour.RED, {Point(1, 2)}))]},
    Frozen(part=Refund(1)), Listing([1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("value", KEPT, ids=[f"{i}-{type(value).__name__}" for i, value in enumerate(KEPT)])
def test_a_value_comes_back_with_its_type(value):
    """A result is never lost for its type (DESIGN 5)."""
    again = back(value)
    assert type(again) is type(value)
    assert repr(again) == repr(value)
    assert again == value or "nan" in repr(value).lower()


def test_an_integer_has_no_limit_of_digits():
    """Python's limit of 4300 digits concerns decimal text only."""
    assert back(10**5000 + 1) == 10**5000 + 1


@pytest.mark.parametrize(
    "value", [None, True, -5, 2**63 - 1, -0.0, "é", [1, ["x"]], {"a": {"b": [None, 1.5]}, "v": 1}], ids=ascii
)
def test_plain_json_stands_for_itself(value):
    """A ledger stays readable with any JSON tool."""
    assert encode(value) == value
    assert repr(encode(value)) == repr(value)


@pytest.mark.parametrize(
    "value", [{"$": "bytes", "v": "YWJj"}, {"$": 1}, [{"$": {"$": "tuple", "v": []}}], {"$": "nothing of ours", "v": 1}]
)
def test_a_dict_that_looks_like_a_tag_stays_a_dict(value):
    """Nothing that a tool returns can be read as a tag."""
    assert back(value) == value
    assert back(encode(value)) == encode(value)


def test_equal_sets_are_stored_alike():
    """Two recordings of one result can be compared as text, whatever the hash seed."""
    assert encode({8, 0, 16, "a"}) == encode({"a", 16, 8, 0})


def test_the_document_names_every_tag():
    """docs/record-format.md lists what the code writes, and nothing else."""
    document = (Path(__file__).parents[2] / "docs/record-format.md").read_text("utf-8").partition("## Stored values")[2]
    section = document.partition("\n## ")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| .* \| `(.+)` \|$", section, re.MULTILINE)
    tags = {tag.strip("`") for names, _ in rows for tag in names.split(", ")}
    assert tags == set(_codec._DECODERS) - set(_codec._REGISTERED)
    for _, example in rows:
        if '"shop"' not in example:  # a class that only the document knows
            assert stored(decode(json.loads(example))) == json.loads(example)


def cycle():
    value = {}
    value["again"] = [value]
    return value


def recursive_dataclass():
    value = Refund(None)
    value.amount = value
    return value


def nameless_zone():
    found = next(path for folder in zoneinfo.TZPATH if (path := Path(folder) / "UTC").exists())
    return zoneinfo.ZoneInfo.from_file(io.BytesIO(found.read_bytes()))


REFUSED = {
    "an object": object(),
    "a lock": threading.Lock(),
    "a function": len,
    "a class": Refund,
    "a generator": (i for i in ()),
    "an exception": ValueError("x"),
    "a dataclass below Exception": Failure(3),
    "a dataclass without its field": Halfway(),
    "a subclass of str": Name("x"),
    "a subclass of dict": Counter("a"),
    "a defaultdict": defaultdict(list),
    "a mapping proxy": types.MappingProxyType({}),
    "a zone of another class": dt.datetime(2026, 1, 1, tzinfo=type("Zone", (dt.tzinfo,), {})()),
    "a zone without a key": dt.time(1, tzinfo=nameless_zone()),
    "a cycle": cycle(),
    "a cycle of dataclasses": recursive_dataclass(),
    "too deep a nesting": nested(DEEPEST + 1, lambda value: [value]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_would_not_come_back_is_refused(name):
    """NotStorable, never a value of another type (ResultNotKept in DESIGN 5)."""
    for value in (REFUSED[name], {"k": (REFUSED[name],)}):
        with pytest.raises(NotStorable) as caught:
            encode(value)
        assert caught.value.why


WRAPS = {
    "list": lambda value: [value],
    "tuple": lambda value: (value,),
    "dict": lambda value: {1: value},
    "frozenset": lambda value: frozenset({value}),
    "dataclass": Refund,
    "namedtuple": Place,
}


@pytest.mark.parametrize("wrap", list(WRAPS.values()), ids=list(WRAPS))
def test_deep_nesting_is_kept_or_refused_but_never_a_recursion_error(wrap):
    """Whatever the encoding takes, JSON and the decoding take too."""
    for levels in (50, 100, DEEPEST - 1, DEEPEST, DEEPEST + 1, 400):
        value = nested(levels, wrap)
        try:
            text = json.dumps(encode(value))
        except NotStorable:
            assert levels > 90
        else:
            assert repr(decode(json.loads(text))) == repr(value)


def test_too_deep_a_record_is_refused():
    """A forged or foreign record raises NotRestorable, not RecursionError."""
    with pytest.raises(NotRestorable, match="too deeply"):
        decode(nested(5000, lambda value: [value]))


# ---- foreign data ----


@pytest.mark.parametrize(
    "data",
    [
        {"$": "unheard of", "v": 1}, {"$": "tuple"}, {"$": ["tuple"], "v": []}, {"$": "bytes", "v": "?"},
        {"$": "datetime", "v": "now"},
        {"$": "datetime", "v": ["2026-01-01T00:00:00", 0, ["zoneinfo", "Mars/Base"]]},
        {"$": "time", "v": ["01:00", 0, ["offset", 9, 9, 9]]},
        {"$": "path", "v": ["open", "/etc/passwd"]}, {"$": "path", "v": ["WindowsPath", "a"]},
        {"$": "set", "v": [[1]]}, {"$": "int", "v": "xyz"},
        {"$": "dataclass", "v": ["tests.strategies", "Refund", {"amount": 1, "__class__": 1}]},
        {"$": "dataclass", "v": []}, {"$": "uuid", "v": "x"},
        {"$": "enum", "v": ["tests.strategies", "Colour", []]},
        {"$": "namedtuple", "v": ["tests.strategies", "Point", [1, 2]]},
    ],
    ids=ascii,
)  # fmt: skip
def test_a_record_that_is_none_of_ours_is_refused(data):
    """Malformed data raises NotRestorable with a sentence, and nothing else."""
    with pytest.raises(NotRestorable) as caught:
        decode([data])
    assert caught.value.why


# ---- types that a plugin adds ----


@pytest.fixture
def registry(monkeypatch):
    """Put the tables back after the test."""
    for table in ("_ENCODERS", "_DECODERS", "_REGISTERED"):
        monkeypatch.setattr(_codec, table, dict(getattr(_codec, table)))


@pytest.mark.usefixtures("registry")
def test_a_registered_class_is_stored_by_its_own_functions():
    """Plugins keep their framework's result types (DESIGN 5); the registration comes before dataclass and Pydantic."""
    register(ipaddress.IPv4Address, "ipv4", lambda value: (str(value),), lambda parts: ipaddress.IPv4Address(*parts))
    register(Refund, "refund", lambda value: {1: value.amount}, lambda data: Refund(data[1]))
    value = [ipaddress.IPv4Address("10.0.0.1"), Refund({"$": 1})]
    assert back(value) == value
    assert encode(Refund(1))["$"] == "refund"


@pytest.mark.usefixtures("registry")
def test_a_second_registration_of_the_same_class_replaces_the_first():
    """A module that is loaded again may register again."""
    register(Name, "name", str, lambda text: Name("old"))
    register(Name, "name", str, Name)
    assert type(back(Name("new"))) is Name
    assert back(Name("new")) == "new"


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("kind", "tag"), [(Name, "tuple"), (Name, "refund"), (dict, "mine"), (decimal.Decimal, "mine"), (Refund, "second")]
)
def test_a_tag_and_a_class_have_one_use_only(kind, tag):
    """A plugin cannot change what stored data means."""
    register(Refund, "refund", lambda value: value.amount, Refund)
    with pytest.raises(ValueError, match="already"):
        register(kind, tag, str, str)


@pytest.mark.usefixtures("registry")
def test_a_decoder_that_returns_another_type_is_refused():
    """The same type, or ResultNotKept."""
    register(Name, "name", str, str)
    with pytest.raises(NotRestorable, match="not a Name"):
        back(Name("x"))


@pytest.mark.usefixtures("registry")
def test_errors_of_a_plugin_stay_within_ours():
    """Whatever a plugin's functions raise, the caller hears NotStorable or NotRestorable."""

    def fail(_value):
        raise LookupError("no such thing")

    register(Name, "name", fail, str)
    with pytest.raises(NotStorable, match="no such thing"):
        encode(Name("x"))
    register(Name, "name", str, fail)
    with pytest.raises(NotRestorable, match="no such thing"):
        back(Name("x"))
