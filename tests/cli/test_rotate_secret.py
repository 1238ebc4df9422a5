"""`call4agents rotate-secret`."""

from __future__ import annotations

import stat

OLD, NEW = "the old secret of the ledger", "the new secret of the ledger"


def secret_file(cli):
    return cli.ledger.with_name(cli.ledger.name + ".c4a") / "secret"


def test_it_makes_a_new_secret_and_keeps_the_old_one(cli, trips):
    """It says what it did, shows no secret, and every command goes on."""
    before = secret_file(cli).read_text().split()
    done = cli("rotate-secret")
    assert done.out == (
        f"New entries of {cli.ledger} are signed with the new secret; older ones are read with the secrets that signed them.\n"
    )
    assert done.err == ""
    after = secret_file(cli).read_text().split()
    assert len(after) == 2
    assert after[1:] == before
    assert stat.S_IMODE(secret_file(cli).stat().st_mode) == 0o600
    cli("approve", trips.asked)
    assert cli.agent("trip-3", "pay(1, 'alice')").code in (0, 1)
    assert cli.agent("trip-4", "book('1A')").out == "'ref-1A'\n"
    cli("verify")


def test_a_new_process_reads_what_the_old_secret_signed(cli):
    """The same call in the next process gives the recorded result."""
    assert cli.agent("trip-1", "book('1A')").out == "'ref-1A'\n"
    for _ in range(3):
        cli("rotate-secret")
        assert cli.agent("trip-1", "book('1A')").out == "'ref-1A'\n"
    assert cli.lines() == ["book 1A"]
    assert len(secret_file(cli).read_text().split()) == 4


def test_a_given_secret_is_changed_in_three_steps(cli):
    """New and old in the environment, one command, and the old one stays among the old ones."""
    cli.environ["C4A_SECRET"] = OLD
    assert cli.agent("trip-1", "book('1A')").code == 0
    cli("rotate-secret", code=2)  # there is no new one
    cli.environ.update(C4A_SECRET=NEW, C4A_OLD_SECRETS=OLD)
    cli("verify")
    assert OLD not in (done := cli("rotate-secret")).out
    assert NEW not in done.out
    cli("verify")
    cli("rotate-secret", code=2)  # it belongs to the new one already
    assert cli.agent("trip-1", "book('1A')").out == "'ref-1A'\n"
    assert not secret_file(cli).exists()
    cli.environ["C4A_OLD_SECRETS"] = ""
    assert "not at hand" in cli("verify", code=1).out
    cli.environ["C4A_SECRET"] = OLD
    assert "not the one that it belongs to" in cli("verify", code=1).err


def test_a_new_secret_without_the_old_one_is_refused(cli):
    """Exit 1, and nothing has changed."""
    cli.environ["C4A_SECRET"] = OLD
    assert cli.agent("trip-1", "book('1A')").code == 0
    cli.environ["C4A_SECRET"] = NEW
    assert "C4A_OLD_SECRETS" in cli("rotate-secret", code=1).err
    cli.environ["C4A_SECRET"] = OLD
    cli("verify")


def test_no_ledger_and_wrong_words_exit_with_2(cli):
    """Nothing is made."""
    cli("rotate-secret", code=2)
    cli("rotate-secret", "now", code=2)
    cli("rotate-secret", "--secret", "x", code=2)
    assert not cli.ledger.exists()
    assert not secret_file(cli).exists()
