"""`tool_wrapper` for ToolNode: every tool of the node is guarded, none has to be decorated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from call4agents_langgraph._guard import guarded_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.prebuilt.tool_node import ToolCallRequest


class ToolWrapper:
    """What `tool_wrapper` returns: one object for both of ToolNode's options."""

    def __call__(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
        """Let ToolNode execute a guarded copy of the tool. What ``execute`` gives is handed on: a message, or what is to be awaited."""
        return execute(guarded_request(request))


def tool_wrapper() -> ToolWrapper:
    """Guard every tool of a ToolNode: ``ToolNode(tools, wrap_tool_call=tool_wrapper())``.

    For a graph that runs on an event loop pass it as both: ``ToolNode(tools, wrap_tool_call=w, awrap_tool_call=w)``; without the second
    ToolNode runs the tools on the loop itself. Each call of a tool is then an action, named after the tool, with the arguments as
    they will run. A tool whose function is decorated with `effect` keeps that one's name and options.
    """
    return ToolWrapper()
