"""What was removed, edited or made to lie around an archive: verify names it, and nothing moves on its word."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

import call4agents_core as c4a
from call4agents_core.errors import ApprovalRequired, LedgerTampered
from tests.kit import Boom, faults, raw


def remove(ledger, run):
    """A whole run goes, with all that is derived from it."""
    with raw(ledger.location) as db:
        for (first,) in db.execute("SELECT seq FROM c4a_entries WHERE run = ? AND n = 1", (run,)).fetchall():
            db.execute("DELETE FROM c4a_actions WHERE first = ?", (first,))
        db.execute("DELETE FROM c4a_runs WHERE run = ?", (run,))
        assert db.execute("DELETE FROM c4a_entries WHERE run = ?", (run,)).rowcount


@pytest.mark.parametrize("which", ["before", "moved", "denied next", "next"])
def test_an_action_that_was_removed_is_named_also_after_an_archive(which, ledger, tools, volume):
    """A gap is accounted for by what the stones say, and by nothing else; no number is used a second time."""
    with c4a.run("before"), pytest.raises(Boom):
        tools.risky(1)
    with c4a.run("moved"):
        tools.pay(1)
        tools.pay(2)
    ledger.archive(volume, older_than=0)
    c4a.deny(tools.guarded, n=1, c4a_run="denied next")  # one entry: the number after the newest one that has moved
    with c4a.run("next"):
        tools.pay(3)
    with c4a.run("last"):
        tools.pay(4)
    assert faults(ledger) == ""
    remove(ledger, which)
    assert "missing" in faults(ledger)


def test_numbers_are_not_used_again_when_all_has_moved(ledger, tools, volume):
    """The newest number stays taken, run after run."""
    seen: set[int] = set()
    for n in range(4):
        with c4a.run(f"run {n}"):
            tools.pay(n)
        new = {row.seq for row in ledger.store.scan()} - seen
        assert min(new) > max(seen, default=0)
        seen |= new
        ledger.archive(volume, older_than=0)
    assert [row.run for row in ledger.store.runs()] == [f"run {n}" for n in (3, 2, 1, 0)]
    assert faults(ledger) == ""


def test_a_tampered_run_is_not_moved(ledger, tools, volume):
    """The archive would hide it: it is refused, and stays as it is."""
    with c4a.run("r"):
        tools.pay(1)
    with raw(ledger.location) as db:
        db.execute("UPDATE c4a_entries SET body = replace(body, 'pay', 'pax') WHERE n = 2")
    with pytest.raises(LedgerTampered):
        ledger.archive(volume, older_than=0)
    assert len(list(ledger.store.scan())) == 2


def test_a_state_that_lies_does_not_move_an_open_action(ledger, tools, volume, archived):
    """The derived table proposes; the entries decide."""
    with c4a.run("r"), pytest.raises(ApprovalRequired):
        tools.guarded(1)
    with contextlib.closing(sqlite3.connect(ledger.location)) as db:
        db.execute("UPDATE c4a_actions SET state = 'done'")
        db.commit()
    assert ledger.archive(volume, older_than=0) == (0, 0, 0, 1)
    with c4a.run("r"), pytest.raises(ApprovalRequired):
        tools.guarded(1)
