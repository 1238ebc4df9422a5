"""Printing. Everything goes through here, so that nothing that came from an argument reaches a terminal unescaped."""

from __future__ import annotations

import json
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from call4agents_core._shown import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

#: A cell of a plain table is cut after so many characters; --json has all of it.
_WIDEST = 72


def prepare_output() -> None:
    """Let a terminal that cannot show a character get its escape instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(*lines: str) -> None:
    """Print lines, escaped."""
    for line in lines:
        print(escaped(line))


def facts(pairs: Mapping[str, str], indent: str = "  ") -> None:
    """Print names and values, one pair a line, the values below each other."""
    width = max(map(len, pairs), default=0)
    say(*(f"{indent}{name:{width}}  {value}" for name, value in pairs.items()))


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headers: by rich where it can be imported and standard output is a terminal, else as plain text."""
    escaped_rows = [[escaped(cell) for cell in row] for row in rows]
    if not (sys.stdout.isatty() and _by_rich(headers, escaped_rows)):
        for line in _plain(headers, escaped_rows):
            print(line)


def _by_rich(headers: Sequence[str], rows: list[list[str]]) -> bool:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for header in headers:
        grid.add_column(header, overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))  # Text, since brackets in a plain string are rich's markup
    Console().print(grid)
    return True


def _plain(headers: Sequence[str], rows: list[list[str]]) -> Iterator[str]:
    short = [[cell if len(cell) <= _WIDEST else cell[: _WIDEST - 1] + "…" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *short, strict=True)]
    for row in (headers, *short):
        yield "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def print_json(found: Iterable[Mapping[str, Any]]) -> None:
    """Print one JSON array, an object a line. ASCII only, so that nothing in it is invisible."""
    lines = [json.dumps(one, ensure_ascii=True).replace("\x7f", "\\u007f") for one in found]
    print("[" + ",\n ".join(lines) + "]")
