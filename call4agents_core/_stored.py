"""Values as entries hold them: with their type where that can be kept, and always with a text to show that needs no import."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, cast

from call4agents_core import _codec
from call4agents_core._shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

REDACTED = "<redacted>"
_LONGEST_CAUSE = 500
_SHORTEST_SECRET = 4
_DEEPEST_SECRET = 8


def stored(value: object) -> dict[str, Any]:
    """{"value": …}, with "shown" where the value is more than plain JSON; or {"shown": …, "why": …} where its type cannot be kept."""
    try:
        encoded = _codec.encode(value)
    except _codec.NotStorable as error:
        return {"shown": shown(value), "why": str(error)}
    return {"value": encoded} if _is_plain(encoded) else {"value": encoded, "shown": shown(value)}


def _is_plain(encoded: object) -> bool:
    """Whether a stored value is JSON all through, so that it looks as it is."""
    if isinstance(encoded, dict):
        members = cast("dict[str, object]", encoded)
        return _codec.TAG not in members and all(map(_is_plain, members.values()))
    return all(map(_is_plain, cast("list[object]", encoded))) if isinstance(encoded, list) else True


def text_of(kept: Mapping[str, Any]) -> str:
    """How a stored value looks to a person. Nothing is imported for it."""
    return str(kept["shown"]) if "shown" in kept else shown(kept["value"])


def arguments(values: Mapping[str, Any], *, redact: frozenset[str]) -> dict[str, Any]:
    """Arguments by name, in the order of the signature."""
    return {
        name: {"shown": REDACTED, "why": "redacted"} if name in redact else stored(value)
        for name, value in values.items()
    }


def shown_arguments(kept: Mapping[str, Any]) -> dict[str, str]:
    """Stored arguments as a person sees them."""
    return {name: text_of(value) for name, value in kept.items()}


def cause_of(error: BaseException, secrets: tuple[str, ...]) -> str:
    """An exception as one escaped line; what redact= keeps out of the ledger is kept out of it too. Never raises."""
    line = shown(error, sys.maxsize)
    if not line.startswith(type(error).__name__):
        line = f"{type(error).__name__}: {line}"
    for secret in secrets:  # before the line is cut, which could leave half of one
        line = line.replace(secret, REDACTED)
    return line if len(line) <= _LONGEST_CAUSE else line[:_LONGEST_CAUSE] + "…"


def secret_texts(values: Mapping[str, Any], redact: frozenset[str]) -> tuple[str, ...]:
    """The texts that must not appear in a cause, longest first; very short ones would hide everything else. Never raises."""
    texts = {text for name in redact if name in values for text in _texts_in(values[name], _DEEPEST_SECRET)}
    spelled = {form for text in texts if len(text) >= _SHORTEST_SECRET for form in _spellings(text)}
    return tuple(sorted(spelled, key=len, reverse=True))


def _texts_in(value: object, levels: int) -> Iterator[str]:
    """The value as a text, and all texts that it is made of."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (bytes, bytearray)):
        yield value.decode("utf-8", "replace")
    elif value is not None and not isinstance(value, bool):
        with contextlib.suppress(Exception):  # whatever somebody else's __str__ raises
            yield str(value)
        if levels:
            for part in _parts_of(value):
                yield from _texts_in(part, levels - 1)


def _parts_of(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(cast("dict[object, object]", value).values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(cast("list[object]", value))
    return list(getattr(value, "__dict__", {}).values())


def _spellings(text: str) -> tuple[str, ...]:
    """The text as it is, and as a repr of either kind of quotes writes it."""
    inner = shown(text, sys.maxsize)[1:-1].replace("\\'", "'")
    return text, inner, inner.replace("'", "\\'")


def restored(kept: Mapping[str, Any], decode: Callable[[Any], Any] | None) -> Any:
    """The value with its type. Raises NotRestorable where it was not kept, or its class is gone."""
    if "value" not in kept:
        raise _codec.NotRestorable(str(kept["why"]))
    value = _codec.decode(kept["value"])
    if decode is None:
        return value
    try:
        return decode(value)
    except Exception as error:
        raise _codec.NotRestorable(f"decode= raised {cause_of(error, ())}") from error
