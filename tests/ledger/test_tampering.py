"""What raw SQL does to a ledger is refused by the read that meets it, and named by verify."""

import contextlib
import secrets

import pytest

import call4agents_core as c4a
from call4agents_core import _keys
from call4agents_core.errors import LedgerTampered, UsageError
from tests.kit import REFUSED, faults, raw

FORGER = secrets.token_bytes(32)


@pytest.fixture
def paid():
    """What was paid; `pay` needs a yes, `note` needs none."""
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


def approved(pay, amount, run="r", **more):
    with c4a.run(run):
        c4a.approve(pay, amount=amount, **more)
        return pay(amount)


def reopened(ledger):
    """The ledger as the next process meets it: nothing is remembered of what was read before."""
    ledger.close()
    return c4a.init(ledger.location)


def test_a_ledger_in_order_has_no_faults(ledger, pay, note):
    """Asked, approved, done, denied, in doubt: verify finds nothing to say."""
    with c4a.run("r"):
        with pytest.raises(REFUSED):
            pay(1)
        approved(pay, 1)
        c4a.deny(pay, amount=2)
        c4a.request_approval(pay, amount=3)
        note("x")
    assert ledger.verify() == (8, 4, ())


# ---- one entry -------------------------------------------------------------------------------------------------------

EDITS = {
    "another amount in the yes": ("body = replace(body, '10', '99')", 'kind":"approved'),
    "another result": ("body = CAST(replace(CAST(body AS TEXT), 'alice', 'mallory') AS BLOB)", 'kind":"result'),
    "a body that is text now": ("body = CAST(body AS TEXT) || ' '", 'kind":"result'),
    "no body": ("body = x''", 'kind":"intent'),
    "a number for a body": ("body = 7", 'kind":"intent'),
    "another time": ("body = CAST(replace(CAST(body AS TEXT), '\"at\":1', '\"at\":2') AS BLOB)", 'kind":"intent'),
    "another MAC": ("mac = substr(mac, 1, 4) || zeroblob(32)", 'kind":"intent'),
    "a MAC of another secret": ("mac = zeroblob(36)", 'kind":"intent'),
    "no MAC": ("mac = ''", 'kind":"result'),
    "another run": ("run = 'other'", 'kind":"intent'),
    "another run, as bytes": ("run = x'ff00'", 'kind":"intent'),
    "another place": ("n = 7", 'kind":"intent'),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "which"), EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("again", [True, False], ids=["same process", "next process"])
def test_an_edited_entry_is_refused_and_named(edit, which, again, ledger, pay, paid):
    """Its MAC covers its content, its run, its place, and the entry before it."""
    approved(pay, 10)
    with raw(ledger.location) as db:
        changed = db.execute(f"UPDATE c4a_entries SET {edit} WHERE CAST(body AS TEXT) LIKE ?", (f"%{which}%",)).rowcount
        assert changed == 1
    if not again:
        ledger = reopened(ledger)
    with c4a.run("r"), pytest.raises(LedgerTampered, match="call4agents verify"):
        pay(10)
    assert paid == [(10, "alice")]
    assert "in run" in faults(ledger)
    ledger.close()


def copy_rows(db, where, **values):
    """Insert a copy of these rows with other values; what a column keeps is named by itself."""
    columns = {"run": "run", "action": "action", "n": "n", "body": "body", "mac": "mac", **values}
    db.execute(
        f"INSERT INTO c4a_entries ({', '.join(columns)}) SELECT {', '.join(columns.values())} FROM c4a_entries WHERE {where}"
    )


def as_blob(action):
    return f"x'{action}'"


def action_of(ledger, tool, run):
    (row,) = ledger.store.actions(run=run, tool=tool)
    return row.action


def test_a_yes_copied_to_another_run_allows_nothing(ledger, pay, paid):
    """Same tool, same arguments: its MAC belongs to its run."""
    with c4a.run("r"):
        c4a.approve(pay, amount=10)
    with c4a.run("victim"), pytest.raises(REFUSED):
        pay(10)
    victim = action_of(ledger, "pay", "victim")
    with raw(ledger.location) as db:
        copy_rows(db, "run = 'r'", run="'victim'", action=as_blob(victim), n="2")
    with c4a.run("victim"), pytest.raises(LedgerTampered):
        pay(10)
    assert paid == []
    assert "victim" in faults(ledger)


def test_a_whole_stream_copied_to_another_run_is_refused_even_where_the_original_was_just_read(ledger, pay):
    """What this process remembers of one run says nothing about another."""
    with c4a.run("r"):
        request = c4a.request_approval(pay, amount=10)
    assert [one.id for one in c4a.pending()] == [request.id]
    with raw(ledger.location) as db:
        db.execute("UPDATE c4a_entries SET run = 'other'")
    with pytest.raises(LedgerTampered):
        c4a.pending()
    assert "other" in faults(ledger)


def test_a_yes_that_was_inserted_again_allows_nothing(ledger, pay, paid):
    """It was used up; as a later entry of its own action it is chained to the wrong one."""
    approved(pay, 10)
    with c4a.run("r"), contextlib.suppress(UsageError):
        c4a.resolve("r", action_of(ledger, "pay", "r"), c4a.did_not_happen())
    with raw(ledger.location) as db:
        copy_rows(db, "n = 1", n="4")
    with c4a.run("r"), pytest.raises(LedgerTampered):
        pay(10)
    assert len(paid) == 1
    assert "entry 4" in faults(ledger)


def forged(ledger, run, action, n, before, body):
    """An entry signed by somebody who has read how it is done, and has not our secret."""
    ring = _keys.Keyring(ledger.ledger_id, FORGER)
    return ring.sign(run, action, n, before, body)


@pytest.mark.parametrize("our_key_id", [True, False], ids=["under our key id", "under its own"])
def test_a_forged_yes_allows_nothing(our_key_id, ledger, pay, paid):
    """Whoever can write to the database and does not know the secret cannot approve."""
    with c4a.run("r"), pytest.raises(REFUSED):
        pay(10)
    action = action_of(ledger, "pay", "r")
    (asked,) = ledger.store.read("r", action)
    body = asked.body.replace(b'"kind":"asked"', b'"kind":"approved","by":"boss","until":null')
    mac = forged(ledger, "r", action, 2, asked.mac, body)
    if our_key_id:
        mac = ledger.keyring.current + mac[4:]
    with raw(ledger.location) as db:
        db.execute(
            "INSERT INTO c4a_entries (run, action, n, body, mac) VALUES ('r', ?, 2, ?, ?)",
            (bytes.fromhex(action), body, mac),
        )
    with c4a.run("r"), pytest.raises(LedgerTampered):
        pay(10)
    assert paid == []
    assert "entry 2" in faults(ledger)


def test_a_forged_result_is_not_returned(ledger, note):
    """A stream that nobody of us began is refused like any other."""
    with c4a.run("r"):
        note("x")
    action = action_of(ledger, "note", "r")
    first, second = ledger.store.read("r", action)
    body = second.body.replace(b'"x"', b'"y"')
    with raw(ledger.location) as db:
        db.execute(
            "UPDATE c4a_entries SET body = ?, mac = ? WHERE n = 2",
            (body, forged(ledger, "r", action, 2, first.mac, body)),
        )
    with c4a.run("r"), pytest.raises(LedgerTampered, match="secret"):
        note("x")


def test_nothing_is_imported_on_the_word_of_a_forged_entry(ledger, note, tmp_path, monkeypatch):
    """The MAC is judged before the names in an entry are."""
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with c4a.run("r"):
        note("x")
    with raw(ledger.location) as db:
        body = b'{"v":1,"kind":"result","at":1,"of":1,"result":{"value":{"$":"dataclass","v":["trap","Any",{}]}}}'
        db.execute("UPDATE c4a_entries SET body = ? WHERE n = 2", (body,))
    with c4a.run("r"), pytest.raises(LedgerTampered):
        note("x")


#: Of the same length as what they stand for: the length is in the MAC too.
PARTS = {"run": "s", "action": "cd" * 16, "n": 3, "before": b"BEFORE", "body": b"BODY"}


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_in_the_mac_on_its_own(part):
    """Run, action, place, the MAC of the entry before, and the content: none is covered by another only."""
    entry = {"run": "r", "action": "ab" * 16, "n": 2, "before": b"before", "body": b"body"}
    ring = _keys.Keyring(b"ledger", FORGER)
    mac = ring.sign(**entry)
    assert ring.accepts(mac, **entry)
    assert not ring.accepts(mac, **{**entry, part: PARTS[part]})
    assert not _keys.Keyring(b"other", FORGER).accepts(mac, **entry)


def test_a_tampered_action_does_not_keep_others_from_running(tell, ledger, note, tmp_path):
    """Where many owners have piled up, those of open attempts are looked up first; a forged one stops nobody else."""
    tell(
        """
        @c4a.effect(name="dies")
        def dies(): die()
        c4a.init(LEDGER)
        with c4a.run("other"): dies()
        """,
        status=-9,
    )
    for n in range(60):
        (tmp_path / "ledger.sqlite.c4a" / "owners" / f"1-{n}").touch()
    with raw(ledger.location) as db:
        assert db.execute("UPDATE c4a_entries SET mac = zeroblob(36) WHERE run = 'other'").rowcount == 1
    with c4a.run("r"):
        assert note("x") == "x"
    assert "other" in faults(ledger)


# ---- entries that are gone -------------------------------------------------------------------------------------------


def test_an_entry_removed_from_the_middle_is_refused_and_named(ledger, pay, paid):
    """The chain to the entry before has a hole."""
    approved(pay, 10)
    with raw(ledger.location) as db:
        db.execute("DELETE FROM c4a_entries WHERE n = 2")
    with c4a.run("r"), pytest.raises(LedgerTampered, match="entry 2 before it is missing"):
        pay(10)
    assert "entry 2 before it is missing" in faults(ledger)
    assert len(paid) == 1


def test_a_hole_that_was_closed_by_renumbering_is_refused_and_named(ledger, pay):
    """Its place and the MAC of the entry before are in each MAC."""
    approved(pay, 10)
    with raw(ledger.location) as db:
        db.execute("DELETE FROM c4a_entries WHERE n = 2")
        db.execute("UPDATE c4a_entries SET n = 2 WHERE n = 3")
    with c4a.run("r"), pytest.raises(LedgerTampered):
        pay(10)
    assert "entry 2" in faults(ledger)


def test_a_deleted_no_is_refused_where_anything_follows_it(ledger, pay, paid):
    """Approved, denied, asked anew: without the no the request does not fit the yes."""
    with c4a.run("r"):
        c4a.approve(pay, amount=10)
        c4a.deny(pay, amount=10)
        c4a.request_approval(pay, amount=10)
        with raw(ledger.location) as db:
            db.execute("DELETE FROM c4a_entries WHERE n = 2")
        with pytest.raises(LedgerTampered):
            pay(10)
    assert paid == []


def test_a_deleted_no_at_the_end_of_its_action_is_named(ledger, pay, note):
    """No read of the action can see that its newest entry is gone; verify does, by the gap and by the derived row."""
    with c4a.run("r"):
        c4a.approve(pay, amount=10)
        c4a.deny(pay, amount=10)
        note("later")
    with raw(ledger.location) as db:
        db.execute("DELETE FROM c4a_entries WHERE run = 'r' AND seq = 2")
    assert "entry 2 is missing" in faults(ledger)
    assert "says denied, and its entries say approved" in faults(ledger)


def test_a_spent_yes_that_was_revived_by_deleting_its_attempt_is_named(ledger, pay, note):
    """Even where the derived row was changed to match."""
    approved(pay, 10)
    with c4a.run("r"):
        note("later")
    with raw(ledger.location) as db:
        db.execute("DELETE FROM c4a_entries WHERE seq IN (2, 3)")
        db.execute("UPDATE c4a_actions SET last = 1, state = 'approved' WHERE first = 1")
    assert faults(ledger) == "entries 2 to 3 are missing"


def test_a_whole_action_that_was_removed_is_named(ledger, note):
    """Its numbers are missing, and so is its derived row's first entry, whichever of the two was left."""
    with c4a.run("r"):
        for text in ("one", "two", "three"):
            note(text)
    action = next(row.action for row in ledger.store.actions() if row.first == 3)
    with raw(ledger.location) as db:
        db.execute("DELETE FROM c4a_entries WHERE action = ?", (bytes.fromhex(action),))
    assert "entries 3 to 4 are missing" in faults(ledger)
    assert "began with entry 3 is gone" in faults(ledger)
    with raw(ledger.location) as db:
        db.execute("DELETE FROM c4a_actions WHERE first = 3")
    assert faults(ledger) == "entries 3 to 4 are missing"


@pytest.mark.parametrize("number", [-5, 0, 2**62])
def test_a_number_that_no_entry_was_given_is_named(number, ledger, note):
    """Raw SQL can write any; verify neither falls over it nor overlooks the gap that it leaves."""
    with c4a.run("r"):
        note("one")
        note("two")
    with raw(ledger.location) as db:
        db.execute("UPDATE c4a_entries SET seq = ? WHERE seq = 3", (number,))
    assert f"no entry was ever given the number {number}" in faults(ledger)
    assert "entry 3 is missing" in faults(ledger)


def test_the_first_action_that_was_removed_is_named(ledger, note):
    """Numbers begin at 1."""
    with c4a.run("r"):
        note("one")
        note("two")
    with raw(ledger.location) as db:
        db.execute("DELETE FROM c4a_entries WHERE seq <= 2")
        db.execute("DELETE FROM c4a_actions WHERE first = 1")
    assert "entries 1 to 2 are missing" in faults(ledger)
