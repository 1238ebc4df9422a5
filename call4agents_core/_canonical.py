"""Values as bytes: injective, and the same on every Python, machine, locale, time zone and hash seed.

Keys of actions and the strict digest of an approval are made of these bytes, so two values that are not one argument
must never share them. The layout stands in docs/record-format.md, with test vectors; a change of it needs another
version byte. Two equalities are wanted, because a trip through a checkpoint makes them: a tuple equals a list, and an
aware datetime counts by local time and UTC offset.

Modules that are slow to import (dataclasses, decimal, pathlib, uuid) are left alone: whoever holds a value of theirs
has imported them already.
"""

from __future__ import annotations

import datetime as dt
import re
import struct
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from call4agents_core._classes import (
    class_text,
    field_names,
    is_dataclass,
    is_enum,
    is_model,
    is_namedtuple,
    model_fields,
    module_name,
)
from call4agents_core._shown import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from decimal import Decimal
    from enum import Enum
    from pathlib import PurePath

__all__ = ["Unstable", "canonical", "loose", "module_name"]

VERSION: Final = b"\x01"
DEEPEST: Final = 200

_Walk: TypeAlias = Callable[[object, int], bytes]
_Encoder: TypeAlias = Callable[[Any, int, _Walk], bytes]

_TOO_DEEP: Final = f"is nested deeper than {DEEPEST} levels, or contains itself"
_IS_NAN: Final = "is NaN, which equals nothing, not even itself"
_LONGEST_PATH: Final = 100
_MARKER: Final = b"?"
_PLAIN_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_DOUBLE: Final = struct.Struct(">d")


class Unstable(Exception):
    """A value without a stable encoding: `path` leads to the part at fault, `why` is a sentence fragment.

    The path starts at the value that was given, as in `['k'][0].amount`; it is empty when that value itself is meant.
    """

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path = path if len(path) <= _LONGEST_PATH else path[:_LONGEST_PATH] + "…"
        self.why = why

    def __str__(self) -> str:
        return f"{self.path} {self.why}".lstrip()

    def inside(self, step: str) -> Unstable:
        """Return the same refusal as seen from the container in which `step` leads to the value."""
        return type(self)(step + self.path, self.why)


class _TooDeep(Unstable):
    """Told apart so that `loose` does not try every way round a cycle."""


def canonical(value: object) -> bytes:
    """Return the bytes that stand for `value`, a version byte first.

    Raises `Unstable` for what has no stable encoding: NaN, cycles, and every type that is not listed in
    docs/record-format.md, subclasses of the listed ones included.
    """
    try:
        return VERSION + _strict(value, 0)
    except Unstable:
        raise
    except RecursionError:
        raise _TooDeep("", _TOO_DEEP) from None
    except Exception as error:  # reading a value can run its author's code
        raise Unstable("", f"could not be read ({shown(error, 200)})") from error


def loose(value: object) -> bytes:
    """Return bytes that agree for values which differ only in how a number is spelled. Never raises.

    10, 10.0, Decimal("10.00") and "10.00" agree, at any depth; True and 1 do not. What cannot be encoded counts as one
    fixed marker; too deep a nesting makes a marker of the whole item of `value` that it is in.
    """
    return VERSION + _loose(value, 0)


# ---- walking: an encoder gets the value, its depth, and the walk that it hands its parts to ----


def _strict(value: object, depth: int) -> bytes:
    return _ENCODERS.get(type(value), _other)(value, depth, _strict)


def _loose(value: object, depth: int) -> bytes:
    try:
        number = _number(value)
        if number is not None:
            return _sized(b"#", _without_spelling(number))
        return _ENCODERS.get(type(value), _other)(value, depth, _loose)
    except (RecursionError, _TooDeep):
        if depth > 1:
            raise
    except Exception:  # whatever it was, the value cannot be encoded
        return _MARKER
    return _MARKER


def _check_depth(depth: int) -> None:
    if depth >= DEEPEST:
        raise _TooDeep("", _TOO_DEEP)


# ---- containers ----


def _collection(tag: bytes, *, ordered: bool) -> _Encoder:
    def encode(value: Collection[object], depth: int, walk: _Walk) -> bytes:
        _check_depth(depth)
        parts: list[bytes] = []
        item: object = None
        try:
            for item in tuple(value):
                parts.append(walk(item, depth + 1))
        except Unstable as unstable:
            step = f"[{len(parts)}]" if ordered else f"{{{shown(item, 40)}}}"
            raise unstable.inside(step) from None
        if not ordered:
            parts.sort()
        return b"%b%d:%b" % (tag, len(parts), b"".join(parts))

    return encode


def _items(tag: bytes, step: Callable[[object], str]) -> _Encoder:
    def encode(value: Mapping[object, object], depth: int, walk: _Walk) -> bytes:
        _check_depth(depth)
        parts: list[bytes] = []
        key: object = None
        try:
            for key, item in tuple(value.items()):
                parts.append(walk(key, depth + 1) + walk(item, depth + 1))
        except Unstable as unstable:
            raise unstable.inside(step(key)) from None
        parts.sort()  # by key first, since no encoding is the start of another
        return b"%b%d:%b" % (tag, len(parts), b"".join(parts))

    return encode


def _subscript(key: object) -> str:
    return f"[{shown(key, 40)}]"


_sequence: Final = _collection(b"q", ordered=True)
_fields: Final = _items(b"d", lambda name: f".{name}")


# ---- single values ----


def _sized(tag: bytes, content: bytes) -> bytes:
    return b"%b%d:%b" % (tag, len(content), content)


def _text(text: str) -> bytes:
    return _sized(b"s", text.encode("utf-8", "surrogatepass"))


def _str(value: str, _depth: int, _walk: _Walk) -> bytes:
    encoded = value.encode("utf-8", "surrogatepass")
    return b"s%d:%b" % (len(encoded), encoded)  # _text, spared the calls: most values are text


def _int(value: int, _depth: int, _walk: _Walk) -> bytes:
    return b"i%x;" % value  # hexadecimal: linear in time, and without the limit of 4300 digits


def _float(value: float, _depth: int, _walk: _Walk) -> bytes:
    if value != value:  # noqa: PLR0124 - this is how NaN is told
        raise Unstable("", _IS_NAN)
    return b"f" + _DOUBLE.pack(value)


def _decimal(value: Decimal, _depth: int, _walk: _Walk) -> bytes:
    if value.is_nan():
        raise Unstable("", _IS_NAN)
    sign, digits, exponent = value.as_tuple()  # not str(): the case of its E depends on the thread's context
    figures = "inf" if exponent == "F" else "".join(map(str, digits)) + f"e{exponent}"
    return _sized(b"n", ("-" * sign + figures).encode())


def _datetime(value: dt.datetime, _depth: int, _walk: _Walk) -> bytes:
    offset = value.utcoffset()
    if offset is None:
        return b"t%b%d" % (_local(value), value.fold)
    return b"z%b%x;" % (_local(value), _microseconds(offset))


def _time(value: dt.time, _depth: int, _walk: _Walk) -> bytes:
    offset = value.utcoffset()
    if offset is not None:
        return b"k%b%x;" % (_local(value), _microseconds(offset))
    if value.tzinfo is not None:
        raise Unstable("", "is a time in a zone whose offset depends on the day")
    return b"h%b%d" % (_local(value), value.fold)


def _local(value: dt.datetime | dt.time) -> bytes:
    return value.replace(tzinfo=None).isoformat(timespec="microseconds").encode()


def _microseconds(delta: dt.timedelta) -> int:
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def _path(value: PurePath, _depth: int, _walk: _Walk) -> bytes:
    return b"P" + _text(type(value).__name__) + _text(str(value))


# ---- classes that others define ----


def _other(value: object, depth: int, walk: _Walk) -> bytes:
    kind = type(value)
    late = _late_encoder(kind)
    if late is not None:
        return late(value, depth, walk)
    if is_enum(kind):
        return b"E" + _class(kind) + _member(cast("Enum", value), depth, walk)
    if is_namedtuple(kind):
        return b"R" + _class(kind) + _fields(_namedtuple_fields(value), depth, walk)
    if not any(base in _ENCODERS for base in kind.__mro__):
        if is_dataclass(kind):
            return b"C" + _class(kind) + _fields(_dataclass_fields(value), depth, walk)
        if is_model(kind):
            return b"M" + _class(kind) + _fields(model_fields(value), depth, walk) + _extras(value, depth, walk)
    raise Unstable("", f"is of the class {class_text(kind)}, for which no stable encoding is known")


def _late_encoder(kind: type) -> _Encoder | None:
    """Adopt a class whose module this one does not import; from then on it is found like all others."""
    module, encoder = _LATE.get(kind.__name__, ("", None))
    if encoder is None or getattr(sys.modules.get(module), kind.__name__, None) is not kind:
        return None
    _ENCODERS[kind] = encoder
    return encoder


def _class(kind: type) -> bytes:
    return _text(module_name(kind.__module__)) + _text(kind.__qualname__)


def _member(value: Enum, depth: int, walk: _Walk) -> bytes:
    name = value._name_  # None, or made up, for a combination of flags that has no name of its own
    if name in type(value).__members__:
        return _text(name)
    return walk(value._value_, depth + 1)


def _namedtuple_fields(value: Any) -> dict[str, object]:
    _refuse_attributes_beyond((), value)
    return dict(zip(value._fields, tuple(value), strict=True))


def _dataclass_fields(value: object) -> dict[str, object]:
    kind = type(value)
    names = field_names(kind)
    if "__dataclass_fields__" not in vars(kind):  # a plain subclass: what it adds, no field tells
        _refuse_attributes_beyond(names, value)
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _refuse_attributes_beyond(names: tuple[str, ...], value: object) -> None:
    extra = sorted(set(getattr(value, "__dict__", ())) - set(names))
    if extra:
        raise Unstable(f".{extra[0]}", f"is an attribute of {class_text(type(value))} that is none of its fields")


def _extras(value: Any, depth: int, walk: _Walk) -> bytes:
    return _fields(value.__pydantic_extra__ or {}, depth, walk)


# ---- numbers without their spelling ----


def _number(value: object) -> Decimal | None:
    """Return the number that `value` is or spells plainly, exactly; None for all else and for what is not finite."""
    from decimal import Decimal

    kind = type(value)
    if kind is float:
        value = repr(value)  # the digits a person reads, not those of the binary fraction
    elif kind not in {int, Decimal} and not (kind is str and _PLAIN_NUMBER.fullmatch(cast("str", value))):
        return None
    number = Decimal(cast("int | str | Decimal", value))
    return number if number.is_finite() else None


def _without_spelling(number: Decimal) -> bytes:
    # Not Decimal.normalize(): it rounds to the precision of the thread's context.
    sign, digits, exponent = number.as_tuple()
    figures = "".join(map(str, digits))
    significant = figures.rstrip("0")
    if not significant:
        return b"0e0"
    return f"{'-' * sign}{significant}e{int(exponent) + len(figures) - len(significant)}".encode()


_ENCODERS: Final[dict[type, _Encoder]] = {
    type(None): lambda _value, _depth, _walk: b"N",
    bool: lambda value, _depth, _walk: b"T" if value else b"F",
    int: _int,
    float: _float,
    str: _str,
    bytes: lambda value, _depth, _walk: _sized(b"b", value),
    bytearray: lambda value, _depth, _walk: _sized(b"a", bytes(value)),
    list: _collection(b"l", ordered=True),
    tuple: _collection(b"l", ordered=True),
    set: _collection(b"S", ordered=False),
    frozenset: _collection(b"Z", ordered=False),
    dict: _items(b"d", _subscript),
    OrderedDict: _items(b"o", _subscript),
    defaultdict: _items(b"v", _subscript),
    deque: lambda value, depth, walk: _sequence(value, depth, walk) + walk(value.maxlen, depth + 1),
    dt.datetime: _datetime,
    dt.time: _time,
    dt.date: lambda value, _depth, _walk: b"y" + value.isoformat().encode(),
    dt.timedelta: lambda value, _depth, _walk: b"p%x;" % _microseconds(value),
}

_LATE: Final[dict[str, tuple[str, _Encoder]]] = {
    "Decimal": ("decimal", _decimal),
    "UUID": ("uuid", lambda value, _depth, _walk: b"u" + value.bytes),
    "PurePosixPath": ("pathlib", _path),
    "PureWindowsPath": ("pathlib", _path),
    "PosixPath": ("pathlib", _path),
    "WindowsPath": ("pathlib", _path),
}
