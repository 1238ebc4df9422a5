"""`call4agents report`: what doctor tells, as the text of an issue. It is printed; nothing is sent or opened."""

from __future__ import annotations

import os
import re
from importlib.metadata import PackageNotFoundError, metadata
from typing import TYPE_CHECKING

from call4agents_core.cli._command import FINE, ledger_option
from call4agents_core.cli._health import health
from call4agents_core.cli._table import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from call4agents_core.cli._command import Options, Parser
    from call4agents_core.cli._health import Health

HELP = "Prints the text of an issue: what doctor tells, and places for what you saw. Paste it yourself; nothing is sent and nothing is opened."

_TRACKERS = {"issues", "issue tracker", "bug tracker", "bug reports", "bugs", "tracker"}


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    say(*map(_without_home, _markdown(health(options.ledger))), "", _where_to())
    return FINE


def _markdown(found: Health) -> Iterator[str]:
    yield from ("### What happened", "", "(what you did, what you saw, with the whole error text)", "")
    yield from ("### What should have happened", "", "", "### Versions", "", "| what | version |", "|---|---|")
    yield from (f"| {_cell(name)} | {_cell(number)} |" for name, number in found.versions.items())
    yield from ("", "### Ledger", "", "| what | value |", "|---|---|")
    yield from (f"| {_cell(name)} | {_cell(value)} |" for name, value in found.ledger.items())
    yield from ("", "### Settings", "")
    yield from (f"- {'**risk**: ' if finding.risk else ''}{finding.text}" for finding in found.findings)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _without_home(line: str) -> str:
    """The path of the home folder often holds a person's name."""
    for home in {os.path.expanduser("~"), os.path.realpath(os.path.expanduser("~"))}:
        if len(home) > 1:
            line = re.sub(rf"{re.escape(home.rstrip(os.sep))}(?![\w.-])", "~", line)
    return line


def _where_to() -> str:
    address = _issue_tracker()
    if address is None:
        return "Paste the text above into the issue tracker of the place that you have Call4Agents from."
    return f"Paste the text above here: {address}"


def _issue_tracker() -> str | None:
    """The link, if the metadata of the installed package names one."""
    try:
        lines = metadata("call4agents-core").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    links = dict(line.split(", ", 1) for line in lines if ", " in line)
    return next((address for label, address in links.items() if label.lower() in _TRACKERS), None)
