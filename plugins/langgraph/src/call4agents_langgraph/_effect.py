"""`effect` for code in nodes and for functions under LangChain's `@tool`: the core's decorator, with the ledger of the running graph."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, overload

from langchain_core.tools import BaseTool

import call4agents_core as c4a
from call4agents_core.errors import UsageError
from call4agents_core.plugin import Effect, remember
from call4agents_langgraph._injected import injected
from call4agents_langgraph._once import Asked, aonce, once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from call4agents_langgraph._injected import Injected

    F = TypeVar("F", bound=Callable[..., Any])


class EffectOptions(TypedDict, total=False):
    """The options of `call4agents_core.effect`, besides its name."""

    approval: bool | Callable[..., bool]
    retry_on: type[BaseException] | Iterable[type[BaseException]]
    reconcile: Callable[..., Any] | None
    idempotent_for: float | None
    undo: Callable[..., Any] | None
    key: Callable[..., str] | None
    exclude: Iterable[str]
    redact: Iterable[str]
    wait: float
    repeat: Literal["return", "run", "refuse"] | None
    encode: Callable[[Any], Any] | None
    decode: Callable[[Any], Any] | None


_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(c4a.effect).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name != "name"
}


@overload
def effect(function: F, /) -> F: ...
@overload
def effect(*, name: str | None = None, **options: Unpack[EffectOptions]) -> Callable[[F], F]: ...
def effect(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, **options: Unpack[EffectOptions]
) -> Any:
    """Make each call of a function an action that runs at most once in its thread. Sync and async; also bare: ``@effect``.

    For code in nodes, and below LangChain's decorator for tools::

        @tool
        @effect(undo=cancel)
        def book(flight: str, runtime: ToolRuntime) -> str: ...

    All options of `call4agents_core.effect`, and ``c4a_key=`` at the call. The ledger is that of the running graph's LedgerSaver, else of
    the enclosing `call4agents_core.run`, else that of `call4agents_core.init`; the run is the thread's id. Arguments that LangGraph hands
    over (InjectedState, InjectedStore, InjectedToolCallId, ToolRuntime, RunnableConfig, …) do not count for which action it is, and are
    not stored. An `interrupt()` inside is no failure: the function runs again when it is answered.

    :raises UsageError: an option that cannot mean anything, at decoration; at the call, where there is no ledger or no thread.
    """
    if function is not None:
        return _decorated(function, name, options)
    return lambda function: _decorated(function, name, options)


def made_effect(
    function: Callable[..., Any], name: str | None, options: EffectOptions, context: Iterable[str]
) -> Effect:
    """The effect of a function; what LangGraph hands over (``context``) is left out of its key. Raises UsageError."""
    unknown = options.keys() - _DEFAULTS
    if unknown:
        msg = f"effect() got an unexpected keyword argument {min(unknown)!r}"
        raise TypeError(msg)
    given = options.get("exclude", ())
    exclude = [*([given] if isinstance(given, str) else given), *context]
    made = Effect(function, name, {**_DEFAULTS, **options, "exclude": exclude})
    undo = made.options.undo
    handed_over = sorted(set(context).intersection(undo.names if undo else ()))
    if handed_over:
        msg = (
            f"{made.tool}: undo= asks for {handed_over[0]!r}, which LangGraph hands over while the graph runs and nobody could hand over later; "
            "take what it needs from the other arguments or the result."
        )
        raise UsageError(msg)
    return made


def _decorated(function: Callable[..., Any], name: str | None, options: EffectOptions) -> Callable[..., Any]:
    if isinstance(function, BaseTool):
        msg = f"@effect belongs below the decorator that makes the tool {function.name!r}: first @tool, then @effect, then the function."
        raise UsageError(msg)
    context = injected(function)
    effect = made_effect(function, name, options, context.names)
    wrapper = (_async_wrapper if effect.is_async else _sync_wrapper)(effect, context)
    wrapper.__signature__ = effect.binder.signature  # type: ignore[attr-defined]
    remember(wrapper, effect)
    return wrapper


def _sync_wrapper(effect: Effect, context: Injected) -> Callable[..., Any]:
    function = effect.function

    @functools.wraps(function, updated=())
    def guarded(*args: Any, **kwargs: Any) -> Any:
        key = kwargs.pop("c4a_key", None)
        asked = Asked.of(effect, guarded, args, kwargs, key=key, tool_call=context.tool_call)
        return once(asked, lambda: function(*args, **kwargs))

    return guarded


def _async_wrapper(effect: Effect, context: Injected) -> Callable[..., Any]:
    function = effect.function

    @functools.wraps(function, updated=())
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        key = kwargs.pop("c4a_key", None)
        asked = Asked.of(effect, guarded, args, kwargs, key=key, tool_call=context.tool_call)
        return await aonce(asked, lambda: function(*args, **kwargs))

    return guarded
