"""`call4agents show`, and the timeline that it prints."""

from __future__ import annotations

import pytest

import call4agents_core as c4a
from call4agents_core._timeline import recorded, timeline


def test_run_is_told_in_the_order_of_what_was_done(cli, trips):
    """Arguments, attempts with their owner, results, and times with their offset."""
    out = cli("show", "trip-1").out
    assert out.index("book(seat='3C')  done") < out.index("book(seat='1A')  done") < out.index("book(seat='2B')  done")
    assert "attempt 1 returned 'ref-1A'" in out
    assert "has an undo" in out
    assert out.count("attempt 1 began, owner ") == 3


def test_one_action_by_the_beginning_of_its_id(cli, trips):
    """RUN ACTION shows that action only."""
    out = cli("show", "trip-2", trips.in_doubt[:8]).out
    assert "charge(amount=666)  in-doubt" in out
    assert "book" not in out
    assert "in doubt: it raised ConnectionError" in out


@pytest.mark.parametrize("words", [("no-such-run",), ("trip-2", "ffffffffffff"), ("trip-1", "")])
def test_what_is_not_there_is_exit_2(cli, trips, words):
    """No such run, no such action."""
    assert cli("show", *words, code=2).err


def test_who_decided_and_why_is_told(cli, trips):
    """Requests, approvals with who and until when, denials with the reason, and which attempt used up the yes."""
    cli("approve", trips.asked, "--by", "ann", "--valid-for", 3600)
    cli("deny", trips.nasty, "--by", "bob", "--reason", "too much")
    assert cli.agent("trip-3", "pay(10, 'alice')").out == "10\n"
    out = cli("show", "trip-3").out
    assert "a yes was asked for" in out
    assert "approved by ann, valid until 2" in out
    assert ", and used up the yes" in out
    assert "denied by bob: too much" in out
    assert out.index("to='ali") < out.index(
        "to='alice'"
    )  # nothing was attempted of the first; it was asked for earlier


def test_resolution_is_told(cli, trips):
    """A person's answer stands in the timeline with its note."""
    cli(
        "resolve", "trip-2", trips.in_doubt, "happened", "--result", '"ok"', "--note", "seen at the bank", "--by", "ann"
    )
    assert "resolved by ann: it happened, with the result 'ok' (seen at the bank)" in cli("show", "trip-2").out


def test_json_holds_entries_with_their_facts(cli, trips):
    """What the text tells, for programs."""
    book, charge = cli("show", "trip-2", "--json").json
    assert book["result"] == "'ref-9Z'"
    assert book["undo"] is True
    assert charge["state"] == "in-doubt"
    assert charge["cause"].startswith("it raised ConnectionError")
    assert charge["idempotency_key"].startswith("c4a-")
    assert [entry["kind"] for entry in charge["entries"]] == ["intent", "failed"]
    assert charge["entries"][1]["of"] == 1


def test_limit_keeps_the_newest(cli, trips):
    """--limit N: the last N of the timeline."""
    assert [one["arguments"]["seat"] for one in cli("show", "trip-1", "--json", "--limit", 2).json] == ["'1A'", "'2B'"]


def test_an_edited_entry_is_not_told(cli, trips):
    """The timeline is read through the check of the ledger."""
    import sqlite3

    connection = sqlite3.connect(cli.ledger)
    with connection:
        connection.execute("DROP TRIGGER c4a_entries_never_changed")
        connection.execute("UPDATE c4a_entries SET body = CAST(replace(CAST(body AS TEXT), '666', '777') AS BLOB)")
    connection.close()
    done = cli("show", "trip-2", code=1)
    assert "777" not in done.out
    assert "is not as it was written" in done.err
    assert "777" not in cli("list", code=1).out


# ---- the timeline itself -------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(ledger_path):
    opened = c4a.Ledger.open(ledger_path)
    yield opened
    opened.close()


def test_timeline_follows_first_attempts_not_requests(ledger):
    """What was asked for early and done late stands where it was done."""

    @c4a.effect(name="pay", approval=True)
    def pay(amount):
        return amount

    @c4a.effect(name="book")
    def book(seat):
        return seat

    with c4a.run("r", ledger=ledger):
        request = ledger.request_approval(pay, amount=1)
        book("1A")
        request.approve(by="ann")
        pay(1)
    assert [one.call for one in timeline(ledger, "r")] == ["book(seat='1A')", "pay(amount=1)"]


def test_each_attempt_is_counted_and_its_end_belongs_to_it(ledger):
    """An attempt that proved that nothing happened, then one that did it."""
    attempts = []

    @c4a.effect(name="send", retry_on=TimeoutError)
    def send(to):
        attempts.append(to)
        if len(attempts) == 1:
            raise TimeoutError("no answer")
        return "sent"

    with c4a.run("r", ledger=ledger):
        with pytest.raises(TimeoutError):
            send("bob")
        send("bob")
    (one,) = timeline(ledger, "r")
    texts = [text.partition(", owner")[0] for _, text in one.told()]
    assert texts == [
        "attempt 1 began",
        "attempt 1 raised TimeoutError('no answer'), which proves that nothing happened",
        "attempt 2 began",
        "attempt 2 returned 'sent'",
    ]


def test_a_recorded_action_tells_its_key_and_arguments(ledger):
    """The key for the outside API is the one that the tool was given."""
    keys = []

    @c4a.effect(name="send", redact=("password",))
    def send(to, password):
        keys.append(c4a.idempotency_key())

    with c4a.run("r", ledger=ledger):
        send("bob", "hush hush", c4a_key="mail-7")
    (row,) = ledger.store.actions(run="r")
    one = recorded(ledger, "r", row.action)
    assert one.idempotency_key == keys[0]
    assert one.arguments == {"to": "'bob'", "password": "<redacted>"}
    assert one.head["key"] == "mail-7"
