"""Call4Agents for LangGraph: what a graph does outside happens once, across crash, retry, resume and a second worker.

    from call4agents_langgraph import LedgerSaver, effect

    graph = builder.compile(checkpointer=LedgerSaver(SqliteSaver(connection)))

    @tool
    @effect
    def send_email(to: str, text: str) -> str: ...

Nothing of LangGraph is imported before a name of this package is used: `call4agents` looks in here for what it shows of each framework.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from call4agents_langgraph import errors as errors
    from call4agents_langgraph._effect import effect as effect
    from call4agents_langgraph._middleware import LedgerMiddleware as LedgerMiddleware
    from call4agents_langgraph._node import node as node
    from call4agents_langgraph._saver import LedgerSaver as LedgerSaver
    from call4agents_langgraph._tool_wrapper import tool_wrapper as tool_wrapper

_HOMES = {
    "LedgerMiddleware": "_middleware",
    "LedgerSaver": "_saver",
    "effect": "_effect",
    "node": "_node",
    "tool_wrapper": "_tool_wrapper",
}

__all__ = ["LedgerMiddleware", "LedgerSaver", "effect", "errors", "node", "tool_wrapper"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name == "errors":
        found = importlib.import_module(f"{__name__}.errors")
    elif name == "__version__":
        from importlib.metadata import version

        return version("call4agents-langgraph")
    else:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
