"""The refusals of the core as exceptions that LangGraph lets through.

LangGraph never retries, handles or turns into text what is a `GraphBubbleUp`: neither RetryPolicy, error_handler= nor
ToolNode(handle_tool_errors=True) sees it, and the node stays the next one, so that the thread can be resumed. For each error of
`call4agents_core.errors` there is one of the same name here, which is both: `except call4agents_core.errors.EffectInDoubt`
catches it, and so does `except call4agents_langgraph.errors.EffectInDoubt`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.errors import GraphBubbleUp

from call4agents_core import errors as core
from call4agents_core.plugin import recast

if TYPE_CHECKING:
    from types import TracebackType

    from call4agents_core.errors import *  # noqa: F403 - to a type checker the names mean the core's classes, which ours are too

_OURS: dict[type[core.Call4AgentsError], type[core.Call4AgentsError]] = {}


def _made(kind: type[core.Call4AgentsError]) -> type[core.Call4AgentsError]:
    """The class of ours for one of the core's: below ours for its bases, so that the two trees have one shape."""
    if kind not in _OURS:
        parents = [_made(base) for base in kind.__bases__ if issubclass(base, core.Call4AgentsError)]
        body = {"__module__": __name__, "__doc__": kind.__doc__}
        _OURS[kind] = type(kind.__name__, (*parents, kind, GraphBubbleUp), body)
    return _OURS[kind]


for _name, _kind in list(vars(core).items()):
    if isinstance(_kind, type) and issubclass(_kind, core.Call4AgentsError):
        globals()[_name] = _made(_kind)

__all__ = sorted(_kind.__name__ for _kind in _OURS.values())  # noqa: PLE0605 - as many as the core has


def as_ours(error: core.Call4AgentsError) -> core.Call4AgentsError:
    """The same facts and text as an exception that LangGraph lets through."""
    if isinstance(error, GraphBubbleUp):
        return error
    known = next(kind for kind in type(error).__mro__ if kind in _OURS)
    ours = recast(error, _OURS[known])
    ours.__cause__, ours.__suppress_context__ = error.__cause__, True
    return ours


class refusals:  # noqa: N801 - used as a verb: with refusals()
    """Whatever the core raises inside leaves as the exception of ours. Anything else passes unchanged."""

    __slots__ = ()

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, core.Call4AgentsError) and not isinstance(error, GraphBubbleUp):
            raise as_ours(error).with_traceback(trace)
