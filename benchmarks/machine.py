"""What the figures were measured on, without any name."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import call4agents_core

_MOUNTS = Path("/proc/self/mountinfo")
_WRITES = 50
_IN_MEMORY = ("tmpfs", "ramfs")


def described(folder: Path) -> dict[str, str]:
    """Facts by name. ``folder``: where the ledgers are to lie."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "system": f"{platform.system()}, {platform.machine()}",
        "cores": str(_cores()),
        "load before": _load(),
        "memory": _memory(),
        "disk": f"{_kind(folder)}; 4 KiB written and synced in {_sync_time(folder) * 1e3:.2f} ms (median of {_WRITES})",
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "SQLite": sqlite3.sqlite_version,
        "call4agents-core": call4agents_core.__version__,
    }


def in_memory(folder: Path) -> bool:
    """Whether a sync to this folder is no sync at all."""
    return _file_system(folder)[0] in _IN_MEMORY


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _load() -> str:
    """How many programs wanted a core in the last minute."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "not known here"


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    except (AttributeError, OSError, ValueError):
        return "not known here"


def _kind(folder: Path) -> str:
    kind, device = _file_system(folder)
    if "/virtio" in os.path.realpath(f"/sys/dev/block/{device}"):
        return f"{kind} on a virtual disk"
    try:
        rotates = Path(f"/sys/dev/block/{device}/queue/rotational").read_text(encoding="ascii").strip() == "1"
    except OSError:
        return kind
    return f"{kind} on a disk that {'rotates' if rotates else 'does not rotate'}"


def _file_system(folder: Path) -> tuple[str, str]:
    """Its kind, and the numbers of its device."""
    best, found = "", ("file system not known here", "")
    path = f"{folder.resolve()}/"
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        left, _, right = line.partition(" - ")
        device, _, point = left.split(" ")[2:5]
        if path.startswith(f"{point.rstrip('/')}/") and len(point) >= len(best):
            best, found = point, (right.split(" ")[0], device)
    return found


def _sync_time(folder: Path) -> float:
    times: list[float] = []
    with tempfile.NamedTemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(_WRITES):
            start = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)
