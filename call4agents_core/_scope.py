"""What surrounds a call: the run it belongs to, and the attempts that it is inside of. Both follow the context, as tasks do."""

from __future__ import annotations

import functools
import inspect
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

from call4agents_core._options import checked_text
from call4agents_core.errors import NoActiveRun, NotInitialised

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from call4agents_core._ledger import Attempt
    from call4agents_core.ledger import Ledger

    F = TypeVar("F", bound=Callable[..., Any])


class Scope(NamedTuple):
    """One open run, with the ledger that was current when it was opened, and the run around it."""

    run: str
    ledger: Ledger | None
    outer: Scope | None


_scope: ContextVar[Scope | None] = ContextVar("call4agents_run", default=None)
_attempts: ContextVar[tuple[Attempt, ...]] = ContextVar("call4agents_attempts", default=())
_default: list[Ledger] = []


def set_default(ledger: Ledger) -> None:
    """Make it the ledger of runs that are opened from now on."""
    _default[:] = [ledger]


def default_ledger() -> Ledger | None:
    """What the newest init() opened."""
    return _default[0] if _default else None


def current_run() -> str | None:
    """The id of the run that this code runs in, or None."""
    scope = _scope.get()
    return None if scope is None else scope.run


def current_ledger(tool: str = "The ledger") -> Ledger:
    """The ledger of the open run, else that of init(). Raises NotInitialised."""
    scope = _scope.get()
    ledger = (scope.ledger if scope is not None else None) or default_ledger()
    if ledger is None:
        raise NotInitialised(tool)
    return ledger


def current_place(tool: str) -> tuple[Ledger, str]:
    """Ledger and run of a call. Raises NotInitialised or NoActiveRun."""
    ledger = current_ledger(tool)
    scope = _scope.get()
    if scope is None:
        raise NoActiveRun(tool)
    return ledger, scope.run


class run:  # noqa: N801 - used as a verb: with run("thread-42")
    """A run: everything inside belongs to the id that you resume with (a thread, a conversation, a session).

    ``with run("thread-42"):``, ``async with run(…):`` or as a decorator of a function, sync or async; one object may be used
    again and nested. The ledger is that of ``ledger=``, else of the newest ``init``: a run keeps the one it began with.
    """

    def __init__(self, id: str, *, ledger: Ledger | None = None) -> None:
        self.id = checked_text("A run id", id)
        self._ledger = ledger

    def __enter__(self) -> Self:
        outer = _scope.get()
        _scope.set(Scope(self.id, self._ledger or default_ledger(), outer))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        scope = _scope.get()
        _scope.set(scope.outer if scope is not None else None)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: F) -> F:
        """Decorate a function: each of its calls runs inside this run."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def inside_async(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return cast("F", inside_async)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast("F", inside)


class inside:  # noqa: N801 - used as a verb: with inside(attempt)
    """While the tool of an attempt runs: idempotency_key() and calls from inside its own body find it."""

    __slots__ = ("_attempt", "_outer")

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    def __enter__(self) -> None:
        self._outer = _attempts.get()
        _attempts.set((*self._outer, self._attempt))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _attempts.set(self._outer)


def enclosing_attempts() -> tuple[Attempt, ...]:
    """The attempts that this code runs inside of, outermost first."""
    return _attempts.get()
