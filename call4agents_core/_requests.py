"""What people decide on: a request for approval, and the approval that answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from call4agents_core._scope import current_ledger


class Decides(Protocol):
    """A ledger, as far as a request needs it."""

    def approve_request(self, id: str, *, by: str | None = None, valid_for: float | None = None) -> Approval:
        """Say yes to a request."""
        ...

    def deny_request(self, id: str, *, by: str | None = None, reason: str | None = None) -> None:
        """Say no to a request."""
        ...


@dataclass(frozen=True, slots=True)
class Approval:
    """A yes that was given: it covers one action with exactly these arguments.

    ``until`` is when it stops being valid (seconds since the epoch), None: never. ``action`` is the id of the action.
    """

    run: str
    tool: str
    action: str
    by: str | None
    until: float | None


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A request for a yes. ``arguments`` are shown as they will run: validated, defaults applied, hidden characters escaped.

    ``since`` is when it was made, in seconds since the epoch; ``ledger`` is where its ledger is.
    """

    id: str
    run: str
    tool: str
    action: str
    arguments: dict[str, str]
    since: float
    ledger: str
    _ledger: Decides | None = field(default=None, repr=False, compare=False)

    def approve(self, *, by: str | None = None, valid_for: float | None = None) -> Approval:
        """Say yes to exactly this request, for ``valid_for`` seconds or without end. Saying it twice gives one right."""
        return self._where().approve_request(self.id, by=by, valid_for=valid_for)

    def deny(self, *, by: str | None = None, reason: str | None = None) -> None:
        """Say no: it holds until somebody approves the same arguments anew."""
        self._where().deny_request(self.id, by=by, reason=reason)

    def _where(self) -> Decides:
        """Its ledger; a request that came through pickle decides on the ledger of the process that it came to."""
        return self._ledger if self._ledger is not None else current_ledger("An approval")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.id, self.run, self.tool, self.action, self.arguments, self.since, self.ledger)
