"""Playing what a page shows: examples in Python, and sessions at a console, each in a folder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.docs.pages import Block, Page

SECONDS = 100
KINDS = {"python", "text", "console", "sql", "json"}


class Example(NamedTuple):
    """Blocks of Python that are one program, and the blocks with what it prints, if there are any."""

    blocks: tuple[Block, ...]
    printed: tuple[Block, ...]

    def program(self) -> str:
        """The program, each line at the number that it has in the page, so that a traceback names the page's line."""
        lines: list[str] = []
        for block in self.blocks:
            lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
        return "\n".join(lines) + "\n"


def mistakes(page: Page) -> list[str]:
    """Blocks whose info string means nothing, or that stand where they cannot mean it."""
    found: list[str] = []
    example = False
    for block in page.blocks:
        kind, *words = block.info or ("text",)
        file = kind == "python" and any(word.startswith("file=") for word in words)
        possible = {
            "python": file or set(words) <= {"continued"},
            "console": set(words) <= {"slow"},
            "text": set(words) <= {"output"},
        }.get(kind, kind in KINDS and not words)
        if not possible or (not example and {"continued", "output"} & set(words)):
            found.append(f"{block.where}: {' '.join(block.info)}")
        example = example if kind != "python" else not file
    return found


def examples(page: Page) -> Iterator[Example]:
    """The programs of a page."""
    blocks: list[Block] = []
    printed: list[Block] = []
    for block in page.blocks:
        if block.info == ("python",):
            if blocks:
                yield Example(tuple(blocks), tuple(printed))
            blocks, printed = [block], []
        elif block.info == ("python", "continued"):
            blocks.append(block)
        elif block.info == ("text", "output"):
            printed.append(block)
    if blocks:
        yield Example(tuple(blocks), tuple(printed))


def run(example: Example, folder: Path) -> None:
    """Run a program in a folder. It must end well, without a warning, and print what the page says."""
    file = folder / "example.py"
    file.write_text(example.program(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", file.name], cwd=folder, env=environment(folder), check=False,
        capture_output=True, text=True, encoding="utf-8", timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, f"{example.blocks[0].where}:\n{done.stdout}{done.stderr}"
    shown = "".join(block.text for block in example.printed)
    if shown and not (os.sep == "\\" and ".../" in shown):  # the pages spell paths as most systems do
        agree(shown, done.stdout, {}, example.printed[0].where)


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the outside but where programs are found: this Python's own commands first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("C4A_", "PYTHON"))}
    path = os.pathsep.join((os.path.dirname(sys.executable), kept.get("PATH", "")))
    return {**kept, "PATH": path, "HOME": str(folder), "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", "COLUMNS": "120"}


# ---- sessions at a console -----------------------------------------------------------------------------------------


def session(page: Page, folder: Path, *, slow: bool) -> None:
    """Type all that the page's console blocks type, in order, in one folder that holds the page's files."""
    for block in page.blocks:
        file = next((word.removeprefix("file=") for word in block.info if word.startswith("file=")), None)
        if file is not None:
            (folder / file).write_text(block.text, encoding="utf-8")
    names: dict[str, str] = {}
    for block in page.blocks:
        if block.info[:1] == ("console",) and ("slow" in block.info) is slow:
            for command, printed in typed(block):
                agree(printed, _answer(_renamed(command, names), folder), names, f"{block.where}: {command}")


def typed(block: Block) -> list[tuple[str, str]]:
    """The commands of a block, each with what the page says that it prints."""
    found: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
        else:
            assert found, f"{block.where}: output before any command"
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def _answer(command: str, folder: Path) -> str:
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment(folder), check=False, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", timeout=SECONDS,
    )  # fmt: skip
    return done.stdout


# ---- what a page shows, and what was printed -----------------------------------------------------------------------

#: What is another one each time: ids, which are told apart, and dates, times of day, lengths of time, processes.
_VARIES = re.compile(
    r"(?P<id>\b(?:c4a-)?[0-9a-f]{12,64}\b)|(?P<any>\.\.\.)|(?P<date>\d{4}-\d\d-\d\d)|(?P<time>(?<!\d)\d\d:\d\d:\d\d(?:\.\d+)?)"
    r"|(?P<seconds>\b\d+(?:\.\d+)?(?= s\b))"
)


def agree(shown: str, printed: str, names: dict[str, str], where: str) -> None:
    """Compare by lines. An id of the page stands for the id that is printed at its first place, and for no other later."""
    pattern, ids = _pattern(shown, names)
    found = re.fullmatch(pattern, _trimmed(printed))
    assert found, f"{where}\n--- the page shows\n{shown}\n--- printed was\n{printed}"
    for number, name in enumerate(ids):
        assert names.setdefault(name, found[f"id{number}"]) == found[f"id{number}"], f"{where}: two ids for {name}"
    assert len(set(names.values())) == len(names), f"{where}: one id for two of {sorted(names)}"


def _pattern(shown: str, names: dict[str, str]) -> tuple[str, list[str]]:
    ids: list[str] = []
    lines: list[str] = []
    for line in _trimmed(shown).splitlines(keepends=True):
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*")
            continue
        end, parts = 0, list[str]()
        for part in _VARIES.finditer(line):
            parts += [re.escape(line[end : part.start()]), _varying(part, ids, names)]
            end = part.end()
        lines.append("".join(parts) + re.escape(line[end:]))
    return "".join(lines), ids


def _varying(part: re.Match[str], ids: list[str], names: dict[str, str]) -> str:
    match part.lastgroup:
        case "any":
            return ".*"
        case "date":
            return r"\d{4}-\d\d-\d\d"
        case "time":
            return r"\d\d:\d\d:\d\d(?:\.\d+)?"
        case "seconds":
            return r"\d+(?:\.\d+)?"
    name = part[0]
    if name in names:
        return re.escape(names[name])
    if name in ids:
        return f"(?P=id{ids.index(name)})"
    ids.append(name)
    start = "c4a-" if name.startswith("c4a-") else ""
    return f"(?P<id{len(ids) - 1}>{start}[0-9a-f]{{{len(name) - len(start)}}})"


def _renamed(command: str, names: dict[str, str]) -> str:
    """The command with the ids of this run in the place of the page's."""
    return re.sub(r"\b(?:c4a-)?[0-9a-f]{8,64}\b", lambda found: _actual(found[0], names), command)


def _actual(shown: str, names: dict[str, str]) -> str:
    """The id of this run; the page may type the start of one that it has shown."""
    for name, actual in names.items():
        if name.startswith(shown):
            return actual[: len(shown)]
    return shown


def _trimmed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())
