"""Results of tools that name the tool call which they answer. The call's id changes when a model asks anew; the result does not."""

from __future__ import annotations

import dataclasses
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.types import Command, Send

from call4agents_core.plugin import register_type

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
    """The result with another id in the messages that answer ``old``; the very same object where there are none."""
    if isinstance(result, ToolMessage):
        return result.model_copy(update={"tool_call_id": new}) if result.tool_call_id == old else result
    if isinstance(result, Command):
        command: Command[Any] = result
        update = _readdressed(command.update, old, new)
        return command if update is command.update else dataclasses.replace(command, update=update)
    if isinstance(result, dict):
        by_name: dict[Any, Any] = result
        changed = {name: _readdressed(part, old, new) for name, part in by_name.items()}
        return changed if any(changed[name] is not part for name, part in by_name.items()) else by_name
    if isinstance(result, list):
        parts: list[Any] = result
        others = [_readdressed(part, old, new) for part in parts]
        return others if any(other is not part for other, part in zip(others, parts, strict=True)) else parts
    return result
