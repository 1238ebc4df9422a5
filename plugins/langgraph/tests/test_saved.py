"""An effect starts only after the checkpoint that its step began from is saved, whatever LangGraph does in the background."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.types import Durability

from call4agents_core.errors import LedgerError
from call4agents_langgraph import LedgerSaver, _saved, effect
from call4agents_langgraph._saved import Saved

pytestmark = pytest.mark.framework
SLOW = 0.2


class SlowSaver(SqliteSaver):
    """A disk that takes its time; it notes which checkpoints have reached it."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.on_disk = []

    def put(self, config, checkpoint, metadata, new_versions):
        time.sleep(SLOW)
        result = super().put(config, checkpoint, metadata, new_versions)
        self.on_disk.append(checkpoint["id"])
        return result


class BrokenSaver(SqliteSaver):
    """A disk that refuses a checkpoint after a while."""

    def put(self, config, checkpoint, metadata, new_versions):
        time.sleep(SLOW)
        raise OSError("the disk is gone")


@pytest.fixture
def seen(opened):
    """Makes an effect that notes which of its checkpoints are on disk, and its saver."""
    saver, found = opened(SlowSaver), []

    @effect(name="work")
    def work(n: int) -> int:
        from langgraph.config import get_config

        levels = get_config()["configurable"]["checkpoint_map"].values()
        found.append([level in saver.on_disk for level in levels])
        return n

    return saver, work, found


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_the_checkpoint_of_the_step_is_on_disk_when_the_effect_runs(durability: Durability, seen, one_node, thread):
    """Also where LangGraph itself does not wait for it."""
    saver, work, found = seen
    one_node(lambda state: {"out": [work(1)]}, saver).invoke({"out": []}, thread(), durability=durability)
    assert found == [[True]]


def test_in_a_subgraph_the_checkpoints_of_all_levels_are(seen, one_node, thread):
    """Without the outer ones nothing leads to the inner one."""
    saver, work, found = seen
    inner = one_node(lambda state: {"out": [work(1)]})
    one_node(inner, saver).invoke({"out": []}, thread())
    assert found == [[True, True]]


def test_in_the_functional_api_the_input_is_on_disk(seen, thread):
    """There LangGraph does not wait for the input even under durability="sync"."""
    saver, work, found = seen

    @task
    def step():
        return work(1)

    @entrypoint(checkpointer=saver)
    def flow(_):
        return step().result()

    flow.invoke({"go": 1}, thread(), durability="sync")
    assert found
    assert all(all(levels) for levels in found)


def test_an_async_effect_waits_without_holding_the_loop(one_node, thread, run_async):
    """The checkpointer may need the loop to get on."""

    class Slow(InMemorySaver):
        on_disk = 0

        async def aput(self, *args):
            await asyncio.sleep(SLOW)
            Slow.on_disk += 1
            return await super().aput(*args)

    found = []

    @effect(name="work")
    async def work() -> None:
        found.append(Slow.on_disk)

    async def node(state):
        await work()
        return {"out": []}

    run_async(one_node(node, LedgerSaver(Slow())).ainvoke({"out": []}, thread(), durability="async"))
    assert found == [2], "the input, and the step that led here"


def test_under_exit_there_is_nothing_to_wait_for(seen, one_node, thread):
    """The only checkpoint is written after the last node."""
    saver, work, found = seen
    started = time.monotonic()
    one_node(lambda state: {"out": [work(1)]}, saver).invoke({"out": []}, thread(), durability="exit")
    assert found == [[False]]
    assert time.monotonic() - started < _saved.WAIT / 2


def test_a_checkpoint_that_cannot_be_saved_stops_the_effect_before_it_starts(opened, one_node, thread, world):
    """At once: nobody waits for what will not come."""
    saver = opened(BrokenSaver)

    @effect(name="work")
    def work() -> None:
        world.act()

    started = time.monotonic()
    with pytest.raises((LedgerError, OSError)):
        one_node(lambda state: {"out": [work()]}, saver).invoke({"out": []}, thread(), durability="async")
    assert time.monotonic() - started < _saved.WAIT / 2
    assert world.count() == 0


CONFIG = {"configurable": {"thread_id": "T", "checkpoint_ns": ""}}


def waiting(saved, look=lambda checkpoint: False):
    (wanted,) = saved.missing("T", {"": "1"})
    saved.wait(wanted, look, "here")


def test_graphs_that_save_elsewhere_are_not_waited_for():
    """A graph around this one may have no checkpointer at all."""
    saved = Saved()
    assert saved.missing("T", {"": "1"}) == []
    saved.reading(CONFIG)
    assert [checkpoint.id for checkpoint in saved.missing("T", {"": "1", "other": "2"})] == ["1"]
    assert saved.missing("U", {"": "1"}) == []


def test_a_failure_to_save_is_told_to_who_waits_with_its_cause():
    """The reason is the checkpointer's."""
    saved = Saved()
    saved.reading(CONFIG)

    def fail():
        with pytest.raises(OSError, match="gone"), saved.saving(CONFIG, {"id": "1"}):
            raise OSError("gone")

    other = threading.Timer(0.05, fail)
    other.start()
    with pytest.raises(LedgerError, match=r"could not be saved.*did not start") as caught:
        waiting(saved)
    other.join()
    assert isinstance(caught.value.__cause__, OSError)


def test_after_a_failure_no_later_checkpoint_of_the_graph_will_be_saved_until_it_begins_anew():
    """LangGraph saves in order, and does not try the next one."""
    saved = Saved()
    saved.reading(CONFIG)
    with pytest.raises(OSError), saved.saving(CONFIG, {"id": "0"}):
        raise OSError
    with pytest.raises(LedgerError, match="could not be saved"):
        waiting(saved)
    saved.reading(CONFIG)
    waiting(saved, look=lambda checkpoint: True)


def test_what_this_process_has_not_seen_saved_is_looked_up(monkeypatch):
    """It may have been saved long ago, and forgotten here."""
    monkeypatch.setattr(_saved, "LOOK", 0.01)
    saved, asked = Saved(), []
    saved.reading(CONFIG)
    waiting(saved, look=lambda checkpoint: asked.append(checkpoint.config()) or True)
    assert asked == [{"configurable": {"thread_id": "T", "checkpoint_ns": "", "checkpoint_id": "1"}}]


def test_a_checkpoint_that_is_never_saved_is_given_up(monkeypatch, run_async):
    """With a clear error instead of waiting for ever; sync and async."""
    monkeypatch.setattr(_saved, "LOOK", 0.01)
    monkeypatch.setattr(_saved, "WAIT", 0.03)
    saved = Saved()
    saved.reading(CONFIG)
    with pytest.raises(LedgerError, match=r"not saved within 0\.03 seconds"):
        waiting(saved)

    async def look(checkpoint):
        return False

    async def wait():
        (wanted,) = saved.missing("T", {"": "1"})
        await saved.await_(wanted, look, "here")

    with pytest.raises(LedgerError, match=r"not saved within 0\.03 seconds"):
        run_async(wait())
    assert saved._waiting == []


def test_it_remembers_a_bounded_number(monkeypatch):
    """A server runs for months."""
    monkeypatch.setattr(_saved, "_REMEMBERED", 3)
    saved = Saved()
    for n in range(10):
        with saved.saving({"configurable": {"thread_id": f"T{n}"}}, {"id": str(n)}):
            pass
    assert (len(saved._ids), len(saved._graphs)) == (3, 3)
