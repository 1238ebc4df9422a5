"""What the tests of async calls share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import call4agents_core as c4a
from tests.kit import raw


def in_loop(work: Callable[[], Awaitable[Any]], run: str = "r") -> Any:
    """Await it in a loop of its own, inside a run."""

    async def main() -> Any:
        async with c4a.run(run):
            return await work()

    return asyncio.run(main())


def payer(fail: dict[int, BaseException] | None = None, **options: Any) -> tuple[Any, list[str]]:
    """An effect whose attempts raise what ``fail`` says by number; and the idempotency keys of its attempts."""
    keys: list[str] = []

    @c4a.effect(name="apay", **({"wait": 0.2} | options))
    async def pay(amount: int, to: str = "alice") -> tuple[int, str]:
        keys.append(c4a.idempotency_key())
        await asyncio.sleep(0)
        if len(keys) in (fail or {}):
            raise fail[len(keys)]
        return amount, to

    return pay, keys


@contextmanager
def held(ledger: c4a.Ledger) -> Iterator[None]:
    """Another connection holds the write lock of the file."""
    with raw(ledger.location) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            db.execute("ROLLBACK")


async def until(condition: Callable[[], Any]) -> None:
    """Let the loop go on until it holds."""
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("waited in vain")
