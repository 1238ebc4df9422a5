"""The child process of the contract suite: opens the same store and does there what it is told."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, cast

from call4agents_core.ledger import Ledger
from call4agents_core.testing._drafts import action, draft
from call4agents_core.testing.workers import end_of, forked, serve

if TYPE_CHECKING:
    from call4agents_core.stores._protocol import Store

SECRET = b"the secret of the contract suite"


def open_location(location: str, read_only: bool) -> Store:
    """The store of whatever location `Ledger.open` knows."""
    return Ledger.open(location, secret=SECRET, read_only=read_only).store


def opened_by(opener: str, location: str, *, read_only: bool = False) -> Store:
    """The store that ``module:function`` opens."""
    module, _, function = opener.partition(":")
    return cast("Store", getattr(importlib.import_module(module), function)(location, read_only))


class Peer:
    """What the suite may order; each method is one order."""

    def __init__(self, opener: str, location: str) -> None:
        self._opener, self._location = opener, location
        self._store = self._open()

    def _open(self) -> Store:
        return opened_by(self._opener, self._location)

    def append(self, names: list[str], n: int = 1, durable: bool = True) -> bool:
        """Entry ``n`` of each of the actions, in one append."""
        return self._store.append([draft(name, n) for name in names], durable=durable)

    def count(self, name: str) -> int:
        """How many entries an action has."""
        return len(self._store.read("run", action(name)))

    def race(self, places: int) -> list[bool]:
        """Which of the first places of action a this process got."""
        return [self._store.append([draft("a", n)], durable=True) for n in range(1, places + 1)]

    def owner(self) -> str:
        """This process as an owner."""
        return self._store.owner()

    def owner_status(self, owner: str) -> str:
        """What this process thinks of an owner."""
        return self._store.owner_status(owner)

    def look_through_another_store(self, owner: str) -> str:
        """The same, from a second store that is opened and closed for it."""
        other = self._open()
        try:
            return other.owner_status(owner)
        finally:
            other.close()

    def close(self, keep_owner: bool) -> None:
        """Close the store."""
        self._store.close(keep_owner=keep_owner)

    # ---- fork ---------------------------------------------------------------------------------------------------

    def fork_a_sleeper(self) -> int:
        """A child that does nothing but live, until it is killed; for a minute at most."""
        return forked(lambda: time.sleep(60))

    def owner_in_a_forked_child(self) -> str:
        """What a forked child is called, once it has appended an entry."""
        out, into = os.pipe()

        def be_an_owner() -> None:
            self._store.append([draft("child")], durable=True)
            os.write(into, self._store.owner().encode())

        child = forked(be_an_owner)
        os.close(into)
        with os.fdopen(out, encoding="utf-8") as pipe:
            owner = pipe.read()
        end_of(child)
        return owner

    def fork_while_writing(self, forks: int) -> dict[str, Any]:
        """Fork while two threads write. Each child appends one entry; exit codes of the children, and entries that the threads wrote."""
        enough, written = threading.Event(), [0, 0]

        def write(i: int) -> None:
            while not enough.is_set():
                written[i] += 1
                self._store.append([draft(f"parent {i}", written[i])], durable=written[i] % 2 == 0)

        writers = [threading.Thread(target=write, args=(i,)) for i in range(2)]
        for writer in writers:
            writer.start()
        children = [self._child_that_appends(f"child {i}") for i in range(forks)]
        enough.set()
        for writer in writers:
            writer.join()
        return {"children": children, "written": sum(written)}

    def _child_that_appends(self, name: str) -> int:
        return end_of(forked(lambda: self._store.append([draft(name)], durable=True)))


if __name__ == "__main__":
    peer = Peer(sys.argv[1], sys.argv[2])
    names = [name for name in vars(Peer) if not name.startswith("_")]
    serve(**{name: getattr(peer, name) for name in names})
