"""Command lines: help, complaints, suggestions, exit codes; and what a start must not cost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from call4agents_core import cli as package
from call4agents_core.cli import COMMANDS, main

LISTING = ("list", "doubt", "pending", "show")


def test_help_names_every_command(cli):
    """`--help` is the table of commands."""
    out = cli("--help", ledger=False).out
    assert "usage: call4agents" in out
    assert [name for name in COMMANDS if f"  {name} " not in out] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(cli, name):
    """Each command explains itself, and those that use a ledger take --ledger."""
    out = cli(name, "--help", ledger=False).out
    assert out.startswith(f"usage: call4agents {name}")
    assert ("--ledger LOCATION" in out) is (name != "quickstart")
    assert ("--json" in out and "--limit" in out) is (name in LISTING)


def test_every_command_is_a_file_and_every_file_a_command():
    """The table and the folder agree: a new command is one file and one line."""
    files = {path[:-3] for path in os.listdir(os.path.dirname(package.__file__)) if path.endswith(".py")}
    assert {name for name in files if not name.startswith("_")} == {name.replace("-", "_") for name in COMMANDS}


@pytest.mark.parametrize(("typed", "meant"), [("lsit", "list"), ("verfy", "verify"), ("doubts", "doubt")])
def test_mistyped_command_gets_a_suggestion(cli, typed, meant):
    """A typo costs one look: exit 2, and the command that was meant."""
    assert f"Did you mean `{meant}`?" in cli(typed, ledger=False, code=2).err


def test_mistyped_option_gets_a_suggestion(cli):
    """The same for options, which are never abbreviated."""
    assert "Did you mean `--limit`?" in cli("list", "--limt", "3", code=2).err
    assert "'--lim' is not known here" in cli("list", "--lim", "3", code=2).err


@pytest.mark.parametrize(
    "words",
    [(), ("show",), ("resolve", "trip-2"), ("approve",), ("list", "--nonsense"), ("list", "--limit", "many"),
     ("list", "--limit", "0"), ("list", "--state", "lost"), ("list", "--runs", "--tool", "pay"),
     ("resolve", "r", "a", "perhaps"), ("show", "a", "b", "c")],
)  # fmt: skip
def test_wrong_usage_is_one_paragraph_and_exit_2(cli, words):
    """What cannot be meant is told on standard error, and nothing is done."""
    done = cli(*words, ledger=bool(words), code=2)
    assert done.out == ""
    assert done.err.startswith("usage:") if not words else done.err.count("\n") == 1
    assert not cli.ledger.exists()


def test_complaints_are_escaped(cli):
    """A blank that is none, which repr() lets through, is seen in a complaint."""
    assert "\\u2800" in cli("list", "--state", "\u2800", code=2).err


def test_version(cli):
    """`--version` prints the distribution's version."""
    assert cli("--version", ledger=False).out.startswith("call4agents-core ")


@pytest.mark.parametrize("words", [("list",), ("doubt",), ("pending",), ("verify",), ("show", "r"), ("approve", "x"), ("deny", "x"), ("resolve", "r", "a", "happened")])  # fmt: skip
def test_no_command_makes_a_ledger(cli, words):
    """Reading and deciding are about a ledger that is there; where none is, the answer is exit 2 and the place stays empty."""
    assert str(cli.ledger) in cli(*words, code=2).err
    assert cli("doctor", ledger=False)
    assert list(cli.folder.iterdir()) == []
    assert list(cli.folder.parent.iterdir()) == [cli.folder]


def test_ledger_comes_from_the_option_else_the_environment(cli, trips):
    """--ledger, else C4A_LEDGER."""
    cli.environ["C4A_LEDGER"] = str(cli.ledger)
    assert "trip-1" in cli("list", ledger=False).out
    assert "no-such" in cli("list", "--ledger", "no-such.sqlite", ledger=False, code=2).err


def test_ledger_is_by_default_in_the_folder(cli, trips):
    """Else `.c4a/ledger.sqlite`."""
    (cli.folder / ".c4a").mkdir()
    os.rename(cli.ledger, cli.folder / ".c4a" / "ledger.sqlite")
    os.rename(f"{cli.ledger}.c4a/secret", cli.folder / ".c4a" / "secret")
    assert "trip-1" in cli("list", ledger=False).out


def test_wrong_secret_is_one_paragraph_and_exit_1(cli, trips):
    """An error of the ledger is told in its own words."""
    cli.environ["C4A_SECRET"] = "of another ledger, surely"
    done = cli("list", code=1)
    assert "is not the one that it belongs to" in done.err
    assert done.err.count("\n") == 1


def test_an_error_that_is_not_ours_keeps_its_traceback(cli, trips, monkeypatch):
    """A bug of ours is never made to look like an answer."""

    def broken(options):
        raise ZeroDivisionError

    monkeypatch.setattr("call4agents_core.cli.verify.run", broken)
    with pytest.raises(ZeroDivisionError):
        main(["verify", "--ledger", str(cli.ledger)])


@pytest.mark.skipif(os.name != "posix", reason="pipes of another kind")
def test_reader_that_has_seen_enough_is_no_error(cli, trips):
    """`call4agents list | head` ends quietly."""
    command = [
        sys.executable,
        "-c",
        "import sys; sys.stdin.close(); from call4agents_core.cli import main; sys.exit(main())",
    ]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*command, "list", "--ledger", str(cli.ledger)],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=cli.env(),
        check=False,
    )
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 1


@pytest.mark.skipif(os.name != "posix", reason="signals of another kind")
def test_interrupt_is_no_traceback(cli, monkeypatch):
    """Ctrl-C ends a command with 130 and says nothing."""
    monkeypatch.setattr("call4agents_core.cli.verify.run", lambda options: os.kill(os.getpid(), signal.SIGINT))
    assert main(["verify"]) == 130


def test_output_that_a_terminal_cannot_spell_is_escaped(cli, trips):
    """A terminal of few letters costs letters, never the command."""
    assert cli.agent("trip-é", "book('é')").code == 0
    cli.environ["PYTHONIOENCODING"] = "ascii"
    assert "trip-\\xe9" in cli("list").out


def test_start_imports_neither_what_is_slow_nor_what_is_not_ours(cli, trips):
    """A command starts in the time of the standard library's argparse and sqlite3: nothing else that costs is loaded."""
    program = (
        "import sys; from call4agents_core.cli import main; main(sys.argv[1:]); "
        "print(*sorted(name for name in sys.modules), file=sys.stderr)"
    )
    done = cli.run(sys.executable, "-c", program, "list", "--ledger", str(cli.ledger))
    loaded = set(done.err.split())
    slow = {"asyncio", "concurrent.futures", "difflib", "importlib.metadata", "logging", "platform", "rich", "shutil", "subprocess", "tempfile", "traceback"}  # fmt: skip
    assert "call4agents_core.cli.list" in loaded
    assert slow & loaded == set()
    others = {name for name in COMMANDS if f"call4agents_core.cli.{name}" in loaded} - {"list"}
    assert others == set()
