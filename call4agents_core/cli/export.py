"""`call4agents export`: every entry, one JSON object a line, each checked on its way out."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from typing import TYPE_CHECKING

from call4agents_core._state import State
from call4agents_core.cli._command import FINE, ledger_option, looking, typed
from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from call4agents_core.cli._command import Options, Parser

HELP = "Prints every entry as one JSON object a line, action after action. Each MAC is checked; the first that does not fit ends it with 1."


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    parser.add_argument("--format", choices=("jsonl",), default="jsonl", help="jsonl: one JSON object a line")
    parser.add_argument("--run", help="only this run")
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    with looking(options) as ledger:
        if options.run is not None and next(ledger.store.scan(run=options.run), None) is None:
            msg = f"There is no run {options.run!r} in {ledger.location}. Type `{typed(options, 'list', also=('--runs',))}` to see all."
            raise UsageError(msg)
        rows = ledger.store.scan(run=options.run, by_action=True)
        for (name, action), stream in groupby(rows, key=lambda row: (row.run, row.action)):
            state = State()
            for row in stream:
                entry = ledger.checked(name, action, row, state)
                state.take(entry)
                facts = {"seq": row.seq, "run": name, "action": action, "n": row.n, **entry.data, "mac": row.mac.hex()}
                sys.stdout.write(json.dumps(facts) + "\n")
    return FINE
