"""Archiving beside agents that work, and archiving much."""

from __future__ import annotations

import pytest

import call4agents_core as c4a

pytestmark = pytest.mark.timeout(300)

WRITER = """
ledger = c4a.init(LEDGER)
@c4a.effect(name="pay")
def pay(n):
    return f"paid {n}"
say("ready")
input()
until, n = time.monotonic() + 2.5, 0
while time.monotonic() < until:
    with c4a.run(f"{os.getpid()} {n // 10}" if n < 50 else str(os.getpid())):
        assert pay(n) == f"paid {n}"
    n += 1
say(n)
"""


def test_agents_go_on_while_runs_are_archived(ledger, tools, volume, child, sound):
    """Four processes write, one archives all that is settled, again and again: no error, nothing lost, nothing twice."""
    for run in range(20):
        with c4a.run(f"old {run}"):
            for n in range(5):
                tools.pay(n)
    writers = [child(WRITER) for _ in range(4)]
    for writer in writers:
        writer.hear()
    for writer in writers:
        writer.go_on()
    moved = 0
    while any(writer.process.poll() is None for writer in writers):
        moved += ledger.archive(volume, older_than=1 / 86_400).actions  # a second
    written = [writer.hear()[0] for writer in writers]
    assert [writer.end() for writer in writers] == [0] * 4
    moved += ledger.archive(volume, older_than=0).actions
    archive = c4a.Ledger.open(volume, read_only=True)
    there = {row.action for row in archive.store.actions()}
    archive.close()
    assert moved == len(there) == 100 + sum(written)
    assert there == {row.action for row in ledger.store.actions(states=("archived",))}
    assert ledger.store.actions(states=("done",)) == []
    sound()


@pytest.mark.slow
def test_the_memory_that_an_archive_takes_does_not_grow_with_what_it_moves(child):
    """20,000 actions in one run, and 2,000 in 200; peak memory in KiB, as the kernel counts it."""
    measured = child("""
        import resource
        def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ledger = c4a.init(LEDGER)
        @c4a.effect(name="pay")
        def pay(n, text): return text
        def fill(run, numbers):
            with c4a.run(run):
                for n in numbers: pay(n, f"a text of some length, for action {n}" * 10)
        def archived(runs, actions, where):
            assert ledger.archive(where, older_than=0)[:2] == (runs, actions)
        fill("first", range(500))
        archived(1, 500, "first.sqlite")
        for run in range(200): fill(f"run {run}", range(10))
        fill("big", range(20_000))
        ready = peak()
        archived(201, 22_000, "all.sqlite")
        say(ready, peak())
    """)
    ready, after = measured.hear()
    assert measured.end() == 0
    assert after - ready < 12_000
