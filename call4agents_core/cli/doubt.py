"""`call4agents doubt`: what may have happened and needs somebody to look."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from call4agents_core._timeline import local_time, recorded
from call4agents_core.cli._command import FINE, FOUND, listing_options, looking, typed
from call4agents_core.cli._table import facts, print_json, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from call4agents_core._ledger import Core
    from call4agents_core._rules import Doubt
    from call4agents_core._timeline import RecordedAction
    from call4agents_core.cli._command import Options, Parser

HELP = "Lists actions in doubt, newest first: since when, why, the idempotency key, and the command that resolves each. What still runs is not in doubt."


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    listing_options(parser)
    parser.add_argument("--fail-if-any", action="store_true", help="exit with 3 if any action is in doubt")


def run(options: Options) -> int:
    """See `Command`."""
    with looking(options) as ledger:
        found = list(islice(in_doubt(ledger), options.limit))
    if options.json:
        print_json(_as_json(one, doubt, options) for one, doubt in found)
    else:
        _print(found, options)
    return FOUND if found and options.fail_if_any else FINE


def in_doubt(ledger: Core) -> Iterator[tuple[RecordedAction, Doubt]]:
    """Every action in doubt, newest first. Raises LedgerTampered."""
    for row in ledger.store.actions(states=("started", "in-doubt")):
        one = recorded(ledger, row.run, row.action)
        if one.doubt is not None:
            yield one, one.doubt


def _print(found: list[tuple[RecordedAction, Doubt]], options: Options) -> None:
    if not found:
        say("Nothing is in doubt.")
        return
    for one, doubt in found:
        say(one.call)
        facts(
            {
                "run": one.run,
                "action": one.action,
                "since": local_time(doubt.attempt.at, "seconds"),
                "cause": doubt.cause,
                "key": one.idempotency_key,
                "resolve": _resolve(one, doubt, "happened", options),
            }
        )
        say("")
    say(
        "Look outside whether each happened (an API that keeps idempotency keys knows it by its key). Then type its line:",
        "`happened`, with --result where the program needs one, or `did-not-happen`, after which it may run again.",
    )


def _resolve(one: RecordedAction, doubt: Doubt, outcome: str, options: Options) -> str:
    return typed(options, "resolve", one.run, one.action, outcome, also=("--attempt", str(doubt.attempt.n)))


def _as_json(one: RecordedAction, doubt: Doubt, options: Options) -> dict[str, Any]:
    return {
        "run": one.run,
        "action": one.action,
        "tool": one.tool,
        "arguments": one.arguments,
        "since": local_time(doubt.attempt.at),
        "attempt": doubt.attempt.n,
        "cause": doubt.cause,
        "key": one.idempotency_key,
        "resolve": [_resolve(one, doubt, outcome, options) for outcome in ("happened", "did-not-happen")],
    }
