"""What people decide on: a request for approval, and the approval that answers it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Decides(Protocol):
    """A ledger, as far as a request needs it."""

    def approve_request(self, id: str, *, by: str | None = None, valid_for: float | None = None) -> Approval:
        """Say yes to a request."""
        ...

    def deny_request(self, id: str, *, by: str | None = None, reason: str | None = None) -> None:
        """Say no to a request."""
        ...


class Approval(NamedTuple):
    """A yes that was given: it covers one action with exactly these arguments.

    ``until`` is when it stops being valid (seconds since the epoch), None: never. ``action`` is the id of the action.
    """

    run: str
    tool: str
    action: str
    by: str | None
    until: float | None


class _Facts(NamedTuple):
    id: str
    run: str
    tool: str
    action: str
    arguments: dict[str, str]
    since: float
    ledger: str


class ApprovalRequest(_Facts):
    """A request for a yes. ``arguments`` are shown as they will run: validated, defaults applied, hidden characters escaped.

    ``since`` is when it was made, in seconds since the epoch; ``ledger`` is where its ledger is.
    """

    _decides: Decides | None = None

    def at(self, ledger: Decides) -> ApprovalRequest:
        """The request, to be decided on this open ledger."""
        self._decides = ledger
        return self

    def approve(self, *, by: str | None = None, valid_for: float | None = None) -> Approval:
        """Say yes to exactly this request, for ``valid_for`` seconds or without end. Saying it twice gives one right."""
        return self._where().approve_request(self.id, by=by, valid_for=valid_for)

    def deny(self, *, by: str | None = None, reason: str | None = None) -> None:
        """Say no: it holds until somebody approves the same arguments anew."""
        self._where().deny_request(self.id, by=by, reason=reason)

    def _where(self) -> Decides:
        """Its ledger; a request that came through pickle decides on the ledger of the process that it came to."""
        if self._decides is not None:
            return self._decides
        from call4agents_core._scope import current_ledger  # commands that only read have no use for it

        return current_ledger("An approval")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self)
