"""Where a SQLite ledger lies: files that are none of ours, files that go away, who may read, and who holds what."""

import os
import shutil
import sqlite3
import stat
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

import call4agents_core as c4a
from call4agents_core._keys import FORMAT
from call4agents_core.errors import LedgerBusy, LedgerError, LedgerNotFound, LedgerTooNew
from call4agents_core.stores import _mounts, _owners
from call4agents_core.stores._owners import Owners
from tests.kit import raw

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and locks of POSIX")


@pytest.fixture
def ran():
    return []


@pytest.fixture
def pay(ran):
    @c4a.effect(name="pay")
    def pay(n):
        ran.append(n)
        return n

    return pay


def use(path, pay):
    ledger = c4a.Ledger.open(path)
    try:
        with c4a.run("r", ledger=ledger):
            return pay(1)
    finally:
        ledger.close()


# ---- files that are none of ours -------------------------------------------------------------------------------------


def junk(path):
    path.write_bytes(b"this is no database\n" * 500)


def foreign(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE customers (name TEXT)")
        db.execute("INSERT INTO customers VALUES ('bob')")
        db.commit()


@pytest.mark.parametrize(("make", "text"), [(junk, "no SQLite database"), (foreign, "customers")])
def test_a_foreign_file_is_refused_and_not_touched(make, text, ledger_path, pay, ran):
    """No table is made in somebody else's database, and no file is overwritten."""
    make(ledger_path)
    before = ledger_path.read_bytes()
    with pytest.raises(LedgerError, match=text):
        use(ledger_path, pay)
    assert ledger_path.read_bytes() == before
    assert ran == []


def test_a_folder_is_refused(tmp_path, pay):
    """It says to name a file in it."""
    with pytest.raises(LedgerError, match="folder"):
        use(tmp_path, pay)


def test_an_empty_file_becomes_a_ledger(ledger_path, pay):
    """It is what a process that was killed while it made one leaves behind."""
    ledger_path.touch()
    assert use(ledger_path, pay) == 1


def test_a_ledger_of_a_newer_format_is_refused_and_not_touched(ledger_path, pay, ran):
    """An older version would misread it."""
    use(ledger_path, pay)
    with raw(ledger_path) as db:
        db.execute("UPDATE c4a_meta SET value = ? WHERE name = 'format'", (str(FORMAT + 1).encode(),))
    with pytest.raises(LedgerTooNew, match="newer"):
        use(ledger_path, pay)
    assert ran == [1]


def test_reading_makes_no_ledger(tmp_path, ledger_path):
    """Neither where there is nothing nor in a foreign or empty file."""
    with pytest.raises(LedgerNotFound):
        c4a.Ledger.open(tmp_path / "nothing.sqlite", read_only=True)
    ledger_path.touch()
    with pytest.raises(LedgerNotFound):
        c4a.Ledger.open(ledger_path, read_only=True)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]
    assert ledger_path.stat().st_size == 0


# ---- files that go away ----------------------------------------------------------------------------------------------


def delete(path: Path):
    for part in path.parent.glob("ledger.sqlite*"):
        if part.is_file():
            part.unlink()


def replace(path: Path):
    copy = path.with_name("copy.sqlite")
    shutil.copy(path, copy)
    delete(path)
    os.replace(copy, path)


@posix
@pytest.mark.parametrize("lose", [delete, replace])
def test_a_ledger_that_was_deleted_or_replaced_while_open_runs_nothing_more(lose, ledger, pay, ran):
    """What is written to it counts for nobody else, so the next process would run everything again."""
    with c4a.run("r"):
        pay(1)
        lose(Path(ledger.location))
        for _ in range(2):
            with pytest.raises(LedgerError, match="deleted or replaced"):
                pay(2)
    assert ran == [1]


# ---- who may read ----------------------------------------------------------------------------------------------------


@posix
def test_only_this_user_may_read_what_a_ledger_makes(tmp_path, pay):
    """Database, log, secret, owners, and the folders that were made for them."""
    old = os.umask(0)
    try:
        ledger = c4a.Ledger.open(tmp_path / "deep" / "er" / "ledger.sqlite")
        with c4a.run("r", ledger=ledger):
            pay(1)
        made = list((tmp_path / "deep").rglob("*"))
        assert len(made) >= 6
        assert not [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077]
        ledger.close()
    finally:
        os.umask(old)


@posix
def test_modes_of_what_was_there_are_left_alone(tmp_path, pay):
    """Somebody may have opened the folder to a group on purpose."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o750)
    (folder / "ledger.sqlite").touch()
    (folder / "ledger.sqlite").chmod(0o640)
    use(folder / "ledger.sqlite", pay)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert stat.S_IMODE((folder / "ledger.sqlite").stat().st_mode) == 0o640


# ---- another program holds it ----------------------------------------------------------------------------------------


def test_a_ledger_that_is_held_too_long_is_busy_and_runs_nothing(ledger, pay, ran, monkeypatch):
    """Below the time-out a caller waits, above it nothing was written and the tool did not run."""
    with c4a.run("r"):
        pay(1)
        monkeypatch.setattr(ledger.store._writing(), "_timeout", 0.2)
        with raw(ledger.location) as db:
            db.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerBusy, match="another program"):
                pay(2)
            assert pay(1) == 1
        assert ran == [1]
        assert pay(2) == 2


# ---- owners ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "owners"


HOLDS = """
from call4agents_core.stores._owners import Owners
from pathlib import Path
say(Owners(Path("owners")).me())
input()
"""


def test_an_owner_lives_as_long_as_its_process(child, folder):
    """However it ends: the kernel releases its lock."""
    one = child(HOLDS)
    (owner,) = one.hear()
    assert Owners(folder).status(owner) == "alive"
    one.process.kill()
    one.end()
    assert Owners(folder).status(owner) == "dead"


def test_an_owner_is_alive_for_its_own_process(folder):
    """Looking at one's own lock must neither take nor release it."""
    mine = Owners(folder)
    owner = mine.me()
    assert owner == mine.me()
    assert mine.status(owner) == Owners(folder).status(owner) == "alive"
    mine.release(keep_file=True)
    assert Owners(folder).status(owner) == "dead"


def test_threads_that_come_first_at_once_are_one_owner(folder, monkeypatch):
    """Attempts of one process name one owner, also while its file is still being made."""
    mine, barrier, found = Owners(folder), threading.Barrier(8), []
    make = Owners._locked_file
    monkeypatch.setattr(Owners, "_locked_file", lambda owners: time.sleep(0.05) or make(owners))

    def ask():
        barrier.wait(10)
        found.append(mine.me())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 8
    assert len(set(found)) == len(list(folder.iterdir())) == 1


def test_a_ledger_that_is_collected_while_owners_are_looked_at_hangs_nobody(ledger):
    """The garbage collector may come at any allocation, also under the guard of the owners."""

    @c4a.effect
    def pay(n):
        return n

    with c4a.run("r"):
        pay(1)
    with _owners._mine_guard:
        ledger.store.__del__()
    with pytest.raises(LedgerError, match="it was closed"), c4a.run("r"):
        pay(1)


def test_an_owner_whose_file_is_gone_is_unknown_and_one_of_another_boot_is_dead(folder):
    """A lock may live on in a deleted file; it cannot live through a boot."""
    mine = Owners(folder)
    name = mine.me().partition("@")[0]
    mine.release(keep_file=False)
    assert Owners(folder).status(f"{name}@{_owners.boot_id()}") == "unknown"
    assert Owners(folder).status(f"{name}@another-boot") == "dead"


def test_the_file_of_an_owner_stays_where_an_attempt_has_no_end(ledger, tmp_path):
    """Without it nobody could tell that its process is dead; otherwise it goes."""
    owners = tmp_path / "ledger.sqlite.c4a" / "owners"

    @c4a.effect
    def pay(n):
        return n

    with c4a.run("r"):
        pay(1)
        assert len(list(owners.iterdir())) == 1
    ledger.close()
    assert list(owners.iterdir()) == []


def test_a_sweep_takes_dead_owners_that_nothing_names(child, folder):
    """The living and the named stay."""
    children = [child(HOLDS) for _ in range(3)]
    _, named, alive = (one.hear()[0] for one in children)
    for one in children[:2]:
        one.process.kill()
        one.end()
    Owners(folder).sweep(lambda: {named})
    assert {path.name for path in folder.iterdir()} == {owner.partition("@")[0] for owner in (named, alive)}


def test_a_sweep_leaves_an_owner_that_dies_while_the_open_attempts_are_looked_up(child, folder):
    """It may have begun an attempt after the look, and without its file nobody could tell that it is dead."""
    dead, dying = (child(HOLDS) for _ in range(2))
    gone, stays = (one.hear()[0] for one in (dead, dying))
    dead.process.kill()
    dead.end()

    def named():
        dying.process.kill()
        dying.end()
        return set()

    Owners(folder).sweep(named)
    assert [path.name for path in folder.iterdir()] == [stays.partition("@")[0]]
    assert gone != stays


def test_a_sweep_never_takes_the_file_of_an_owner_that_was_about_to_lock_it(child, folder):
    """It holds what it looks at: an owner that comes meanwhile finds its file taken, and makes another."""
    dead = child(HOLDS)
    dead.hear()
    dead.process.kill()
    dead.end()
    free = []

    def named():
        (path,) = folder.iterdir()
        free.append(
            child(
                f"import fcntl, sys\nh = open({str(path)!r}, 'r+')\ntry: fcntl.lockf(h, fcntl.LOCK_EX | fcntl.LOCK_NB)\nexcept OSError: sys.exit(7)"
            ).end()
        )
        return set()

    Owners(folder).sweep(named)
    assert free == [7]
    assert list(folder.iterdir()) == []


# ---- file systems ----------------------------------------------------------------------------------------------------

TABLE = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
31 22 0:40 / /mnt/team rw - nfs4 server:/team rw
32 22 0:41 / /mnt/win rw - cifs //server/share rw
33 22 0:42 / /mnt/with\\040space rw - fuse.sshfs host: rw
34 22 0:43 / /mnt/vm rw - virtiofs share rw
35 22 0:44 / /mnt/wsl rw - 9p drvfs rw
36 22 8:2 /one /data/ledger.sqlite rw - ext4 /dev/sda2 rw
37 31 8:3 / /mnt/team/local rw - xfs /dev/sdb1 rw
"""


@pytest.mark.parametrize("path", ["/mnt/team/a", "/mnt/win/a", "/mnt/with space/a"])
def test_a_ledger_on_a_network_file_system_is_refused(path):
    """Its locks cannot be trusted; the text names what to use instead."""
    assert "PostgreSQL" in _mounts.judge(path, TABLE).refuse


@pytest.mark.parametrize("path", ["/mnt/vm/a", "/mnt/wsl/a"])
def test_a_ledger_on_a_doubtful_file_system_is_warned_about(path):
    """Some set-ups pass locks on, others lose them."""
    found = _mounts.judge(path, TABLE)
    assert not found.refuse
    assert found.warn


def test_a_single_file_that_is_mounted_alone_is_refused():
    """Its owners folder is another one in each container."""
    assert "folder" in _mounts.judge("/data/ledger.sqlite", TABLE).refuse
    assert _mounts.judge("/data/other.sqlite", TABLE) == _mounts.Verdict()


@pytest.mark.parametrize("path", ["/srv/a", "/mnt/team/local/a", "/mnt/teamwork/a"])
def test_a_local_disk_is_fine(path):
    """The innermost mount counts, and a name that only begins alike is another place."""
    assert _mounts.judge(path, TABLE) == _mounts.Verdict()


def test_init_asks_the_mount_table(ledger_path, pay, tmp_path, monkeypatch):
    """By its real path: a link to a network disk is one."""
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 8:1 / / rw - ext4 a rw\n2 1 0:1 / {os.path.realpath(tmp_path)} rw - nfs b rw\n")
    monkeypatch.setattr(_mounts, "MOUNT_TABLE", table)
    with pytest.raises(LedgerError, match="nfs"):
        use(ledger_path, pay)
    assert not ledger_path.exists()
