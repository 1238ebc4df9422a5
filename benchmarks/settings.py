"""How much is measured."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """Rounds of each measurement, and what one round holds."""

    actions: int = 5_000  # in the ledger called full
    rounds: int = 60  # of one caller
    calls: int = 15  # actions of each kind in such a round
    crowds: int = 9  # rounds of threads, tasks and processes
    each_thread: int = 20
    each_task: int = 4
    each_process: int = 60
    repeats: int = 25  # rounds of repeats in a full ledger and in one of 10 actions
    reads: int = 7  # rounds of the commands that list
    starts: int = 25  # rounds of starts of the interpreter


def quick(actions: int) -> Settings:
    """Just enough to see that everything works. Its figures say little."""
    return Settings(
        actions=actions, rounds=2, calls=3, crowds=2, each_thread=1, each_task=1, each_process=2,
        repeats=2, reads=1, starts=2,
    )  # fmt: skip
