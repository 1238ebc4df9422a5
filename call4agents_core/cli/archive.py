"""`call4agents archive`: move whole finished runs to another ledger file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from call4agents_core.cli._command import FINE, ledger_option, writing
from call4agents_core.cli._table import say

if TYPE_CHECKING:
    from call4agents_core.cli._command import Options, Parser

HELP = "Moves whole finished runs to DEST, another SQLite file with the same secret. What has moved is never run again. Safe to end at any point and to repeat."


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    parser.add_argument("destination", metavar="DEST", help="the archive: a path; it is made where there is none")
    parser.add_argument(
        "--older-than",
        type=float,
        metavar="DAYS",
        required=True,
        help="move runs whose newest entry is at least so old; 0 moves every finished run",
    )
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    with writing(options) as ledger:
        moved = ledger.archive(options.destination, older_than=options.older_than)
        location = ledger.location
    say(
        f"Moved {moved.runs} runs ({moved.actions} actions, {moved.entries} entries) from {location} to {options.destination}.",
        f"{moved.kept} finished runs stayed: too young, or in use. Runs with something running, in doubt, approved or waiting always stay.",
    )
    return FINE
