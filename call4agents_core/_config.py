"""Opening the ledger of a process, and the functions of the package that use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from call4agents_core._options import seconds
from call4agents_core._scope import current_ledger, current_run, set_default
from call4agents_core.errors import NoActiveRun, UsageError
from call4agents_core.ledger import Ledger

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from call4agents_core._outcomes import DidNotHappen, Happened
    from call4agents_core._reports import UndoReport
    from call4agents_core._requests import Approval, ApprovalRequest


def init(
    location: str | os.PathLike[str] | None = None,
    *,
    secret: bytes | str | None = None,
    old_secrets: Iterable[bytes | str] = (),
    replay_from: str | os.PathLike[str] | None = None,
    replay_until: int | None = None,
    lease: float = 30.0,
) -> Ledger:
    """Open the ledger that this process uses from now on; runs that are open keep the one they began with.

    :param location: a path or ``":memory:"``; else C4A_LEDGER, else ``.c4a/ledger.sqlite``.
    :param secret: bytes or text of at least 16 bytes; else C4A_SECRET, else a new SQLite ledger makes its own and keeps it beside it.
    :param old_secrets: secrets that older entries were signed with; else C4A_OLD_SECRETS, comma-separated.
    :param lease: seconds after which a silent owner counts as dead, where owners are known by heartbeats; a SQLite ledger asks the kernel instead.
    :raises LedgerError: see `Ledger.open`.
    """
    if replay_from is not None or replay_until is not None:
        msg = (
            "replay_from= and replay_until= are not in this release yet: a run can be recorded and shown, not replayed."
        )
        raise UsageError(msg)
    seconds("lease", lease)
    ledger = Ledger.open(location, secret=secret, old_secrets=old_secrets)
    set_default(ledger)
    return ledger


def _chosen(ledger: Ledger | None, options: dict[str, Any] | None = None) -> Ledger:
    if options is not None:
        ledger = options.pop("c4a_ledger", None)
    return ledger if ledger is not None else current_ledger()


def approve(tool: Callable[..., Any] | str, /, **arguments: Any) -> Approval:
    """Say yes to one action with exactly these arguments. Besides the tool's own arguments: c4a_by=, c4a_valid_for= (seconds),
    c4a_key=, c4a_run=, c4a_ledger=. See `Ledger.approve`.
    """
    return _chosen(None, arguments).approve(tool, **arguments)


async def aapprove(tool: Callable[..., Any] | str, /, **arguments: Any) -> Approval:
    """`approve`, to be awaited."""
    return await _chosen(None, arguments).aapprove(tool, **arguments)


def deny(tool: Callable[..., Any] | str, /, **arguments: Any) -> None:
    """Say no to one action with exactly these arguments. Besides the tool's own: c4a_by=, c4a_reason=, c4a_key=, c4a_run=,
    c4a_ledger=. See `Ledger.deny`.
    """
    _chosen(None, arguments).deny(tool, **arguments)


async def adeny(tool: Callable[..., Any] | str, /, **arguments: Any) -> None:
    """`deny`, to be awaited."""
    await _chosen(None, arguments).adeny(tool, **arguments)


def request_approval(tool: Callable[..., Any] | str, /, **arguments: Any) -> ApprovalRequest:
    """Ask for a yes. Besides the tool's own arguments: c4a_key=, c4a_run=, c4a_ledger=. See `Ledger.request_approval`."""
    return _chosen(None, arguments).request_approval(tool, **arguments)


async def arequest_approval(tool: Callable[..., Any] | str, /, **arguments: Any) -> ApprovalRequest:
    """`request_approval`, to be awaited."""
    return await _chosen(None, arguments).arequest_approval(tool, **arguments)


def pending(run: str | None = None, *, ledger: Ledger | None = None) -> list[ApprovalRequest]:
    """Open requests, newest first; of one run, or of all."""
    return _chosen(ledger).pending(run)


async def apending(run: str | None = None, *, ledger: Ledger | None = None) -> list[ApprovalRequest]:
    """`pending`, to be awaited."""
    return await _chosen(ledger).apending(run)


def approve_request(
    id: str, *, by: str | None = None, valid_for: float | None = None, ledger: Ledger | None = None
) -> Approval:
    """Say yes to a request by its id, for ``valid_for`` seconds or without end."""
    return _chosen(ledger).approve_request(id, by=by, valid_for=valid_for)


async def aapprove_request(
    id: str, *, by: str | None = None, valid_for: float | None = None, ledger: Ledger | None = None
) -> Approval:
    """`approve_request`, to be awaited."""
    return await _chosen(ledger).aapprove_request(id, by=by, valid_for=valid_for)


def deny_request(id: str, *, by: str | None = None, reason: str | None = None, ledger: Ledger | None = None) -> None:
    """Say no to a request by its id."""
    _chosen(ledger).deny_request(id, by=by, reason=reason)


async def adeny_request(
    id: str, *, by: str | None = None, reason: str | None = None, ledger: Ledger | None = None
) -> None:
    """`deny_request`, to be awaited."""
    await _chosen(ledger).adeny_request(id, by=by, reason=reason)


def resolve(
    run: str,
    action: str,
    outcome: Happened | DidNotHappen,
    *,
    by: str | None = None,
    note: str = "",
    attempt: int | None = None,
    ledger: Ledger | None = None,
) -> None:
    """A person's answer to an action in doubt: `happened(result)` or `did_not_happen()`. ``action``: its id or a unique prefix.

    See `Ledger.resolve`.
    """
    _chosen(ledger).resolve(run, action, outcome, by=by, note=note, attempt=attempt)


async def aresolve(
    run: str,
    action: str,
    outcome: Happened | DidNotHappen,
    *,
    by: str | None = None,
    note: str = "",
    attempt: int | None = None,
    ledger: Ledger | None = None,
) -> None:
    """`resolve`, to be awaited."""
    await _chosen(ledger).aresolve(run, action, outcome, by=by, note=note, attempt=attempt)


def undo(run: str | None = None, *, dry_run: bool = False, ledger: Ledger | None = None) -> UndoReport:
    """Reverse what was done in a run (None: the open one), newest first. See `Ledger.undo`."""
    return _chosen(ledger).undo(_run(run), dry_run=dry_run)


async def aundo(run: str | None = None, *, dry_run: bool = False, ledger: Ledger | None = None) -> UndoReport:
    """`undo`, to be awaited; for effects whose ``undo=`` is async."""
    return await _chosen(ledger).aundo(_run(run), dry_run=dry_run)


def _run(run: str | None) -> str:
    run = run if run is not None else current_run()
    if run is None:
        raise NoActiveRun("undo()")
    return run
