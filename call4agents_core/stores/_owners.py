"""Who holds an attempt on SQLite: a locked file for each process, in the owners folder beside the ledger.

The kernel releases the lock when the process ends, however it ends. A lock of the POSIX kind is not inherited by a forked child,
so a child that outlives its killed parent does not keep the parent's actions alive.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from call4agents_core._locks import lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from call4agents_core._types import OwnerStatus


def boot_id() -> str:
    """Names the running boot of this machine; empty where the system has no name for it."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


_TRIES = 20  # for a file of one's own

# Looking at a file of one's own process would release its POSIX lock, so these are never opened again.
_mine: set[str] = set()
_mine_guard = threading.RLock()  # a store that is collected while this is held gives up its owner in the same thread


def _forget_after_fork() -> None:
    global _mine_guard  # noqa: PLW0603 - the parent's lock may be held by a thread that the child does not have
    _mine_guard = threading.RLock()
    _mine.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


class Owners:
    """The owners folder of one ledger. An owner is named ``<file>@<boot>``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: tuple[int, str, int] | None = None  # process, owner, handle

    def me(self) -> str:
        """This process as an owner; its file is made and locked when it is first asked for."""
        if self._held is not None and self._held[0] == os.getpid():
            return self._held[1]
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _mine_guard:  # threads that come first at once are one owner
            if self._held is None or self._held[0] != os.getpid():
                name, handle = self._locked_file()
                _mine.add(str(self._folder / name))
                self._held = (os.getpid(), f"{name}@{boot_id()}", handle)
            return self._held[1]

    def _locked_file(self) -> tuple[str, int]:
        for _ in range(_TRIES):
            name = f"{os.getpid()}-{secrets.token_hex(8)}"
            path = self._folder / name
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(handle, b"\n")  # Windows locks bytes, not files
            os.lseek(handle, 0, os.SEEK_SET)
            if lock(handle, shared=False) and path.exists():
                return name, handle
            os.close(handle)  # a sweep has met it before it was locked
            path.unlink(missing_ok=True)
        msg = f"{path} cannot be locked: this file system has no locks"
        raise OSError(msg)

    def status(self, owner: str) -> OwnerStatus:
        """Lockable, or of another boot: dead. Gone under the same boot: unknown, since a lock may live on in a deleted file."""
        name, _, boot = owner.partition("@")
        if boot and boot != boot_id():
            return "dead"
        path = self._folder / name
        with _mine_guard:
            if str(path) in _mine:
                return "alive"
            try:
                handle = os.open(path, os.O_RDONLY)
            except OSError:
                return "unknown"
            try:
                return "dead" if lock(handle, shared=True) else "alive"
            finally:
                os.close(handle)

    def release(self, *, keep_file: bool) -> None:
        """Stop being an owner. The file stays where open attempts name it: without it nobody could tell that they are dead."""
        if self._held is None or self._held[0] != os.getpid():
            return
        _, owner, handle = self._held
        self._held = None
        path = self._folder / owner.partition("@")[0]
        with _mine_guard:
            _mine.discard(str(path))
            os.close(handle)
        if not keep_file:
            with contextlib.suppress(OSError):
                path.unlink()

    def count(self) -> int:
        """How many files lie in the folder."""
        with contextlib.suppress(OSError):
            return sum(1 for _ in self._folder.iterdir())
        return 0

    def sweep(self, named: Callable[[], set[str]]) -> None:
        """Remove files of dead owners that no open attempt names.

        ``named``, which gives the owners of open attempts, is asked once it is known who is dead: the dead begin nothing more,
        while an owner that dies after its attempts were looked up may have begun one in between. All that time the files are
        held locked, so that an owner which has made its file, and not locked it yet, takes another one.
        """
        held: dict[Path, int] = {}
        with contextlib.suppress(OSError), _mine_guard:  # a look at one of them from another thread would let go of it
            try:
                for path in [path for path in self._folder.iterdir() if str(path) not in _mine]:
                    handle = os.open(path, os.O_RDONLY)
                    if lock(handle, shared=True):
                        held[path] = handle
                    else:
                        os.close(handle)
                keep = {owner.partition("@")[0] for owner in named()} if held else set()
                for path in held:
                    if path.name not in keep:
                        path.unlink(missing_ok=True)
            finally:
                for handle in held.values():
                    os.close(handle)
