"""The decorator: an ordinary function becomes one whose calls are once-only actions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from call4agents_core._call import Call, Effect
from call4agents_core._registry import remember
from call4agents_core._scope import current_place, enclosing_attempts
from call4agents_core._steps import perform
from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from call4agents_core._options import Repeat
    from call4agents_core.ledger import Ledger

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="Callable[..., Any]")


@overload
def effect(function: F, /) -> F: ...
@overload
def effect(
    *,
    name: str | None = None,
    approval: bool | Callable[..., bool] = False,
    retry_on: type[BaseException] | Iterable[type[BaseException]] = (),
    reconcile: Callable[..., Any] | None = None,
    idempotent_for: float | None = None,
    undo: Callable[..., Any] | None = None,
    key: Callable[..., str] | None = None,
    exclude: Iterable[str] = (),
    redact: Iterable[str] = (),
    wait: float = 10.0,
    repeat: Repeat | None = None,
    encode: Callable[[Any], Any] | None = None,
    decode: Callable[[Any], Any] | None = None,
) -> Callable[[F], F]: ...
def effect(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    approval: bool | Callable[..., bool] = False,
    retry_on: type[BaseException] | Iterable[type[BaseException]] = (),
    reconcile: Callable[..., Any] | None = None,
    idempotent_for: float | None = None,
    undo: Callable[..., Any] | None = None,
    key: Callable[..., str] | None = None,
    exclude: Iterable[str] = (),
    redact: Iterable[str] = (),
    wait: float = 10.0,
    repeat: Repeat | None = None,
    encode: Callable[[Any], Any] | None = None,
    decode: Callable[[Any], Any] | None = None,
) -> Any:
    """Make each call of a function an action that runs at most once in its run. Sync and async; also bare: ``@effect``.

    A call whose action is done returns the recorded result; one whose process died inside it raises EffectInDoubt. A call
    takes ``c4a_key=`` besides the function's own arguments: what the action is known by instead of its arguments.

    :param name: the tool's name in the ledger, else ``module.function``; fix it and the function may move.
    :param approval: True, or a function of the arguments: the action needs a yes for exactly these arguments.
    :param retry_on: exceptions which prove that nothing happened; any other leaves the action in doubt.
    :param reconcile: asked about an action in doubt; takes any of the arguments by name, and ``idempotency_key``; answers
        ``happened(result)``, ``did_not_happen()`` or ``unknown()``. May be async.
    :param idempotent_for: seconds for which the outside API drops a repeat under the same idempotency key, so that an action
        in doubt may be sent again.
    :param undo: reverses the action; takes any of the arguments by name, and ``result``. May be async.
    :param key: a function of all arguments that gives the key of the call.
    :param exclude: names of arguments that do not count for which action it is, and are not stored.
    :param redact: names of arguments whose values are never stored or shown; they count for which action it is.
    :param wait: seconds that a call waits for another caller of the same action.
    :param repeat: what a call of a done action does: ``"return"`` its result (the default in code), ``"run"`` it again as a new
        action, ``"refuse"``.
    :param encode: the result as a value that can be stored; ``decode`` gives it back.
    :raises UsageError: an option that cannot mean anything, at decoration.
    """
    options = {
        "approval": approval, "retry_on": retry_on, "reconcile": reconcile, "idempotent_for": idempotent_for, "undo": undo, "key": key,
        "exclude": exclude, "redact": redact, "wait": wait, "repeat": repeat, "encode": encode, "decode": decode,
    }  # fmt: skip
    if function is not None:
        return _decorated(Effect(function, name, options))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return _decorated(Effect(function, name, options))

    return decorate


def _decorated(effect: Effect) -> Callable[..., Any]:
    wrapper = _async_wrapper(effect) if effect.is_async else _sync_wrapper(effect)
    wrapper.__signature__ = effect.binder.signature  # type: ignore[attr-defined]
    remember(wrapper, effect)
    return wrapper


def _call_of(
    effect: Effect, wrapper: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Ledger, Call]:
    key = kwargs.pop("c4a_key", None)
    values, receiver = effect.bind(wrapper, args, kwargs)
    ledger, run = current_place(effect.tool)
    return ledger, Call(effect, run, ledger.ledger_id, values, receiver=receiver, key=key)


def _sync_wrapper(effect: Effect) -> Callable[..., Any]:
    function = effect.function

    @functools.wraps(function, updated=())
    def once(*args: Any, **kwargs: Any) -> Any:
        ledger, call = _call_of(effect, once, args, kwargs)
        return perform(ledger, call, lambda: function(*args, **kwargs))

    return once


def _async_wrapper(effect: Effect) -> Callable[..., Any]:
    from call4agents_core._async import (
        aperform,
    )  # asyncio is slow to import, and whoever has a coroutine has it already

    function = effect.function

    @functools.wraps(function, updated=())
    async def once(*args: Any, **kwargs: Any) -> Any:
        ledger, call = _call_of(effect, once, args, kwargs)
        return await aperform(ledger, call, lambda: function(*args, **kwargs))

    return once


def idempotency_key() -> str:
    """The key of the running action for an outside API that drops duplicates: the same for every attempt. Inside an effect only."""
    attempts = enclosing_attempts()
    if not attempts:
        msg = "idempotency_key() and idempotency_headers() are known inside an effect only, while its function runs."
        raise UsageError(msg)
    return attempts[-1].call.idempotency_key()


def idempotency_headers(header: str = "Idempotency-Key") -> dict[str, str]:
    """`idempotency_key` as a header for an HTTP call. Inside an effect only."""
    return {header: idempotency_key()}
