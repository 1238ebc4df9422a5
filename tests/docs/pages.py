"""The documents as data: headings, links, code spans and fenced blocks, and what a block's info string says of it.

Info strings of blocks, all others being mistakes:

- ``python``: an example, run in an empty folder; ``python continued``: goes on where the example before it stopped;
  ``python file=NAME``: not run, but put as NAME into the folder in which the page's console blocks run.
- ``text output``: what the example above it prints, where ``...`` stands for any text and a line ``...`` for any lines.
- ``console``: lines that begin with ``$ `` are typed, the others are what is printed; ``console slow`` in `make test-all`.
- ``sql``, ``json``, ``text``, and no info string: only to be read.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,})(?P<info>[^`]*)$")
_HEADING = re.compile(r"^(#{1,6}) +(.+?)\s*$")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"!?\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


class Block(NamedTuple):
    """A fenced block; ``line`` is the number of its first line of content."""

    page: str
    line: int
    info: tuple[str, ...]
    text: str

    @property
    def where(self) -> str:
        """How a failure names it."""
        return f"{self.page}:{self.line}"


class Page(NamedTuple):
    """One document. ``prose`` is its text with the fenced blocks blanked out, so that line numbers stay."""

    name: str
    path: Path
    prose: str
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The whole document."""
        return self.path.read_text(encoding="utf-8")

    @property
    def headings(self) -> list[str]:
        """The headings as they are written, without their marks."""
        return [found[2] for line in self.prose.splitlines() if (found := _HEADING.match(line))]

    @property
    def anchors(self) -> set[str]:
        """What a link may name behind ``#``."""
        found: set[str] = set()
        for heading in self.headings:
            plain, number = _anchor(heading), 0
            while (anchor := f"{plain}-{number}" if number else plain) in found:
                number += 1
            found.add(anchor)
        return found

    @property
    def spans(self) -> list[str]:
        """What stands in backticks in the prose."""
        return [" ".join(found[2].split()) for found in _SPAN.finditer(self.prose)]

    @property
    def links(self) -> list[str]:
        """The targets of all links."""
        return [found["target"] for found in _LINK.finditer(_SPAN.sub("", self.prose))]

    def section(self, heading: str) -> str:
        """The text under a heading, up to the next one that is not below it."""
        lines, level, found = self.text.splitlines(), 0, list[str]()
        for line, prose in zip(lines, self.prose.splitlines(), strict=True):
            mark = _HEADING.match(prose)
            if level and mark and len(mark[1]) <= level:
                break
            if level:
                found.append(line)
            elif mark and mark[2] == heading:
                level = len(mark[1])
        assert level, f"{self.name} has no heading {heading!r}"
        return "\n".join(found)


def _anchor(heading: str) -> str:
    plain = re.sub(r"[`*]", "", heading).strip().lower()
    kept = "".join(one for one in plain if one in " -_" or unicodedata.category(one)[0] in "LN")
    return kept.replace(" ", "-")


@cache
def pages() -> tuple[Page, ...]:
    """README.md and every page of docs/."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
    return tuple(parsed(file) for file in files)


def page(name: str) -> Page:
    """A page by its path in the repository."""
    return next(found for found in pages() if found.name == name)


def parsed(file: Path) -> Page:
    """The page in a file."""
    name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name
    prose: list[str] = []
    blocks: list[Block] = []
    fence: re.Match[str] | None = None
    start, content = 0, list[str]()
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        mark = _FENCE.match(line)
        if fence is None and mark is None:
            prose.append(line)
            continue
        prose.append("")
        if fence is None:
            fence, start, content = mark, number + 1, []
        elif mark and not mark["info"].strip() and len(mark["marks"]) >= len(fence["marks"]):
            blocks.append(Block(name, start, tuple(fence["info"].split()), "\n".join(content) + "\n"))
            fence = None
        else:
            content.append(line.removeprefix(fence["indent"]))
    assert fence is None, f"{name}:{start}: the block is never closed"
    return Page(name, file, "\n".join(prose) + "\n", tuple(blocks))


# ---- tables --------------------------------------------------------------------------------------------------------


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows in a text, heads and rules left out."""
    lines = [line.strip() for line in text.splitlines()]
    found: list[list[str]] = []
    for number, line in enumerate(lines):
        if not line.startswith("|") or set(line) <= set("|-: "):
            continue
        if number + 1 < len(lines) and lines[number + 1].startswith("|") and set(lines[number + 1]) <= set("|-: "):
            continue
        found.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))])
    return found
