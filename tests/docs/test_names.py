"""Documents and code name the same things: public names, error codes, options, commands, environment variables."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from functools import cache

import pytest

import call4agents_core as c4a
from call4agents_core import errors
from call4agents_core._options import DEFAULTS
from tests.docs.pages import ROOT, page, pages, rows

TEXTS = {found.name: found.text for found in pages()}
EVERYTHING = "\n".join(TEXTS.values())
README = page("README.md")


def classes() -> list[type[errors.Call4AgentsError]]:
    """Every error class of the product."""
    return [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Call4AgentsError)
    ]


def commands() -> set[str]:
    """The commands that `call4agents --help` lists."""
    words = [sys.executable, "-m", "call4agents_core", "--help"]
    shown = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    return set(re.findall(r"^  ([a-z][a-z-]*)  ", shown.partition("commands:")[2], re.MULTILINE))


def not_there_yet() -> dict[str, str]:
    """Of the table of 0.x names: what the README calls "not there yet", with the row's remark."""
    table = rows(README.section("Coming from call4agents 0.x"))
    return {
        name: row[1] for row in table if "not there yet" in row[1] for name in re.findall(r"`([A-Za-z_.]+)", row[0])
    }


# ---- what is there is described -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(c4a.__all__))
def test_public_name_stands_in_the_index(name):
    """Every public name has a row that says what it is."""
    named = {word for row in rows(page("docs/index.md").text) for word in re.findall(r"`c4a\.(\w+)`", row[0])}
    assert name in named


def test_every_error_code_is_a_heading():
    """Each code has a part of its own, and no part is about a code that is gone."""
    found = [
        heading
        for heading in page("docs/errors.md").headings
        if heading in {kind.code for kind in classes()} or "-" in heading
    ]
    assert sorted(found) == sorted({kind.code for kind in classes()})


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.code)
def test_part_of_an_error_names_its_class_bases_and_facts(kind):
    """The part begins with the class, names the class above, and every fact that the constructor takes as an attribute."""
    section = page("docs/errors.md").section(kind.code)
    assert section.strip().startswith(f"**{kind.__name__}**")
    for base in kind.__bases__:
        assert base in (Exception, errors.Call4AgentsError) or base.__name__ in section
    above = "".join(page("docs/errors.md").section(up.code) for up in kind.__mro__[1:] if up in classes())
    constructor = vars(kind).get("__init__")
    facts = (
        set(inspect.signature(constructor).parameters) - {"self", "text", "advice", "ledger"} if constructor else set()
    )
    assert {fact for fact in facts if f".{fact}" not in section + above} == set()


@pytest.mark.parametrize("option", [*DEFAULTS, "name"])
def test_option_of_an_effect_stands_in_the_table_of_options(option):
    """Every option has a row."""
    named = {
        word
        for row in rows(page("docs/idempotency.md").section("All options of an effect"))
        for word in re.findall(r"`(\w+)=`", row[0])
    }
    assert option in named


def test_table_of_options_gives_the_defaults():
    """Figures and texts in the table are those of the code."""
    shown = {
        re.findall(r"`(\w+)=`", row[0])[0]: row[1]
        for row in rows(page("docs/idempotency.md").section("All options of an effect"))
    }
    assert float(shown["wait"]) == DEFAULTS["wait"]
    assert shown["approval"] == str(DEFAULTS["approval"])
    assert {name for name, text in shown.items() if text == "none"} == {
        name for name, value in DEFAULTS.items() if value in (None, ())
    } - {"repeat", "decode"}


def test_every_command_stands_in_the_index():
    """The table of commands is complete, and none in it is gone."""
    table = rows(page("docs/index.md").section("The command"))
    named = {word for row in table for word in re.findall(r"`call4agents ([a-z-]+)`", row[0])}
    assert named == commands()


def test_every_environment_variable_is_described():
    """What the product reads from the environment stands in the index."""
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "call4agents_core").rglob("*.py")]
    read = set(re.findall(r"environ(?:\.get\(|\[)\"(C4A_\w+)\"", "\n".join(sources)))
    assert read
    assert {name for name in read if name not in TEXTS["docs/index.md"]} == set()


# ---- what is described is there -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bc4a\.([A-Za-z_]\w*)", EVERYTHING))))
def test_name_of_the_package_exists(name):
    """No document speaks of a name that is not there."""
    assert hasattr(c4a, name)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bc4a\.errors\.([A-Za-z]\w*)", EVERYTHING))))
def test_name_of_an_error_exists(name):
    """No document speaks of an error that is not there."""
    assert hasattr(errors, name)


def test_words_that_look_like_errors_are_errors():
    """A class that a text names is a class of the product, of Python, or of the table of 0.x names."""
    word = re.compile(
        r"\b(?:Effect|Approval|Result|Ledger|Secret|Undo|Replay|Key|Unstable|Usage|NoActive|NotInit)[A-Z][A-Za-z]+\b"
    )
    known = {kind.__name__ for kind in classes()} | {
        *c4a.__all__,
        "KeyboardInterrupt",
        "LedgerSaver",
        "LedgerMiddleware",
    }
    old = {name for row in rows(README.section("Coming from call4agents 0.x")) for name in re.findall(r"\w+", row[0])}
    assert {found for found in word.findall(EVERYTHING) if found not in known | old} == set()


def test_commands_that_documents_type_exist():
    """Each `call4agents word` in a span or a console block is a command."""
    typed = set(re.findall(r"(?:`|^\$ )call4agents ([a-z][a-z-]*)", EVERYTHING, re.MULTILINE))
    assert typed <= commands()
    assert len(typed) > 5


def test_make_targets_that_documents_type_exist():
    """Each `make word` is a target."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    typed = {
        word for words in re.findall(r"(?:`|^\$ )make ([a-z -]+)", EVERYTHING, re.MULTILINE) for word in words.split()
    }
    assert typed <= targets
    assert typed


def test_options_of_the_command_that_documents_type_exist():
    """Each option of a `call4agents` line is one that the command takes."""
    lines = re.findall(r"(?:`|^\$ )call4agents ([a-z][a-z-]*)([^`\n]*)", EVERYTHING, re.MULTILINE)
    wrong = set()
    helps = {command: _help(command) for command, _ in lines}
    for command, rest in lines:
        wrong |= {f"{command} {option}" for option in re.findall(r"--[a-z-]+", rest) if option not in helps[command]}
    for row in rows(page("docs/index.md").section("The command")):
        command = row[0].strip("`").removeprefix("call4agents ")
        wrong |= {f"{command} {option}" for option in re.findall(r"--[a-z-]+", row[1]) if option not in _help(command)}
    assert wrong == set()


@cache
def _help(command: str) -> str:
    words = [sys.executable, "-m", "call4agents_core", command, "--help"]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT, env=environment).stdout


# ---- what is not there yet ------------------------------------------------------------------------------------------


def test_readme_does_not_call_missing_what_is_there():
    """A name that has come is moved out of "not there yet"."""
    assert not_there_yet()
    gone = {name.split(".")[-1] for name in not_there_yet()}
    there = {*c4a.__all__, *commands()}
    assert gone & there == set()


def test_readme_says_of_every_plugin_folder_whether_it_has_code():
    """The README is honest about each plugin."""
    for folder in sorted((ROOT / "plugins").iterdir()):
        if not folder.is_dir():
            continue
        (row,) = [row for row in rows(README.text) if f"plugins/{folder.name}" in row[0]]
        has_code = any((folder / "src").rglob("*.py")) if (folder / "src").is_dir() else False
        assert ("not there yet" in " ".join(row)) is not has_code, folder.name
