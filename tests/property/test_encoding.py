"""Both encodings over generated values: the key is injective and stable, the codec gives back what it was given."""

import dataclasses
import datetime as dt
import json
import os
import random
import subprocess
import sys
from collections import OrderedDict
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from call4agents_core._canonical import canonical, loose
from call4agents_core._codec import decode, encode
from call4agents_core._shown import escaped, shown
from tests.strategies import LOOK_ALIKES, values

ROOT = Path(__file__).parents[2]
thorough = settings(deadline=None, max_examples=200)


def identity(value):
    """What a value is apart from list = tuple and the name of a zone: an independent model of the key's equality."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return kind, tuple(identity(getattr(value, field.name)) for field in dataclasses.fields(kind))
    if kind in {list, tuple}:
        return list, tuple(map(identity, value))
    if isinstance(value, tuple):
        return kind, tuple(map(identity, value))
    if isinstance(value, dict):
        return kind, frozenset((identity(key), identity(item)) for key, item in value.items())
    if kind in {set, frozenset}:
        return kind, frozenset(map(identity, value))
    if kind is dt.datetime and value.tzinfo is not None:
        return kind, value.replace(tzinfo=None, fold=0), value.utcoffset()
    if kind is Decimal:
        return kind, value.as_tuple()
    return kind, repr(value)


def shuffled(value, order):
    """The same value, with the entries of every dict and set inserted in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(item, order)) for key, item in value.items()]
        order.shuffle(items)
        return type(value)(items)
    if type(value) in {set, frozenset}:
        members = list(value)
        order.shuffle(members)
        return type(value)(members)
    if type(value) in {list, tuple}:
        return type(value)(shuffled(item, order) for item in value)
    return value


def wholly_equal(one, other):
    """Equal with the same types at every depth; unlike repr, whatever order sets are in."""
    return encode(one) == encode(other) and repr(encode(one)) == repr(encode(other))


@thorough
@given(values(), values())
def test_two_values_share_their_bytes_only_if_they_are_one_argument(one, other):
    """Injective, apart from the two equalities that are wanted (DESIGN 5, Key)."""
    assert (canonical(one) == canonical(other)) == (identity(one) == identity(other))


def test_no_two_of_the_look_alikes_share_their_bytes():
    """Values that careless encodings confuse are all told apart (DESIGN 5, Key)."""
    assert len({canonical(value) for value in LOOK_ALIKES}) == len({identity(value) for value in LOOK_ALIKES})


@thorough
@given(values(), st.integers())
def test_the_order_of_keys_and_members_never_counts(value, seed):
    """Key and set order never matter (DESIGN 5, Key)."""
    assert canonical(shuffled(value, random.Random(seed))) == canonical(value)


@thorough
@given(values())
def test_no_encoding_is_the_start_of_another(value):
    """Self-delimiting, so that parts put side by side cannot be cut in another place."""
    assert canonical([value, "x"]) != canonical([value])
    assert canonical([value])[len(canonical([])) :] == canonical(value)[1:]


@thorough
@given(st.decimals(allow_nan=False, allow_infinity=False, places=3), st.integers(0, 30))
def test_every_spelling_of_one_number_is_one_loose_value(number, zeros):
    """Forgiven under one given key: 10, 10.0, Decimal("10.00") and "10.00" (DESIGN 5, Key)."""
    text = f"{number:f}"
    assert loose(number) == loose(text) == loose(text + "0" * zeros) == loose(Decimal(text + "0" * zeros))


@thorough
@given(values())
def test_the_codec_gives_back_the_same_value_with_the_same_type(value):
    """A result is never lost for its type (DESIGN 5)."""
    back = decode(json.loads(json.dumps(encode(value), ensure_ascii=True, allow_nan=False)))
    assert type(back) is type(value)
    assert wholly_equal(back, value)
    assert identity(back) == identity(value)


@thorough
@given(values())
def test_a_value_keeps_its_key_through_the_codec(value):
    """What is stored and read again is the same argument."""
    assert canonical(decode(encode(value))) == canonical(value)


@thorough
@given(st.text(st.characters()))
def test_escaped_text_is_printable_and_escaping_it_again_changes_nothing(text):
    """Nothing that a person decides by is invisible (DESIGN 5, Approval)."""
    assert escaped(text).isprintable()
    assert escaped(escaped(text)) == escaped(text)
    assert shown(text).isprintable()


CORPUS = """
import dataclasses, datetime as dt, enum, hashlib, json, pathlib, uuid, zoneinfo
from collections import OrderedDict, deque, namedtuple
from decimal import Decimal, getcontext
from call4agents_core._canonical import canonical, loose
from call4agents_core._codec import encode

@dataclasses.dataclass
class Refund:
    amount: int
    note: str = "x"

class Access(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4

Point = namedtuple("Point", "x y")
getcontext().capitals = 0
ny = zoneinfo.ZoneInfo("America/New_York")
corpus = [
    None, True, 0, -7, 10**5000, 0.1, -0.0, 1e22, float("inf"), "", "text \\u00e9 \\u202e \\ud83d", b"\\x00\\xff", bytearray(b"a"),
    Decimal("1E+30"), Decimal("10.00"), uuid.UUID(int=5), pathlib.PurePosixPath("/a/b"), pathlib.PureWindowsPath("C:/a"),
    dt.datetime(1, 1, 1), dt.datetime(2026, 11, 1, 1, 30, fold=1, tzinfo=ny), dt.date(2026, 1, 2), dt.time(1, 2, 3, 4),
    dt.timedelta(-1, 5), Access.READ, Access.READ | Access.RUN, Access(0), Point(1, [2]), Refund(5),
    {"b": {"y": 1, "x": 2}, "a": {"cc", "aa", 1, None, (1, "z"), frozenset("abc")}}, OrderedDict(b=1, a=2), deque([1], 3),
    set("abcdefgh"), frozenset(range(50)), {1: "a", "1": "b", None: "c"},
]
print(hashlib.sha256(b"".join(map(canonical, corpus))).hexdigest())
print(hashlib.sha256(b"".join(map(loose, corpus))).hexdigest())
print(hashlib.sha256("".join(json.dumps(encode(v)) for v in corpus if not isinstance(v, (Point, Refund, Access))).encode()).hexdigest())
"""


def digests(python, **environment):
    """The digests of the corpus as a fresh process of that Python computes them."""
    child = subprocess.run(
        [python, "-c", CORPUS],
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


def pythons():
    """One interpreter of each supported version that pyenv has."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in ("3.11", "3.12", "3.13", "3.14"):
        found = sorted(versions.glob(f"{minor}.*/bin/python"))
        missing = pytest.mark.skipif(not found, reason=f"pyenv has no Python {minor}")
        yield pytest.param(found[-1] if found else None, id=minor, marks=missing)


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "4242"},
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LC_ALL": "C.UTF-8", "TZ": "Asia/Kolkata"},
        {"TZ": "America/New_York", "PYTHONOPTIMIZE": "2"},
    ],
    ids=lambda environment: " ".join(f"{name}={value}" for name, value in environment.items()),
)
def test_the_bytes_are_the_same_under_every_hash_seed_locale_and_time_zone(environment):
    """The key survives a restart in any environment (DESIGN 5, Key)."""
    assert digests(sys.executable, **environment) == digests(sys.executable, PYTHONHASHSEED="0", TZ="UTC")


@pytest.mark.parametrize("python", list(pythons()))
def test_the_bytes_are_the_same_on_every_python(python):
    """The key survives an upgrade of Python (DESIGN 5, Key)."""
    assert digests(python, PYTHONHASHSEED="7") == digests(sys.executable, PYTHONHASHSEED="0")


def test_an_ordered_dict_is_no_dict():
    """Each container has a tag of its own, apart from list and tuple."""
    assert canonical(OrderedDict(a=1)) != canonical({"a": 1})
