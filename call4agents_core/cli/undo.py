"""`call4agents undo`: what can be reversed in a run, in which order; and does it."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from call4agents_core.cli._command import FINE, NO, ledger_option, reading, refused, typed, writing
from call4agents_core.cli._table import say
from call4agents_core.errors import UndoStopped, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from call4agents_core._reports import Reversal, UndoReport
    from call4agents_core.cli._command import Options, Parser

HELP = "Reverses what was done in a run, newest first, each reversal once only. Exits with 1 where something stands in the way or has no undo."


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    parser.add_argument("run", metavar="RUN", help="the run to reverse")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be reversed, in which order")
    parser.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        default=[],
        help="import this module, whose effects know their undo; may be given again",
    )
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    _import(options.modules)
    with reading(options) if options.dry_run else writing(options) as ledger:
        if next(ledger.store.scan(run=options.run), None) is None:
            msg = f"There is no run {options.run!r} in {ledger.location}. Type `{typed(options, 'list')} --runs` to see all."
            raise UsageError(msg)
        try:
            report = ledger.undo(options.run, dry_run=options.dry_run)
        except UndoStopped as stopped:
            say(*_told(stopped.report))
            return refused(stopped)
    say(*_told(report))
    return FINE if (report.dry_run and not report.obstacles()) or report.clean else NO


def _import(modules: Iterable[str]) -> None:
    sys.path.insert(0, os.getcwd())  # as `python -m` does: the module that is meant lies here, as a rule
    for module in modules:
        try:
            _import_absolute(module)
        except ImportError as error:
            msg = f"--import {module}: {error}. Name a module that Python finds from this folder."
            raise UsageError(msg) from error


def _import_absolute(module: str) -> None:
    if not module or module.startswith("."):
        msg = f"{module!r} is not the whole name of a module"
        raise ImportError(msg)
    import_module(module)


def _told(report: UndoReport) -> list[str]:
    lines = [
        *_listed("would be reversed, in this order" if report.dry_run else "reversed", report.undone),
        *_listed("reversed earlier", report.already),
        *_listed("not reversed: no undo=", report.without_undo),
        *_listed("in doubt", report.in_doubt),
        *_listed("could not be reversed", report.failed),
    ]
    return lines or [f"Nothing was done in run {report.run}, so there is nothing to reverse."]


def _listed(title: str, found: Sequence[Reversal]) -> list[str]:
    return [f"{title}:", *(f"  {one}" for one in found)] if found else []
