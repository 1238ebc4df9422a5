"""Call4Agents: once-only actions, approvals bound to exact arguments and idempotency keys for the agent that you already have.

import call4agents_core as c4a

c4a.init()

@c4a.effect
def pay(amount, to): ...

with c4a.run("thread-42"):
    pay(10, "alice")    # however often this process dies and the run is resumed: at most once
"""

from call4agents_core import errors as errors
from call4agents_core._config import (
    aapprove,
    aapprove_request,
    adeny,
    adeny_request,
    apending,
    approve,
    approve_request,
    arequest_approval,
    aresolve,
    aundo,
    deny,
    deny_request,
    init,
    pending,
    request_approval,
    resolve,
    undo,
)
from call4agents_core._effect import effect, idempotency_headers, idempotency_key
from call4agents_core._outcomes import did_not_happen, happened, unknown
from call4agents_core._reports import UndoReport
from call4agents_core._requests import Approval, ApprovalRequest
from call4agents_core._scope import current_run, run
from call4agents_core.errors import Call4AgentsError
from call4agents_core.ledger import Ledger

__all__ = [
    "Approval",
    "ApprovalRequest",
    "Call4AgentsError",
    "Ledger",
    "UndoReport",
    "aapprove",
    "aapprove_request",
    "adeny",
    "adeny_request",
    "apending",
    "approve",
    "approve_request",
    "arequest_approval",
    "aresolve",
    "aundo",
    "current_run",
    "deny",
    "deny_request",
    "did_not_happen",
    "effect",
    "errors",
    "happened",
    "idempotency_headers",
    "idempotency_key",
    "init",
    "pending",
    "request_approval",
    "resolve",
    "run",
    "undo",
    "unknown",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("call4agents-core")
    msg = f"module 'call4agents_core' has no attribute {name!r}"
    raise AttributeError(msg)
