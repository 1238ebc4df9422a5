"""Call4Agents: once-only actions, approvals bound to exact arguments and idempotency keys for the agent that you already have.

import call4agents_core as c4a

c4a.init()

@c4a.effect
def pay(amount, to): ...

with c4a.run("thread-42"):
    pay(10, "alice")    # however often this process dies and the run is resumed: at most once
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for true, and typing is slow to import
if TYPE_CHECKING:
    from typing import Any

    from call4agents_core import errors
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
    from call4agents_core._effect import (
        effect,
        idempotency_headers,
        idempotency_key,
    )
    from call4agents_core._outcomes import (
        did_not_happen,
        happened,
        unknown,
    )
    from call4agents_core._reports import (
        UndoReport,
    )
    from call4agents_core._requests import (
        Approval,
        ApprovalRequest,
    )
    from call4agents_core._scope import (
        current_run,
        run,
    )
    from call4agents_core.errors import (
        Call4AgentsError,
    )
    from call4agents_core.ledger import (
        Ledger,
    )

#: Where the public names live. Each is loaded when it is first used, so that a command that needs few of them starts fast.
_HOMES = {
    "_config": "aapprove aapprove_request adeny adeny_request apending approve approve_request arequest_approval aresolve aundo deny deny_request init pending request_approval resolve undo",
    "_effect": "effect idempotency_headers idempotency_key",
    "_outcomes": "did_not_happen happened unknown",
    "_reports": "UndoReport",
    "_requests": "Approval ApprovalRequest",
    "_scope": "current_run run",
    "errors": "Call4AgentsError",
    "ledger": "Ledger",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

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


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name == "errors":
        found = import_module(f"{__name__}.errors")
    elif name == "__version__":
        from importlib.metadata import version

        return version("call4agents-core")
    else:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
