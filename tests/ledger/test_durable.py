"""What has to be on disk before anything else happens."""

import json
import sqlite3

import pytest

import call4agents_core as c4a
from tests.kit import REFUSED, Boom, Safe

FULL = 2  # of PRAGMA synchronous: a commit returns when it is on disk


@pytest.fixture
def written(ledger, monkeypatch):
    """Each entry as it is written: its kind, whether it had to be on disk, and how the database committed it."""
    found = []
    append = ledger.store.append

    def watched(drafts, *, durable):
        answer = append(drafts, durable=durable)
        (mode,) = ledger.store._writing().connection.execute("PRAGMA synchronous").fetchone()
        found.extend((json.loads(draft.body)["kind"], durable, mode == FULL) for draft in drafts)
        return answer

    monkeypatch.setattr(ledger.store, "append", watched)
    return found


@pytest.mark.usefixtures("in_run")
def test_intents_and_decisions_are_on_disk_before_anybody_acts_on_them(written):
    """Intent, yes, no and a person's answer; the end of an attempt may follow with the next sync."""

    @c4a.effect(retry_on=Safe, approval=True, wait=0.1)
    def pay(n):
        assert written[-1] == ("intent", True, True)
        if n > 1:
            raise Boom if n == 2 else Safe
        return "paid"

    with pytest.raises(REFUSED):
        pay(1)
    for n in (1, 2, 3):
        c4a.approve(pay, n=n)
    pay(1)
    with pytest.raises(Boom):
        pay(2)
    with pytest.raises(Safe):
        pay(3)
    c4a.deny(pay, n=3)
    with pytest.raises(c4a.errors.EffectInDoubt) as caught:
        pay(2)
    c4a.resolve("r", caught.value.action, c4a.did_not_happen())
    durable = {"intent", "approved", "denied", "resolved"}
    assert {kind for kind, _, _ in written} == durable | {"asked", "result", "failed", "not-done"}
    assert all(on_disk and full for kind, on_disk, full in written if kind in durable)


@pytest.mark.usefixtures("in_run")
def test_a_result_is_visible_at_once_and_on_disk_when_the_ledger_is_closed(ledger, ledger_path):
    """Every process sees it; close() brings it to disk."""

    @c4a.effect
    def pay(n):
        return "paid"

    pay(1)
    with sqlite3.connect(ledger_path) as db:
        assert db.execute("SELECT count(*) FROM c4a_entries").fetchone() == (2,)
    db.close()
    writer = ledger.store._writing()
    assert writer._unsynced
    ledger.close()
    assert not ledger_path.with_name("ledger.sqlite-wal").exists()


@pytest.mark.usefixtures("in_run")
def test_the_write_ahead_log_is_what_a_ledger_uses(ledger):
    """Readers never wait for the writer."""

    @c4a.effect
    def pay(n):
        return "paid"

    pay(1)
    assert ledger.store.describe()["journal mode"] == "wal"
