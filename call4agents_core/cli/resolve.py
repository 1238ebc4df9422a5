"""`call4agents resolve`: a person's answer to an action in doubt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from call4agents_core._outcomes import did_not_happen, happened
from call4agents_core._timeline import recorded
from call4agents_core.cli._command import FINE, ledger_option, refused, writing
from call4agents_core.cli._table import say
from call4agents_core.errors import EffectRunning, UsageError

if TYPE_CHECKING:
    from call4agents_core.cli._command import Options, Parser

HELP = "Says what became of an action in doubt, once somebody has looked. Refused while it runs, and where nothing is in doubt."


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    parser.add_argument("run", metavar="RUN", help="the run of the action")
    parser.add_argument("action", metavar="ACTION", help="its id, or the beginning of it")
    parser.add_argument(
        "outcome", metavar="OUTCOME", choices=("happened", "did-not-happen"), help="happened or did-not-happen"
    )
    parser.add_argument(
        "--result", metavar="JSON", help="what its call returns from now on, if it happened (default: null)"
    )
    parser.add_argument(
        "--attempt",
        type=int,
        metavar="N",
        help="the attempt that you looked at, as `call4agents doubt` names it: refused if another was made since",
    )
    parser.add_argument("--note", default="", help="how you know; kept in the ledger")
    parser.add_argument("--by", help="who says so; kept in the ledger")
    ledger_option(parser)


def run(options: Options) -> int:
    """See `Command`."""
    outcome = happened(_result(options.result)) if options.outcome == "happened" else did_not_happen()
    if options.result is not None and options.outcome != "happened":
        msg = "--result goes with happened only: what did not happen has no result."
        raise UsageError(msg)
    with writing(options) as ledger:
        action = ledger.action_like(options.run, options.action)
        try:
            ledger.resolve(options.run, action, outcome, by=options.by, note=options.note, attempt=options.attempt)
        except (EffectRunning, UsageError) as error:
            return refused(error)
        one = recorded(ledger, options.run, action)
    if options.outcome == "happened":
        say(f"{one.call} in run {one.run} happened: from now on its call returns {one.result}.")
    else:
        say(f"{one.call} in run {one.run} did not happen: the next call of it makes a new attempt.")
    return FINE


def _result(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text, parse_constant=_no_json)
    except ValueError as error:
        msg = f"--result is no JSON ({error}). A text needs its quotes: --result '\"sent\"'. Nothing was written."
        raise UsageError(msg) from None


def _no_json(name: str) -> NoReturn:
    msg = f"{name} is not in JSON"
    raise ValueError(msg)
