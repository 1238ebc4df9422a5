"""`call4agents undo`."""

from __future__ import annotations

import pytest

import call4agents_core as c4a

MODULE = """
import os
import call4agents_core as c4a

def happens(line):
    with open(os.environ["WORLD"], "a") as file:
        file.write(line + "\\n")

def cancel(seat):
    happens("cancel " + ascii(seat))
    if os.path.exists("no-airline"):
        raise ConnectionError("the airline is closed\\x1b[31m")

book = c4a.effect(name="book", undo=cancel)(lambda seat: None)
"""


@pytest.fixture
def airline(cli, trips):
    """The module of the tool in the folder where the command runs: its reversals are lines of the world."""
    (cli.folder / "airline.py").write_text(MODULE)
    return cli


def titles(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(" ")]


def named(text: str) -> list[str]:
    """What stands under the titles, without ids."""
    return [line.strip().partition(" [")[0] for line in text.splitlines() if line.startswith(" ")]


def test_a_run_is_reversed_newest_first(airline):
    """The module lies in the current folder; what was reversed is printed in its order; again, there is nothing to do."""
    done = airline("undo", "trip-1", "--import", "airline")
    assert titles(done.out) == ["reversed:"]
    assert named(done.out) == ["book(seat='2B')", "book(seat='1A')", "book(seat='3C')"]
    assert airline.lines() == ["cancel '2B'", "cancel '1A'", "cancel '3C'"]
    assert titles(airline("undo", "trip-1", "--import", "airline").out) == ["reversed earlier:"]
    assert len(airline.lines()) == 3
    assert airline("verify").code == 0


def test_a_dry_run_says_what_would_be_reversed_and_writes_nothing(airline):
    """In the same order; the file is not touched."""
    before = airline.ledger.read_bytes()
    done = airline("undo", "trip-1", "--dry-run", "--import", "airline")
    assert titles(done.out) == ["would be reversed, in this order:"]
    assert named(done.out) == ["book(seat='2B')", "book(seat='1A')", "book(seat='3C')"]
    assert airline.lines() == []
    assert airline.ledger.read_bytes() == before


def test_a_tool_that_no_module_knows_stops_it_with_1(airline):
    """It says how to name the module; nothing is reversed, dry or not."""
    for words in (["--dry-run"], []):
        done = airline("undo", "trip-1", *words, code=1)
        assert titles(done.out) == ["could not be reversed:"]
        assert "--import MODULE" in done.out
    assert "The undo of run trip-1 stopped" in done.err
    assert airline.lines() == []


def test_a_doubt_stops_it_with_1_until_it_is_resolved(airline, trips):
    """The command that settles it is printed; after that, the undo goes on."""
    for words in (["--dry-run"], []):
        done = airline("undo", "trip-2", "--import", "airline", *words, code=1)
        assert titles(done.out) == ["in doubt:"]
        assert named(done.out) == ["charge(amount=666)"]
    assert f"call4agents resolve trip-2 {trips.in_doubt} happened" in done.err
    assert airline.lines() == []
    airline("resolve", "trip-2", trips.in_doubt, "did-not-happen")
    assert titles(airline("undo", "trip-2", "--import", "airline").out) == ["reversed:"]
    assert airline.lines() == ["cancel '9Z'"]


def test_what_has_no_undo_is_listed_and_the_answer_is_1(airline, trips):
    """The rest is reversed; a dry run, which is asked what would be, answers with 0."""
    airline("resolve", "trip-2", trips.in_doubt, "happened")
    dry = airline("undo", "trip-2", "--dry-run", "--import", "airline")
    assert titles(dry.out) == ["would be reversed, in this order:", "not reversed: no undo=:"]
    done = airline("undo", "trip-2", "--import", "airline", code=1)
    assert titles(done.out) == ["reversed:", "not reversed: no undo=:"]
    assert named(done.out) == ["book(seat='9Z')", "charge(amount=666)"]


def test_a_reversal_that_raises_stops_it_with_1_and_goes_on_once_it_is_resolved(airline):
    """Nothing older is touched, and it is not tried again by itself. What the tool said reaches the terminal escaped."""
    (airline.folder / "no-airline").touch()
    done = airline("undo", "trip-1", "--import", "airline", code=1)
    assert titles(done.out) == ["could not be reversed:"]
    assert "the airline is closed\\x1b[31m" in done.out
    assert "\x1b" not in done.out + done.err
    (airline.folder / "no-airline").unlink()
    airline("undo", "trip-1", "--import", "airline", code=1)
    assert airline.lines() == ["cancel '2B'"]
    (doubt,) = airline("doubt", "--json").json[:1]
    assert doubt["tool"] == "book.undo"
    airline("resolve", "trip-1", doubt["action"], "did-not-happen")
    airline("undo", "trip-1", "--import", "airline")
    assert airline.lines() == ["cancel '2B'", "cancel '2B'", "cancel '1A'", "cancel '3C'"]


def test_what_came_from_arguments_is_printed_escaped(airline, hidden):
    """In the list, and in a complaint."""
    ledger = c4a.Ledger.open(airline.ledger)
    with c4a.run(f"trip{hidden}", ledger=ledger):
        c4a.effect(name="book", undo=lambda seat: None)(lambda seat: None)(f"1{hidden}")
    ledger.close()
    out = airline("undo", f"trip{hidden}", "--dry-run", "--import", "airline").out
    err = airline("undo", f"trip{hidden}", code=1).err
    assert "\\u202e" in out
    assert "\\u202e" in err
    assert not any(character in out + err for character in hidden if not character.isprintable())


def test_a_run_in_which_nothing_was_done_has_nothing_to_reverse(airline):
    """Requests that wait are no deeds."""
    assert "nothing to reverse" in airline("undo", "trip-3").out


# ---- wrong usage -----------------------------------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_wrong_usage(airline):
    """2, and the command that lists the runs that are."""
    for words in (["--dry-run"], []):
        err = airline("undo", "trip-9", *words, code=2).err
        assert "There is no run 'trip-9'" in err
        assert "list" in err


@pytest.mark.parametrize("module", ["airlin", "airline.nothing", "", ".airline", "broken"])
def test_a_module_that_cannot_be_imported_is_wrong_usage(airline, module):
    """2, before anything is reversed: not found, no package, no name, relative, or one that misses a module itself."""
    (airline.folder / "broken.py").write_text("import no_such_module_anywhere")
    err = airline("undo", "trip-1", f"--import={module}", code=2).err
    assert f"--import {module}" in err
    assert airline.lines() == []


def test_a_ledger_that_is_not_there_is_not_made(cli):
    """2; neither the file nor its folder appears."""
    for words in (["--dry-run"], []):
        assert "LedgerNotFound" in cli("undo", "trip-1", *words, code=2).err or not cli.ledger.exists()
    assert list(cli.ledger.parent.glob("ledger*")) == []


def test_several_modules_can_be_imported(airline):
    """--import may be given again."""
    (airline.folder / "hotel.py").write_text("print('hotel is here')")
    done = airline("undo", "trip-1", "--import", "hotel", "--import", "airline")
    assert "hotel is here" in done.out
    assert len(airline.lines()) == 3
