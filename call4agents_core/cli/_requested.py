"""What a request asks for, as `approve` and `deny` tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from call4agents_core import _keys
from call4agents_core._timeline import arguments_of, call_text, recorded
from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from call4agents_core.ledger import Ledger


class Requested(NamedTuple):
    """The call that a request is for, its run, and how its action stands."""

    call: str
    run: str
    standing: str


def requested(ledger: Ledger, id: str) -> Requested:
    """What the request of this id asks for. Raises UsageError where there is none."""
    for row in ledger.store.requests(id=id):
        one = recorded(ledger, row.run, row.action)
        for entry in one.state.requests:
            if _keys.request_id(row.action, entry.n) == id:
                return Requested(call_text(one.tool, arguments_of(entry)), one.run, one.standing)
    msg = f"There is no request {id!r} in {ledger.location}. Type `call4agents pending` to see the open ones."
    raise UsageError(msg)
