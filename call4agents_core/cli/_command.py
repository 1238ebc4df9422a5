"""What a command is, and what commands share: options, opening the ledger, complaints, exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, NoReturn, Protocol

from call4agents_core._shown import command, escaped
from call4agents_core.errors import Call4AgentsError, LedgerNotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from call4agents_core._verify import Verifying
    from call4agents_core.ledger import Ledger

#: Exit codes: all is well; the answer is no (refused, broken, differs); wrong usage or no such thing; --fail-if-any found some.
FINE, NO, WRONG, FOUND = 0, 1, 2, 3

Options = argparse.Namespace


class Command(Protocol):
    """A file in this folder. Its name, and one line on what it is for, stand in the table of `cli/__init__.py`."""

    HELP: str

    def add_arguments(self, parser: Parser) -> None:
        """Say which arguments and options the command takes."""
        ...

    def run(self, options: Options) -> int:
        """Do it; return the exit code. Errors of ours may pass: `main` prints them."""
        ...


class Parser(argparse.ArgumentParser):
    """argparse with plain complaints, suggestions for typos, and no abbreviated options."""

    def __init__(self, *, prog: str, description: str, usage: str | None = None, epilog: str | None = None) -> None:
        layout = argparse.HelpFormatter if epilog is None else argparse.RawDescriptionHelpFormatter
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=lambda prog: layout(prog, width=_width()),
        )

    def parsed(self, words: list[str]) -> Options:
        """The options of a command line. Raises SystemExit with 2 after a complaint."""
        options, rest = self.parse_known_args(words)
        if rest:
            known = [option for option in self._option_string_actions if option.startswith("--")]
            self.error(f"{rest[0]!r} is not known here.{suggestion(rest[0].partition('=')[0], known)}")
        return options

    def error(self, message: str) -> NoReturn:
        """Complain and end."""
        end = "" if message.endswith((".", "?")) else "."
        complain(f"{message[:1].upper()}{message[1:]}{end} Type `{self.prog} --help`.")
        raise SystemExit(WRONG)


def _width() -> int:
    """How wide help may be. argparse would import shutil for it, and all that compresses, at each start of any command."""
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size().columns) - 2
    except (OSError, ValueError):
        return 98


def suggestion(word: str, known: Iterable[str]) -> str:
    """What was probably meant, as a sentence with a blank before it; else nothing."""
    from difflib import get_close_matches  # slow to import, and nearly never needed

    found = get_close_matches(word, list(known), n=1)
    return f" Did you mean `{found[0]}`?" if found else ""


def complain(text: str) -> None:
    """One paragraph on standard error, after all that was printed before."""
    sys.stdout.flush()
    print(" ".join(map(escaped, text.splitlines())), file=sys.stderr)


def exit_code(error: Call4AgentsError) -> int:
    """2 where the user meant something that is not there or cannot mean anything; 1 where the ledger or a rule says no."""
    return WRONG if isinstance(error, (UsageError, LedgerNotFound)) else NO


def refused(error: Call4AgentsError) -> int:
    """The thing is there, and the answer is no: complain and return 1, whatever kind of error says so."""
    complain(str(error))
    return NO


# ---- options -------------------------------------------------------------------------------------------------------


def ledger_option(parser: Parser) -> None:
    """--ledger LOCATION."""
    parser.add_argument(
        "--ledger", metavar="LOCATION", help="where the ledger is; else C4A_LEDGER, else .c4a/ledger.sqlite"
    )


def listing_options(parser: Parser, *, limit: int | None = None) -> None:
    """--ledger, --json and --limit. ``limit``: how many are listed unless the user says; None: all."""
    ledger_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    usually = "all" if limit is None else str(limit)
    parser.add_argument("--limit", type=_count, default=limit, metavar="N", help=f"list at most N (default: {usually})")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        msg = f"{text!r} is not a whole number of at least 1"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


# ---- the ledger ----------------------------------------------------------------------------------------------------


def looking(options: Options) -> closing[Verifying]:
    """The ledger's entries, to be looked at: without all that makes calls and decisions, which is slow to load. Raises LedgerError."""
    from call4agents_core._opening import opened
    from call4agents_core._verify import Verifying  # --help needs none

    return closing(opened(Verifying, options.ledger, read_only=True))


def reading(options: Options) -> closing[Ledger]:
    """The whole ledger, to be read: it is never made and never written. Raises LedgerError."""
    from call4agents_core.ledger import Ledger

    return closing(Ledger.open(options.ledger, read_only=True))


def writing(options: Options) -> closing[Ledger]:
    """An existing ledger, to be written: it is never made here, for a decision is about something that is in it. Raises LedgerError."""
    from call4agents_core.ledger import Ledger

    with reading(options):
        pass
    return closing(Ledger.open(options.ledger))


def typed(options: Options, *words: str, also: tuple[str, ...] = ()) -> str:
    """A command line about the same ledger, for the user to type. ``also``: options of it."""
    return command(*words, options=also, ledger=options.ledger or "")
