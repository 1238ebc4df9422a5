"""Results of tools that name the tool call which they answer. The call's id changes when a model asks anew; the result does not."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from call4agents_core.plugin import register_type
from langchain_core.messages import ToolMessage
from langgraph.types import Command, Send

if TYPE_CHECKING:
    from collections.abc import Callable

#: Stands in a recorded result for the id of whatever call asks for it.
THIS_CALL = "c4a:this-call"

register_type(Send, "langgraph.Send", lambda send: [send.node, send.arg], lambda kept: Send(*kept))


def detached(result: Any, tool_call: str | None) -> Any:
    """The result as it is recorded: it answers any call instead of this one."""
    return result if tool_call is None else _readdressed(result, tool_call, THIS_CALL)


def answering(result: Any, tool_call: str | None) -> Any:
    """The result as an answer to this call."""
    return result if tool_call is None else _readdressed(result, THIS_CALL, tool_call)


def _readdressed(result: Any, old: str, new: str) -> Any:
    if isinstance(result, ToolMessage):
        return result.model_copy(update={"tool_call_id": new}) if result.tool_call_id == old else result
    if isinstance(result, Command):
        update = _within(result.update, lambda part: _readdressed(part, old, new))
        return result if update is result.update else dataclasses.replace(result, update=update)
    if isinstance(result, list) and result and all(isinstance(part, (ToolMessage, Command)) for part in result):
        return _within(result, lambda part: _readdressed(part, old, new))
    return result


def _within(container: Any, change: Callable[[Any], Any]) -> Any:
    """The container with what its parts became; itself where none changed. Messages stand in the values of a state update, or in lists there."""
    if isinstance(container, dict):
        changed: Any = {name: _within(value, change) for name, value in container.items()}
        return changed if any(changed[name] is not value for name, value in container.items()) else container
    if isinstance(container, list):
        parts = [change(part) if isinstance(part, (ToolMessage, Command)) else part for part in container]
        return parts if any(new is not old for new, old in zip(parts, container, strict=True)) else container
    return change(container) if isinstance(container, ToolMessage) else container
