"""PURE but for reading the mount table: may a SQLite ledger lie here? Its locks have to be seen by every process that writes."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import NamedTuple

MOUNT_TABLE = Path("/proc/self/mountinfo")

#: Locks of these are not shared by all machines that mount them, or not at all.
_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|afs|ncpfs|ceph|glusterfs|lustre|gpfs|beegfs|fuse\.(sshfs|s3fs|gcsfuse|rclone|glusterfs|ceph.*)"
)
#: These pass locks on in some set-ups and lose them in others.
_DOUBTFUL = re.compile(r"9p|virtiofs|fuse(blk|\..*)?|vboxsf|osxfs|prl_fs")


class Mount(NamedTuple):
    """Where a path is mounted, and as what."""

    point: str
    kind: str


class Verdict(NamedTuple):
    """``refuse``: why a ledger must not lie here; ``warn``: what may go wrong; both empty: fine."""

    refuse: str = ""
    warn: str = ""


def mount_of(path: str, table: str) -> Mount | None:
    """The mount that holds ``path``, by a table in the form of /proc/self/mountinfo."""
    best: Mount | None = None
    for line in table.splitlines():
        left, _, right = line.partition(" - ")
        fields, kinds = left.split(" "), right.split(" ")
        if len(fields) < 5 or not kinds[0]:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        inside = point in (path, "/") or path.startswith(point.rstrip("/") + "/")
        if inside and (best is None or len(point) >= len(best.point)):
            best = Mount(point, kinds[0])
    return best


def judge(path: str, table: str) -> Verdict:
    """Whether a ledger may lie at ``path``."""
    mount = mount_of(path, table)
    if mount is None:
        return Verdict()
    if mount.point == path:
        return Verdict(
            refuse="it is a single file mounted into this container, so other processes have another owners folder; mount the folder that holds it"
        )
    if _NETWORK.fullmatch(mount.kind):
        return Verdict(
            refuse=f"it lies on a network file system ({mount.kind}), whose locks cannot be trusted; use a local disk, or a PostgreSQL ledger for several machines"
        )
    if _DOUBTFUL.fullmatch(mount.kind):
        return Verdict(warn=f"it lies on {mount.kind}, whose locks are lost in some set-ups; a local disk is safe")
    return Verdict()


def judge_here(path: Path) -> Verdict:
    """`judge` by this machine's mount table; systems without one are not judged."""
    with contextlib.suppress(OSError):
        return judge(os.path.realpath(path), MOUNT_TABLE.read_text(encoding="utf-8", errors="surrogateescape"))
    return Verdict()
