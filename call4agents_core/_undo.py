"""Undo: the done actions of a run are reversed, newest first, each reversal once only, and nothing is skipped in silence.

Each reversal is an action of its own, named `<tool>.undo`, with intent and result like any other: a crash inside one leaves
it in doubt, and the next undo goes on where the last one stopped. The steps are written once, for callers with and without
an event loop.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from call4agents_core import _rules, _stored
from call4agents_core._bind import plain
from call4agents_core._call import Call, Effect
from call4agents_core._codec import NotRestorable
from call4agents_core._ledger import Core
from call4agents_core._options import DEFAULTS
from call4agents_core._registry import MARK, known
from call4agents_core._reports import Reversal, UndoReport
from call4agents_core._steps import Do, perform, run_to_its_end
from call4agents_core.errors import UndoStopped, UsageError

if TYPE_CHECKING:
    from collections.abc import Generator

    from call4agents_core._bind import ByName
    from call4agents_core._state import State


class Done(NamedTuple):
    """A forward action of the run that happened, or may have."""

    tool: str
    action: str
    state: State
    ended: int  # number of the entry that ended it; doubts have no end on record and count as newest
    doubt: str = ""  # why nobody knows whether it happened

    def reversal(self, by: str = "", why: str = "") -> Reversal:
        attempt = self.state.attempt
        arguments = {} if attempt is None else _stored.shown_arguments(attempt.data["args"])
        return Reversal(self.tool, self.action, arguments, by or self.action, why)


class Reverse(NamedTuple):
    """Run this undo= as the body of this call."""

    call: Call
    undo: ByName
    values: dict[str, Any]


class Undoing(Core):
    """Undo, as methods of the ledger."""

    def undo(self, run: str, *, dry_run: bool = False) -> UndoReport:
        """Reverse what was done in a run, newest first. Again and again it goes on where it stopped; what is reversed stays so.

        Raises UndoStopped, with the report of all that stands in the way, before an action that must not be passed over.
        An async ``undo=`` needs `aundo` where an event loop is running: else UsageError, before anything is reversed.
        """
        steps = self._undo_steps(run, dry_run, in_a_loop=_in_a_loop())
        try:
            step = next(steps)
            while True:
                try:
                    answer = step.work() if isinstance(step, Do) else self._reverse(step)
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as stop:
            return _report_of(stop)

    async def aundo(self, run: str, *, dry_run: bool = False) -> UndoReport:
        """`undo`, to be awaited. An ``undo=`` that is not async runs in a thread."""
        from call4agents_core._async import off_loop

        steps = self._undo_steps(run, dry_run)
        try:
            step = next(steps)
            while True:
                try:
                    answer = await (off_loop(self, step.work) if isinstance(step, Do) else self._areverse(step))
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as stop:
            return _report_of(stop)

    # ---- the steps ----------------------------------------------------------------------------------------------

    def _undo_steps(
        self, run: str, dry_run: bool, *, in_a_loop: bool = False
    ) -> Generator[Do | Reverse, Any, UndoReport]:
        report, raised = UndoReport(run, self.location, dry_run), None
        found: list[Done] = yield Do(lambda: self._what_happened(run))
        if in_a_loop and not dry_run:
            _refuse_async(found)
        report.in_doubt = [done.reversal(why=done.doubt) for done in found if done.state.stage in _OPEN]
        for done in found:
            match done.state.stage:
                case "undone":
                    report.already.append(done.reversal())
                case "archived":
                    report.without_undo.append(done.reversal(why="its record has moved to an archive"))
                case "done" if not _had_undo(done):
                    report.without_undo.append(done.reversal())
                case "done":
                    raised = (yield from self._undo_one(run, done, report)) or raised
                case _:
                    pass
        if report.stopped and not dry_run:
            raise UndoStopped(report) from raised
        return report

    def _undo_one(self, run: str, done: Done, report: UndoReport) -> Generator[Do | Reverse, Any, Exception | None]:
        """Reverse one action, unless something newer stands in the way; then only say what stands in its own. What the reversal raised."""
        call = Call(
            _reversal_effect(done.tool), run, self.ledger_id, {"reverses": done.action}, receiver=False, key=None
        )
        call.reverses = done.action
        step, raised = None, None
        state, doubt = yield Do(lambda: self._standing(run, call.action))
        if state.stage in _NOT_TRIED:
            try:
                step = Reverse(call, *_bound_undo(done))
            except _Impossible as error:
                report.failed.append(done.reversal(why=str(error)))
        if step is not None and not (report.dry_run or report.stopped):
            try:
                yield step
            except Exception as error:
                raised = error
            state, doubt = yield Do(lambda: self._standing(run, call.action))
            if raised is not None and state.stage in _NOT_TRIED:  # the ledger could not be written, so nothing ran
                raise raised
        if state.stage in _OPEN:
            obstacles = report.in_doubt if state.failure is None else report.failed
            obstacles.append(done.reversal(call.action, _of_its_reversal(doubt)))
            return raised
        if not report.stopped:
            if not report.dry_run:
                yield Do(lambda: self._mark(run, done.action, call.action))
            report.undone.append(done.reversal(call.action))
        return None

    def _what_happened(self, run: str) -> list[Done]:
        """Forward actions of the run that were tried: doubts first, then the newest finished."""
        streams: dict[str, list[Any]] = {}
        for row in self.store.scan(run=run):
            streams.setdefault(row.action, []).append(row)
        found: list[Done] = []
        for action, rows in streams.items():
            state = self.folded(run, action, rows)
            if state.head is None or "reverses" in state.head.data or state.stage in _NOT_TRIED:
                continue
            end = state.outcome
            ended = rows[-1].seq if state.stage in _OPEN or end is None else rows[end.n - 1].seq
            found.append(Done(state.head.data["tool"], action, state, ended, self._doubt(action, state)))
        return sorted(found, key=lambda done: (done.state.stage in _OPEN, done.ended), reverse=True)

    def _standing(self, run: str, action: str) -> tuple[State, str]:
        state = self.state(run, action)
        return state, self._doubt(action, state)

    def _doubt(self, action: str, state: State) -> str:
        if state.stage not in _OPEN:
            return ""
        doubt = _rules.doubt_of(state, self.owner_status(action, state))
        return "it is running" if isinstance(doubt, _rules.Running) else doubt.cause

    def _mark(self, run: str, action: str, reversal: str) -> None:
        self.advance(run, action, dict, lambda state: (_rules.undone(state, reversal), None), durable=False)

    # ---- one reversal -------------------------------------------------------------------------------------------

    def _reverse(self, step: Reverse) -> Any:
        def body() -> Any:
            value = step.undo(step.values)
            return run_to_its_end(value) if inspect.isawaitable(value) else value

        return perform(self, step.call, body)

    async def _areverse(self, step: Reverse) -> Any:
        from call4agents_core._async import aperform, to_thread

        async def body() -> Any:
            value = await to_thread(step.undo, step.values)
            return await value if inspect.isawaitable(value) else value

        return await aperform(self, step.call, body)


_OPEN = ("started", "in-doubt")
_NOT_TRIED = ("none", "not-done")


class _Impossible(Exception):
    """An action that cannot be reversed in this process, and why."""


def _report_of(end: StopIteration) -> UndoReport:
    report: UndoReport = end.value
    return report


def _of_its_reversal(doubt: str) -> str:
    """What is known of an open attempt, said of the reversal that it is an attempt at."""
    return f"its reversal {doubt[3:]}" if doubt.startswith("it ") else f"its reversal is in doubt: {doubt}"


def _had_undo(done: Done) -> bool:
    return done.state.attempt is not None and bool(done.state.attempt.data.get("undo"))


def _reversal_effect(tool: str) -> Effect:
    def reversal(reverses: str) -> str:
        return reverses

    return Effect(reversal, f"{tool}.undo", DEFAULTS)


def _in_a_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _known_effect(tool: str) -> Effect | None:
    return getattr(known(tool), MARK, None)


def _refuse_async(found: list[Done]) -> None:
    """A loop that is running cannot be waited in, so a reversal that has to be awaited is refused before the first one starts."""
    for done in found:
        effect = _known_effect(done.tool)
        undo = effect.options.undo if effect is not None and done.state.stage == "done" and _had_undo(done) else None
        if undo is not None and inspect.iscoroutinefunction(plain(undo.function)):
            msg = f"The undo= of {done.tool} is async, and an event loop is running here: await aundo() instead. Nothing was reversed."
            raise UsageError(msg)


def _bound_undo(done: Done) -> tuple[ByName, dict[str, Any]]:
    """The tool's undo with the arguments that it names, as they were."""
    effect = _known_effect(done.tool)
    if effect is None:
        raise _Impossible(
            f"no effect called {done.tool} is known in this process; import its module (on the command line: --import MODULE)"
        )
    undo = effect.options.undo
    if undo is None:
        raise _Impossible(f"{done.tool} had an undo= when it was called and has none now")
    return undo, _values_for(undo, effect, done)


def _values_for(undo: ByName, effect: Effect, done: Done) -> dict[str, Any]:
    assert done.state.attempt is not None
    assert done.state.outcome is not None
    kept = done.state.attempt.data["args"]
    wanted = [*effect.binder.names, "result"] if undo.takes_all else undo.names
    values: dict[str, Any] = {}
    for name in wanted:
        try:
            if name == "result" and "result" not in effect.binder.names:
                values[name] = _stored.restored(done.state.outcome.data["result"], effect.options.decode)
            elif name in kept:
                values[name] = _stored.restored(kept[name], None)
            elif name in undo.names:
                raise _Impossible(f"its undo= takes {name!r}, which was not stored")
        except NotRestorable as error:
            if name in undo.names:  # what it does not name, it can do without
                raise _Impossible(f"its undo= takes {name!r}, which was not kept: {error}") from error
    return values
