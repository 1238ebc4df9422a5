"""What people say: yes, no, and what became of an action in doubt. Each is one entry of the action that it is about."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from call4agents_core import _keys, _rules
from call4agents_core._call import Call
from call4agents_core._ledger import Core
from call4agents_core._options import checked_text, seconds
from call4agents_core._registry import effect_of
from call4agents_core._requests import Approval, ApprovalRequest
from call4agents_core._scope import current_run
from call4agents_core.errors import ApprovalDenied, EffectRunning, NoActiveRun, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from call4agents_core._outcomes import DidNotHappen, Happened
    from call4agents_core._state import State
    from call4agents_core._types import Note, RequestRow


class Approvals(Core):
    """Requests, approvals, denials and resolutions, as methods of the ledger."""

    def approve(
        self,
        tool: Callable[..., Any] | str,
        /,
        *,
        c4a_by: str | None = None,
        c4a_valid_for: float | None = None,
        c4a_key: str | None = None,
        c4a_run: str | None = None,
        **arguments: Any,
    ) -> Approval:
        """Say yes to one action: the first of exactly these arguments, in this run, that is not done.

        ``tool`` is the effect (or its name, where its module is imported); ``arguments`` are all of its own that have no default.
        ``c4a_by``: who says it. ``c4a_valid_for``: seconds; the default is without end. ``c4a_key``: the key that the call is
        given. ``c4a_run``: the run, else the open one. Raises TypeError, UnstableArgument, UsageError and leaves nothing then.
        """
        until = self._until(c4a_valid_for)
        call = self._meant(tool, arguments, c4a_key, c4a_run)
        request = call.request()
        state, _ = self.advance(
            call.run,
            call.action,
            call.head,
            lambda state: (_rules.approve(state, request, by=c4a_by, until=until), None),
            durable=True,
        )
        given = state.yes.get(call.digest)
        if given is not None:  # an earlier yes that lasts longer stays as it is
            until = given.data["until"]
        return Approval(call.run, call.effect.tool, call.action, c4a_by, until)

    def deny(
        self,
        tool: Callable[..., Any] | str,
        /,
        *,
        c4a_by: str | None = None,
        c4a_reason: str | None = None,
        c4a_key: str | None = None,
        c4a_run: str | None = None,
        **arguments: Any,
    ) -> None:
        """Say no to an action, as `approve` says yes. It cancels every unused yes of it and lasts until a new yes."""
        call = self._meant(tool, arguments, c4a_key, c4a_run)
        self.advance(
            call.run,
            call.action,
            call.head,
            lambda state: (_rules.deny(state, by=c4a_by, reason=c4a_reason), None),
            durable=True,
        )

    def request_approval(
        self,
        tool: Callable[..., Any] | str,
        /,
        *,
        c4a_key: str | None = None,
        c4a_run: str | None = None,
        **arguments: Any,
    ) -> ApprovalRequest:
        """Ask for a yes before the call is made, or anew after a no. Names the open request where there is one for the action."""
        while True:
            call = self._meant(tool, arguments, c4a_key, c4a_run)
            state, _ = self.advance(call.run, call.action, call.head, partial(_rules.ask, call=call), durable=False)
            if (
                state.asked is not None
            ):  # else somebody has done the action meanwhile, and another is the first that is not
                return self.request_in(state.asked, run=call.run, tool=call.effect.tool, action=call.action)

    def pending(self, run: str | None = None, *, limit: int | None = None) -> list[ApprovalRequest]:
        """Open requests, newest first; of one run, or of all."""
        found: list[ApprovalRequest] = []
        for row in self.store.requests(run=run, limit=limit):
            state = self.state(row.run, row.action)
            if state.asked is not None and state.head is not None:
                found.append(self.request_in(state.asked, run=row.run, tool=state.head.data["tool"], action=row.action))
        return found

    def approve_request(self, id: str, *, by: str | None = None, valid_for: float | None = None) -> Approval:
        """Say yes to a request by its id. Raises ApprovalDenied if it was denied, UsageError if there is no such request."""
        until, row = self._until(valid_for), self._request(id)

        def step(state: State) -> tuple[Note | None, None]:
            entry = self._asked(state, row)
            no = state.denial
            if no is not None and no.n > entry.n:
                raise ApprovalDenied(**_facts(row, state), by=no.data["by"], reason=no.data["reason"])
            return _rules.approve(state, _arguments_of(entry.data), by=by, until=until), None

        state, _ = self.advance(row.run, row.action, dict, step, durable=True)
        return Approval(**_facts(row, state), by=by, until=until)

    def deny_request(self, id: str, *, by: str | None = None, reason: str | None = None) -> None:
        """Say no to a request by its id. What is done stays done: UsageError says so."""
        row = self._request(id)

        def step(state: State) -> tuple[Note | None, None]:
            entry = self._asked(state, row)
            if state.finished:
                msg = f"The action of request {id} is {state.name}, so a no comes too late. Reverse it instead, where its effect has an undo."
                raise UsageError(msg)
            already = state.no is not None and state.no.n > entry.n and state.asked is None
            return None if already else _rules.deny(state, by=by, reason=reason), None

        self.advance(row.run, row.action, dict, step, durable=True)

    def resolve(
        self,
        run: str,
        action: str,
        outcome: Happened | DidNotHappen,
        *,
        by: str | None = None,
        note: str = "",
        attempt: int | None = None,
    ) -> None:
        """A person's answer to an action in doubt; ``action`` is its id or a unique prefix of it.

        ``attempt``, which EffectInDoubt and ``call4agents doubt`` name, binds the answer to what was looked at: it is refused
        if another attempt was made since.

        Raises EffectRunning while an attempt can still be running, UsageError where nothing is in doubt.
        """
        action = self.action_like(run, action)
        said = self.settle(run, action, outcome, {"by": by, "note": note, "via": "person"}, attempt=attempt)
        if said is None:
            return
        head = self.state(run, action).head
        tool = head.data["tool"] if head is not None else action
        if isinstance(said, _rules.Running):
            cause = "its process is alive, so there is nothing to resolve yet"
            raise EffectRunning(
                run=run, tool=tool, action=action, since=said.attempt.at, cause=cause, ledger=self.location
            )
        msg = f"There is nothing to resolve in {tool} of run {run}: {said.why}."
        raise UsageError(msg)

    # ---- inside -------------------------------------------------------------------------------------------------

    def _meant(
        self, tool: Callable[..., Any] | str, arguments: dict[str, Any], key: str | None, run: str | None
    ) -> Call:
        """The first action of these arguments that is not done."""
        wrapper, effect, receiver = effect_of(tool)
        run = checked_text("c4a_run", run) if run is not None else current_run()
        if run is None:
            raise NoActiveRun(effect.tool)
        args = () if receiver is None else (receiver,)
        values, is_receiver = effect.bind(wrapper, args, arguments)
        call = Call(effect, run, self.ledger_id, values, receiver=is_receiver, key=key, decision=True)
        self.mean_first_open(call)
        return call

    def _until(self, valid_for: float | None) -> float | None:
        return None if valid_for is None else self.store.now() + seconds("valid_for", valid_for)

    def _request(self, id: str) -> RequestRow:
        found = self.store.requests(id=id)
        if not found:
            msg = f"There is no request {id!r} in {self.location}. Type `call4agents pending` to see the open ones."
            raise UsageError(msg)
        return found[0]

    def _asked(self, state: State, row: RequestRow) -> Any:
        """The entry that opened the request: the derived row is only where to look."""
        for entry in state.requests:
            if _keys.request_id(row.action, entry.n) == row.id:
                return entry
        msg = f"Request {row.id} is not in the ledger's entries. Type `call4agents verify`."
        raise UsageError(msg)


def _facts(row: RequestRow, state: State) -> dict[str, Any]:
    return {"run": row.run, "tool": state.head.data["tool"] if state.head else "", "action": row.action}


def _arguments_of(data: dict[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in ("args", "digest", "loose") if name in data}
