"""An archive is killed by SIGKILL at random moments and repeated: nothing is lost, nothing stands twice, nothing runs again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from call4agents_core.testing import Worker

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]

MOVER = Path(__file__).with_name("mover.py")
KILLS = 20
RUNS, ACTIONS = 6, 3
DONE = RUNS * ACTIONS


@pytest.fixture(scope="module")
def nursery():
    """Where processes are forked that are to be killed."""
    with Worker(MOVER) as worker:
        yield worker


@pytest.fixture(scope="module")
def how_many(tmp_path_factory):
    """Moments of an archive at which it can be killed."""
    folder = tmp_path_factory.mktemp("moments")
    with Worker(MOVER, folder / "ledger.sqlite", folder / "world.txt") as worker:
        worker.ask("work")
        found = worker.ask("moments", volume=str(folder / "archive.sqlite")).value
    assert found > 100
    return found


def test_killed_at_random_moments_and_repeated_it_ends_as_if_it_had_never_been_killed(
    nursery, how_many, ledger_path, volume, world
):
    """20 deaths on one ledger, each on the way that the last one left; then all calls are made again."""
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    where = {"ledger_path": str(ledger_path), "world_path": str(world.path), "volume": str(volume)}
    with Worker(MOVER, ledger_path, world.path) as worker:
        assert not worker.ask("work").error
    effects = world.lines()
    killed = 0
    for _ in range(KILLS):
        # Most of an archive is one run after the other: an early death leaves the later ones to the next.
        ended = nursery.ask("die_at", moment=chance.randrange(1, how_many // RUNS * 2), **where).value
        assert ended in (0, -9)
        killed += ended == -9
    assert killed
    _check_the_end(ledger_path, world, volume, effects)


@pytest.mark.parametrize("death", range(KILLS))
def test_killed_once_at_a_random_moment_and_repeated(death, nursery, how_many, ledger_path, volume, world):
    """Over the whole length of an archive; the next one goes on."""
    seed = random.randrange(2**32)
    print("seed", seed)
    moment = random.Random(seed).randrange(1 + how_many * death // KILLS, 2 + how_many * (death + 1) // KILLS)
    with Worker(MOVER, ledger_path, world.path) as worker:
        assert not worker.ask("work").error
    effects = world.lines()
    where = {"ledger_path": str(ledger_path), "world_path": str(world.path), "volume": str(volume)}
    moment = min(moment, how_many - 10)  # a few moments come by the clock: the look whether the secret has changed
    assert nursery.ask("die_at", moment=moment, **where).value == -9
    _check_the_end(ledger_path, world, volume, effects)


def _check_the_end(ledger_path, world, volume, effects):
    """In a new process, before the archive is repeated and after it."""
    with Worker(MOVER, ledger_path, world.path) as worker:
        answers = worker.ask("call_again").value  # whatever has moved, and whatever has not: none runs again
        assert answers.pop("ApprovalRequired") == 1
        assert sum(answers.values()) == DONE + ACTIONS - 1
        assert set(answers) <= {"returned", "EffectArchived"}
        assert world.lines() == effects
        left = worker.ask("archive", volume=str(volume)).value
        assert left[0] <= RUNS
        assert worker.ask("archive", volume=str(volume)).value == [0, 0, 0, 0]
        found = worker.ask("checked", volume=str(volume)).value
        assert found == {
            "faults": [],
            "twice": [],
            "nowhere": [],
            "actions": DONE + ACTIONS,
            "there": DONE,
        }
        assert worker.ask("call_again").value == {
            "EffectArchived": DONE,
            "returned": ACTIONS - 1,
            "ApprovalRequired": 1,
        }
        assert world.lines() == effects
