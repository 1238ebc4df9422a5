"""`call4agents verify`."""

from __future__ import annotations

import sqlite3

import pytest


def damage(cli, statement: str) -> None:
    """What somebody does who has the file: the triggers go first."""
    connection = sqlite3.connect(cli.ledger)
    with connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(statement).rowcount == 1
    connection.close()


def test_a_whole_ledger_is_fine(cli, trips):
    """It says how much was checked."""
    assert cli("verify").out.startswith("12 entries of 7 actions in ")


@pytest.mark.parametrize(
    ("statement", "told"),
    [("UPDATE c4a_entries SET body = CAST(replace(CAST(body AS TEXT), 'ref-1A', 'ref-XX') AS BLOB) WHERE seq = 4", "entry 2 of action"),
     ("UPDATE c4a_entries SET run = 'trip-9' WHERE seq = 4", "entry 2 of action"),
     ("DELETE FROM c4a_entries WHERE seq = 3", "entry 3 is missing"),
     ("UPDATE c4a_actions SET state = 'done' WHERE state = 'in-doubt'", "says done, and its entries say in-doubt")],
)  # fmt: skip
def test_what_is_wrong_is_named_and_exit_1(cli, trips, statement, told):
    """Edited, moved, removed, or a derived table that lies."""
    damage(cli, statement)
    done = cli("verify", code=1)
    assert told in done.out
    assert "fault" in done.out.splitlines()[0]


def test_a_file_that_is_no_ledger_is_named(cli):
    """Neither a crash nor a new ledger."""
    cli.ledger.write_text(
        "these are not the bytes of a database, and there are more than a header's worth of them" * 20
    )
    before = cli.ledger.read_bytes()
    assert "no SQLite database" in cli("verify", code=1).err
    assert cli.ledger.read_bytes() == before
