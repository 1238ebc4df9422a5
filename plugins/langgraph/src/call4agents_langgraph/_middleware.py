"""`LedgerMiddleware` for agents made by LangChain's create_agent: every tool of the agent is guarded, none has to be decorated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from call4agents_langgraph._guard import guarded_request

try:
    from langchain.agents.middleware import AgentMiddleware
except ImportError as error:  # langchain is an extra
    msg = "LedgerMiddleware is for agents of LangChain, which is not installed: pip install 'call4agents-langgraph[langchain]'"
    raise ImportError(msg) from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langgraph.prebuilt.tool_node import ToolCallRequest


class LedgerMiddleware(AgentMiddleware[Any, Any]):
    """Guard every tool of an agent: ``create_agent(model, tools, middleware=[..., LedgerMiddleware()], checkpointer=LedgerSaver(saver))``.

    Put it last in the list. The last is the innermost: what others change in a call is then part of the action, and each of their
    retries comes through the ledger. Each call of a tool is an action, named after the tool, with the arguments as they will run.
    """

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Let the agent run a guarded copy of the tool."""
        return handler(guarded_request(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Let the agent run a guarded copy of the tool."""
        return await handler(guarded_request(request))
