"""Arguments that LangGraph and LangChain hand to a function by themselves: they are no part of what the model or the caller asked for."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, InjectedToolCallId
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import StreamWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Annotated with one of these, or a subclass: handed over by the framework.
_CONTEXT = (ToolRuntime, Runtime, BaseStore, BaseCallbackManager)


class Injected(NamedTuple):
    """The names of a function's arguments that the framework hands over; ``call_ids`` are those that hold the tool call's id."""

    names: frozenset[str]
    call_ids: frozenset[str]

    def tool_call(self, values: Mapping[str, Any]) -> str | None:
        """The id of the model's tool call, where one of these arguments tells it."""
        for name in self.names:
            value = values.get(name)
            found = value if name in self.call_ids else getattr(value, "tool_call_id", None)
            if isinstance(found, str) and found:
                return found
        return None


def injected(function: Callable[..., Any]) -> Injected:
    """Which arguments of a function are handed over by the framework, by their annotations."""
    annotations = _annotations(function)
    names = frozenset(name for name, annotation in annotations.items() if _is_context(annotation))
    return Injected(names, frozenset(name for name in names if _is_marked(annotations[name], InjectedToolCallId)))


def _is_context(annotation: Any) -> bool:
    if annotation in (RunnableConfig, StreamWriter) or _is_marked(annotation, InjectedToolArg):
        return True
    sides = _sides(annotation)
    if sides:
        return any(_is_context(side) for side in sides)
    kind = typing.get_origin(annotation) or annotation
    return isinstance(kind, type) and issubclass(kind, _CONTEXT)


def _is_marked(annotation: Any, marker: type[InjectedToolArg]) -> bool:
    """Whether `Annotated[…, marker]`, with the class or an object of it, also as one side of a union."""
    if typing.get_origin(annotation) is typing.Annotated:
        return any(
            isinstance(mark, marker) or (isinstance(mark, type) and issubclass(mark, marker))
            for mark in annotation.__metadata__
        )
    return any(_is_marked(side, marker) for side in _sides(annotation))


def _sides(annotation: Any) -> tuple[Any, ...]:
    """The sides of a union, in either spelling; for anything else nothing: list[Runtime] is an argument like others."""
    return typing.get_args(annotation) if typing.get_origin(annotation) in (typing.Union, types.UnionType) else ()


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of the parameters as objects; one that is text and leads nowhere stays text, and counts as an ordinary one."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # no function, or one that Python knows no parameters of: the core says so
        return {}
    source = _annotated(function)
    try:
        hints = typing.get_type_hints(source, include_extras=True)
    except Exception:  # one name that exists for type checkers only spoils them all
        hints = {}
    known = getattr(source, "__globals__", {})
    return {name: hints.get(name, _resolved(p.annotation, known)) for name, p in parameters.items()}


def _annotated(function: Any) -> Any:
    """What carries the annotations: the function inside partials and decorators, or the __call__ of a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    return function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__


def _resolved(annotation: Any, known: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation

    def holder() -> None: ...

    holder.__annotations__ = {"it": annotation}
    try:
        return typing.get_type_hints(holder, known, include_extras=True)["it"]
    except Exception:
        return annotation
