"""Streams of entries on a store: reads them, checks their MACs, lets a rule decide, writes what it says; begin and end of attempts."""

from __future__ import annotations

import atexit
import json
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from call4agents_core import _codec, _keys, _rules, _stored
from call4agents_core._outcomes import DidNotHappen, Happened
from call4agents_core._requests import ApprovalRequest
from call4agents_core._shown import shown
from call4agents_core._state import State
from call4agents_core._types import Draft, Entry, Request
from call4agents_core.errors import (
    ApprovalDenied,
    ApprovalRequired,
    EffectArchived,
    EffectInDoubt,
    EffectRefused,
    EffectRunning,
    EffectUndone,
    KeyConflict,
    LedgerError,
    LedgerTampered,
    ResultNotKept,
    ResultNotRecorded,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import ThreadPoolExecutor

    from call4agents_core._call import Call
    from call4agents_core._keys import Keyring
    from call4agents_core._requests import Decides
    from call4agents_core._types import Note, OwnerStatus, Row
    from call4agents_core.stores._protocol import Store

    T = TypeVar("T")

_WORKERS = 16
_MOST_CHECKED = 5_000
_open_ledgers: weakref.WeakSet[Core] = weakref.WeakSet()
_load = json.JSONDecoder().raw_decode
_dump = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class Flight:
    """An attempt of this process while it is on its way; callers that wait are woken at its end."""

    __slots__ = ("_guard", "_over", "_wake")

    def __init__(self, guard: threading.Lock) -> None:
        self._guard, self._over = guard, False
        self._wake: list[Callable[[], object]] = []

    def watch(self, wake: Callable[[], object]) -> None:
        """Have ``wake`` called when the attempt has ended, from whatever thread ends it."""
        with self._guard:
            if not self._over:
                self._wake.append(wake)
                return
        wake()

    def land(self) -> None:
        """The attempt has ended and its end is written, or cannot be."""
        with self._guard:
            self._over, waiting = True, self._wake
        for wake in waiting:
            wake()


class Checked(NamedTuple):
    """Entries of an action whose MACs were checked, or made, by this process, and the state that they give."""

    entries: tuple[tuple[bytes, bytes], ...]
    state: State

    def still(self, rows: list[Row]) -> bool:
        """Whether these rows are the same entries, to the byte."""
        return len(rows) == len(self.entries) and all(
            (row.body, row.mac) == entry and row.n == n
            for n, (row, entry) in enumerate(zip(rows, self.entries, strict=True), 1)
        )


class Attempt(NamedTuple):
    """One try at an action that this process holds: its intent is durable as entry ``n``.

    ``state`` is how the action stood after it; None where it is not sure that the intent reached the ledger.
    """

    call: Call
    n: int
    state: State | None


class Known(NamedTuple):
    """The action is done and this is its recorded result."""

    value: Any


class Held(NamedTuple):
    """Somebody holds the action: ``error`` says so, ``flight`` is there where it is this process."""

    error: EffectRunning
    flight: Flight | None


class Doubtful(NamedTuple):
    """The action is in doubt: ``error`` says so. ``askable``: reconcile= may be asked about ``attempt``."""

    error: EffectInDoubt
    attempt: int
    askable: bool


class Core:
    """What every part of the ledger stands on. Blocking and thread-safe."""

    def __init__(self, store: Store, keyring: Keyring) -> None:
        self.store, self.keyring = store, keyring
        self.location = store.location
        self.ledger_id = keyring.ledger_id
        self._guard = threading.Lock()
        self._flights: dict[str, Flight] = {}
        self._checked: dict[str, Checked] = {}  # by action; what was read again and is the same needs no second check
        self._questions: dict[str, Flight] = {}  # actions whose reconcile= is being asked
        self._unended = False  # an attempt of this process has no end on record
        self._executor: ThreadPoolExecutor | None = None
        self._owner: str | None = None
        _open_ledgers.add(self)

    # ---- streams ------------------------------------------------------------------------------------------------

    def state(self, run: str, action: str) -> State:
        """The state of an action, every entry checked. Raises LedgerTampered. Whoever changes it does so by `append`."""
        rows = self.store.read(run, action)
        known = self._checked.get(action)
        if known is not None and known.still(rows):
            return known.state
        state = self.folded(run, action, rows)
        self._keep(action, Checked(tuple((row.body, row.mac) for row in rows), state))
        return state

    def _keep(self, action: str, checked: Checked) -> None:
        if len(self._checked) > _MOST_CHECKED:
            self._checked.clear()
        self._checked[action] = checked

    def folded(self, run: str, action: str, rows: Iterable[Row]) -> State:
        """The state that the rows of one action give."""
        state = State()
        for row in rows:
            state.take(self.checked(run, action, row, state))
        return state

    def checked(self, run: str, action: str, row: Row, state: State) -> Entry:
        """The entry in a row that follows ``state``, if it is as this ledger wrote it."""
        if row.n != state.last + 1:
            raise LedgerTampered(
                self.location, run=run, action=action, n=row.n, why=f"entry {state.last + 1} before it is missing"
            )
        if not self.keyring.accepts(row.mac, run, action, row.n, state.mac, row.body):
            known = self.keyring.knows(row.mac[: _keys.KEY_ID_BYTES])
            raise LedgerTampered(
                self.location,
                run=run,
                action=action,
                n=row.n,
                why="its MAC does not fit" if known else "it was signed with a secret that is not at hand",
            )
        data = _load(row.body.decode("ascii"))[0]
        return Entry(row.n, data["kind"], data["at"], data, row.mac)

    def advance(
        self,
        run: str,
        action: str,
        head: Callable[[], dict[str, Any]],
        step: Callable[[State], tuple[Note | None, T]],
        *,
        durable: bool,
    ) -> tuple[State, T]:
        """Let a rule decide on the newest state and write what it says; if somebody else was faster, let it decide anew.

        The state after it, and the rule's answer.
        """
        while True:
            state = self.state(run, action)
            now = self.store.now()
            note, answer = step(state)
            if note is None:
                return state, answer
            after = self.append(run, action, head, state, note, now, durable=durable)
            if after is not None:
                return after, answer

    def append(
        self,
        run: str,
        action: str,
        head: Callable[[], dict[str, Any]],
        state: State,
        note: Note,
        now: float,
        *,
        durable: bool,
    ) -> State | None:
        """Write a note as the next entry after ``state``: the state after it, or None if somebody else wrote one."""
        n = state.last + 1
        data: dict[str, Any] = {"v": _keys.FORMAT, "kind": note.kind, "at": now}
        if n == 1:
            data |= head()
        data |= note.data
        body = _dump(data).encode("ascii")
        mac = self.keyring.sign(run, action, n, state.mac, body)
        after = state.followed_by(Entry(n, note.kind, now, data, mac))
        assert after.head is not None
        requests = _requests_changed(action, state.asked, after)
        draft = Draft(run, action, n, body, mac, after.head.data["tool"], after.name, requests)
        if not self.store.append((draft,), durable=durable):
            return None
        self._remember(action, state, after, (body, mac))
        return after

    def _remember(self, action: str, before: State, after: State, entry: tuple[bytes, bytes]) -> None:
        known = self._checked.get(action)
        if before.last == 0:
            self._keep(action, Checked((entry,), after))
        elif known is not None and known.state is before:
            self._keep(action, Checked((*known.entries, entry), after))

    # ---- attempts -----------------------------------------------------------------------------------------------

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
                    return self._answer(call, after, verdict)
            elif isinstance(verdict, _rules.Doubt) and self.state(call.run, call.action).last != state.last:
                continue  # its owner has written the end, and has left, between the two looks
            else:
                return self._answer(call, state, verdict)

    def _take_off(self, call: Call, state: State, note: Note, now: float) -> Attempt | Held | None:
        """Write the intent; None if another process was faster. The flight is there before the entry, so that no thread of
        ours takes the attempt for dead, and none writes a second one.
        """
        with self._guard:
            other = self._flights.get(call.action)
            if other is None:
                self._flights[call.action] = Flight(self._guard)
        if other is not None:
            return Held(self._running(call, now), other)
        try:
            after = self.append(call.run, call.action, call.head, state, note, now, durable=True)
        except LedgerError:
            self._land(call.action)
            raise
        except BaseException:  # interrupted, perhaps after the commit: the tool did not start
            self.withdraw(Attempt(call, state.last + 1, None), "the call was interrupted before the tool started")
            raise
        if after is None:
            self._land(call.action)
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
        """None: this caller is the one that asks reconcile= now, and calls `asked` in the end. Else the flight of the one that does."""
        with self._guard:
            other = self._questions.get(action)
            if other is None:
                self._questions[action] = Flight(self._guard)
        return other

    def asked(self, action: str) -> None:
        """reconcile= has answered, or will not."""
        with self._guard:
            flight = self._questions.pop(action)
        flight.land()

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
            self._land(call.action)

    def _written_at_once(
        self, attempt: Attempt, kind: Literal["result", "failed", "not-done"], data: dict[str, Any]
    ) -> bool:
        """The end, written without reading again: as a rule nobody writes between intent and end."""
        call, state = attempt.call, attempt.state
        if state is None:
            return False
        note = _rules.end(state, attempt.n, kind, data)
        return self.append(call.run, call.action, call.head, state, note, self.store.now(), durable=False) is not None

    def _land(self, action: str) -> None:
        with self._guard:
            flight = self._flights.pop(action, None)
        if flight is not None:
            flight.land()

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
            self.store.tidy_owners(self._owners_of_open_attempts)
        self._owner = self.store.owner()
        return self._owner

    def owner_status(self, action: str, state: State) -> OwnerStatus:
        """Whether the newest attempt, if it has no end on record, can still be running. Of this process: whether it is on its way."""
        if state.stage != "started" or state.attempt is None:
            return "dead"
        owner = state.attempt.data["owner"]
        if owner == self._owner:
            return "alive" if action in self._flights else "dead"
        return self.store.owner_status(owner)

    def _owners_of_open_attempts(self) -> set[str]:
        found: set[str] = set()
        for row in self.store.actions(states=("started",)):
            attempt = self.state(row.run, row.action).attempt
            if attempt is not None:
                found.add(attempt.data["owner"])
        return found

    # ---- answers ------------------------------------------------------------------------------------------------

    def _answer(self, call: Call, state: State, verdict: _rules.Verdict) -> Known | Held | Doubtful:
        facts: dict[str, Any] = {"run": call.run, "tool": call.effect.tool, "action": call.action}
        match verdict:
            case _rules.Recorded(entry):
                return Known(self._value(call, entry, facts))
            case _rules.Running(attempt):
                return Held(self._running(call, attempt.at), self._flights.get(call.action))
            case _rules.Doubt(attempt, cause, askable):
                return Doubtful(
                    EffectInDoubt(**facts, since=attempt.at, cause=cause, ledger=self.location), attempt.n, askable
                )
            case _rules.Conflict(arguments):
                raise KeyConflict(call.effect.tool, call.run, call.given_key or "", arguments)
            case _rules.Refused(why, entry):
                raise self._refusal(why, entry or state.asked, facts)
            case _:
                raise AssertionError(verdict)

    def _running(self, call: Call, since: float) -> EffectRunning:
        return EffectRunning(
            run=call.run,
            tool=call.effect.tool,
            action=call.action,
            since=since,
            cause="another caller holds it right now",
            ledger=self.location,
        )

    def _refusal(self, why: str, entry: Entry | None, facts: dict[str, Any]) -> EffectRefused:
        match why:
            case "undone":
                return EffectUndone(**facts)
            case "archived":
                return EffectArchived(**facts)
            case "repeated":
                return EffectRefused.repeated(**facts)
        assert entry is not None
        if why == "denied":
            return ApprovalDenied(**facts, by=entry.data["by"], reason=entry.data["reason"])
        return ApprovalRequired(self.request_in(entry, **facts))

    def request_in(self, entry: Entry, *, run: str, tool: str, action: str) -> ApprovalRequest:
        """The request that an entry opened, as a person sees it."""
        shown_to = _stored.shown_arguments(entry.data["args"])
        decides = cast("Decides", self)  # every open ledger is a Ledger, which takes decisions
        name = _keys.request_id(action, entry.n)
        return ApprovalRequest(name, run, tool, action, shown_to, entry.at, self.location, decides)

    def _value(self, call: Call, entry: Entry, facts: dict[str, Any]) -> Any:
        kept = entry.data["result"]
        try:
            return _stored.restored(kept, call.effect.options.decode)
        except _codec.NotRestorable as error:
            raise ResultNotKept(**facts, shown=_stored.text_of(kept), why=str(error)) from error

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

    def be_born_again(self) -> None:
        """In a forked child: the parent's attempts, threads and locks are not ours."""
        self._guard, self._flights, self._questions = threading.Lock(), {}, {}
        self._executor, self._owner, self._unended = None, None, False


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


def _requests_changed(action: str, before: Entry | None, state: State) -> tuple[Request, ...]:
    """What the newest entry did to the open request."""
    now = state.asked
    if before is now:
        return ()
    closed = (Request(_keys.request_id(action, before.n), open=False),) if before is not None else ()
    return (*closed, Request(_keys.request_id(action, now.n), open=True)) if now is not None else closed


@atexit.register
def _close_all() -> None:
    for ledger in list(_open_ledgers):
        ledger.close()


def _after_fork_in_child() -> None:
    for ledger in list(_open_ledgers):
        ledger.be_born_again()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
