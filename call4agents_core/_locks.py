"""Locks on files that the kernel releases when their process ends, however it ends."""

from __future__ import annotations

import contextlib
import sys

if sys.platform == "win32":
    import msvcrt

    def lock(handle: int, *, shared: bool) -> bool:  # noqa: ARG001 - Windows has one kind of lock
        """Take the lock on an open file, or say no at once."""
        with contextlib.suppress(OSError):
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            return True
        return False
else:
    import fcntl

    def lock(handle: int, *, shared: bool) -> bool:
        """Take the lock on an open file, or say no at once. Shared: two processes that only look do not see each other."""
        with contextlib.suppress(OSError):
            fcntl.lockf(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return True
        return False
