"""`call4agents export`."""

from __future__ import annotations

import json
import sqlite3
from itertools import pairwise

import pytest

import call4agents_core as c4a


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def stored(cli) -> list[tuple]:
    """What the file holds, as SQLite says."""
    connection = sqlite3.connect(cli.ledger)
    try:
        found = connection.execute("SELECT seq, run, lower(hex(action)), n, body, lower(hex(mac)) FROM c4a_entries")
        return sorted(found)
    finally:
        connection.close()


def test_every_entry_is_printed_once(cli, trips):
    """With all that its body says, where it stands and its MAC."""
    found = lines(cli("export").out)
    assert len(found) == 12
    places = ("seq", "run", "action", "n", "mac")
    assert sorted(one["seq"] for one in found) == [row[0] for row in stored(cli)]
    for row in stored(cli):
        (one,) = [one for one in found if one["seq"] == row[0]]
        assert (one["seq"], one["run"], one["action"], one["n"], one["mac"]) == (*row[:4], row[5])
        assert {name: value for name, value in one.items() if name not in places} == json.loads(row[4])


def test_the_entries_of_an_action_follow_each_other(cli, trips):
    """In their order, so that a program may read a stream at a time."""
    found = [(one["run"], one["action"], one["n"]) for one in lines(cli("export").out)]
    starts = [place for place in found if place[2] == 1]
    assert len(starts) == len({place[:2] for place in starts}) == 7
    for before, after in pairwise(found):
        assert after[2] == 1 or after == (*before[:2], before[2] + 1)


def test_one_run_can_be_chosen(cli, trips):
    """And nothing of the others is printed."""
    found = lines(cli("export", "--run", "trip-2").out)
    assert {one["run"] for one in found} == {"trip-2"}
    assert sorted(one["kind"] for one in found) == ["failed", "intent", "intent", "result"]
    assert cli("export", "--format", "jsonl", "--run", "trip-2").out == cli("export", "--run", "trip-2").out


@pytest.mark.parametrize(
    ("statement", "told"),
    [("UPDATE c4a_entries SET body = CAST(replace(CAST(body AS TEXT), 'ref-1A', 'ref-XX') AS BLOB) WHERE seq = 4", "MAC does not fit"),
     ("UPDATE c4a_entries SET mac = zeroblob(length(mac)) WHERE seq = 4", "not at hand"),
     ("UPDATE c4a_entries SET run = 'trip-2' WHERE seq = 4", "is missing"),
     ("DELETE FROM c4a_entries WHERE seq = 3", "entry 1 before it is missing")],
)  # fmt: skip
def test_what_does_not_fit_its_mac_is_not_printed_and_exit_1(cli, trips, statement, told):
    """What came before it is; the complaint names run, action and entry."""
    connection = sqlite3.connect(cli.ledger)
    with connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(statement).rowcount == 1
    connection.close()
    done = cli("export", code=1)
    assert told in done.err
    assert "trip-" in done.err
    assert 4 not in [one["seq"] for one in lines(done.out)]


def test_what_came_from_arguments_is_printed_as_ascii(cli, trips, hidden):
    """JSON escapes all that a terminal must not see, the delete character included."""
    ledger = c4a.Ledger.open(cli.ledger)
    with c4a.run(f"trip\x7f{hidden}", ledger=ledger):
        c4a.effect(name="book")(lambda seat: None)(f"1\x7f{hidden}")
    ledger.close()
    out = cli("export").out
    assert out.replace("\n", "").isprintable()
    assert out.isascii()
    assert any(one["run"] == f"trip\x7f{hidden}" for one in lines(out))


def test_a_run_that_is_not_there_is_wrong_usage(cli, trips):
    """2: an empty file would look like an empty run."""
    done = cli("export", "--run", "trip-9", code=2)
    assert done.out == ""
    assert "There is no run 'trip-9'" in done.err


def test_a_ledger_that_is_not_there_is_not_made(cli):
    """A reading command."""
    cli("export", code=2)
    assert not cli.ledger.exists()


def test_another_format_is_wrong_usage(cli, trips):
    """It says which there are."""
    assert "jsonl" in cli("export", "--format", "csv", code=2).err


def test_an_empty_ledger_has_nothing_to_print(cli):
    """And that is fine."""
    c4a.Ledger.open(cli.ledger).close()
    assert cli("export").out == ""
