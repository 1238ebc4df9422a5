"""`call4agents list`: actions or runs, newest first, by the derived tables; what is printed of each comes from its checked entries."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from call4agents_core._timeline import local_time, recorded
from call4agents_core.cli._command import FINE, listing_options, looking
from call4agents_core.cli._table import print_json, say, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from call4agents_core._ledger import Core
    from call4agents_core._timeline import RecordedAction
    from call4agents_core._types import RunRow, StateName
    from call4agents_core.cli._command import Options, Parser

HELP = "Lists actions, newest first. `call4agents show` with a run tells all about each."
USUAL = 50

#: What --state takes, and the states of the derived table that it means.
STATES: dict[str, tuple[StateName, ...]] = {
    "running": ("started",),
    "in-doubt": ("started", "in-doubt"),
    "done": ("done",),
    "not-done": ("not-done",),
    "waiting": ("waiting",),
    "approved": ("approved",),
    "denied": ("denied",),
    "undone": ("undone",),
    "archived": ("archived",),
}


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    listing_options(parser, limit=USUAL)
    parser.add_argument("--runs", action="store_true", help="list runs instead, the one with the newest entry first")
    parser.add_argument(
        "--state", choices=STATES, metavar="STATE", help=f"only actions that are so: {', '.join(STATES)}"
    )
    parser.add_argument("--run", help="only actions of this run")
    parser.add_argument("--tool", help="only actions of this tool")


def run(options: Options) -> int:
    """See `Command`."""
    if options.runs and (options.state or options.run or options.tool):
        from call4agents_core.errors import UsageError

        msg = "--runs lists whole runs, so it does not go with --state, --run or --tool."
        raise UsageError(msg)
    with looking(options) as ledger:
        if options.runs:
            _list_runs(ledger, options)
        else:
            _list_actions(ledger, options)
    return FINE


# ---- actions -------------------------------------------------------------------------------------------------------


def _list_actions(ledger: Core, options: Options) -> None:
    found = list(islice(_actions(ledger, options), options.limit + 1))
    shown = found[: options.limit]
    if options.json:
        print_json(map(_as_json, shown))
        return
    if not shown:
        say(
            "No action is like that." if options.state or options.run or options.tool else "The ledger holds no action."
        )
        return
    table(
        ("began", "run", "action", "state", "call"),
        ((local_time(one.began, "seconds"), one.run, one.action[:12], one.standing, one.call) for one in shown),
    )
    _tell_of_more(options, found)


def _actions(ledger: Core, options: Options) -> Iterator[RecordedAction]:
    """Only the owner of an attempt tells running from in doubt, so for these two the table gives more than is wanted."""
    states = STATES[options.state] if options.state else ()
    by_owner = "started" in states
    limit = None if by_owner else options.limit + 1
    for row in ledger.store.actions(run=options.run, tool=options.tool, states=states, limit=limit):
        one = recorded(ledger, row.run, row.action)
        if not by_owner or one.standing == options.state:
            yield one


def _as_json(one: RecordedAction) -> dict[str, Any]:
    return {
        "run": one.run,
        "action": one.action,
        "tool": one.tool,
        "arguments": one.arguments,
        "state": one.standing,
        "began": local_time(one.began),
    }


# ---- runs ----------------------------------------------------------------------------------------------------------


def _list_runs(ledger: Core, options: Options) -> None:
    found = ledger.store.runs(limit=options.limit + 1)
    shown = [(row, _newest_action(ledger, row)) for row in found[: options.limit]]
    if options.json:
        print_json({"run": row.run, "actions": row.actions, "newest_action": local_time(at)} for row, at in shown)
        return
    if not shown:
        say("The ledger holds no run.")
        return
    table(
        ("newest action", "run", "actions"),
        ((local_time(at, "seconds"), row.run, str(row.actions)) for row, at in shown),
    )
    _tell_of_more(options, found)


def _newest_action(ledger: Core, row: RunRow) -> float:
    newest = next(iter(ledger.store.actions(run=row.run, limit=1)), None)
    if newest is None:
        from call4agents_core.errors import LedgerTampered

        raise LedgerTampered(ledger.location, run=row.run, action="", n=1, why="the derived row of its action is gone")
    return recorded(ledger, row.run, newest.action).began


def _tell_of_more(options: Options, found: Sequence[object]) -> None:
    if len(found) > options.limit:
        say("", f"There are more. --limit lists more than {options.limit}.")
