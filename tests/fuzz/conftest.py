"""A ledger in which everything has happened, copies of it with a few bytes flipped, and what may come of a look at one."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

import call4agents_core as c4a
from call4agents_core import cli
from call4agents_core.errors import Call4AgentsError, LedgerError
from tests.kit import Boom


class Case:
    """The tools, what they did, and all that an untampered ledger still lets them do."""

    def __init__(self, folder: Path) -> None:
        self.origin = folder / "origin.sqlite"
        self.did: Counter[str] = Counter()

        @c4a.effect(name="pay", undo=lambda n: self.did.update([f"refund {n}"]))
        def pay(n):
            self.did.update([f"pay {n}"])
            return {"paid": n}

        @c4a.effect(name="guarded", approval=True)
        def guarded(n):
            self.did.update([f"guarded {n}"])
            return f"guarded {n}"

        @c4a.effect(name="risky", wait=0.1)
        def risky(n):
            self.did.update([f"risky {n}"])
            raise Boom

        self.pay, self.guarded, self.risky = pay, guarded, risky
        ledger = c4a.Ledger.open(self.origin)
        with c4a.run("r", ledger=ledger):
            pay(1)
            with contextlib.suppress(Boom):
                risky(1)
            c4a.approve(guarded, n=1, c4a_ledger=ledger)
            guarded(1)
            c4a.request_approval(guarded, n=2, c4a_ledger=ledger)
            c4a.deny(guarded, n=3, c4a_ledger=ledger)
            c4a.approve(guarded, n=4, c4a_ledger=ledger)
        with c4a.run("moved", ledger=ledger):
            pay(5)
        ledger.archive(folder / "archive.sqlite", older_than=3650)
        ledger.close()
        self.did.clear()

    def copy(self, place: Path) -> Path:
        """A copy to be damaged, with its secret."""
        shutil.copyfile(self.origin, place)
        shutil.rmtree(f"{place}.c4a", ignore_errors=True)
        shutil.copytree(f"{self.origin}.c4a", f"{place}.c4a")
        for left in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{place}{left}")
        return place

    def look(self, place: Path) -> tuple[list[str], Counter[str]]:
        """All that one can do with a ledger: calls, decisions, commands. What failed in our words, and the effects that happened.

        Raises whatever is no error of ours, and AssertionError for a wrong answer.
        """
        self.did.clear()
        refused: list[str] = []

        @contextlib.contextmanager
        def ours():
            try:
                yield
            except Call4AgentsError as error:
                assert str(error)  # noqa: PT017 - most damage hits something else
                refused.append(type(error).__name__)

        with ours():
            ledger = c4a.Ledger.open(place)
            try:
                with c4a.run("r", ledger=ledger):
                    with ours():
                        assert self.pay(1) == {"paid": 1}
                    with ours():
                        assert self.guarded(1) == "guarded 1"
                    for n in (2, 3):
                        with ours():
                            self.guarded(n)
                    with ours():
                        assert self.guarded(4) == "guarded 4"
                    with ours(), contextlib.suppress(Boom):
                        self.risky(1)
                with ours():
                    ledger.pending()
                with ours():
                    ledger.undo("moved", dry_run=True)
                with ours():
                    ledger.verify()
            finally:
                ledger.close()
        for words in (["list"], ["list", "--runs"], ["show", "r"], ["doubt"], ["pending"], ["verify"], ["export"]):
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                vars(cli).pop("list", None)  # its file hides the builtin from a second command in one process
                assert cli.main([*words, "--ledger", str(place)]) in (0, 1, 2)
        assert not self.did["guarded 2"] + self.did["guarded 3"], "it ran without a yes"
        assert self.did["guarded 4"] <= 1, "one yes ran two actions"
        return refused, +self.did

    def faults(self, place: Path) -> list[str]:
        """What verify finds, or why it cannot be asked."""
        try:
            ledger = c4a.Ledger.open(place, read_only=True)
            try:
                return list(ledger.verify().faults)
            finally:
                ledger.close()
        except LedgerError as error:
            return [str(error)]


@pytest.fixture(scope="session")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("case"))


@pytest.fixture
def chance() -> random.Random:
    """Randomness whose seed is printed where a test fails; C4A_TEST_SEED gives it back."""
    seed = int(os.environ.get("C4A_TEST_SEED") or random.randrange(2**32))
    print("seed: C4A_TEST_SEED =", seed)
    return random.Random(seed)
