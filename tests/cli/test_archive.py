"""`call4agents archive`."""

from __future__ import annotations

import sqlite3

import pytest

import call4agents_core as c4a


@pytest.fixture
def volume(cli):
    return cli.folder / "archive.sqlite"


def test_it_moves_finished_runs_and_says_what_moved_and_what_stayed(cli, trips, volume):
    """trip-1 is finished; trip-2 is in doubt, trip-3 waits."""
    done = cli("archive", volume, "--older-than", 0)
    assert done.out.splitlines() == [
        f"Moved 1 runs (3 actions, 6 entries) from {cli.ledger} to {volume}.",
        "0 finished runs stayed: too young, or in use. Runs with something running, in doubt, approved or waiting always stay.",
    ]
    assert done.err == ""
    cli("verify")
    assert (
        "all as they were written"
        in cli.run(*cli.python, "-m", "call4agents_core", "verify", "--ledger", str(volume)).out
    )
    again = cli("archive", volume, "--older-than", 0)
    assert again.out.startswith("Moved 0 runs (0 actions, 0 entries)")


def test_young_runs_are_counted_and_stay(cli, trips, volume):
    """Days may be parts of a day."""
    done = cli("archive", volume, "--older-than", 0.5)
    assert "Moved 0 runs" in done.out
    assert "1 finished runs stayed" in done.out
    assert len(cli("list", "--run", "trip-1", "--json").json) == 3


def test_what_has_moved_is_listed_shown_and_refused(cli, trips, volume):
    """`list --state archived`, `show` in both files, and an agent that calls it again."""
    cli("archive", volume, "--older-than", 0)
    listed = cli("list", "--state", "archived", "--json").json
    assert [(row["run"], row["state"]) for row in listed] == [("trip-1", "archived")] * 3
    assert "archive" in cli("show", "trip-1").out
    there = cli("show", "trip-1", "--ledger", volume, ledger=False)
    assert "ref-1A" in there.out
    agent = cli.agent("trip-1", "book('1A')")
    assert agent.code != 0
    assert "EffectArchived" in agent.err
    assert cli.lines() == []


def test_an_archive_is_not_acted_on(cli, trips, volume):
    """Each command that writes says what it is, exit 1."""
    cli("archive", volume, "--older-than", 0)
    before = volume.read_bytes()
    for words in (("rotate-secret",), ("archive", cli.folder / "other.sqlite", "--older-than", 0), ("undo", "trip-1")):
        done = cli(*words, "--ledger", volume, ledger=False, code=1)
        assert "it is an archive" in done.err
    assert volume.read_bytes() == before
    assert not (cli.folder / "other.sqlite").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("archive",), "DEST"),
        (("archive", "a.sqlite"), "--older-than"),
        (("archive", "a.sqlite", "--older-than", "soon"), "soon"),
        (("archive", "a.sqlite", "--older-than", "-1"), "older_than"),
        (("archive", "a.sqlite", "--older-than", "nan"), "older_than"),
        (("archive", "a.sqlite", "--older", "1"), "--older"),
        (("archive", ":memory:", "--older-than", "0"), "no destination"),
        (("archive", "postgresql://x", "--older-than", "0"), "no destination"),
    ],
)
def test_wrong_usage_exits_with_2_and_moves_nothing(words, told, cli, trips):
    """It names what is wrong, and makes no file."""
    assert told in cli(*words, code=2).err
    assert list(cli.folder.iterdir()) == []
    assert len(cli("list", "--state", "archived", "--json").json) == 0


def test_a_ledger_that_is_not_there_is_not_made(cli, volume):
    """Exit 2; nor is the archive."""
    cli("archive", volume, "--older-than", 0, code=2)
    assert not cli.ledger.exists()
    assert not volume.exists()


def _text(path):
    path.write_text("a text of somebody, which must stay as it is\n" * 30)


def _database(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE mine (x)")
    db.commit()
    db.close()


def _other_ledger(path):
    c4a.Ledger.open(path).close()


def _other_archive(path):
    ledger = c4a.Ledger.open(path.with_name("other.sqlite"))
    ledger.archive(path, older_than=0)
    ledger.close()


def _short(path):
    path.write_bytes(b"?")


BAD = {
    "a text": (_text, 1),
    "a short file": (_short, 1),
    "a database of others": (_database, 2),
    "another ledger": (_other_ledger, 1),
    "the archive of another ledger": (_other_archive, 1),
}


@pytest.mark.parametrize(("make", "code"), BAD.values(), ids=BAD)
def test_a_bad_destination_is_refused_and_left_byte_for_byte(make, code, cli, trips, volume):
    """Nothing is moved, and nothing is left beside it."""
    make(volume)
    before = {path: path.read_bytes() for path in cli.folder.rglob("*") if path.is_file()}
    assert str(volume) in cli("archive", volume, "--older-than", 0, code=code).err
    assert {path: path.read_bytes() for path in cli.folder.rglob("*") if path.is_file()} == before
    assert len(cli("list", "--run", "trip-1", "--state", "done", "--json").json) == 3


def test_the_ledger_itself_and_a_folder_are_no_destination(cli, trips):
    """By another spelling and by a link, too."""
    link = cli.folder / "link.sqlite"
    link.symlink_to(cli.ledger)
    for path in (cli.ledger, cli.folder / ".." / cli.ledger.name, link):
        assert "no destination" in cli("archive", path, "--older-than", 0, code=2).err
    assert "folder" in cli("archive", cli.folder, "--older-than", 0, code=1).err
    hard = cli.folder / "hard.sqlite"
    hard.hardlink_to(cli.ledger)
    assert "no archive of this ledger" in cli("archive", hard, "--older-than", 0, code=1).err
    cli("verify")


def test_a_given_secret_is_needed_for_the_archive_too(cli, volume):
    """It is written down neither here nor there."""
    cli.environ["C4A_SECRET"] = "a secret that was given"
    assert cli.agent("trip-1", "book('1A')").code == 0
    cli("archive", volume, "--older-than", 0)
    assert not volume.with_name(volume.name + ".c4a").joinpath("secret").exists()
    cli("verify", "--ledger", volume, ledger=False)
    del cli.environ["C4A_SECRET"]
    cli("verify", "--ledger", volume, ledger=False, code=1)
