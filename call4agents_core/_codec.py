"""Values as JSON and back, with the same Python type: what a tool returned is what a later call gets.

Plain JSON values stand for themselves; everything else is `{"$": tag, "v": content}`. A dict that has the key "$" of
its own is stored under a tag too, so nothing that a tool returns can be read as one. docs/record-format.md lists the
tags. Restoring builds data only: an object is made without its `__init__`, and a stored name can only ever lead to an
Enum, a dataclass, a namedtuple class or a Pydantic model. Whoever decodes has checked the MAC of the entry before.
"""

from __future__ import annotations

import base64
import datetime as dt
import importlib
import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from call4agents_core._classes import KINDS, NotRestorable, NotStorable, class_text, find_class, home
from call4agents_core._shown import shown

__all__ = ["NotRestorable", "NotStorable", "decode", "encode", "register"]

TAG: Final = "$"
DEEPEST: Final = 200

_Encoder: TypeAlias = Callable[[Any, int], object]
_Decoder: TypeAlias = Callable[[Any], object]

_TOO_DEEP: Final = f"it is nested deeper than {DEEPEST} levels, or contains itself"
_64_BITS: Final = range(-(2**63), 2**63)
_PATHS: Final = ("PurePosixPath", "PureWindowsPath", "PosixPath", "WindowsPath")


def encode(value: object) -> object:
    """Return a structure that `json.dumps(..., allow_nan=False)` takes and from which `decode` rebuilds `value`.

    Raises `NotStorable` for whatever would not come back with its own type: classes that cannot be imported by their
    name, cycles, and every type that is not listed in docs/record-format.md or registered.
    """
    try:
        return _encode(value, 0)
    except NotStorable:
        raise
    except RecursionError:
        raise NotStorable(_TOO_DEEP) from None
    except Exception as error:  # reading a value can run its author's code
        raise NotStorable(f"it could not be read ({shown(error, 200)})") from error


def decode(stored: object) -> object:
    """Return the value that `encode` was given, from what it returned.

    Raises `NotRestorable` when a class is gone, is no longer of its kind, or has fields that were not stored.
    """
    try:
        return _decode(stored)
    except NotRestorable:
        raise
    except RecursionError:
        raise NotRestorable("it is nested too deeply for this process") from None
    except Exception as error:
        raise NotRestorable(f"it could not be restored ({shown(error, 200)})") from error


def register(kind: type, name: str, encode: Callable[[Any], object], decode: Callable[[Any], object]) -> None:
    """Let values of exactly the class `kind` be stored, under the tag `name`.

    `encode` returns anything that can be stored itself; `decode` gets that back and returns an instance of `kind`.
    Raises ValueError if the class or the tag already has another use.
    """
    if _REGISTERED.get(name, kind) is not kind or (name in _DECODERS and name not in _REGISTERED):
        raise ValueError(f"the tag {name!r} is already in use")
    if (kind in _ENCODERS or _late_encoder(kind)) and kind is not _REGISTERED.get(name):
        raise ValueError(f"the class {class_text(kind)} is already stored under another tag")

    def restore(content: object) -> object:
        value = decode(_decode(content))
        if type(value) is not kind:
            raise NotRestorable(f"the decoder of {name!r} returned a {type(value).__name__}, not a {kind.__name__}")
        return value

    _REGISTERED[name] = kind
    _DECODERS[name] = restore
    _ENCODERS[kind] = lambda value, depth: _tagged(name, _encode(encode(value), depth + 1))


# ---- walking ----


def _encode(value: object, depth: int) -> object:
    kind = type(value)
    encoder = _ENCODERS.get(kind) or _late_encoder(kind) or _class_encoder(kind)
    if depth >= DEEPEST:
        raise NotStorable(_TOO_DEEP)
    return encoder(value, depth)


def _decode(stored: object) -> object:
    kind = type(stored)
    if kind is list:
        return [_decode(item) for item in cast("list[object]", stored)]
    if kind is not dict:
        return stored
    content = cast("dict[str, object]", stored)
    if TAG not in content:
        return {key: _decode(item) for key, item in content.items()}
    decoder = _DECODERS.get(cast("str", content[TAG]))
    if decoder is None:
        raise NotRestorable(
            f"nothing in this process restores the tag {shown(content[TAG], 80)}; import its plugin first"
        )
    return decoder(content["v"])


def _tagged(tag: str, content: object) -> dict[str, object]:
    return {TAG: tag, "v": content}


def _unchanged(value: object, _depth: int) -> object:
    return value


# ---- JSON's own types ----


def _int(value: int, _depth: int) -> object:
    return value if value in _64_BITS else _tagged("int", hex(value))


def _float(value: float, _depth: int) -> object:
    return value if value - value == 0 else _tagged("float", repr(value))


def _str(value: str, _depth: int) -> object:
    if _is_plain(value):
        return value
    # Two lone surrogates in a row would be read as one character by a JSON parser.
    return _tagged("str", value.encode("utf-8", "surrogatepass").hex())


def _is_plain(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _list(value: list[object], depth: int) -> list[object]:
    return [_encode(item, depth + 1) for item in tuple(value)]


def _dict(value: dict[object, object], depth: int) -> object:
    for key in tuple(value):
        if type(key) is not str or key == TAG or not _is_plain(key):
            return _tagged("dict", _pairs(value, depth))
    return {cast("str", key): _encode(item, depth + 1) for key, item in tuple(value.items())}


def _pairs(value: dict[object, object], depth: int) -> list[object]:
    return [[_encode(key, depth + 1), _encode(item, depth + 1)] for key, item in tuple(value.items())]


def _from_pairs(content: Any) -> dict[object, object]:
    return {_decode(key): _decode(item) for key, item in content}


# ---- the standard library's ----


def _sequence(tag: str) -> _Encoder:
    return lambda value, depth: _tagged(tag, _list(value, depth))


def _set(tag: str) -> _Encoder:
    # Sorted, so that equal sets are stored alike in processes with another hash seed.
    return lambda value, depth: _tagged(tag, sorted(_list(value, depth), key=repr))


def _binary(tag: str) -> _Encoder:
    return lambda value, _depth: _tagged(tag, base64.b64encode(value).decode())


def _from_base64(content: Any) -> bytes:
    return base64.b64decode(content, validate=True)


def _clock(tag: str) -> _Encoder:
    def encode(value: dt.datetime | dt.time, _depth: int) -> object:
        return _tagged(tag, [value.replace(tzinfo=None).isoformat(), value.fold, _zone(value.tzinfo)])

    return encode


def _from_datetime(content: Any) -> dt.datetime:
    local, fold, zone = content
    return dt.datetime.fromisoformat(local).replace(fold=fold, tzinfo=_from_zone(zone))


def _from_time(content: Any) -> dt.time:
    local, fold, zone = content
    return dt.time.fromisoformat(local).replace(fold=fold, tzinfo=_from_zone(zone))


def _zone(zone: Any) -> object:
    if zone is None:
        return None
    kind = cast("type[object]", type(zone))
    if kind is dt.timezone:
        offset, *name = zone.__getinitargs__()
        return ["offset", offset.days, offset.seconds, offset.microseconds, *name]
    if kind is getattr(sys.modules.get("zoneinfo"), "ZoneInfo", None) and zone.key:
        return ["zoneinfo", zone.key]
    if kind is getattr(sys.modules.get("pydantic_core"), "TzInfo", None):  # of every datetime that Pydantic has parsed
        return ["pydantic", int(zone.utcoffset(None).total_seconds())]
    raise NotStorable(f"time zones of the class {class_text(kind)} cannot be stored")


def _from_zone(stored: Any) -> dt.tzinfo | None:
    if stored is None:
        return None
    form, *content = stored
    if form == "offset":
        days, seconds, microseconds, *name = content
        return dt.timezone(dt.timedelta(days, seconds, microseconds), *name)
    module, kind = {"zoneinfo": ("zoneinfo", "ZoneInfo"), "pydantic": ("pydantic_core", "TzInfo")}[form]
    try:
        return cast("dt.tzinfo", _from_library(module, kind)(content[0]))
    except Exception as error:
        raise NotRestorable(f"the time zone {shown(content[0], 80)} is not known here ({shown(error, 200)})") from error


def _complex(value: complex, _depth: int) -> object:
    return _tagged("complex", [_float(value.real, 0), _float(value.imag, 0)])


def _range(value: range, _depth: int) -> object:
    return _tagged("range", [_int(number, 0) for number in (value.start, value.stop, value.step)])


def _deque(value: deque[object], depth: int) -> object:
    return _tagged("deque", [_list(cast("list[object]", value), depth), value.maxlen])


def _from_library(module: str, name: str) -> Any:
    """Import late: most processes restore no value of these modules, and some are slow to import."""
    return getattr(importlib.import_module(module), name)


def _late_decoder(module: str, name: str) -> _Decoder:
    def decode(content: Any) -> object:
        return _from_library(module, name)(content)

    return decode


def _from_path(content: Any) -> object:
    name, text = content
    if name not in _PATHS:
        raise NotRestorable(f"{shown(name, 80)} is no class of paths")
    return _from_library("pathlib", name)(_decode(text))


def _late_encoder(kind: type) -> _Encoder | None:
    """Adopt a class whose module this one does not import; from then on it is found like all others."""
    module, encoder = _LATE.get(kind.__name__, ("", None))
    if encoder is None or getattr(sys.modules.get(module), kind.__name__, None) is not kind:
        return None
    _ENCODERS[kind] = encoder
    return encoder


# ---- classes that others define ----


def _class_encoder(kind: type) -> _Encoder:
    for tag, (_, fits, state, _) in KINDS.items():
        if fits(kind):
            return lambda value, depth: _tagged(tag, [*home(kind), _encode(state(value), depth)])
    raise NotStorable(f"values of the class {class_text(kind)} cannot be stored")


def _from_class(tag: str) -> _Decoder:
    what, fits, _, make = KINDS[tag]

    def decode(content: Any) -> object:
        module, qualname, state = content
        return make(find_class(module, qualname, fits, what), _decode(state))

    return decode


_REGISTERED: Final[dict[str, type]] = {}

_ENCODERS: Final[dict[type, _Encoder]] = {
    type(None): _unchanged,
    bool: _unchanged,
    int: _int,
    float: _float,
    str: _str,
    list: _list,
    dict: _dict,
    tuple: _sequence("tuple"),
    set: _set("set"),
    frozenset: _set("frozenset"),
    OrderedDict: lambda value, depth: _tagged("ordereddict", _pairs(value, depth)),
    deque: _deque,
    bytes: _binary("bytes"),
    bytearray: _binary("bytearray"),
    dt.datetime: _clock("datetime"),
    dt.time: _clock("time"),
    dt.date: lambda value, _depth: _tagged("date", value.isoformat()),
    dt.timedelta: lambda value, _depth: _tagged("timedelta", [value.days, value.seconds, value.microseconds]),
    complex: _complex,
    range: _range,
}

_LATE: Final[dict[str, tuple[str, _Encoder]]] = {
    "Decimal": ("decimal", lambda value, _depth: _tagged("decimal", str(value))),
    "UUID": ("uuid", lambda value, _depth: _tagged("uuid", str(value))),
    **{
        name: ("pathlib", lambda value, _: _tagged("path", [type(value).__name__, _str(str(value), 0)]))
        for name in _PATHS
    },
}

_DECODERS: Final[dict[str, _Decoder]] = {
    "int": lambda content: int(content, 16),
    "float": float,
    "str": lambda content: bytes.fromhex(content).decode("utf-8", "surrogatepass"),
    "dict": _from_pairs,
    "tuple": lambda content: tuple(map(_decode, content)),
    "set": lambda content: set(map(_decode, content)),
    "frozenset": lambda content: frozenset(map(_decode, content)),
    "ordereddict": lambda content: OrderedDict(_from_pairs(content)),
    "deque": lambda content: deque(map(_decode, content[0]), content[1]),
    "bytes": _from_base64,
    "bytearray": lambda content: bytearray(_from_base64(content)),
    "datetime": _from_datetime,
    "time": _from_time,
    "date": dt.date.fromisoformat,
    "timedelta": lambda content: dt.timedelta(*content),
    "complex": lambda content: complex(*cast("list[float]", _decode(content))),
    "range": lambda content: range(*cast("list[int]", _decode(content))),
    "decimal": _late_decoder("decimal", "Decimal"),
    "uuid": _late_decoder("uuid", "UUID"),
    "path": _from_path,
    **{tag: _from_class(tag) for tag in KINDS},
}
