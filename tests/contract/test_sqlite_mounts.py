"""File systems that a SQLite ledger may lie on, by the mount table of Linux: refused, warned of, or fine."""

from __future__ import annotations

import pytest

from call4agents_core import Ledger
from call4agents_core.errors import LedgerError
from call4agents_core.stores import _mounts
from call4agents_core.testing._drafts import contents, draft

TABLE = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
31 22 0:30 / /mnt/nfs rw shared:7 - {kind} server:/export rw
32 31 8:2 / /mnt/nfs/local rw - xfs /dev/sdb1 rw
33 22 0:31 / /mnt/with\\040space rw master:3 propagate_from:2 - {kind} a rw
34 22 8:3 /l.sqlite /data/l.sqlite rw - ext4 /dev/sda1 rw
broken line
"""


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "lustre", "fuse.sshfs"])
def test_network_file_systems_are_refused(kind):
    """D29: their locks cannot be trusted; the text names the way out."""
    for path in ("/mnt/nfs/l.sqlite", "/mnt/nfs/deep/l.sqlite", "/mnt/with space/l.sqlite"):
        verdict = _mounts.judge(path, TABLE.format(kind=kind))
        assert kind in verdict.refuse
        assert "PostgreSQL" in verdict.refuse


@pytest.mark.parametrize("kind", ["9p", "virtiofs", "fuseblk", "fuse.portal", "fuse"])
def test_doubtful_file_systems_are_warned_of(kind):
    """D29: their locks are lost in some set-ups."""
    verdict = _mounts.judge("/mnt/nfs/l.sqlite", TABLE.format(kind=kind))
    assert not verdict.refuse
    assert kind in verdict.warn


@pytest.mark.parametrize("path", ["/srv/l.sqlite", "/mnt/nfs/local/l.sqlite", "/mnt/nfsx/l.sqlite", "/l.sqlite"])
def test_local_disks_are_fine(path):
    """The innermost mount counts, and a name that begins alike is another folder."""
    assert _mounts.judge(path, TABLE.format(kind="nfs")) == _mounts.Verdict()


def test_a_file_that_is_mounted_alone_is_refused():
    """Its owners folder is another one in each container, so nobody would be seen alive."""
    assert "folder" in _mounts.judge("/data/l.sqlite", TABLE.format(kind="nfs")).refuse
    assert not _mounts.judge("/data/other.sqlite", TABLE.format(kind="nfs")).refuse


def test_a_ledger_on_a_network_file_system_is_not_opened(tmp_path, ledger_path, monkeypatch, open_ledger):
    """By the mount table of this machine; it may be read, and nothing is made."""
    table = tmp_path / "mounts"
    monkeypatch.setattr(_mounts, "MOUNT_TABLE", table)
    open_ledger(ledger_path).store.append([draft("a")], durable=True)
    table.write_text(f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n31 22 0:30 / {tmp_path} rw - nfs4 a rw\n", encoding="utf-8")
    for name in ("ledger.sqlite", "new.sqlite"):
        with pytest.raises(LedgerError, match="nfs4"):
            Ledger.open(tmp_path / name)
    assert not list(tmp_path.glob("new*"))
    reader = open_ledger(ledger_path, read_only=True)
    assert contents(reader.store.scan()) == [b"run a 1"]
    assert "nfs4" in reader.store.describe()["place"]
