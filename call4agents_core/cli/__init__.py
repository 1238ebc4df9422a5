"""The command `call4agents`. Each command is a file of its own here, imported only when it is the one that was typed."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, cast

from call4agents_core.cli._command import NO, WRONG, Command, Parser, complain, exit_code, suggestion
from call4agents_core.cli._table import prepare_output
from call4agents_core.errors import Call4AgentsError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Every command and what it is for. The command `rotate-secret` is the file rotate_secret.py.
COMMANDS = {
    "quickstart": "see crashes and resumes, without and with the ledger: offline, under a minute",
    "selftest": "try this installation and this disk out: kills, races, approvals, undo",
    "doctor": "what is installed, how the ledger is, which settings are risky",
    "report": "the same as the text of an issue, to be pasted by you",
    "list": "actions, newest first; --runs: runs",
    "show": "a run as a timeline, or one action of it",
    "doubt": "actions in doubt, and the command that resolves each",
    "resolve": "say whether an action in doubt has happened",
    "pending": "requests that wait for a yes, exactly as they will run",
    "approve": "say yes to a request",
    "deny": "say no to a request",
    "undo": "reverse what was done in a run, newest first",
    "verify": "check every entry of the ledger",
    "archive": "move finished runs to another file",
    "rotate-secret": "sign with a new secret from now on",
    "export": "every entry as JSON",
}

_PROG = "call4agents"
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (``argv``, else the process's own) and return its exit code: 0 fine, 1 the answer is no, 2 wrong
    usage or no such thing, 3 found what --fail-if-any looks for.
    """
    prepare_output()
    try:
        status = _run([*(sys.argv[1:] if argv is None else argv)])
        sys.stdout.flush()
    except Call4AgentsError as error:
        complain(str(error))
        return exit_code(error)
    except (
        BrokenPipeError
    ):  # whoever read the output has seen enough; without this the interpreter complains at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def _run(words: list[str]) -> int:
    try:
        if not words or words[0].startswith("-"):
            return _without_command(words)
        if words[0] not in COMMANDS:
            return _unknown(words[0])
        return _command(words[0], words[1:])
    except SystemExit as end:  # of argparse, which has printed its help or its complaint
        return end.code if isinstance(end.code, int) else 0


def _command(name: str, words: list[str]) -> int:
    command = cast("Command", import_module(f"{__name__}.{name.replace('-', '_')}"))
    parser = Parser(prog=f"{_PROG} {name}", description=command.HELP)
    command.add_arguments(parser)
    return command.run(parser.parsed(words))


def _without_command(words: list[str]) -> int:
    width = max(map(len, COMMANDS)) + 2
    parser = Parser(
        prog=_PROG,
        usage=f"{_PROG} COMMAND [options]",
        description="Once-only actions, approvals and a record of both, for the agent that you already have.",
        epilog="\n".join(
            [
                "commands:",
                *(f"  {name:{width}}{text}" for name, text in COMMANDS.items()),
                "",
                f"{_PROG} COMMAND --help says more.",
            ]
        ),
    )
    parser.add_argument("--version", action="store_true", help="print the version of call4agents-core")
    if parser.parsed(words).version:
        import call4agents_core

        sys.stdout.write(f"call4agents-core {call4agents_core.__version__}\n")
        return 0
    parser.print_help(sys.stderr)
    return WRONG


def _unknown(word: str) -> int:
    complain(f"There is no command {word!r}.{suggestion(word, COMMANDS)} Type `{_PROG} --help` to see all.")
    return WRONG
