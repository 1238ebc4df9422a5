"""The parent's side of a worker process."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from types import TracebackType

_CHECKOUT = Path(__file__).parents[1]


class WorkerFailed(Exception):
    """An order raised, or the process ended."""


class Subject(NamedTuple):
    """A kind of worker, and the Python that has what it needs."""

    kind: str
    python: str


def environment() -> dict[str, str]:
    """Ours, without settings that would change a ledger; workers find this package on their path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("C4A_", "PYTHON"))}
    return {**kept, "PYTHONPATH": str(_CHECKOUT)}


class Child:
    """A worker process with one ledger, or one file of bare inserts. As a context manager it is ended at the end."""

    def __init__(self, subject: Subject, location: Path) -> None:
        """Start it and wait until it has opened ``location``."""
        self.kind = subject.kind
        location.parent.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(  # noqa: S603 - our own worker
            [subject.python, "-m", "benchmarks.worker", subject.kind, str(location)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment(), cwd=location.parent,
        )  # fmt: skip
        try:
            self.hear()
        except BaseException:
            self.close()
            raise

    def tell(self, order: str, /, **arguments: Any) -> None:
        """Give an order; `hear` has the answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([order, arguments]) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerFailed(self._ended()) from error

    def hear(self) -> Any:
        """The answer to the oldest order that has none."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerFailed(self._ended())
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerFailed(f"{self.kind}: {answer['error']}")
        return answer["value"]

    def ask(self, order: str, /, **arguments: Any) -> Any:
        """Give an order and wait for its answer."""
        self.tell(order, **arguments)
        return self.hear()

    def expect_bodies(self, number: int) -> None:
        """A figure counts only if each action ran, and ran once."""
        found = self.ask("bodies")
        if found != number:
            raise WorkerFailed(f"{self.kind}: {found} effects ran for {number} actions")

    def _ended(self) -> str:
        return f"{self.kind}: the worker ended with {self._process.wait()}"

    def close(self) -> None:
        """Let it end, as a program ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._process.kill()
        self.close()
