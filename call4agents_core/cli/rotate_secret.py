"""`call4agents rotate-secret`: sign with a new secret from now on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from call4agents_core.cli._command import FINE, ledger_option, writing
from call4agents_core.cli._table import say

if TYPE_CHECKING:
    from call4agents_core.cli._command import Options, Parser

HELP = (
    "Makes a new secret for the ledger and keeps the old ones for reading; running processes take it up within seconds. "
    "Where the secret is given by C4A_SECRET: put the new one there and the old one into C4A_OLD_SECRETS, everywhere, then type this once."
)


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    with writing(options) as ledger:
        ledger.rotate_secret()
        say(
            f"New entries of {ledger.location} are signed with the new secret; older ones are read with the secrets that signed them."
        )
    return FINE
