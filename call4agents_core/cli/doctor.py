"""`call4agents doctor`: is everything as it should be here?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from call4agents_core.cli._command import FINE, NO, ledger_option
from call4agents_core.cli._health import health
from call4agents_core.cli._table import facts, say

if TYPE_CHECKING:
    from call4agents_core.cli._command import Options, Parser

HELP = "Prints versions, how the ledger is, and settings that are risky. Exits with 1 if the ledger or a plugin cannot be used. Sends nothing."


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    found = health(options.ledger)
    say("Versions")
    facts(found.versions)
    say("", "Ledger")
    facts(found.ledger)
    say("", "Settings", *(f"  {'RISK' if finding.risk else 'ok  '}  {finding.text}" for finding in found.findings))
    if "bytes" in found.ledger:
        say("", "`call4agents verify` checks every entry of the ledger.")
    return NO if found.broken else FINE
