"""The agent of the example and of `quickstart`, in a process of its own: it writes an e-mail, and may be killed while it does.

A real graph of LangGraph with a checkpointer on disk; only the model and the mail server are made up: the model asks for one e-mail,
and the mail server is a file with one line for each e-mail, which is on disk before the tool goes on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from call4agents_langgraph._effect import effect
from call4agents_langgraph._play import CHECKPOINTS, OUTBOX, THREAD
from call4agents_langgraph._saver import LedgerSaver
from call4agents_langgraph.errors import EffectInDoubt

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

Kill = Literal["inside", "after"] | None


class OneEmail(BaseChatModel):
    """A model that asks for one e-mail, and is content once it sees the answer."""

    @property
    def _llm_type(self) -> str:
        return "made-up"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        if isinstance(messages[-1], ToolMessage):
            said = AIMessage(f"Done: {messages[-1].content}.")
        else:
            arguments = {"to": "bob@example.org", "text": "The report is ready."}
            said = AIMessage("", tool_calls=[{"name": "send_email", "args": arguments, "id": "call-1"}])
        return ChatResult(generations=[ChatGeneration(message=said)])


def act(folder: Path, *, guarded: bool, kill: Kill, resume: bool) -> dict[str, Any]:
    """Run the agent, from the start or from where it was; what came of it. With ``kill`` this process ends by SIGKILL."""
    with contextlib.closing(sqlite3.connect(folder / CHECKPOINTS, check_same_thread=False)) as connection:
        plain = SqliteSaver(connection)
        graph = agent(folder, LedgerSaver(plain) if guarded else plain, guarded=guarded, kill=kill)
        question = None if resume else {"messages": [HumanMessage("Tell Bob that the report is ready.")]}
        try:
            said = graph.invoke(question, {"configurable": {"thread_id": THREAD}}, durability="sync")
        except EffectInDoubt as refusal:
            return {"outcome": "in doubt", "action": refusal.action, "text": str(refusal)}
    return {"outcome": "finished", "text": str(said["messages"][-1].content)}


def agent(
    folder: Path, saver: BaseCheckpointSaver[Any], *, guarded: bool, kill: Kill
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Model, tools, model: the usual loop."""
    model = OneEmail()

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def executed(request: Any, execute: Callable[[Any], Any]) -> Any:
        answer = execute(request)
        if kill == "after":  # the tool has returned, and LangGraph has not saved its answer
            die()
        return answer

    builder = StateGraph(MessagesState)
    builder.add_node("model", ask)
    builder.add_node("tools", ToolNode([email_tool(folder / OUTBOX, guarded, kill)], wrap_tool_call=executed))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


def email_tool(outbox: Path, guarded: bool, kill: Kill) -> BaseTool:
    """The tool as its author wrote it; guarded, it has one more line."""

    def send_email(to: str, text: str) -> str:
        """Send an e-mail."""
        with outbox.open("a", encoding="utf-8") as file:
            file.write(f"To {to}: {text}\n")
            file.flush()
            os.fsync(file.fileno())
        if kill == "inside":  # the e-mail is out, and nobody has been told
            die()
        return f"sent to {to}"

    return tool(effect(name="send_email")(send_email)) if guarded else tool(send_email)


def die() -> None:
    """End this process at once; nothing is cleaned up or written any more."""
    os.kill(
        os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM)
    )  # what Windows calls SIGTERM cannot be caught either
