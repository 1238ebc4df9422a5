"""One process that runs or resumes thread T of a graph with one effect. Run by path: thread.py FOLDER OPTIONS(JSON); answers in JSON.

Options: "value" (null resumes), "wait" (seconds, of the effect), "hold" (the effect stays inside until the file "go" is there),
"die_at" ("put" or "put_writes": the process ends by SIGKILL where the checkpointer is first asked for one after the effect).
"""

import json
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from call4agents_core.errors import EffectRefused
from call4agents_core.testing.world import World
from call4agents_langgraph import LedgerSaver, effect

FOLDER, OPTIONS = Path(sys.argv[1]), json.loads(sys.argv[2])
WORLD = World(FOLDER / "world.txt")


class State(TypedDict, total=False):
    text: str


class DyingSaver(SqliteSaver):
    """Ends the process at the entry of a method, once the effect has happened."""

    def put(self, *args):
        self.die("put")
        return super().put(*args)

    def put_writes(self, config, writes, task_id, task_path=""):
        self.die("put_writes")
        return super().put_writes(config, writes, task_id, task_path)

    def die(self, where):
        if OPTIONS.get("die_at") == where and WORLD.count():
            os.kill(os.getpid(), signal.SIGKILL)


@effect(name="charge", wait=OPTIONS.get("wait", 10.0))
def charge(amount: int) -> str:
    WORLD.act("charge")
    while OPTIONS.get("hold") and not (FOLDER / "go").exists():
        time.sleep(0.01)
    return f"charged {amount} as number {WORLD.count()}"


def main():
    builder = StateGraph(State)
    builder.add_node("charge", lambda state: {"text": charge(10)})
    builder.add_edge(START, "charge")
    saver = LedgerSaver(DyingSaver(sqlite3.connect(FOLDER / "checkpoints.sqlite", check_same_thread=False)))
    graph = builder.compile(checkpointer=saver)
    try:
        result = graph.invoke(OPTIONS.get("value"), {"configurable": {"thread_id": "T"}}, durability="sync")
    except EffectRefused as refusal:
        return {"refused": refusal.code}
    return {"text": (result or {}).get("text", "")}


print(json.dumps(main()))
