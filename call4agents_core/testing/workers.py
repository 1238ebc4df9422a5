"""Child processes that do what they are told over their pipes, one JSON line each way, and can be killed at any time.

The parent holds a `Worker`; the program that it runs ends with `serve`::

    # pay_worker.py
    ledger = c4a.init(sys.argv[1])
    serve(pay=pay, kill_at=lambda point: kill_at(ledger, point))

    # the test
    with Worker("pay_worker.py", path) as worker:
        assert worker.ask("pay", amount=10) == Answer("receipt 10")
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import traceback
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

#: How long a worker may take for one order, in seconds; then it is killed, and `hear` raises.
PATIENCE = 60.0


class Answer(NamedTuple):
    """What came of an order: the value, or the name and the text of the exception."""

    value: Any = None
    error: str = ""
    text: str = ""


class WorkerEnded(Exception):
    """The worker ended, or was killed for its silence, before it had answered."""


class Worker:
    """A Python process that runs a program which ends with `serve`. As a context manager it is ended at the end."""

    def __init__(self, *arguments: object, env: Mapping[str, str] | None = None) -> None:
        """``arguments``: what follows ``python`` on its command line. ``env``: its whole environment; else ours."""
        self._process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=None if env is None else dict(env),
        )
        self.pid = self._process.pid

    def tell(self, order: str, /, **arguments: Any) -> None:
        """Give an order and do not wait for the answer; `hear` has it later."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([order, arguments]).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerEnded(self._epitaph()) from error

    def hear(self, patience: float = PATIENCE) -> Answer:
        """The answer to the oldest order that has none. Raises WorkerEnded, also after ``patience`` seconds of silence."""
        assert self._process.stdout is not None
        alarm = threading.Timer(patience, self._process.kill)
        alarm.start()
        try:
            line = self._process.stdout.readline()
        finally:
            alarm.cancel()
            alarm.join()
        if not line.endswith(b"\n"):
            raise WorkerEnded(self._epitaph())
        return Answer(*json.loads(line))

    def ask(self, order: str, /, **arguments: Any) -> Answer:
        """Give an order and wait for its answer."""
        self.tell(order, **arguments)
        return self.hear()

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def ended(self, patience: float = PATIENCE) -> int:
        """Wait for its end; the exit code, or minus the signal that ended it."""
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """End it by SIGKILL, wherever it is."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        """Let it end, as a program ends; waits for that."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):  # it ended with orders unread
            self._process.stdin.close()
        self.ended()
        self._process.stdout.close()

    def _epitaph(self) -> str:
        return f"worker {self.pid} ended with {self.ended()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._process.kill()
        self.close()


def serve(**orders: Callable[..., Any]) -> None:
    """In the worker: do what is ordered, by name and with arguments by name, until the parent closes the pipe.

    Values must be JSON. What a tool prints goes to standard error, so that it cannot be taken for an answer.
    """
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        order, arguments = json.loads(line)
        try:
            answer = Answer(orders[order](**arguments))
        except Exception as error:
            answer = Answer(None, type(error).__name__, str(error))
        print(json.dumps(answer), file=answers, flush=True)


# ---- children without pipes, where the system forks ----------------------------------------------------------------


def forked(work: Callable[[], object]) -> int:
    """Fork a child that does this and ends, with 0, or with 1 if it raised; its process id. Nothing starts faster."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside other threads, where a test means it so
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)  # or whoever reads our answers would wait for this child, too
            work()
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def end_of(child: int) -> int:
    """Wait for the end of a forked child; its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
