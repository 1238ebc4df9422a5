"""Classes and Hypothesis strategies that several tests share; importable, since the codec names classes by module."""

import dataclasses
import datetime as dt
import enum
import uuid
import zoneinfo
from collections import OrderedDict, namedtuple
from decimal import Decimal
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from hypothesis import strategies as st


@dataclasses.dataclass
class Refund:
    amount: Any


@dataclasses.dataclass
class Charge:
    amount: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Seat:
    row: int
    letter: str = "A"
    held: Any = dataclasses.field(default=None, compare=False)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"
    CRIMSON = "red"  # noqa: PIE796 - an alias


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2
    ALL = 3
    RUN = 4


class Place(NamedTuple):
    x: Any
    y: Any = 0


Point = namedtuple("Point", "x y")  # noqa: PYI024 - the untyped kind is met too


ZONES = (
    dt.UTC,
    dt.timezone(dt.timedelta(hours=-4)),
    dt.timezone(dt.timedelta(hours=1), "CET"),
    dt.timezone(dt.timedelta(seconds=-17762, microseconds=1)),
    zoneinfo.ZoneInfo("America/New_York"),
    zoneinfo.ZoneInfo("Europe/Berlin"),
    zoneinfo.ZoneInfo("UTC"),
)

#: Values that careless encodings take for each other: drawn often, so that a pair of them meets in one place.
LOOK_ALIKES = (
    None, "None", "null", "", 0, False, 0.0, -0.0, Decimal(0), Decimal("0.00"), 1, True, 1.0, "1", "1.0", Decimal(1),
    Decimal("1.0"), b"", b"1", "b'1'", bytearray(b"1"), 2**53, 2**53 + 1, float(2**53), float("inf"), "inf",
    Decimal("inf"),
    dt.date(2026, 1, 2), "2026-01-02", dt.datetime(2026, 1, 2), dt.datetime(2026, 1, 2, fold=1),
    dt.timedelta(seconds=1),
    dt.time(1), dt.time(1, fold=1), uuid.UUID(int=1), str(uuid.UUID(int=1)), PurePosixPath("a"),
    PureWindowsPath("a"), "a",
    Colour.RED, Colour.BLUE, "red", Level.LOW, Access.READ, Access.READ | Access.RUN, "\u00e9", "e\u0301",
    "ali\u200bce",
    "\ud83d", "\ud83d\ude00", "\U0001f600", "$",
)  # fmt: skip


def aware_datetimes() -> st.SearchStrategy[dt.datetime]:
    """Datetimes in zones of both kinds, folds and gaps included."""
    return st.builds(
        lambda at, zone, fold: at.replace(tzinfo=zone, fold=fold),
        st.datetimes() | st.sampled_from([dt.datetime(2026, 11, 1, 1, 30), dt.datetime(2026, 3, 8, 2, 30)]),
        st.sampled_from(ZONES),
        st.integers(0, 1),
    )


def hashable_leaves() -> st.SearchStrategy[Any]:
    """Single values without parts, NaN left out."""
    return st.one_of(
        st.sampled_from([value for value in LOOK_ALIKES if not isinstance(value, bytearray)]),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(st.characters(), max_size=5),
        st.binary(max_size=5),
        st.decimals(allow_nan=False),
        st.datetimes(),
        aware_datetimes(),
        st.dates(),
        st.times(),
        st.timedeltas(),
        st.uuids(),
    )


def hashables() -> st.SearchStrategy[Any]:
    """Values that a set or the key of a dict may be."""
    return st.recursive(
        hashable_leaves(),
        lambda inner: st.tuples(inner) | st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
        max_leaves=4,
    )


def values() -> st.SearchStrategy[Any]:
    """Arguments and results of every kind that both encodings take."""
    return st.recursive(
        hashable_leaves() | st.just(bytearray(b"1")),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(st.text(max_size=3) | st.sampled_from(["$", "v", "1"]), inner, max_size=3),
            st.dictionaries(hashables(), inner, max_size=3),
            st.dictionaries(hashables(), inner, max_size=2).map(OrderedDict),
            st.sets(hashables(), max_size=3),
            st.frozensets(hashables(), max_size=3),
            st.builds(Refund, inner),
            st.builds(Charge, inner),
            st.builds(Seat, st.integers(0, 3), st.sampled_from("AB"), inner),
            st.builds(Place, inner, inner),
            st.builds(Point, inner, inner),
        ),
        max_leaves=8,
    )
