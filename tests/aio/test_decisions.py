"""Decisions that are awaited, and a ledger that cannot be written, on an event loop."""

import asyncio

import pytest

import call4agents_core as c4a
from call4agents_core.errors import (
    ApprovalDenied,
    ApprovalRequired,
    EffectInDoubt,
    LedgerReadOnly,
    ResultNotRecorded,
    UsageError,
)
from tests.aio.calls import in_loop, payer
from tests.kit import Boom, entries_of

pytestmark = pytest.mark.usefixtures("ledger")


# ---- decisions, awaited ----------------------------------------------------------------------------------------------


def test_the_twins_that_are_awaited_do_what_the_functions_do():
    """aapprove, adeny, arequest_approval, apending, aapprove_request, adeny_request, aresolve."""
    pay, keys = payer(approval=True, fail={3: Boom()})

    async def work():
        with pytest.raises(ApprovalRequired) as caught:
            await pay(1)
        assert await c4a.apending() == [caught.value.request] == await c4a.apending("r")
        await c4a.aapprove_request(caught.value.request.id, by="boss", valid_for=60)
        assert await pay(1) == (1, "alice")
        await c4a.aapprove(pay, amount=2, c4a_by="boss")
        assert await pay(2) == (2, "alice")
        await c4a.adeny(pay, amount=3, c4a_reason="no")
        with pytest.raises(ApprovalDenied, match="no"):
            await pay(3)
        request = await c4a.arequest_approval(pay, amount=3)
        await c4a.adeny_request(request.id, reason="still no")
        with pytest.raises(ApprovalDenied, match="still no"):
            await pay(3)
        await c4a.aapprove(pay, amount=4)
        with pytest.raises(Boom):
            await pay(4)
        with pytest.raises(EffectInDoubt) as doubt:
            await pay(4)
        await c4a.aresolve("r", doubt.value.action, c4a.happened("by hand"))
        assert await pay(4) == "by hand"
        with pytest.raises(TypeError):
            await c4a.aapprove(pay)
        with pytest.raises(UsageError):
            await c4a.aresolve("r", doubt.value.action, c4a.did_not_happen())
        assert await c4a.apending() == []

    in_loop(work)
    assert len(keys) == 3


def test_one_yes_runs_one_of_many_tasks():
    """And a yes to one call is none to another."""
    pay, keys = payer(approval=True, wait=10)

    async def work():
        await c4a.aapprove(pay, amount=5)
        with pytest.raises(ApprovalRequired):
            await pay(9999, "mallory")
        return await asyncio.gather(*(pay(5) for _ in range(10)))

    assert in_loop(work) == [(5, "alice")] * 10
    assert len(keys) == 1


# ---- a ledger that cannot be written ---------------------------------------------------------------------------------


def test_an_async_result_that_cannot_be_written_is_handed_over(ledger):
    """ResultNotRecorded carries it; later calls are in doubt."""

    @c4a.effect(wait=0.1)
    async def big():
        connection = ledger.store._writing().connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return "x" * 100_000

    async def work():
        with pytest.raises(ResultNotRecorded) as caught:
            await big()
        assert len(caught.value.result) == 100_000
        with pytest.raises(EffectInDoubt):
            await big()

    in_loop(work)


def test_an_async_tool_does_not_run_where_nothing_can_be_written(ledger):
    """Refused before it starts."""
    pay, keys = payer()
    reader = c4a.Ledger.open(ledger.location, read_only=True)

    async def main():
        async with c4a.run("r", ledger=reader):
            with pytest.raises(LedgerReadOnly):
                await pay(5)

    asyncio.run(main())
    reader.close()
    assert keys == []
    assert entries_of(ledger) == 0
