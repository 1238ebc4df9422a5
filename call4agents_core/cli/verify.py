"""`call4agents verify`: is every entry as the ledger wrote it, and is none missing?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from call4agents_core.cli._command import FINE, NO, ledger_option, looking
from call4agents_core.cli._table import say

if TYPE_CHECKING:
    from call4agents_core.cli._command import Options, Parser

HELP = "Checks the whole ledger: the database, every MAC, every chain, gaps, and the derived tables. Names each entry that is wrong, and why; exits with 1 then."


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    with looking(options) as ledger:
        found = ledger.verify(_progress if sys.stderr.isatty() else None)
        location = ledger.location
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    looked = f"{found.entries} entries of {found.actions} actions in {location}"
    if not found.faults:
        say(f"{looked}: all as they were written.")
        return FINE
    say(
        f"{looked}: {len(found.faults)} {'fault' if len(found.faults) == 1 else 'faults'}.",
        *(f"  {fault}" for fault in found.faults),
    )
    return NO


def _progress(entries: int) -> None:
    sys.stderr.write(f"\r{entries} entries")
    sys.stderr.flush()
