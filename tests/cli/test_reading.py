"""What holds for every command that reads: it changes nothing, and shows nothing unescaped. And the tables."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

import pytest

import call4agents_core.cli
from call4agents_core.cli import _table

READING = (
    ("list",), ("list", "--json"), ("list", "--runs"), ("show", "trip-1"), ("show", "trip-2", "--json"), ("doubt",),
    ("doubt", "--json"), ("pending",), ("pending", "--json"), ("verify",), ("report",),
)  # fmt: skip


def contents(cli) -> dict[str, bytes]:
    """Everything in and beside the ledger, but for the empty log and its index, which SQLite makes for a reader too."""
    files = [path for path in cli.folder.parent.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
    return {str(path): path.read_bytes() for path in files if path.read_bytes() or not path.name.endswith("-wal")}


def test_reading_changes_nothing(cli, trips):
    """Not a byte of the ledger, no owner, no file."""
    before = contents(cli)
    for words in READING:
        cli(*words)
    assert contents(cli) == before


def test_nothing_that_came_from_arguments_is_printed_unescaped(cli, hidden):
    """Run, tool, arguments, result, exception, who, why: none can hide or rearrange what a person decides by."""
    script = f"""
import sys
import call4agents_core as c4a
nasty = {hidden!r}
ledger = c4a.init(sys.argv[1])
@c4a.effect(name="say" + nasty)
def say(text): return text
@c4a.effect(name="fail" + nasty)
def fail(text): raise ValueError(text)
@c4a.effect(name="ask" + nasty, approval=True)
def ask(text): return text
with c4a.run("run" + nasty):
    say(nasty)
    try: fail(nasty)
    except ValueError: pass
    c4a.approve(ask, text="yes" + nasty, c4a_by="by" + nasty)
    c4a.deny(ask, text="no" + nasty, c4a_by="by" + nasty, c4a_reason="why" + nasty)
    c4a.request_approval(ask, text=nasty)
"""
    assert cli.run(sys.executable, "-c", script, str(cli.ledger)).err == ""
    run = f"run{hidden}"
    (doubt,) = cli("doubt", "--json").json
    shown = [cli(*words) for words in READING if words[0] != "show"]
    shown += [cli("show", run), cli("show", run, "--json"), cli("show", f"no{hidden}", code=2)]
    shown += [cli("list", "--run", run, "--tool", f"no{hidden}")]
    shown += [cli("resolve", run, doubt["action"], "happened", "--note", hidden), cli("show", run)]
    for done in shown:
        assert [hex(ord(one)) for one in done.out + done.err if one in hidden and not one.isprintable()] == []
    assert "\\u202e\\x1b[31m" in shown[0].out


def test_only_the_table_module_prints():
    """There is one place to escape in, so one place prints: apart from complaints (escaped), the demo (ASCII JSON), the
    progress of verify (digits), the version, and the lines of export (ASCII JSON).
    """
    folder = Path(call4agents_core.cli.__file__).parent
    printing = {
        path.name for path in folder.glob("*.py") if re.search(r"\bprint\(|std(out|err)\.write\(", path.read_text())
    }
    assert printing == {"_table.py", "_command.py", "_demo.py", "verify.py", "export.py", "__init__.py"}


# ---- tables --------------------------------------------------------------------------------------------------------


def test_plain_table_has_columns_below_their_headers(capsys):
    """Two blanks between columns, none at the end of a line."""
    _table.table(("run", "actions"), [("trip-1", "3"), ("t", "12")])
    assert capsys.readouterr().out == "run     actions\ntrip-1  3\nt       12\n"


def test_plain_table_cuts_what_is_too_wide_for_reading(capsys):
    """JSON has the whole."""
    _table.table(("call",), [("x" * 100,)])
    assert capsys.readouterr().out.splitlines()[1] == "x" * 71 + "…"


def test_json_is_ascii_and_parses(capsys):
    """DEL is an invisible character too, which the standard library lets through."""
    _table.print_json([{"a": "\x7f\u202e"}, {"b": 1}])
    assert capsys.readouterr().out == '[{"a": "\\u007f\\u202e"},\n {"b": 1}]\n'


@pytest.mark.skipif(os.name != "posix", reason="no pseudo-terminals")
@pytest.mark.parametrize("flags", [(), ("-S",)], ids=["rich", "plain"])
def test_on_a_terminal_the_table_tells_the_same_with_and_without_rich(cli, flags):
    """Brackets in a text are no markup."""
    pytest.importorskip("rich")
    assert cli.agent("trip-[red]", "book('[bold]1A')").code == 0
    out = re.sub(
        r"\x1b\[[0-9;]*m",
        "",
        on_a_terminal(cli, sys.executable, *flags, "-m", "call4agents_core", "list", "--ledger", str(cli.ledger)),
    )
    assert out.split()[:5] == ["began", "run", "action", "state", "call"]
    assert "trip-[red]" in out
    assert "book(seat='[bold]1A')" in out


def on_a_terminal(cli, *command: str) -> str:
    """What a command prints where standard output is a terminal of 150 columns."""
    import pty
    import subprocess

    master, slave = pty.openpty()
    process = subprocess.Popen(
        command, cwd=cli.folder, env={**cli.env(), "COLUMNS": "150", "TERM": "xterm"}, stdout=slave
    )
    os.close(slave)
    pieces = []
    with contextlib.suppress(OSError):  # Linux says EIO where the other side has gone
        while piece := os.read(master, 4096):
            pieces.append(piece)
    os.close(master)
    assert process.wait(30) == 0
    return b"".join(pieces).decode()
