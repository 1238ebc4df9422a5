"""What the ledger needs of a database. `call4agents_core.testing` holds the suite that every store has to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from call4agents_core._types import ActionRow, Draft, Meta, OwnerStatus, RequestRow, Row, RunRow, StateName, Stone


class Store(Protocol):
    """Append-only streams of entries, one for each action. Thread-safe; bodies and MACs are opaque to it.

    The only concurrency primitive is `append`: entry n of an action is written by whoever comes first. Derived tables (actions,
    runs, requests) are written in the same transaction and carry no authority.
    """

    @property
    def location(self) -> str:
        """Where it is, fit to be shown: no password."""
        ...

    @property
    def meta(self) -> Meta:
        """The ledger's format, id and key id."""
        ...

    @property
    def gapless(self) -> bool:
        """Whether entries are numbered 1, 2, 3 … with no number left out, so that a missing one was removed."""
        ...

    def append(self, drafts: Sequence[Draft], *, durable: bool) -> bool:
        """Append all drafts in one transaction; False, with nothing written, if one of the places (action, n) is taken.

        ``durable``: on disk when this returns. Otherwise visible to every process at once, and on disk with the next durable
        append, at `close`, or within a second.
        Raises LedgerBusy, LedgerReadOnly or LedgerError with nothing written.
        """
        ...

    def read(self, run: str, action: str) -> list[Row]:
        """The entries of one action, in order."""
        ...

    def scan(self, *, run: str | None = None, by_action: bool = False) -> Iterator[Row]:
        """All entries, of one run or of all, in the order of writing; ``by_action``: stream after stream. In bounded memory."""
        ...

    def actions(
        self,
        *,
        run: str | None = None,
        tool: str | None = None,
        states: Sequence[StateName] = (),
        first: int | None = None,
        limit: int | None = None,
    ) -> list[ActionRow]:
        """Actions of the derived table, newest first, without a scan of the entries. ``first``: the one that began with this entry."""
        ...

    def runs(self, *, limit: int | None = None) -> list[RunRow]:
        """Runs of the derived table, the one that began last first."""
        ...

    def requests(self, *, id: str | None = None, run: str | None = None, limit: int | None = None) -> list[RequestRow]:
        """The request of an id; or open requests, newest first."""
        ...

    def owner(self) -> str:
        """This process as the owner of attempts; it counts as alive until it ends or the store is closed."""
        ...

    def owner_status(self, owner: str) -> OwnerStatus:
        """Whether the process that holds an attempt still lives. "unknown" where nobody can tell."""
        ...

    def tidy_owners(self, named: Callable[[], set[str]]) -> None:
        """Forget dead owners that no open attempt names, where many have piled up. ``named``: the owners of open attempts."""
        ...

    def sync(self) -> None:
        """Bring everything that was written to disk."""
        ...

    def settled_runs(self) -> Iterator[Row]:
        """The newest entry of each run in which nothing is open and not all is archived."""
        ...

    def entomb(self, run: str, last: int, stones: Iterable[Stone]) -> bool:
        """Replace every entry of these actions of a run by one, in one durable transaction; derived rows say "archived".

        False, with nothing done, if the newest entry of the run is not ``last``: somebody has used it.
        """
        ...

    def key_id(self) -> bytes:
        """The key id that the ledger belongs to right now."""
        ...

    def rekey(self, key_id: bytes) -> None:
        """Write down, durably, that the ledger belongs to another secret."""
        ...

    def now(self) -> float:
        """The store's clock, in seconds since the epoch."""
        ...

    def faults(self) -> Iterator[str]:
        """What is wrong with the database itself: damage, and rows of derived tables whose entries are gone."""
        ...

    def describe(self) -> dict[str, str]:
        """Facts for `doctor`: versions, modes, sizes."""
        ...

    def close(self, *, keep_owner: bool = False) -> None:
        """Bring everything to disk and give up the owner. Idempotent. ``keep_owner``: open attempts name it, and others have to see it dead."""
        ...
