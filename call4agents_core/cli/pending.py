"""`call4agents pending`: what waits for a yes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from call4agents_core._timeline import call_text, local_time
from call4agents_core.cli._command import FINE, listing_options, reading, typed
from call4agents_core.cli._table import facts, print_json, say

if TYPE_CHECKING:
    from call4agents_core._requests import ApprovalRequest
    from call4agents_core.cli._command import Options, Parser

HELP = "Lists open requests, newest first, with the arguments exactly as they will run."


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    listing_options(parser)
    parser.add_argument("--run", help="only requests of this run")


def run(options: Options) -> int:
    """See `Command`."""
    with reading(options) as ledger:
        found = ledger.pending(options.run, limit=options.limit)
    if options.json:
        print_json(map(_as_json, found))
        return FINE
    for request in found:
        say(call_text(request.tool, request.arguments))
        facts(
            {
                "request": request.id,
                "run": request.run,
                "since": local_time(request.since, "seconds"),
                "yes": typed(options, "approve", request.id),
                "no": typed(options, "deny", request.id),
            }
        )
        say("")
    if not found:
        say("Nothing waits for a yes.")
    return FINE


def _as_json(request: ApprovalRequest) -> dict[str, Any]:
    return {
        "id": request.id,
        "run": request.run,
        "action": request.action,
        "tool": request.tool,
        "arguments": request.arguments,
        "since": local_time(request.since),
    }
