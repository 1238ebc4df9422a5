"""`call4agents show`: a run as a timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from call4agents_core._timeline import arguments_of, call_text, local_time, recorded, timeline
from call4agents_core.cli._command import FINE, listing_options, looking
from call4agents_core.cli._table import print_json, say
from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from call4agents_core._ledger import Core
    from call4agents_core._timeline import RecordedAction
    from call4agents_core._types import Entry
    from call4agents_core.cli._command import Options, Parser

HELP = (
    "Tells a run in the order of what was done: arguments, attempts, who approved, denied or resolved, results, undo."
)

_FACTS = ("by", "reason", "note", "until", "cause", "proof", "outcome", "via", "of", "uses", "owner")


def add_arguments(parser: Parser) -> None:
    """See `Command`."""
    parser.add_argument("run", metavar="RUN", help="the id of the run")
    parser.add_argument("action", metavar="ACTION", nargs="?", help="one action: its id, or the beginning of it")
    listing_options(parser)


def run(options: Options) -> int:
    """See `Command`."""
    with looking(options) as ledger:
        actions = _chosen(ledger, options)
        columns = [_columns(one) if one.where else {} for one in actions]
    if options.json:
        print_json(map(_as_json, actions, columns))
        return FINE
    for one, places in zip(actions, columns, strict=True):
        say(*_told(one, places), "")
    return FINE


def _chosen(ledger: Core, options: Options) -> list[RecordedAction]:
    if options.action is not None:
        return [recorded(ledger, options.run, ledger.action_like(options.run, options.action))]
    found = timeline(ledger, options.run)
    if not found:
        msg = f"There is no run {options.run!r} in {ledger.location}. Type `call4agents list --runs` to see which there are."
        raise UsageError(msg)
    return found if options.limit is None else found[-options.limit :]


def _columns(one: RecordedAction) -> dict[str, str]:
    """Where in its framework the action was called, in the words of the plugin that noted it."""
    from call4agents_core.cli._plugins import installed

    found: dict[str, str] = {}
    for entry in installed():
        if entry.plugin is not None:
            found.update(entry.plugin.columns(one.where))
    return found


# ---- as text -------------------------------------------------------------------------------------------------------


def _told(one: RecordedAction, places: Mapping[str, str]) -> Iterator[str]:
    yield f"{one.call}  {one.standing}"
    notes = [f"action {one.action}", f"key {one.idempotency_key}"]
    notes += [f"ordinal {one.head['ordinal']}"] if one.head.get("ordinal", 1) != 1 else []
    notes += [f"c4a_key {one.head['key']}"] if "key" in one.head else []
    notes += [f"reverses action {str(one.head['reverses'])[:12]}"] if "reverses" in one.head else []
    notes += ["has an undo"] if one.has_undo else []
    yield f"  {', '.join(notes)}"
    if places:
        yield f"  {', '.join(f'{name} {place}' for name, place in places.items())}"
    for entry, text in one.told():
        yield f"  {local_time(entry.at)}  {text}{_other_arguments(one, entry)}"
    if one.doubt is not None:
        yield f"  in doubt: {one.doubt.cause}"


def _other_arguments(one: RecordedAction, entry: Entry) -> str:
    """What an entry is about, where that is not what stands above: another spelling, or arguments that do not count."""
    found = arguments_of(entry)
    return f", for {call_text(one.tool, found)}" if found and found != one.arguments else ""


# ---- as JSON -------------------------------------------------------------------------------------------------------


def _as_json(one: RecordedAction, places: Mapping[str, str]) -> dict[str, Any]:
    return {
        "run": one.run,
        "action": one.action,
        "tool": one.tool,
        "arguments": one.arguments,
        "state": one.standing,
        "cause": one.doubt.cause if one.doubt is not None else None,
        "result": one.result,
        "ordinal": one.head.get("ordinal", 1),
        "c4a_key": one.head.get("key"),
        "idempotency_key": one.idempotency_key,
        "undo": one.has_undo,
        "reverses": one.head.get("reverses"),
        "where": dict(places),
        "entries": [_entry_as_json(entry, text) for entry, text in one.told()],
    }


def _entry_as_json(entry: Entry, text: str) -> dict[str, Any]:
    facts = {name: entry.data[name] for name in _FACTS if entry.data.get(name) is not None}
    return {"n": entry.n, "at": local_time(entry.at), "kind": entry.kind, "text": text, **facts}
