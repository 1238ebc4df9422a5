"""LedgerSaver: any checkpointer of LangGraph, with a ledger in the same database."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from call4agents_core import Ledger
from call4agents_core.errors import UsageError
from call4agents_langgraph._database import ledger_beside, needs_the_loop
from call4agents_langgraph._forwarding import shaped_like
from call4agents_langgraph._saved import Saved

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection

    from langgraph.checkpoint.serde.base import SerializerProtocol

    from call4agents_langgraph._forwarding import Method

Scope = Literal["thread", "step"]


class Companion:
    """What a wrapped checkpointer and its clones have in common: the ledger, and what is known to be saved."""

    def __init__(self, ledger: Ledger | None, secret: bytes | str | None) -> None:
        self.saved = Saved()
        self._ledger, self._secret = ledger, secret
        self._opening = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the ledger was opened already, so that asking for it does not touch the disk."""
        return self._ledger is not None

    def ledger(self, saver: BaseCheckpointSaver[Any]) -> Ledger:
        """The ledger, opened by whoever needs it first."""
        if self._ledger is None:
            with self._opening:
                if self._ledger is None:
                    self._ledger = ledger_beside(saver, self._secret)
        return self._ledger


class LedgerSaver(BaseCheckpointSaver[Any]):
    """A checkpointer, and beside its checkpoints the ledger of what the graph did: ``builder.compile(checkpointer=LedgerSaver(saver))``.

    To LangGraph it is the checkpointer that it wraps, sync or async: it overrides the same methods, with the same signatures, and
    every other attribute is that one's. Effects in the graph find it by themselves.

    :param saver: any checkpointer. Of InMemorySaver, SqliteSaver and AsyncSqliteSaver the ledger is found in the same database; it is
        opened at first use, on connections of its own.
    :param ledger: a ledger, or where one is: for a checkpointer whose database cannot be told, or to keep the two apart.
    :param scope: "thread": an effect called by code happens once for a thread and its arguments.
    :param secret: of the ledger; see `call4agents_core.init`.
    :raises UsageError: the checkpointer is wrapped already, or an option cannot mean anything.
    """

    _c4a_saver: BaseCheckpointSaver[Any]
    _c4a_companion: Companion

    def __new__(
        cls,
        saver: BaseCheckpointSaver[Any],
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,  # noqa: ARG004 - for __init__
        scope: Scope = "thread",  # noqa: ARG004
        secret: bytes | str | None = None,  # noqa: ARG004
    ) -> Self:
        """Make an object of the class that is shaped like the checkpointer."""
        if isinstance(saver, LedgerSaver):
            msg = "This checkpointer is a LedgerSaver already; use it as it is."
            raise UsageError(msg)
        if not isinstance(cast("object", saver), BaseCheckpointSaver):
            msg = f"LedgerSaver wraps a checkpointer of LangGraph, and {saver!r} is none."
            raise UsageError(msg)
        return object.__new__(shaped_like(saver, cls, _SPECIAL))

    def __init__(  # the base's would give it a serializer of its own
        self,
        saver: BaseCheckpointSaver[Any],
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        scope: Scope = "thread",
        secret: bytes | str | None = None,
    ) -> None:
        if scope != "thread":
            what = 'scope="step" is not in this release yet' if scope == "step" else f"scope={scope!r} is not possible"
            msg = f'LedgerSaver: {what}; scope="thread" makes an effect happen once for a thread and its arguments.'
            raise UsageError(msg)
        if isinstance(ledger, Ledger):
            if secret is not None:
                msg = "LedgerSaver: a ledger that is open has its secret already; pass ledger= or secret=, not both."
                raise UsageError(msg)
        elif ledger is not None:
            ledger = Ledger.open(ledger, secret=secret)
        self._c4a_saver = saver
        self._c4a_companion = Companion(ledger, secret)

    @property
    def ledger(self) -> Ledger:
        """The core ledger: `pending`, `approve_request`, `resolve`, `undo`, … Opened when it is first asked for.

        :raises UsageError: the database of the checkpointer cannot be told; pass ledger=.
        :raises LedgerError: it cannot be opened.
        """
        return self._c4a_companion.ledger(self._c4a_saver)

    @property
    def _c4a_needs_the_loop(self) -> bool:
        """Whether an effect must not block the event loop, since the checkpointer could not finish its own write meanwhile."""
        return needs_the_loop(self._c4a_saver)

    # ---- the same checkpointer ----------------------------------------------------------------------------------

    @property
    def serde(self) -> SerializerProtocol:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The serializer of the checkpointer."""
        return self._c4a_saver.serde

    @serde.setter
    def serde(self, serde: SerializerProtocol) -> None:
        self._c4a_saver.serde = serde

    @property
    def config_specs(self) -> list[Any]:
        """The configuration fields of the checkpointer."""
        return self._c4a_saver.config_specs

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> LedgerSaver:
        """A clone whose serializer allows more types, as LangGraph makes for each graph. It shares the ledger."""
        inner = self._c4a_saver.with_allowlist(extra_allowlist)
        return self if inner is self._c4a_saver else self._c4a_clone(inner)

    def _c4a_clone(self, inner: BaseCheckpointSaver[Any]) -> LedgerSaver:
        base = type(self).__mro__[1]  # the class that was shaped like the inner one
        clone: LedgerSaver = object.__new__(shaped_like(inner, base, _SPECIAL))
        clone.__dict__.update(self.__dict__)
        clone._c4a_saver = inner
        return clone

    def __copy__(self) -> LedgerSaver:
        return self._c4a_clone(self._c4a_saver)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_c4a_"):  # asked for before __init__ has set it
            raise AttributeError(name)
        return getattr(self._c4a_saver, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_c4a_") or name == "serde":
            super().__setattr__(name, value)
        else:
            setattr(self._c4a_saver, name, value)

    def __repr__(self) -> str:
        return f"LedgerSaver({self._c4a_saver!r})"


# ---- methods that also tell what is saved ---------------------------------------------------------------------------


def _put() -> Method:
    def put(self: LedgerSaver, config: Any, checkpoint: Any, *more: Any, **named: Any) -> Any:
        with self._c4a_companion.saved.saving(config, checkpoint):
            return self._c4a_saver.put(config, checkpoint, *more, **named)

    return put


def _aput() -> Method:
    async def aput(self: LedgerSaver, config: Any, checkpoint: Any, *more: Any, **named: Any) -> Any:
        with self._c4a_companion.saved.saving(config, checkpoint):
            return await self._c4a_saver.aput(config, checkpoint, *more, **named)

    return aput


def _get_tuple() -> Method:
    def get_tuple(self: LedgerSaver, config: Any) -> Any:
        saved = self._c4a_companion.saved
        saved.reading(config)
        found = self._c4a_saver.get_tuple(config)
        saved.read(found)
        return found

    return get_tuple


def _aget_tuple() -> Method:
    async def aget_tuple(self: LedgerSaver, config: Any) -> Any:
        saved = self._c4a_companion.saved
        saved.reading(config)
        found = await self._c4a_saver.aget_tuple(config)
        saved.read(found)
        return found

    return aget_tuple


_SPECIAL: dict[str, Callable[[], Method]] = {
    "put": _put, "aput": _aput, "get_tuple": _get_tuple, "aget_tuple": _aget_tuple
}  # fmt: skip
