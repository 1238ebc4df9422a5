"""A guarded copy of a LangChain tool: its function runs as an action, with the arguments that LangChain has validated.

The guard sits inside the tool, at the last point before its function. So the key is taken from what will run and not from what the
model wrote; arguments that fail validation never start anything; and an exception is seen before ToolNode makes a text of it.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool, Tool

from call4agents_core.errors import UsageError
from call4agents_core.plugin import effect_of
from call4agents_langgraph._effect import made_effect
from call4agents_langgraph._injected import injected
from call4agents_langgraph._node import node
from call4agents_langgraph._once import Asked, aonce, once
from call4agents_langgraph.errors import refusals

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.prebuilt.tool_node import ToolCallRequest

    from call4agents_core.plugin import Effect

    Parts = dict[str, Callable[..., Any]]

#: ToolNode and LangChain hand their own objects to parameters of these names, whatever the annotation.
_HANDED_OVER = frozenset({"runtime", "callbacks", "run_manager"})


def guarded_request(request: ToolCallRequest) -> ToolCallRequest:
    """The request with a guarded copy of its tool. A tool that nobody registered stays None, and ToolNode says so."""
    if request.tool is None:
        return request
    with refusals():
        return request.override(tool=guarded_tool(request.tool, request.tool_call["id"]))


def guarded_tool(tool: BaseTool, tool_call: str | None) -> BaseTool:
    """A copy for one tool call. A tool whose function is decorated with an effect keeps that one's options."""
    copy = tool.model_copy()
    for name, function in _parts_of(tool).items():
        if _is_effect(function):
            part = node(function)
        else:
            part = _guarded(_effect_for(function, tool.name), function, tool_call)
        object.__setattr__(copy, name, part)  # _run and _arun are no fields of the model
    return copy


def _parts_of(tool: BaseTool) -> Parts:
    """The functions of a tool that act, by the attribute that holds them; methods stay bound to the tool itself, not to the copy."""
    kind = type(tool)
    for base in (StructuredTool, Tool):
        if isinstance(tool, base) and kind._run is base._run and kind._arun is base._arun:
            return {name: part for name in ("func", "coroutine") if (part := getattr(tool, name)) is not None}
    parts: Parts = {"_run": tool._run}
    if kind._arun is not BaseTool._arun:  # which runs _run in a thread
        parts["_arun"] = tool._arun
    return parts


def _is_effect(function: Callable[..., Any]) -> bool:
    try:
        effect_of(function)
    except UsageError:
        return False
    return True


def _effect_for(function: Callable[..., Any], name: str) -> Effect:
    """The effect of a tool's function; in the ledger it is called as the model calls it."""
    context = injected(function).names | (_HANDED_OVER & inspect.signature(function).parameters.keys())
    return made_effect(function, name, {}, context)


def _guarded(effect: Effect, function: Callable[..., Any], tool_call: str | None) -> Callable[..., Any]:
    """The function as an action, for one tool call."""
    if effect.is_async:

        @functools.wraps(function)
        async def aguarded(*args: Any, **kwargs: Any) -> Any:
            asked = Asked.of(effect, aguarded, args, kwargs, tool_call=lambda _: tool_call)
            return await aonce(asked, lambda: function(*args, **kwargs))

        return aguarded

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        asked = Asked.of(effect, guarded, args, kwargs, tool_call=lambda _: tool_call)
        return once(asked, lambda: function(*args, **kwargs))

    return guarded
