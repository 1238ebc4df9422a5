"""Random JSON for the decoder, and for the encoder of keys: a value or an error of ours, and nothing is imported or made that must not be."""

from __future__ import annotations

import dataclasses
import enum
import json
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from call4agents_core import _canonical, _codec
from call4agents_core._classes import KINDS
from tests.strategies import Colour, Place, Point, Refund

TAGS = sorted(_codec._DECODERS)
MODULES = [
    "tests.strategies",
    "os",
    "builtins",
    "subprocess",
    "enum",
    "re",
    "http",
    "",
    "__main__",
    "__main__:x",
    "no.such",
    "this",
]
NAMES = [
    "Refund",
    "Point",
    "Place",
    "Colour",
    "system",
    "eval",
    "Popen",
    "Enum",
    "Flag",
    "RegexFlag",
    "HTTPStatus",
    "",
    "a.b",
    "__class__",
]

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(MODULES + NAMES)
    | st.sampled_from(["2026-01-01", "2026-01-01T00:00:00", "01:00", "offset", "zoneinfo", "UTC", "0x1f", "YWJj", "PosixPath", "RED", "amount"])
)  # fmt: skip


def compound(inner):
    """Lists, dicts, and dicts that look like tags."""
    named = st.tuples(st.sampled_from(MODULES), st.sampled_from(NAMES), inner).map(list)
    return (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=4) | st.sampled_from(["$", "v", "amount", "__class__", "x", "y"]), inner, max_size=4
        )
        | st.fixed_dictionaries({"$": st.sampled_from(TAGS) | inner, "v": inner | named})
        | st.fixed_dictionaries({"$": st.sampled_from(sorted(KINDS)), "v": named})
    )


JSON = st.recursive(SCALARS, compound, max_leaves=20)


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch):
    """Whatever would run a program is an error here."""
    import os
    import subprocess

    def never(*_args, **_options):
        pytest.fail("something was run")

    for place, name in ((os, "system"), (subprocess, "Popen")):  # not exec: an import is made of it
        monkeypatch.setattr(place, name, never)


def _parts(value, depth=0):
    yield value
    if depth < 50:
        inner = list(value.values()) + list(value) if isinstance(value, dict) else []
        if isinstance(value, (list, tuple, set, frozenset)):
            inner = list(value)
        elif dataclasses.is_dataclass(value):
            inner = list(vars(value).values())
        for part in inner:
            yield from _parts(part, depth + 1)


PLAIN = {
    "NoneType", "bool", "int", "float", "str", "list", "dict", "tuple", "set", "frozenset", "OrderedDict", "deque", "bytes",
    "bytearray", "datetime", "time", "date", "timedelta", "complex", "range", "Decimal", "UUID", "PosixPath", "PurePosixPath",
    "PureWindowsPath",
}  # fmt: skip


def decoded(stored):
    """Decode, and look at what came of it."""
    try:
        value = _codec.decode(stored)
    except _codec.NotRestorable as error:
        assert error.why  # noqa: PT017 - either outcome is right
        return
    for part in _parts(value):
        kind = type(part)
        assert not isinstance(part, type), f"a class came out: {part}"
        assert (
            kind.__name__ in PLAIN
            or isinstance(part, (enum.Enum, Refund, Point, Place))
            or dataclasses.is_dataclass(kind)
        )


def settled(examples):
    """Random examples; a failing one is printed, with what gives it back."""
    return settings(
        max_examples=examples, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck), database=None
    )


@settled(300)
@given(JSON)
def test_the_decoder_gives_a_value_or_not_restorable(stored):
    """Of a kind that it knows; no other exception, and no class, function or module ever comes out."""
    decoded(stored)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settled(20_000)
@given(JSON)
def test_the_decoder_gives_a_value_or_not_restorable_many_times(stored):
    """The same, many times."""
    decoded(stored)


def encoded(value):
    """Both encodings of a value: bytes, the same after a trip through JSON where that keeps the value, or Unstable."""
    try:
        first = _canonical.canonical(value)
    except _canonical.Unstable as error:
        assert error.why  # noqa: PT017 - either outcome is right
    else:
        assert _canonical.canonical(json.loads(json.dumps(value))) == first
    assert isinstance(_canonical.loose(value), bytes)


@settled(300)
@given(JSON)
def test_the_encoder_of_keys_gives_bytes_or_unstable(value):
    """And `loose` gives bytes always."""
    encoded(value)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settled(20_000)
@given(JSON)
def test_the_encoder_of_keys_gives_bytes_or_unstable_many_times(value):
    """The same, many times."""
    encoded(value)


@pytest.mark.parametrize("tag", sorted(KINDS))
@pytest.mark.parametrize(
    ("module", "name"),
    [("os", "system"), ("builtins", "eval"), ("subprocess", "Popen"), ("builtins", "type"), ("tests.strategies", "Colour.__class__"),
     ("call4agents_core._codec", "register"), ("collections", "Counter")],
)  # fmt: skip
def test_a_name_of_another_kind_is_refused(tag, module, name):
    """A stored name leads to an Enum, a dataclass, a namedtuple class or a Pydantic model, or nowhere."""
    for state in ({}, [], "RED", ["true"], {"args": ["true"]}):
        with pytest.raises(_codec.NotRestorable):
            _codec.decode({"$": tag, "v": [module, name, state]})


def test_a_script_is_not_imported_by_its_name():
    """To import it would run it."""
    sys.modules.pop("this", None)
    with pytest.raises(_codec.NotRestorable):
        _codec.decode({"$": "enum", "v": ["__main__:this", "s", "x"]})
    assert "this" not in sys.modules
    assert _codec.decode({"$": "enum", "v": ["tests.strategies", "Colour", "RED"]}) is Colour.RED
