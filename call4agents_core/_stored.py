"""Values as entries hold them: with their type where that can be kept, and always with a text to show that needs no import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from call4agents_core import _codec
from call4agents_core._shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

REDACTED = "<redacted>"


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
    """An exception as one escaped line; what redact= keeps out of the ledger is kept out of it too."""
    line = shown(error, 500) if str(error) else type(error).__name__ + "()"
    if not line.startswith(type(error).__name__):
        line = f"{type(error).__name__}: {line}"
    for secret in secrets:
        line = line.replace(secret, REDACTED)
    return line


def secret_texts(values: Mapping[str, Any], redact: frozenset[str]) -> tuple[str, ...]:
    """The texts that must not appear in a cause; very short ones would hide everything else."""
    texts = {str(values[name]) for name in redact if name in values}
    return tuple(sorted((text for text in texts if len(text) >= 4), key=len, reverse=True))


def restored(kept: Mapping[str, Any], decode: Callable[[Any], Any] | None) -> Any:
    """The value with its type. Raises NotRestorable where it was not kept, or its class is gone."""
    if "value" not in kept:
        raise _codec.NotRestorable(str(kept["why"]))
    value = _codec.decode(kept["value"])
    return value if decode is None else decode(value)
