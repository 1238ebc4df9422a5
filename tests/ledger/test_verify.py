"""Verify looks at more than entries: derived tables, the file, and what a ledger says of itself."""

import contextlib
import sqlite3

import pytest

import call4agents_core as c4a
from call4agents_core.errors import ApprovalDenied, UsageError
from tests.kit import REFUSED, faults, raw


@pytest.fixture
def paid():
    return []


@pytest.fixture
def pay(paid, ledger):
    @c4a.effect(name="pay", approval=True)
    def pay(amount, to="alice"):
        paid.append((amount, to))
        return f"paid {amount} to {to}"

    return pay


@pytest.fixture
def note(paid, ledger):
    @c4a.effect(name="note")
    def note(text):
        paid.append(text)
        return text

    return note


# ---- derived tables --------------------------------------------------------------------------------------------------

DERIVED = {
    "an action's state": ("UPDATE c4a_actions SET state = 'done' WHERE state = 'waiting'", "says done, and its entries say waiting"),
    "an action's tool": ("UPDATE c4a_actions SET tool = 'harmless'", "harmless"),
    "an action's row": ("DELETE FROM c4a_actions", "says nothing"),
    "a hidden request": ("UPDATE c4a_requests SET open = 0", "request"),
    "a missing request": ("DELETE FROM c4a_requests", "request"),
    "an invented request": ("INSERT INTO c4a_requests SELECT 'feedfeedfeedfeed', first, seq, 1 FROM c4a_requests", "feedfeedfeedfeed"),
    "a missing run": ("DELETE FROM c4a_runs", "run 'r'"),
}  # fmt: skip


@pytest.mark.parametrize(("sql", "named"), DERIVED.values(), ids=DERIVED)
def test_a_derived_table_that_disagrees_is_named(sql, named, ledger, pay, paid):
    """It carries no authority: no edit of it lets anything run, and verify names it."""
    with c4a.run("r"):
        with pytest.raises(REFUSED):
            pay(10)
        with raw(ledger.location) as db:
            assert db.execute(sql).rowcount
        with pytest.raises(REFUSED):
            pay(10)
    assert paid == []
    assert named in faults(ledger)


def test_an_invented_request_cannot_be_approved(ledger, pay, paid):
    """The derived row is only where to look; the entry has to be there."""
    with c4a.run("r"):
        c4a.deny(pay, amount=10)
        with raw(ledger.location) as db:
            db.execute("INSERT INTO c4a_requests VALUES ('feedfeedfeedfeed', 1, 1, 1)")
        with pytest.raises(UsageError, match="verify"):
            c4a.approve_request("feedfeedfeedfeed")
        with pytest.raises(ApprovalDenied):
            pay(10)


def test_verify_does_not_accuse_a_ledger_that_is_in_use(ledger, note, monkeypatch):
    """An entry that is written while verify looks is no disagreement."""
    with c4a.run("r"):
        note("one")
    scan = ledger.store.scan

    def busy(**options):
        rows = list(scan(**options))
        with c4a.run("r"):
            note("two")
            c4a.deny(note, text="one", c4a_key="k")
        yield from rows[:1]

    monkeypatch.setattr(ledger.store, "scan", busy)
    assert ledger.verify().faults == ()


# ---- the database itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sql", ["UPDATE c4a_entries SET n = n", "DELETE FROM c4a_entries"])
def test_the_database_refuses_to_change_an_entry(sql, ledger, note):
    """Append only: by triggers, for everybody who has not taken them away."""
    with c4a.run("r"):
        note("x")
    with contextlib.closing(sqlite3.connect(ledger.location)) as db:
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            db.execute(sql)
        db.rollback()
    assert faults(ledger) == ""


def test_a_damaged_file_is_named(ledger, note):
    """The database's own check is part of verify."""
    with c4a.run("r"):
        for n in range(200):
            note(f"a long text of no meaning {n}" * 20)
    ledger.close()
    with contextlib.closing(sqlite3.connect(ledger.location)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with open(ledger.location, "r+b") as file:
        file.seek(size * 40)
        file.write(b"\xff" * size)
    opened = c4a.init(ledger.location)
    try:
        found = "\n".join(opened.verify().faults)
    except c4a.errors.LedgerError as error:
        found = str(error)
    assert "damaged" in found
    opened.close()


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM c4a_meta WHERE name = 'format'",
        "UPDATE c4a_meta SET value = 'x' WHERE name = 'format'",
        "UPDATE c4a_meta SET value = 'x' WHERE name = 'ledger_id'",
    ],
)
def test_a_ledger_whose_own_facts_are_damaged_is_refused(sql, ledger):
    """By an error of the ledger, not of Python."""
    ledger.close()
    with raw(ledger.location) as db:
        db.execute(sql)
    with pytest.raises(c4a.errors.LedgerError):
        c4a.init(ledger.location)
