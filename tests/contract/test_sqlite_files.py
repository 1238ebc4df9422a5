"""A SQLite ledger as files: where they lie, who may read them, which are refused, and who makes them first."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat

import pytest

import call4agents_core as c4a
from call4agents_core import Ledger, _secrets
from call4agents_core.errors import (
    Call4AgentsError,
    LedgerError,
    LedgerNotFound,
    LedgerReadOnly,
    LedgerTooNew,
    SecretMismatch,
    SecretMissing,
)
from call4agents_core.stores import _sqlite_schema
from call4agents_core.testing import end_of, forked
from call4agents_core.testing._drafts import contents, draft
from call4agents_core.testing.kills import die

SECRET = b"0123456789abcdef"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def tree(folder):
    """Every file below a folder with its bytes, every folder with its mode."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else mode(path)
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def _loose_umask():
    """Files that say nothing of their mode can be read and written by all."""
    before = os.umask(0)
    yield
    os.umask(before)


# ---- where and who -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_loose_umask")
def test_the_usual_ledger_has_its_secret_and_its_owners_beside_it(tmp_path, monkeypatch, open_ledger):
    """`.c4a/ledger.sqlite`, `.c4a/secret`, `.c4a/owners/`; for this user only."""
    monkeypatch.chdir(tmp_path)
    open_ledger().store.owner()
    home = tmp_path / ".c4a"
    assert {path.name for path in home.iterdir()} >= {"ledger.sqlite", "secret", "owners"}
    assert [mode(home), mode(home / "owners")] == [0o700, 0o700]
    assert {mode(path) for path in home.rglob("*") if path.is_file()} == {0o600}


@pytest.mark.usefixtures("_loose_umask")
def test_any_other_file_has_a_folder_of_its_own(tmp_path, open_ledger):
    """`X.c4a/` beside `X`."""
    open_ledger(tmp_path / "deep" / "books.db").store.owner()
    side = tmp_path / "deep" / "books.db.c4a"
    assert sorted(path.name for path in side.iterdir()) == ["owners", "secret"]
    assert [mode(tmp_path / "deep"), mode(side), mode(side / "secret")] == [0o700, 0o700, 0o600]
    assert {mode(path) for path in (tmp_path / "deep").iterdir() if path.is_file()} == {0o600}


def test_modes_are_set_only_on_what_we_make(tmp_path, open_ledger):
    """A folder, or an empty file, that was there keeps its own."""
    tmp_path.chmod(0o755)
    (tmp_path / "shared.sqlite").touch()
    (tmp_path / "shared.sqlite").chmod(0o640)
    open_ledger(tmp_path / "shared.sqlite").store.append([draft("a")], durable=True)
    assert [mode(tmp_path), mode(tmp_path / "shared.sqlite")] == [0o755, 0o640]


def test_a_given_secret_is_never_written_down(tmp_path, open_ledger):
    """Neither in the file of the ledger nor beside it."""
    open_ledger(tmp_path / "l.sqlite", secret=SECRET).store.append([draft("a")], durable=True)
    assert not (tmp_path / "l.sqlite.c4a" / "secret").exists()
    files = b"".join(found for found in tree(tmp_path).values() if isinstance(found, bytes))
    assert b"run a 1" in files
    assert SECRET not in files
    assert SECRET.hex().encode() not in files


def test_a_ledger_without_its_secret_gets_no_new_one(ledger_path, tmp_path, open_ledger):
    """Every approval and every entry would be worthless under it."""
    open_ledger(ledger_path).close()
    (tmp_path / "ledger.sqlite.c4a" / "secret").unlink()
    before = tree(tmp_path)
    with pytest.raises(SecretMissing):
        Ledger.open(ledger_path)
    with pytest.raises(SecretMismatch):
        Ledger.open(ledger_path, secret=SECRET)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["a b", "50%41", "what?mode=memory", "#1", "ü✓", "file:x"])
def test_a_path_is_only_a_path(tmp_path, monkeypatch, open_ledger, name):
    """Whatever it means in the address of a database."""
    monkeypatch.chdir(tmp_path)
    open_ledger(name).store.append([draft("a")], durable=True)
    assert (tmp_path / name).is_file()


def test_one_file_under_two_names_is_one_ledger(ledger_path, tmp_path, open_ledger):
    """A link leads to the file, its secret and its owners."""
    (tmp_path / "link").symlink_to(ledger_path)
    one, two = open_ledger(ledger_path), open_ledger(tmp_path / "link")
    assert one.ledger_id == two.ledger_id
    assert two.store.owner_status(one.store.owner()) == "alive"
    assert not (tmp_path / "link.c4a").exists()


# ---- what is refused, and left as it is ----------------------------------------------------------------------------


def database(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def foreign(path):
    database(path, "CREATE TABLE accounts (id INTEGER)", "INSERT INTO accounts VALUES (1)")


def foreign_with_a_log(path):
    database(path, "PRAGMA journal_mode = WAL", "CREATE TABLE accounts (id INTEGER)")


def newer(path):
    Ledger.open(path, secret=SECRET).close()
    database(path, "UPDATE c4a_meta SET value = '2' WHERE name = 'format'")


def nameless(path):
    Ledger.open(path, secret=SECRET).close()
    database(path, "DELETE FROM c4a_meta WHERE name = 'ledger_id'")


def senseless(path):
    Ledger.open(path, secret=SECRET).close()
    database(path, "UPDATE c4a_meta SET value = 'soon' WHERE name = 'format'")


def corrupt(path):
    Ledger.open(path, secret=SECRET).close()
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xa5" * (len(content) - 100))


def cut_off(path):
    Ledger.open(path, secret=SECRET).close()
    path.write_bytes(path.read_bytes()[:700])


def a_text(path):
    path.write_text("Dear diary, today I opened a ledger.\n" * 100, encoding="utf-8")


def a_byte(path):
    path.write_bytes(b"x")


def a_folder(path):
    path.mkdir()
    (path / "file").write_text("mine", encoding="utf-8")


REFUSED = {
    foreign: LedgerNotFound,
    foreign_with_a_log: LedgerNotFound,
    newer: LedgerTooNew,
    nameless: LedgerError,
    senseless: LedgerError,
    corrupt: LedgerError,
    cut_off: LedgerError,
    a_text: LedgerError,
    a_byte: LedgerError,
    a_folder: LedgerError,
}


@pytest.mark.parametrize("read_only", [False, True], ids=["writing", "reading"])
@pytest.mark.parametrize("make", REFUSED, ids=lambda make: make.__name__)
def test_what_is_no_ledger_is_refused_and_left_as_it_is(tmp_path, ledger_path, make, read_only):
    """Byte for byte, and with nothing new beside it that is ours. The error names the place and says what to do."""
    make(ledger_path)
    before = tree(tmp_path)
    with pytest.raises(LedgerError) as refused:
        Ledger.open(ledger_path, secret=SECRET, read_only=read_only)
    assert type(refused.value) is REFUSED[make]
    assert str(ledger_path) in str(refused.value)
    assert str(refused.value).count(".") >= 2
    after = tree(tmp_path)
    if read_only:  # a reader of a file with a log makes SQLite's own side files, and may not remove them
        after = {name: content for name, content in after.items() if not name.endswith(("-wal", "-shm"))}
    assert after == before


def test_no_secret_is_made_for_what_is_no_ledger(tmp_path, ledger_path):
    """It would lie beside a stranger's file."""
    foreign(ledger_path)
    with pytest.raises(LedgerNotFound):
        Ledger.open(ledger_path)
    assert list(tree(tmp_path)) == ["ledger.sqlite"]


def test_a_ledger_may_be_made_among_other_tables_where_that_is_said(ledger_path, open_ledger):
    """And leaves them as they are."""
    foreign(ledger_path)
    open_ledger(ledger_path, beside=True).store.append([draft("a")], durable=True)
    with contextlib.closing(sqlite3.connect(ledger_path)) as connection:
        assert connection.execute("SELECT id FROM accounts").fetchall() == [(1,)]
    assert contents(open_ledger(ledger_path).store.scan()) == [b"run a 1"]


def test_a_place_below_a_file_is_refused(tmp_path):
    """With our own error, not the system's."""
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path / "file" / "l.sqlite")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_where_one_may_not_write_is_refused(tmp_path):
    """Before anything runs."""
    tmp_path.chmod(0o500)
    with pytest.raises(LedgerReadOnly):
        Ledger.open(tmp_path / "l.sqlite")


def test_a_page_that_was_damaged_is_named(ledger_path, open_ledger):
    """Whoever reads it is told that the file is damaged."""
    ledger = open_ledger(ledger_path, secret=SECRET)
    for n in range(1, 300):
        ledger.store.append([draft("a", n, body=b"x" * 400)], durable=False)
    ledger.close()
    content = bytearray(ledger_path.read_bytes())
    middle = len(content) // 2 // 1024 * 1024
    content[middle : middle + 1024] = b"\xa5" * 1024
    ledger_path.write_bytes(content)

    damaged = open_ledger(ledger_path, secret=SECRET)

    with pytest.raises(LedgerError, match="damaged"):
        list(damaged.store.scan())
    with pytest.raises(LedgerError, match="damaged"):
        damaged.verify()


# ---- gone while open -----------------------------------------------------------------------------------------------


def delete(path):
    path.unlink()


def delete_all(path):
    for found in path.parent.glob(path.name + "*"):
        if found.is_file():
            found.unlink()


def replace_by_a_copy(path):
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


@pytest.mark.parametrize("lose", [delete, delete_all, replace_by_a_copy])
def test_a_file_that_was_lost_while_open_is_noticed_before_the_tool_runs(ledger_path, world, open_ledger, lose):
    """What is written to a deleted file would be forgotten, and the next process would run everything again."""

    @c4a.effect(name="pay")
    def pay(amount):
        world.act()

    ledger = open_ledger(ledger_path)
    with c4a.run("run", ledger=ledger):
        pay(1)
        lose(ledger_path)
        for amount in (2, 3):
            with pytest.raises(LedgerError, match="deleted or replaced"):
                pay(amount)
        with pytest.raises(Call4AgentsError):
            pay(2)
    assert world.count() == 1


# ---- the first start -----------------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_many_processes_that_start_at_once_make_one_ledger_and_one_secret(tmp_path, repetitions):
    """On an empty folder; each can read what the others wrote."""
    for i in range(repetitions):
        place = tmp_path / str(i) / ".c4a" / "ledger.sqlite"
        gate, opener = os.pipe()

        def start(place=place, gate=gate, opener=opener):
            os.close(opener)
            os.read(gate, 1)  # returns when the parent closes its end
            ledger = Ledger.open(place)
            ledger.store.append([draft(f"of {os.getpid()}", body=ledger.ledger_id)], durable=True)
            assert list(ledger.store.faults()) == []

        children = [forked(start) for _ in range(8)]
        os.close(gate)
        os.close(opener)
        assert [end_of(child) for child in children] == [0] * 8

        ledger = Ledger.open(place)
        assert contents(ledger.store.scan()) == [ledger.ledger_id] * 8
        ledger.close()
        assert sorted(path.name for path in place.parent.iterdir() if path.is_file()) == ["ledger.sqlite", "secret"]


def before_the_secret(monkeypatch):
    monkeypatch.setattr(_secrets, "_write_whole", lambda *args: die())


def after_the_secret(monkeypatch):
    write = _secrets._write_whole
    monkeypatch.setattr(_secrets, "_write_whole", lambda *args: (write(*args), die()))


def after_the_tables(monkeypatch):
    statements = _sqlite_schema._statements
    monkeypatch.setattr(_sqlite_schema, "_statements", lambda script: [*statements(script)[:3], die()])


@pytest.mark.parametrize("moment", [before_the_secret, after_the_secret, after_the_tables])
def test_a_process_killed_while_it_makes_the_ledger_is_in_nobodys_way(ledger_path, monkeypatch, open_ledger, moment):
    """The next one makes it, with one secret, and can use it."""

    def start():
        moment(monkeypatch)
        Ledger.open(ledger_path)

    assert end_of(forked(start)) == -9
    open_ledger(ledger_path).store.append([draft("a")], durable=True)
    assert contents(open_ledger(ledger_path).store.scan()) == [b"run a 1"]
