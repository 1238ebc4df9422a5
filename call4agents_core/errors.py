"""Every exception of Call4Agents, in one tree.

    Call4AgentsError
      UsageError (RuntimeError)     the program uses the ledger wrongly
        NoActiveRun  NotInitialised  UnstableArgument (TypeError)  KeyConflict (ValueError)
      EffectRefused                 the action did not run now
        EffectInDoubt               it may have happened: .run .tool .action .since .cause
          EffectRunning             another caller holds it right now
        EffectUndone  EffectArchived
        ApprovalRequired (.request)  ApprovalDenied
        ResultNotKept               done, but its result could not be stored
      UndoStopped (.report)  ReplayMismatch  ReplayMissing
      LedgerError                   the ledger could not be read or written
        LedgerBusy  LedgerReadOnly  LedgerTampered  LedgerTooNew  LedgerNotFound  SecretMissing  SecretMismatch
        ResultNotRecorded           the action ran, writing its result failed: .result

Constructors take facts and build the text: what happened, then what to do, with the whole command to type.
Each class has a stable ``code``, explained in docs/errors.md. Every error survives pickle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from call4agents_core._shown import command, escaped

if TYPE_CHECKING:
    from collections.abc import Callable

    from call4agents_core._reports import UndoReport
    from call4agents_core._requests import ApprovalRequest


E = TypeVar("E", bound="Call4AgentsError")


def recast(error: Call4AgentsError, kind: type[E]) -> E:
    """The same facts and text as an exception of another class: for plugins whose refusals are also their framework's."""
    return _rebuild(kind, error.args, dict(error.__dict__))


def _rebuild(kind: type[E], args: tuple[Any, ...], facts: dict[str, Any]) -> E:
    """An error as it was, without its constructor: what pickle and `recast` need."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class Call4AgentsError(Exception):
    """Base of all errors of Call4Agents; catches everything that comes from us and nothing that comes from a tool."""

    code: ClassVar[str] = "call4agents-error"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


# ---- the program uses the ledger wrongly ---------------------------------------------------------------------------


class UsageError(Call4AgentsError, RuntimeError):
    """An option, an argument or an order of calls that cannot mean anything."""

    code = "usage-error"


class NotInitialised(UsageError):
    """A call of an effect before any ledger was opened."""

    code = "not-initialised"

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(
            f"{escaped(tool)} was called, but no ledger is open. Call call4agents_core.init() once, when the program starts."
        )


class NoActiveRun(UsageError):
    """A call of an effect outside any run; a new thread has none."""

    code = "no-active-run"

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(
            f'{escaped(tool)} was called outside a run. Call it inside `with call4agents_core.run("the id that you resume with"):`. '
            "A new thread and an executor do not inherit the run: open it there, copy the context, or use asyncio.to_thread."
        )


class UnstableArgument(UsageError, TypeError):
    """An argument that has no stable bytes, so that nobody could tell whether two calls are one action."""

    code = "unstable-argument"

    def __init__(self, tool: str, argument: str, why: str) -> None:
        self.tool, self.argument, self.why = tool, argument, why
        super().__init__(
            f"{escaped(tool)}: the argument {escaped(argument)} cannot be part of a key: {escaped(why)}. Nothing was written and the tool did not run. "
            f"Leave it out with exclude=({argument!r},), or say with c4a_key= or key= which action the call means."
        )


class KeyConflict(UsageError, ValueError):
    """One c4a_key used for calls with different arguments."""

    code = "key-conflict"

    def __init__(self, tool: str, run: str, key: str, arguments: tuple[str, ...]) -> None:
        self.tool, self.run, self.key, self.arguments = tool, run, key, arguments
        names = ", ".join(arguments)
        super().__init__(
            f"{escaped(tool)}: the key {escaped(key)!r} stands for an action of run {escaped(run)} with another {escaped(names)}. The tool did not run. "
            f"Use another key for another action; if the difference does not matter, name it in exclude=({', '.join(map(repr, arguments))},)."
        )


# ---- the action did not run now ------------------------------------------------------------------------------------


class EffectRefused(Call4AgentsError):
    """The action did not run now. Raised itself for a repeat under ``repeat="refuse"``."""

    code = "effect-refused"

    def __init__(self, text: str, *, run: str, tool: str, action: str) -> None:
        self.run, self.tool, self.action = run, tool, action
        super().__init__(text)

    @classmethod
    def repeated(cls, *, run: str, tool: str, action: str) -> EffectRefused:
        """The refusal of a call that repeats a done action whose effect says repeat="refuse"."""
        text = (
            f'{escaped(tool)} was done already in run {escaped(run)}, and repeat="refuse" forbids the same call again.'
        )
        return EffectRefused(text, run=run, tool=tool, action=action)


class EffectInDoubt(EffectRefused):
    """The action may have happened: its process died inside it, or it raised. It is never repeated silently.

    ``since`` is when the attempt began (seconds since the epoch), ``cause`` what is known of its end, ``attempt`` its entry.
    """

    code = "effect-in-doubt"

    def __init__(
        self, *, run: str, tool: str, action: str, since: float, cause: str, ledger: str = "", attempt: int = 0
    ) -> None:
        self.since, self.cause, self.ledger, self.attempt = since, cause, ledger, attempt
        bound = (
            ("--attempt", str(attempt)) if attempt else ()
        )  # what was found out about one says nothing of a later one
        resolve = command("resolve", run, action, "happened", options=bound, ledger=ledger)
        super().__init__(
            f"{escaped(tool)} is in doubt in run {escaped(run)}: {escaped(cause)}. It may have happened, so it was not run again. "
            f"Look outside whether it happened, then type `{resolve}` or the same with did-not-happen; reconcile= or idempotent_for= let the effect answer by itself.",
            run=run,
            tool=tool,
            action=action,
        )


class EffectRunning(EffectInDoubt):
    """Another caller holds the action right now; or an action was called from inside its own body."""

    code = "effect-running"

    def __init__(self, *, run: str, tool: str, action: str, since: float, cause: str, ledger: str = "") -> None:
        self.since, self.cause, self.ledger, self.attempt = since, cause, ledger, 0
        EffectRefused.__init__(
            self,
            f"{escaped(tool)} is running in run {escaped(run)}: {escaped(cause)}. It was not started a second time. Call again later; wait= sets how long a call waits for the result.",
            run=run,
            tool=tool,
            action=action,
        )


class EffectUndone(EffectRefused):
    """The action was done and then reversed; its old result no longer holds."""

    code = "effect-undone"

    def __init__(self, *, run: str, tool: str, action: str) -> None:
        super().__init__(
            f"{escaped(tool)} was done and undone in run {escaped(run)}, so its result no longer holds and it does not run again under the same key. "
            "To do it anew, call it in another run or with another c4a_key.",
            run=run,
            tool=tool,
            action=action,
        )


class EffectArchived(EffectRefused):
    """The action's record has moved to an archive; ``was`` is how it stood then: done, as a rule."""

    code = "effect-archived"

    def __init__(self, *, run: str, tool: str, action: str, was: str = "done") -> None:
        self.was = was
        super().__init__(
            f"{escaped(tool)} was {was} in run {escaped(run)}, and its record has moved to an archive, so it was not run again. Open the archive to see it; use another run id for new work.",
            run=run,
            tool=tool,
            action=action,
        )


class ApprovalRequired(EffectRefused):
    """The action needs a yes and has none. ``request`` is the open request: show it, then ``request.approve(by=…)``."""

    code = "approval-required"

    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request
        shown = ", ".join(f"{name}={text}" for name, text in request.arguments.items())
        super().__init__(
            f"{escaped(request.tool)}({shown}) in run {escaped(request.run)} needs an approval and did not run. "
            f"Type `{command('approve', request.id, ledger=request.ledger)}`, or the same with deny; in the program: error.request.approve(by=…).",
            run=request.run,
            tool=request.tool,
            action=request.action,
        )


class ApprovalDenied(EffectRefused):
    """Somebody said no to the action, and nobody said yes since."""

    code = "approval-denied"

    def __init__(self, *, run: str, tool: str, action: str, by: str | None, reason: str | None) -> None:
        self.by, self.reason = by, reason
        who = f" by {escaped(by)}" if by else ""
        why = f" ({escaped(reason)})" if reason else ""
        super().__init__(
            f"{escaped(tool)} was denied in run {escaped(run)}{who}{why} and did not run. The no holds until somebody approves the same arguments anew; a new request has to be made with request_approval().",
            run=run,
            tool=tool,
            action=action,
        )


class ResultNotKept(EffectRefused):
    """The action is done, but its result could not be stored; ``shown`` is its repr."""

    code = "result-not-kept"

    def __init__(self, *, run: str, tool: str, action: str, shown: str, why: str) -> None:
        self.shown, self.why = shown, why
        super().__init__(
            f"{escaped(tool)} is done in run {escaped(run)}, but its result was not kept: {escaped(why)}. It was {escaped(shown)}. The tool did not run again. "
            "Return a type that can be stored, or give the effect encode= and decode=.",
            run=run,
            tool=tool,
            action=action,
        )


# ---- undo and replay -----------------------------------------------------------------------------------------------


class UndoStopped(Call4AgentsError):
    """The undo of a run stopped before an action that could not be reversed; ``report`` lists all."""

    code = "undo-stopped"

    def __init__(self, report: UndoReport) -> None:
        self.report, self.run = report, report.run
        super().__init__(
            f"The undo of run {escaped(report.run)} stopped: {report.obstacles()}. Nothing older was touched. {_advice(report)}"
        )


def _advice(report: UndoReport) -> str:
    doubts = (*report.in_doubt, *(failed for failed in report.failed if failed.reversal != failed.action))
    for doubt in doubts:
        if doubt.why.endswith("running"):
            return "Wait until it has ended, and undo again."
        return f"Look outside whether it happened, type `{command('resolve', report.run, doubt.reversal, 'happened', ledger=report.ledger)}` or the same with did-not-happen, and undo again."
    return "Mend that, and undo again."


class ReplayMismatch(Call4AgentsError):
    """The program differs from the recorded run at a step."""

    code = "replay-mismatch"

    def __init__(self, *, run: str, step: int, recorded: str, called: str) -> None:
        self.run, self.step, self.recorded, self.called = run, step, recorded, called
        super().__init__(
            f"Step {step} of run {escaped(run)} was recorded as {escaped(recorded)}, and is now {escaped(called)}. Nothing was called."
        )


class ReplayMissing(Call4AgentsError):
    """The recorded run holds no answer for a call."""

    code = "replay-missing"

    def __init__(self, *, run: str, step: int, called: str) -> None:
        self.run, self.step, self.called = run, step, called
        super().__init__(f"Step {step} of run {escaped(run)}, {escaped(called)}, was not recorded. Nothing was called.")


# ---- the ledger could not be read or written ------------------------------------------------------------------------


class LedgerError(Call4AgentsError):
    """The ledger could not be read or written. Raised before a tool runs: it did not run."""

    code = "ledger-error"

    def __init__(self, location: str, why: str, advice: str = "") -> None:
        self.location, self.why = location, why
        super().__init__(f"The ledger {escaped(location)}: {escaped(why)}." + (f" {advice}" if advice else ""))


class LedgerBusy(LedgerError):
    """Another program held the ledger longer than the time-out."""

    code = "ledger-busy"


class LedgerReadOnly(LedgerError):
    """The ledger was opened for reading, or its file or server does not allow writing."""

    code = "ledger-read-only"


class LedgerTampered(LedgerError):
    """An entry is not as this ledger wrote it: edited, copied, forged, re-inserted, or one is missing before it."""

    code = "ledger-tampered"

    def __init__(self, location: str, *, run: str, action: str, n: int, why: str) -> None:
        self.run, self.action, self.n = run, action, n
        verify = command("verify", ledger=location)
        super().__init__(
            location,
            f"entry {n} of action {action[:12]} in run {escaped(run)} is not as it was written: {why}",
            f"Nothing was done on its word. Type `{verify}` to see all that is wrong.",
        )
        self.why = why


class LedgerTooNew(LedgerError):
    """The ledger was written by a newer version."""

    code = "ledger-too-new"


class LedgerNotFound(LedgerError):
    """There is no ledger at the location."""

    code = "ledger-not-found"

    def __init__(self, location: str, why: str = "there is no such ledger", advice: str = "") -> None:
        super().__init__(location, why, advice or "Name another with --ledger, C4A_LEDGER or init(location).")


class SecretMissing(LedgerError):
    """The ledger exists, and its secret does not; or a PostgreSQL ledger was opened without one."""

    code = "secret-missing"


class SecretMismatch(LedgerError):
    """The secret is not the one that the ledger belongs to."""

    code = "secret-mismatch"


class ResultNotRecorded(LedgerError):
    """The action ran, and writing its result failed. ``result`` is what the tool returned; later calls are in doubt."""

    code = "result-not-recorded"

    def __init__(self, location: str, *, run: str, tool: str, action: str, result: Any, why: str) -> None:
        self.run, self.tool, self.action, self.result = run, tool, action, result
        resolve = command("resolve", run, action, "happened", ledger=location)
        super().__init__(
            location,
            f"{escaped(tool)} ran in run {escaped(run)} and returned, but its result could not be written: {why}",
            f"error.result holds it. Later calls are in doubt: once the ledger can be written again, type `{resolve}`.",
        )

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        from call4agents_core import _codec  # errors are imported by every command, and few have a result

        facts = dict(self.__dict__)
        try:
            _codec.encode(self.result)
        except _codec.NotStorable:  # it may not pickle either, and the error has to
            facts["result"] = None
        return _rebuild, (type(self), self.args, facts)
