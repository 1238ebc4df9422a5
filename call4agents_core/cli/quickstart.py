"""`call4agents quickstart`: what the ledger is for, seen in a minute. Every figure is read from a file that a tool wrote."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

from call4agents_core.cli import _scenes
from call4agents_core.cli._command import FINE, NO
from call4agents_core.cli._plugins import install_lines, installed
from call4agents_core.cli._table import say, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from call4agents_core.cli._command import Options, Parser
    from call4agents_core.cli._scenes import Crash, Kill, Yes

HELP = "Kills agents in mid-action and starts them again, without and with the ledger: real processes, a fake model, no key, no network, under a minute. Exits with 1 if a figure is not as promised. Leaves nothing behind."

_CRASHES: dict[Kill, str] = {"after": "right after the tool", "inside": "inside the tool"}


def add_arguments(parser: Parser) -> None:
    """See `Command`; there is nothing to say."""


def run(options: Options) -> int:  # noqa: ARG001 - as every command
    """See `Command`."""
    say("An agent sends one e-mail. Its process is killed (SIGKILL) and started again. How often is it sent?")
    say("Counted in a file that the tool writes; real processes, no key, no network. This takes some seconds.", "")
    sys.stdout.flush()
    with _scenes.no_settings_from_outside():
        plain = [_scenes.plain_crash(kill) for kill in _CRASHES]
        yes = _scenes.yes()
        played, problems = _play_plugins()
    crashes = [*plain, *played]
    table(("agent", "killed", "without", "with the ledger"), map(_row, crashes))
    say("", "EffectInDoubt: nobody can tell whether it was sent, so a person is asked instead of sending it again.")
    say("", "Now somebody says yes to pay(10, alice), once.", "")
    table(("the agent calls", "what happens"), _rows_of(yes))
    say("", *problems, *install_lines())
    wrong = [*(text for crash in crashes for text in _broken(crash)), *_broken_yes(yes)]
    say(*(f"NOT AS PROMISED: {text}" for text in wrong))
    say(
        "Next:",
        "  call4agents doctor    is everything right on this machine",
        "  call4agents doubt     once your program has run: what needs a person to look",
    )
    return NO if wrong or problems else FINE


def _play_plugins() -> tuple[list[Crash], list[str]]:
    """The crashes of each installed plugin, with its real framework; and what could not be played."""
    played: list[Crash] = []
    problems: list[str] = []
    for entry in installed():
        if entry.plugin is None:
            problems.append(f"The plugin {entry.name} cannot be loaded: {entry.problem}")
            continue
        if entry.plugin.play is None:
            continue
        try:
            played += [_scenes.crash(entry.plugin.framework, kill, entry.plugin.play) for kill in _CRASHES]
        except Exception as error:  # of the plugin or its framework; the other figures still count
            traceback.print_exc(file=sys.stderr)
            problems.append(f"{entry.plugin.framework} could not be played: {type(error).__name__}: {error}")
    return played, problems


# ---- what is shown -------------------------------------------------------------------------------------------------


def _row(crash: Crash) -> tuple[str, ...]:
    then = ""
    if crash.told == "EffectInDoubt":
        then = ", then EffectInDoubt"
    elif crash.told:
        then = ", its result came back"
    return crash.agent, _CRASHES[crash.kill], f"sent {crash.without}", f"sent {crash.guarded}{then}"


def _rows_of(yes: Yes) -> Iterator[tuple[str, str]]:
    yield "pay(9999, mallory)", f"{yes.told}: paid {yes.mallory}"
    yield "pay(10, alice), killed, called again", f"paid {yes.alice}"


# ---- what is promised ----------------------------------------------------------------------------------------------


def _broken(crash: Crash) -> Iterator[str]:
    """Two without, or the crash was none; one with us; and in plain Python, what the resumed agent must be told."""
    where = f"{crash.agent}, killed {_CRASHES[crash.kill]}"
    if (crash.without, crash.guarded) != (2, 1):
        yield f"{where}: sent {crash.without} without and {crash.guarded} with the ledger, not 2 and 1"
    if crash.told and (crash.told == "EffectInDoubt") != (crash.kill == "inside"):
        yield f"{where}: the resumed agent was told {crash.told}"


def _broken_yes(yes: Yes) -> Iterator[str]:
    if yes != (0, 1, "ApprovalRequired"):
        yield f"a yes to pay(10, alice) paid mallory {yes.mallory} times and alice {yes.alice} times ({yes.told})"
