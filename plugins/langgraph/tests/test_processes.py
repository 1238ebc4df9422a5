"""Several processes on one thread: a second worker, a kill while LangGraph saves, a lost checkpoint."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from call4agents_core import Ledger, did_not_happen
from call4agents_langgraph import LedgerSaver, effect

pytestmark = [pytest.mark.framework, pytest.mark.crash]
SCRIPT = Path(__file__).parent / "scripts" / "thread.py"
PATIENCE = 60


@pytest.fixture
def process(tmp_path):
    """Starts processes on the one thread; those that are left are ended."""
    started = []

    def start(**options):
        words = [sys.executable, str(SCRIPT), str(tmp_path), json.dumps(options)]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


def said(child):
    """What a process answered."""
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, err
    return json.loads(out)


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_case_d01_a_second_worker_that_resumes_a_live_thread_does_not_act_again(process, tmp_path, world):
    """D01: langgraph#7417, a long tool was started again by a second worker while the first still ran. It waits, or is told;
    later callers get the result.
    """
    first = process(value={"text": ""}, hold=True)
    until(world.count)
    assert said(process(wait=0.2)) == {"refused": "effect-running"}
    waits = process(wait=PATIENCE)
    time.sleep(0.3)
    assert waits.poll() is None
    (tmp_path / "go").touch()
    results = [said(first), said(waits), said(process())]
    assert {result["text"] for result in results} == {"charged 10 as number 1"}
    assert world.count() == 1


@pytest.mark.parametrize("die_at", ["put", "put_writes"])
def test_case_d04_killed_while_langgraph_saves_the_step_the_effect_is_not_repeated(die_at, process, world):
    """D04: langgraph#8039, which of the two is saved first is open, so a kill decides by luck whether the node runs again."""
    first = process(value={"text": ""}, die_at=die_at)
    first.communicate(timeout=PATIENCE)
    assert first.returncode == -signal.SIGKILL
    assert world.count() == 1
    assert said(process())["text"] in ("charged 10 as number 1", "")
    assert said(process(value={"text": ""}))["text"] == "charged 10 as number 1"
    assert world.count() == 1


def test_case_d06_two_workers_that_resume_one_thread_act_once_though_its_checkpoints_fork(process, tmp_path, world):
    """D06: langgraph#8796, two workers resume one thread, both succeed, and one branch becomes unreachable."""
    first = process(value={"text": ""}, hold=True)
    until(world.count)
    first.kill()
    first.communicate()
    ledger = Ledger.open(tmp_path / "checkpoints.sqlite")
    (row,) = ledger.store.actions(run="T")
    ledger.resolve("T", row.action, did_not_happen())
    ledger.close()
    world.path.unlink()
    workers = [process(), process()]
    assert {said(worker)["text"] for worker in workers} == {"charged 10 as number 1"}
    assert world.count() == 1
    assert said(process(value={"text": ""}))["text"] == "charged 10 as number 1"
    assert world.count() == 1


def test_case_r04_a_cancelled_task_under_exit_durability_is_still_in_the_ledger(one_node, thread, run_async):
    """R04: langgraph#5672, durability="exit" loses the record of a cancelled task."""
    acted = asyncio.Event()

    @effect(name="charge")
    async def charge() -> None:
        acted.set()
        await asyncio.sleep(PATIENCE)

    async def work(state):
        await charge()

    saver = LedgerSaver(InMemorySaver())

    async def run():
        going = asyncio.create_task(one_node(work, saver).ainvoke({"out": []}, thread(), durability="exit"))
        await acted.wait()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going

    run_async(run())
    assert [(row.tool, row.state) for row in saver.ledger.store.actions(run="T")] == [("charge", "in-doubt")]
