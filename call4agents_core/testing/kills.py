"""Processes ended by SIGKILL at a named point of the ledger's work. No hook in the product serves this: the store is wrapped.

In the process that is to die::

    kill_at(ledger, "in intent")

and in the one that looks on, with a `Worker`::

    worker.tell("pay", amount=10)
    check_killed(worker.ended(), KillPoint.named("in intent"))    # asserts that SIGKILL ended it, and counts

What a new process has to find then is in `AFTERMATH`.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, get_args

from call4agents_core._types import EntryKind
from call4agents_core.errors import UsageError
from call4agents_core.stores.sqlite import SQLiteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from call4agents_core._types import Draft
    from call4agents_core.ledger import Ledger
    from call4agents_core.stores._protocol import Store

    Where = Literal["before", "in", "after"]


class KillPoint(NamedTuple):
    """A point around the writing of one entry, written ``"in intent"``.

    "before": nothing of it has reached the database. "in": inside its transaction, after the INSERT and before the COMMIT.
    "after": it is committed, and the caller has not heard of it. The effect lies between "after intent" and "before result".
    """

    where: Where
    kind: EntryKind

    def __str__(self) -> str:
        return f"{self.where} {self.kind}"

    @classmethod
    def named(cls, text: str) -> KillPoint:
        """The point of a name. Raises UsageError."""
        known = {str(point): point for point in around(*get_args(EntryKind))}
        if text not in known:
            msg = f"{text!r} is no point to be killed at: say before, in or after, and the kind of an entry, as in 'in intent'."
            raise UsageError(msg)
        return known[text]


def around(*kinds: EntryKind) -> tuple[KillPoint, ...]:
    """The three points around each entry of these kinds."""
    wheres: tuple[Where, ...] = ("before", "in", "after")
    return tuple(KillPoint(where, kind) for kind in kinds for where in wheres)


class Aftermath(NamedTuple):
    """What a new process has to find after a call was killed: how often the effect happened, and what the next call does."""

    effects: int
    next_call: Literal["runs", "EffectInDoubt", "returns"]


#: The six points of a call. "before result" is after the effect.
AFTERMATH: dict[KillPoint, Aftermath] = {
    KillPoint("before", "intent"): Aftermath(0, "runs"),
    KillPoint("in", "intent"): Aftermath(0, "runs"),
    KillPoint("after", "intent"): Aftermath(0, "EffectInDoubt"),
    KillPoint("before", "result"): Aftermath(1, "EffectInDoubt"),
    KillPoint("in", "result"): Aftermath(1, "EffectInDoubt"),
    KillPoint("after", "result"): Aftermath(1, "returns"),
}

#: How often processes were killed, by point, as far as `check_killed` saw it.
killed: Counter[str] = Counter()

_SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows knows no other end


# ---- in the process that is to die ---------------------------------------------------------------------------------


def kill_at(ledger: Ledger, point: KillPoint | str, *, nth: int = 1) -> None:
    """From now on, end this process by SIGKILL at a point: around the ``nth`` entry of its kind that it writes.

    Raises UsageError for a point that does not exist, or whose inside cannot be reached in this kind of store.
    """
    point = KillPoint.named(point) if isinstance(point, str) else point
    store = ledger.store
    if point.where == "in" and not isinstance(store, SQLiteStore):
        msg = f"{type(store).__name__}: the harness cannot look into the transactions of this store."
        raise UsageError(msg)
    ledger.store = cast("Store", _Killing(store, point, nth))


def die() -> None:
    """End this process as a crash or the system would: no handler, no flush, no goodbye."""
    os.kill(os.getpid(), _SIGKILL)


class _Killing:
    """A store that ends its process at a point. All else is the store's own."""

    def __init__(self, store: Store, point: KillPoint, nth: int) -> None:
        self._store, self._point, self._left = store, point, nth

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append(self, drafts: Sequence[Draft], *, durable: bool) -> bool:
        """See `Store`."""
        if not self._reached(drafts):
            return self._store.append(drafts, durable=durable)
        if self._point.where == "before":
            die()
        if self._point.where == "in":
            _before_commit(self._store, die)
        written = self._store.append(drafts, durable=durable)
        if written and self._point.where == "after":
            die()
        return written

    def _reached(self, drafts: Sequence[Draft]) -> bool:
        if self._left > 0 and any(json.loads(draft.body)["kind"] == self._point.kind for draft in drafts):
            self._left -= 1
            return self._left == 0
        return False


def _before_commit(store: Store, strike: Callable[[], object]) -> None:
    """Have ``strike`` called when the next transaction is about to commit."""
    assert isinstance(store, SQLiteStore)
    store._writing().connection.set_trace_callback(lambda sql: strike() if sql == "COMMIT" else None)


# ---- in the process that looks on ----------------------------------------------------------------------------------


def check_killed(code: int, point: KillPoint) -> None:
    """Assert that a process which ended with this code was killed at the point, and count it in `killed`."""
    if code != -_SIGKILL:
        msg = f"It was to be killed {point}, and ended with {code}: the point was not reached."
        raise AssertionError(msg)
    killed[str(point)] += 1
