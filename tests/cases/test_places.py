"""Cases from public reports: ledgers on file systems whose locks do not hold."""

import os

import pytest

import call4agents_core as c4a
from call4agents_core.errors import LedgerError
from call4agents_core.stores import _mounts


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "fuse.s3fs"])
def test_d29_a_network_file_system_is_refused_and_postgresql_is_named(kind, ledger_path, tmp_path, monkeypatch):
    """D29: write-ahead logs on network mounts get corrupted within minutes; init() refuses, and makes nothing."""
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 8:1 / / rw - ext4 disk rw\n2 1 0:1 / {os.path.realpath(tmp_path)} rw - {kind} far rw\n")
    monkeypatch.setattr(_mounts, "MOUNT_TABLE", table)
    with pytest.raises(LedgerError, match="PostgreSQL") as caught:
        c4a.init(ledger_path)
    assert kind in str(caught.value)
    assert not ledger_path.exists()


@pytest.mark.parametrize("kind", ["9p", "virtiofs", "fuse.osxfs", "fuseblk", "vboxsf"])
def test_d29_a_mount_of_a_virtual_machine_is_warned_about(kind, ledger_path, tmp_path, monkeypatch):
    """D29: some set-ups pass locks on and some lose them; what describes the ledger says so."""
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 8:1 / / rw - ext4 disk rw\n2 1 0:1 / {os.path.realpath(tmp_path)} rw - {kind} far rw\n")
    monkeypatch.setattr(_mounts, "MOUNT_TABLE", table)
    ledger = c4a.Ledger.open(ledger_path)
    assert kind in ledger.store.describe()["place"]
    ledger.close()
