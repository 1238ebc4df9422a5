"""The ledger as users hold it."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, TypeVar

from call4agents_core._approvals import Approvals
from call4agents_core._archive import Archived, Archiving
from call4agents_core._opening import opened
from call4agents_core._options import seconds
from call4agents_core._undo import Undoing
from call4agents_core._verify import Verifying
from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from call4agents_core._outcomes import DidNotHappen, Happened
    from call4agents_core._requests import Approval, ApprovalRequest

T = TypeVar("T")


class Ledger(Approvals, Undoing, Archiving, Verifying):
    """A record of what was about to be done, what was done, and what was allowed. Open one with `Ledger.open` or `init`.

    Thread-safe, and may be used on after a fork. Its methods are the functions of the package, on this ledger.
    """

    @classmethod
    def open(
        cls,
        location: str | os.PathLike[str] | None = None,
        *,
        secret: bytes | str | None = None,
        old_secrets: Iterable[bytes | str] = (),
        read_only: bool = False,
        beside: bool = False,
    ) -> Ledger:
        """Open a ledger; a SQLite one is made where there is none, unless ``read_only``.

        :param location: a path or ``":memory:"``; else C4A_LEDGER, else ``.c4a/ledger.sqlite``.
        :param secret: bytes or text of at least 16 bytes; else C4A_SECRET, else the file that a new SQLite ledger makes for itself.
        :param old_secrets: secrets that older entries were signed with; else C4A_OLD_SECRETS, comma-separated.
        :param beside: the database holds other tables, and the ledger may be made among them.
        :raises LedgerError: LedgerNotFound, LedgerTooNew, SecretMissing, SecretMismatch or another reason.
        """
        return opened(cls, location, secret=secret, old_secrets=old_secrets, read_only=read_only, beside=beside)

    def archive(
        self, destination: str | os.PathLike[str], *, older_than: float, progress: Callable[[str], object] | None = None
    ) -> Archived:
        """Move whole settled runs to another SQLite file, which becomes or is an archive of this ledger, with the same secret.

        Each action leaves one entry here, so that it is never run again. Safe to end at any point and to repeat.

        :param older_than: days since the newest entry of a run; 0 moves every settled run.
        :param progress: told the id of each run that was moved.
        """
        from call4agents_core.stores.sqlite import SQLiteStore, side_folder

        days = seconds("older_than", older_than, positive=False)
        address = os.fspath(destination)
        if self.location == ":memory:":
            msg = "A ledger in memory has no archive: it ends with its process."
            raise UsageError(msg)
        if "://" in address or address == ":memory:" or os.path.realpath(address) == self.location:
            msg = f"{address!r} is no destination for an archive: give a path, other than the ledger's own."
            raise UsageError(msg)
        store = SQLiteStore(address, new=self.store.meta._replace(archive=True, key_id=self.keyring.current))
        try:
            self._secrets.copy_to(side_folder(address) / "secret")
            return self.move_to(store, days, progress)
        finally:
            store.close()

    async def aapprove(self, tool: Callable[..., Any] | str, /, **arguments: Any) -> Approval:
        """`approve`, to be awaited."""
        return await self._off_loop(functools.partial(self.approve, tool, **arguments))

    async def adeny(self, tool: Callable[..., Any] | str, /, **arguments: Any) -> None:
        """`deny`, to be awaited."""
        return await self._off_loop(functools.partial(self.deny, tool, **arguments))

    async def arequest_approval(self, tool: Callable[..., Any] | str, /, **arguments: Any) -> ApprovalRequest:
        """`request_approval`, to be awaited."""
        return await self._off_loop(functools.partial(self.request_approval, tool, **arguments))

    async def apending(self, run: str | None = None) -> list[ApprovalRequest]:
        """`pending`, to be awaited."""
        return await self._off_loop(functools.partial(self.pending, run))

    async def aapprove_request(self, id: str, *, by: str | None = None, valid_for: float | None = None) -> Approval:
        """`approve_request`, to be awaited."""
        return await self._off_loop(functools.partial(self.approve_request, id, by=by, valid_for=valid_for))

    async def adeny_request(self, id: str, *, by: str | None = None, reason: str | None = None) -> None:
        """`deny_request`, to be awaited."""
        return await self._off_loop(functools.partial(self.deny_request, id, by=by, reason=reason))

    async def aresolve(
        self,
        run: str,
        action: str,
        outcome: Happened | DidNotHappen,
        *,
        by: str | None = None,
        note: str = "",
        attempt: int | None = None,
    ) -> None:
        """`resolve`, to be awaited."""
        await self._off_loop(functools.partial(self.resolve, run, action, outcome, by=by, note=note, attempt=attempt))

    async def _off_loop(self, work: Callable[[], T]) -> T:
        from call4agents_core._async import off_loop

        return await off_loop(self, work)
