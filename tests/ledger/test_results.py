"""A result is never lost for its type, and an action never in doubt for it."""

import dataclasses
import datetime as dt
import enum
import threading
import uuid
import zoneinfo
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pydantic
import pytest

import call4agents_core as c4a
from call4agents_core.errors import ResultNotKept
from tests.kit import Opaque

pytestmark = pytest.mark.usefixtures("ledger", "in_run")
NEW_YORK = zoneinfo.ZoneInfo("America/New_York")


class Colour(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclasses.dataclass
class Refund:
    amount: object


class Seat(pydantic.BaseModel):
    row: int
    held: dt.datetime | None = None


KEPT = [
    None, True, 0, 2**70, 1.5, -0.0, "", "text é \u202e", [1, [2]], {"a": {"b": [None]}}, (1, (2, 3)), {1, 2}, frozenset("ab"),
    b"\x00\xff", Decimal("10.00"), uuid.UUID(int=5), Colour.RED, Point(1, 2), Refund(Refund([1])), Seat(row=3), Path("/data/x"),
    dt.datetime(2026, 1, 2), dt.datetime(2026, 11, 1, 1, 30, fold=1, tzinfo=NEW_YORK), dt.date(2026, 1, 2), dt.time(1, 2, fold=1),
    dt.timedelta(days=1, microseconds=3), {1: "int key"}, {"mixed": (1, b"x", {Decimal(1)})}, float("inf"), 1j, range(3),
    Seat(row=1, held=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
]  # fmt: skip


@pytest.mark.parametrize("value", KEPT, ids=[f"{n}-{type(value).__name__}" for n, value in enumerate(KEPT)])
def test_a_done_action_gives_its_result_with_its_type(value, ledger):
    """The first call returns what the tool returned, a later one an equal value of the same type; it runs once."""
    ran = []

    @c4a.effect
    def give():
        ran.append(1)
        return value

    first, second = give(), give()
    assert first is value
    assert type(second) is type(value)
    assert second == value
    assert ran == [1]
    (row,) = ledger.store.actions()
    assert row.state == "done"


def local_class():
    @dataclasses.dataclass
    class Local:
        n: int

    return Local(3)


def cycle():
    found: list[object] = []
    found.append(found)
    return found


NOT_KEPT = {
    "no known type": Opaque("x"),
    "a lock": threading.Lock(),
    "an exception": ValueError("x"),
    "a function": cycle,
    "a class": Opaque,
    "a class that nobody can import": local_class(),
    "a cycle": cycle(),
    "a generator": (n for n in ()),
}


@pytest.mark.parametrize("value", NOT_KEPT.values(), ids=NOT_KEPT)
def test_a_result_of_no_known_type_is_done_all_the_same(value, ledger):
    """The caller gets the object; a later call hears that the action is done and what it was, and nothing runs again."""
    ran = []

    @c4a.effect
    def give():
        ran.append(1)
        return value

    assert give() is value
    for _ in range(2):
        with pytest.raises(ResultNotKept) as caught:
            give()
    assert caught.value.shown
    assert ran == [1]
    assert [row.state for row in ledger.store.actions()] == ["done"]


class Rude:
    def __repr__(self):
        raise RuntimeError("no text for you")


def test_a_result_whose_repr_raises_is_done_all_the_same():
    """Its class is shown instead."""

    @c4a.effect
    def give():
        return Rude()

    assert isinstance(give(), Rude)
    with pytest.raises(ResultNotKept, match="Rude"):
        give()


def test_a_result_is_what_it_was_when_the_tool_returned():
    """The caller may change the object afterwards; the record does not change with it."""

    @c4a.effect
    def give():
        return {"items": [1]}

    give()["items"].append(2)
    again = give()
    assert again == {"items": [1]}
    again["items"].append(3)
    assert give() == {"items": [1]}
