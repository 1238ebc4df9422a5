"""The ledger at work: attempts begin and end, doubts are settled, ordinals are found; and what a process keeps for it."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, Literal

from call4agents_core import _rules, _stored
from call4agents_core._answers import Answers, Attempt, Doubtful, Held, Known
from call4agents_core._flights import Flight, Flights
from call4agents_core._outcomes import DidNotHappen, Happened
from call4agents_core._shown import shown
from call4agents_core.errors import LedgerError, LedgerTampered, ResultNotRecorded, UsageError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from call4agents_core._call import Call
    from call4agents_core._secrets import Secrets
    from call4agents_core._state import State
    from call4agents_core._types import Note, OwnerStatus
    from call4agents_core.stores._protocol import Store

__all__ = ["Attempt", "Core", "Doubtful", "Flight", "Held", "Known"]

#: Threads that wait for the disk on behalf of event loops. More of them only fight for the interpreter: measured with 200 tasks.
_WORKERS = 4
_open_ledgers: weakref.WeakSet[Core] = weakref.WeakSet()


class Core(Answers):
    """What every part of the ledger stands on. Blocking and thread-safe."""

    def __init__(self, store: Store, secrets: Secrets) -> None:
        super().__init__(store, secrets)
        self._unended = False  # an attempt of this process has no end on record
        self.be_born_again()
        _open_ledgers.add(self)

    def be_born_again(self) -> None:
        """At the start, and in a forked child: the parent's attempts, threads and locks are not ours."""
        self._guard = threading.Lock()
        self._flights = Flights(self._guard)  # attempts under way
        self._questions = Flights(self._guard)  # actions whose reconcile= is being asked
        self._executor: ThreadPoolExecutor | None = None
        self._owner: str | None = None
        self._unended = False

    def begin(self, call: Call, *, resend: bool = False) -> Attempt | Known | Held | Doubtful:
        """Start an attempt, or say how the action stands. Raises the refusals. When an Attempt comes back, its intent is on disk."""
        while True:
            state = self.state(call.run, call.action)
            now = self.store.now()
            if not state.finished:
                call.owner = self.owner()
            owner = self.owner_status(call.action, state)
            note, verdict = _rules.begin(state, call, now=now, owner=owner, resend=resend)
            if isinstance(verdict, _rules.Begun):
                assert note is not None
                begun = self._take_off(call, state, note, now)
                if begun is not None:
                    return begun
            elif note is not None:
                after = self.append(call.run, call.action, call.head, state, note, now, durable=False)
                if after is not None:
                    return self.answer(call, after, verdict, self._flights.of(call.action))
            elif isinstance(verdict, _rules.Doubt) and self.state(call.run, call.action).last != state.last:
                continue  # its owner has written the end, and has left, between the two looks
            else:
                return self.answer(call, state, verdict, self._flights.of(call.action))

    def _take_off(self, call: Call, state: State, note: Note, now: float) -> Attempt | Held | None:
        """Write the intent; None if another process was faster. The flight is there before the entry, so that no thread of
        ours takes the attempt for dead, and none writes a second one.
        """
        other = self._flights.take_off(call.action)
        if other is not None:
            return Held(self.running(call, now), other)
        try:
            after = self.append(call.run, call.action, call.head, state, note, now, durable=True)
        except LedgerError:
            self._flights.land(call.action)
            raise
        except BaseException:  # interrupted, perhaps after the commit: the tool did not start
            self.withdraw(Attempt(call, state.last + 1, None), "the call was interrupted before the tool started")
            raise
        if after is None:
            self._flights.land(call.action)
            return None
        return Attempt(call, after.last, after)

    def finish(self, attempt: Attempt, value: Any) -> None:
        """The tool returned. Raises ResultNotRecorded, which carries the result, if that cannot be written."""
        call = attempt.call
        try:
            self._end(attempt, "result", _result(call, value))
        except LedgerError as error:
            raise ResultNotRecorded(
                self.location, run=call.run, tool=call.effect.tool, action=call.action, result=value, why=error.why
            ) from error

    def fail(self, attempt: Attempt, error: BaseException) -> None:
        """The tool raised: in doubt, unless retry_on= says that it proves that nothing happened. Never raises for the ledger."""
        call = attempt.call
        proof = isinstance(error, call.effect.options.retry_on)
        data = {"cause": _stored.cause_of(error, call.secret_texts())}
        self._end_quietly(attempt, "not-done" if proof else "failed", data | ({"proof": "retry_on"} if proof else {}))

    def withdraw(self, attempt: Attempt, cause: str) -> None:
        """The tool was never started, or has paused in a way that its framework repeats: not done."""
        self._end_quietly(attempt, "not-done", {"cause": cause, "proof": "not-started"})

    def withdraw_if_begun(self, found: object) -> None:
        """Nobody waits any more for what `begin` gave."""
        if isinstance(found, Attempt):
            self.withdraw(found, "the call was cancelled before the tool started")

    def ask_alone(self, action: str) -> Flight | None:
        """None: this caller asks reconcile= now, and calls `asked` in the end. Else the flight of the one that does."""
        return self._questions.take_off(action)

    def asked(self, action: str) -> None:
        """reconcile= has answered, or will not."""
        self._questions.land(action)

    def _end_quietly(self, attempt: Attempt, kind: Literal["failed", "not-done"], data: dict[str, Any]) -> None:
        try:
            self._end(attempt, kind, data)
        except LedgerError:
            import logging

            logging.getLogger("call4agents").warning(
                "The end of %s in run %s could not be written, so it counts as in doubt.",
                attempt.call.effect.tool,
                attempt.call.run,
                exc_info=True,
            )

    def _end(self, attempt: Attempt, kind: Literal["result", "failed", "not-done"], data: dict[str, Any]) -> None:
        call = attempt.call
        if call.owner != self._owner:  # a forked child has come back out of the tool: the attempt is its parent's
            return

        def step(state: State) -> tuple[Note | None, None]:
            if state.last < attempt.n:  # an intent that did not reach the ledger has no end
                return None, None
            return _rules.end(state, attempt.n, kind, data), None

        try:
            if not self._written_at_once(attempt, kind, data):
                self.advance(call.run, call.action, call.head, step, durable=False)
        except BaseException:
            self._unended = True
            raise
        finally:
            self._flights.land(call.action)

    def _written_at_once(
        self, attempt: Attempt, kind: Literal["result", "failed", "not-done"], data: dict[str, Any]
    ) -> bool:
        """The end, written without reading again: as a rule nobody writes between intent and end."""
        call, state = attempt.call, attempt.state
        if state is None:
            return False
        note = _rules.end(state, attempt.n, kind, data)
        return self.append(call.run, call.action, call.head, state, note, self.store.now(), durable=False) is not None

    def settle(
        self,
        run: str,
        action: str,
        outcome: object,
        how: dict[str, Any],
        *,
        attempt: int | None = None,
        call: Call | None = None,
    ) -> _rules.Running | _rules.Settled | None:
        """Write an answer to a doubt; None if it was written. With ``attempt`` the answer is about that one only. ``call``: the one that
        asked, whose effect may have an encode=.
        """
        if isinstance(outcome, Happened):
            result = _result(call, outcome.result) if call is not None else {"result": _stored.stored(outcome.result)}
            data = {"outcome": "happened", **result, **how}
        elif isinstance(outcome, DidNotHappen):
            data = {"outcome": "did-not-happen", **how}
        else:
            msg = f"{outcome!r} is no outcome: give happened(result) or did_not_happen()."
            raise UsageError(msg)

        def step(state: State) -> tuple[Note | None, _rules.Running | _rules.Settled | None]:
            return _rules.resolve(state, self.owner_status(action, state), data, attempt)

        return self.advance(run, action, dict, step, durable=True)[1]

    def action_like(self, run: str, prefix: str) -> str:
        """The one action of a run whose id begins so."""
        found = [row for row in self.store.actions(run=run) if prefix and row.action.startswith(prefix.lower())]
        if len(found) == 1:
            return found[0].action
        some = ", ".join(f"{row.action[:12]} ({row.tool})" for row in found[:5])
        msg = f"Run {run!r} has {'several actions' if found else 'no action'} that begin{'' if found else 's'} with {prefix!r}{': ' + some if found else ''}. Type `call4agents show` with the run to see all."
        raise UsageError(msg)

    def mean_first_open(self, call: Call) -> None:
        """Let a call or a decision mean the first action of its arguments that is not done. All before it are done, so halving finds it."""
        finished, wanted = 0, 1
        while self._finished(call, wanted):
            finished, wanted = wanted, wanted * 2
        while wanted - finished > 1:
            middle = (finished + wanted) // 2
            if self._finished(call, middle):
                finished = middle
            else:
                wanted = middle
        call.mean(wanted)

    def _finished(self, call: Call, ordinal: int) -> bool:
        call.mean(ordinal)
        return self.state(call.run, call.action).finished

    # ---- owners -------------------------------------------------------------------------------------------------

    def owner(self) -> str:
        """This process as an owner."""
        if self._owner is None:
            with contextlib.suppress(LedgerTampered):  # of an action that nobody has called: verify names it
                self.store.tidy_owners(self._owners_of_open_attempts)
        self._owner = self.store.owner()
        return self._owner

    def owner_status(self, action: str, state: State) -> OwnerStatus:
        """Whether the newest attempt, if it has no end on record, can still be running. Of this process: whether it is on its way."""
        if state.stage != "started" or state.attempt is None:
            return "dead"
        owner = state.attempt.data["owner"]
        if owner == self._owner:
            return "alive" if self._flights.of(action) is not None else "dead"
        return self.store.owner_status(owner)

    def _owners_of_open_attempts(self) -> set[str]:
        found: set[str] = set()
        for row in self.store.actions(states=("started",)):
            attempt = self.state(row.run, row.action).attempt
            if attempt is not None:
                found.add(attempt.data["owner"])
        return found

    # ---- the process --------------------------------------------------------------------------------------------

    def executor(self) -> ThreadPoolExecutor:
        """The ledger's own threads, where async callers wait for the disk."""
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor

            with self._guard:
                if self._executor is None:
                    self._executor = ThreadPoolExecutor(_WORKERS, thread_name_prefix="c4a")
        return self._executor

    def close(self) -> None:
        """Bring everything to disk. Attempts that are on their way, or whose end could not be written, count as in doubt from now on."""
        self.store.close(keep_owner=self._unended or bool(self._flights))
        if self._executor is not None:
            self._executor.shutdown(wait=False)


def _result(call: Call, value: Any) -> dict[str, Any]:
    """How a result is stored. A type that cannot be kept costs its result, never the fact that the action is done."""
    encode = call.effect.options.encode
    if encode is not None:
        try:
            value = encode(value)
        except Exception as error:
            return {
                "result": {
                    "shown": shown(value),
                    "why": f"encode= raised {_stored.cause_of(error, call.secret_texts())}",
                }
            }
    return {"result": _stored.stored(value)}


@atexit.register
def _close_all() -> None:
    for ledger in list(_open_ledgers):
        ledger.close()


def _after_fork_in_child() -> None:
    for ledger in list(_open_ledgers):
        ledger.be_born_again()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
