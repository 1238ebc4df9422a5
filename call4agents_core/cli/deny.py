"""`call4agents deny`: a no to a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from call4agents_core.cli._command import FINE, ledger_option, refused, writing
from call4agents_core.cli._requested import requested
from call4agents_core.cli._table import say
from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from call4agents_core.cli._command import Options, Parser

HELP = "Says no to one request: its call is refused until somebody approves the same arguments anew. It cancels a yes that was not used."


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    parser.add_argument("id", metavar="ID", help="the id of the request")
    parser.add_argument("--by", help="who says so; kept in the ledger")
    parser.add_argument("--reason", help="why; kept in the ledger and told to the program")
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    with writing(options) as ledger:
        now = requested(ledger, options.id)
        try:
            ledger.deny_request(options.id, by=options.by, reason=options.reason)
        except UsageError as error:  # the request is there, so this says that it is too late
            return refused(error)
    say(f"Denied: {now.call} in run {now.run}.")
    return FINE
