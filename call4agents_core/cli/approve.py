"""`call4agents approve`: a yes to a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from call4agents_core._timeline import local_time
from call4agents_core.cli._command import FINE, ledger_option, writing
from call4agents_core.cli._requested import requested
from call4agents_core.cli._table import say

if TYPE_CHECKING:
    from call4agents_core.cli._command import Options, Parser

HELP = "Says yes to one request: its call may run once, with exactly the arguments that `call4agents pending` shows."

_FINISHED = ("done", "undone", "archived")


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    parser.add_argument("id", metavar="ID", help="the id of the request")
    parser.add_argument("--by", help="who says so; kept in the ledger")
    parser.add_argument(
        "--valid-for", type=float, metavar="SECONDS", help="how long the yes is valid (default: without end)"
    )
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    with writing(options) as ledger:
        requested(ledger, options.id)
        approval = ledger.approve_request(options.id, by=options.by, valid_for=options.valid_for)
        now = requested(ledger, options.id)
    if now.standing in _FINISHED:
        say(f"{now.call} in run {now.run} is {now.standing} already, so the yes changes nothing.")
        return FINE
    until = "" if approval.until is None else f" until {local_time(approval.until, 'seconds')}"
    then = (
        "It runs once, the next time that it is called." if now.standing == "approved" else f"It is {now.standing} now."
    )
    say(f"Approved{until}: {now.call} in run {now.run}. {then}")
    return FINE
