"""`node`: inside it, plain `@call4agents_core.effect` finds the ledger and the thread of the running graph."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.runnables import Runnable

import call4agents_core as c4a
from call4agents_core.errors import UsageError
from call4agents_langgraph._place import place_of
from call4agents_langgraph.errors import refusals

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])


def node(function: F) -> F:
    """Let calls of `@call4agents_core.effect` inside the function of a node belong to the thread.

    ``builder.add_node("pay", node(pay))``, also for functions under ``@task`` and ``@entrypoint``; sync and async. What the core refuses in it leaves as the refusal of this
    package, which LangGraph neither retries nor handles.

    :raises UsageError: it is no function; at the call, where there is no ledger or no thread.
    """
    if isinstance(function, Runnable) or not callable(function):
        msg = f"node() wraps a function, and {function!r} is none. The nodes of a subgraph are wrapped where they are added to it."
        raise UsageError(msg)
    name = getattr(function, "__name__", type(function).__name__)
    wrapper = (_async_wrapper if _is_async(function) else _sync_wrapper)(function, name)
    wrapper.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return cast("F", wrapper)


def _is_async(function: Any) -> bool:
    inner = function.func if isinstance(function, functools.partial) else function
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004


def _sync_wrapper(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with refusals():
            place = place_of(name)
            with c4a.run(place.run, ledger=place.ready(name)):
                return function(*args, **kwargs)

    return inside


def _async_wrapper(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    async def inside(*args: Any, **kwargs: Any) -> Any:
        with refusals():
            place = place_of(name)
            with c4a.run(place.run, ledger=await place.aready()):
                return await function(*args, **kwargs)

    return inside
