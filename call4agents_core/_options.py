"""The options of an effect, each checked when the decorator is applied."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from call4agents_core._bind import Binder, ByName
from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Repeat = Literal["return", "run", "refuse"]


class Options(NamedTuple):
    """What `effect` was told. docs/idempotency.md explains each."""

    approval: bool | ByName
    retry_on: tuple[type[BaseException], ...]
    reconcile: ByName | None
    idempotent_for: float | None
    undo: ByName | None
    key: ByName | None
    exclude: frozenset[str]
    redact: frozenset[str]
    wait: float
    repeat: Repeat | None
    encode: Callable[[Any], Any] | None
    decode: Callable[[Any], Any] | None


#: What an effect is told by no option at all.
DEFAULTS: dict[str, Any] = {
    "approval": False, "retry_on": (), "reconcile": None, "idempotent_for": None, "undo": None, "key": None, "exclude": (),
    "redact": (), "wait": 10.0, "repeat": None, "encode": None, "decode": None,
}  # fmt: skip


def checked(
    tool: str,
    binder: Binder,
    *,
    approval: bool | Callable[..., bool],
    retry_on: Any,
    reconcile: Callable[..., Any] | None,
    idempotent_for: float | None,
    undo: Callable[..., Any] | None,
    key: Callable[..., str] | None,
    exclude: Iterable[str],
    redact: Iterable[str],
    wait: float,
    repeat: Repeat | None,
    encode: Callable[[Any], Any] | None,
    decode: Callable[[Any], Any] | None,
) -> Options:
    """The options of ``tool``, or a UsageError that names the first one which cannot mean anything."""
    names = binder.names
    excluded, redacted = _names(tool, "exclude", exclude, names), _names(tool, "redact", redact, names)
    if (encode is None) is not (decode is None):
        raise _wrong(tool, "encode= and decode= belong together", "give both or none")
    if repeat not in (None, "return", "run", "refuse"):
        raise _wrong(tool, f"repeat={repeat!r}", 'it is "return", "run" or "refuse"')
    if not isinstance(approval, bool) and not callable(approval):
        raise _wrong(tool, f"approval={approval!r}", "it is True, False or a function of the arguments")
    undoing = _callback(tool, "undo=", undo, (*names, "result"))
    hidden = redacted.intersection(undoing.names if undoing else ())
    if hidden:
        raise _wrong(
            tool,
            f"undo= asks for {min(hidden)!r}, which redact= keeps out of the ledger",
            "look the value up inside undo= instead",
        )
    return Options(
        approval=approval if isinstance(approval, bool) else ByName(approval, names, "approval=", tool),
        retry_on=_exceptions(tool, retry_on),
        reconcile=_callback(tool, "reconcile=", reconcile, (*names, "idempotency_key")),
        idempotent_for=None
        if idempotent_for is None
        else _seconds(tool, "idempotent_for", idempotent_for, positive=True),
        undo=undoing,
        key=_callback(tool, "key=", key, names),
        exclude=excluded,
        redact=redacted,
        wait=_seconds(tool, "wait", wait, positive=False),
        repeat=repeat,
        encode=_function(tool, "encode=", encode),
        decode=_function(tool, "decode=", decode),
    )


def _wrong(tool: str, what: str, advice: str) -> UsageError:
    return UsageError(f"{tool}: {what} is not possible; {advice}.")


def _names(tool: str, option: str, given: Iterable[str], names: tuple[str, ...]) -> frozenset[str]:
    chosen = [given] if isinstance(given, str) else list(given)
    for name in chosen:
        if name not in names:
            raise _wrong(tool, f"{option}= names {name!r}", f"its parameters are {', '.join(names) or 'none'}")
    return frozenset(chosen)


def _function(tool: str, option: str, given: Callable[..., Any] | None) -> Callable[..., Any] | None:
    if given is not None and not callable(given):
        raise _wrong(tool, f"{option}{given!r}", "it is a function")
    return given


def _callback(tool: str, option: str, given: Callable[..., Any] | None, offered: tuple[str, ...]) -> ByName | None:
    function = _function(tool, option, given)
    return None if function is None else ByName(function, offered, option, tool)


def _exceptions(tool: str, given: Any) -> tuple[type[BaseException], ...]:
    kinds = tuple(cast("list[Any]", given)) if isinstance(given, (tuple, list)) else (given,)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise _wrong(tool, f"retry_on={given!r}", "it holds exception classes, which prove that nothing happened")
    return kinds


def seconds(what: str, given: Any, *, positive: bool = True) -> float:
    """A length of time in seconds, or a UsageError."""
    return _seconds("", what, given, positive=positive)


def _seconds(tool: str, what: str, given: Any, *, positive: bool) -> float:
    good = (
        isinstance(given, (int, float))
        and not isinstance(given, bool)
        and math.isfinite(given)
        and (given > 0 if positive else given >= 0)
    )
    if not good:
        start = f"{tool}: " if tool else ""
        msg = f"{start}{what}={given!r} is not possible; it is a number of seconds, {'more than 0' if positive else '0 or more'}."
        raise UsageError(msg)
    return float(given)


def checked_text(what: str, given: object) -> str:
    """A name that every store can hold: not empty, text that UTF-8 can spell, no NUL."""
    good = (
        isinstance(given, str)
        and given != ""
        and "\0" not in given
        and given.encode("utf-8", "replace").decode() == given
    )
    if not good:
        msg = f"{what} {given!r} is not possible: it is text, not empty, without NUL and lone surrogates."
        raise UsageError(msg)
    return str(given)
