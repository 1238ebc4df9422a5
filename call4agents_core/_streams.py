"""Streams of entries on a store: read and checked, MAC by MAC, then decided upon by a rule, and written as it says."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from call4agents_core import _keys
from call4agents_core._state import State
from call4agents_core._types import Draft, Entry, Request
from call4agents_core.errors import LedgerTampered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from call4agents_core._secrets import Secrets
    from call4agents_core._types import Note, Row
    from call4agents_core.stores._protocol import Store

    T = TypeVar("T")

#: Seconds after which a process that writes looks whether the secret has changed.
_LOOK_FOR_A_NEW_SECRET = 1.0
_MOST_CHECKED = 5_000
_NEW = State()  # of every action that nobody has called yet
_load = json.JSONDecoder().raw_decode
_dump = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


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


class Streams:
    """The entries of a ledger, action by action. Blocking and thread-safe."""

    def __init__(self, store: Store, secrets: Secrets) -> None:
        self.store, self._secrets = store, secrets
        self.location = store.location
        self.keyring = secrets.keyring(store.meta)
        self.ledger_id = self.keyring.ledger_id
        self._looked = time.monotonic()  # when the secret was last seen to be the current one
        self._checked: dict[tuple[str, str], Checked] = {}  # by run and action; what is the same needs no second check

    def state(self, run: str, action: str) -> State:
        """The state of an action, every entry checked. Raises LedgerTampered. Whoever changes it does so by `append`."""
        rows = self.store.read(run, action)
        if not rows:
            return _NEW
        known = self._checked.get((run, action))
        if known is not None and known.still(rows):
            return known.state
        state = self.folded(run, action, rows)
        self._keep((run, action), Checked(tuple((row.body, row.mac) for row in rows), state))
        return state

    def _keep(self, place: tuple[str, str], checked: Checked) -> None:
        if len(self._checked) > _MOST_CHECKED:
            self._checked.clear()
        self._checked[place] = checked

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
        known = self.keyring.knows(row.mac[: _keys.KEY_ID_BYTES]) or self._take_up_secret()
        if not self.keyring.accepts(row.mac, run, action, row.n, state.mac, row.body):
            known = known and self.keyring.knows(row.mac[: _keys.KEY_ID_BYTES])
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
        if time.monotonic() - self._looked > _LOOK_FOR_A_NEW_SECRET:
            self._take_up_secret()
        mac = self.keyring.sign(run, action, n, state.mac, body)
        after = state.followed_by(Entry(n, note.kind, now, data, mac))
        assert after.head is not None
        requests = _requests_changed(action, state.asked, after)
        draft = Draft(run, action, n, body, mac, after.head.data["tool"], after.name, requests)
        if not self.store.append((draft,), durable=durable):
            return None
        self._remember((run, action), state, after, (body, mac))
        return after

    def _remember(self, place: tuple[str, str], before: State, after: State, entry: tuple[bytes, bytes]) -> None:
        known = self._checked.get(place)
        if before.last == 0:
            self._keep(place, Checked((entry,), after))
        elif known is not None and known.state is before:
            self._keep(place, Checked((*known.entries, entry), after))

    def _take_up_secret(self) -> bool:
        """Another process may have changed the secret: read it anew where ours is no longer the current one."""
        self._looked = time.monotonic()
        current = self.store.key_id()
        if current == self.keyring.current:
            return False
        self.keyring = self._secrets.keyring(self.store.meta._replace(key_id=current))
        return True

    def rotate_secret(self) -> None:
        """Sign with a new secret from now on; the old ones are kept for reading. Running processes take it up within seconds.

        Where secrets are given, not kept in a file: the new one is the ledger's secret, the current one among its old secrets.
        """
        keyring = self._secrets.successor(self.store.meta)
        self.store.rekey(keyring.current)
        self.keyring = keyring


def _requests_changed(action: str, before: Entry | None, state: State) -> tuple[Request, ...]:
    """What the newest entry did to the open request."""
    now = state.asked
    if before is now:
        return ()
    closed = (Request(_keys.request_id(action, before.n), open=False),) if before is not None else ()
    return (*closed, Request(_keys.request_id(action, now.n), open=True)) if now is not None else closed
