"""LangGraph's own conformance suite for checkpointers: wrapped, each passes what it passes plain."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from call4agents_langgraph import LedgerSaver

pytestmark = pytest.mark.framework


async def in_memory(folder):
    yield InMemorySaver()


async def on_disk(folder):
    number = len(list(folder.iterdir()))
    async with AsyncSqliteSaver.from_conn_string(str(folder / f"{number}.sqlite")) as saver:
        yield saver


async def report(source, folder, wrap):
    async def lifespan():
        async for saver in source(folder):
            yield wrap(saver)

    return await validate(checkpointer_test(name=wrap.__name__)(lifespan))


def counts(found):
    return {
        str(capability): (result.detected, result.tests_passed, result.tests_failed)
        for capability, result in found.results.items()
    }


def plain(saver):
    return saver


@pytest.mark.parametrize("source", [in_memory, on_disk], ids=["InMemorySaver", "AsyncSqliteSaver"])
def test_a_wrapped_checkpointer_passes_what_the_plain_one_passes(source, tmp_path, run_async):
    """Detected, passed and failed are the same for each capability, at the highest level."""
    bare = run_async(report(source, tmp_path, plain))
    wrapped = run_async(report(source, tmp_path, LedgerSaver))
    assert sum(passed for _, passed, _ in counts(bare).values()) > 50
    assert counts(wrapped) == counts(bare)
    assert str(wrapped.conformance_level()) == str(bare.conformance_level())
    assert wrapped.passed_all_base()
