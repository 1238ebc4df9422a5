"""The secret of a ledger: where it comes from, that it is the right one, and that a lost one is never replaced in silence."""

import shutil
import stat
from pathlib import Path

import pytest

import call4agents_core as c4a
from call4agents_core.errors import LedgerTampered, SecretMismatch, SecretMissing, UsageError
from tests.kit import files_of

ONE, TWO, THREE = "one secret of a ledger", b"another secret of a ledger", "a third secret of a ledger"


@c4a.effect(name="hello")
def hello(n):
    return f"hello {n}"


def use(path, **secrets):
    """Open the ledger, call an effect in it, and close it; the result."""
    ledger = c4a.Ledger.open(path, **secrets)
    try:
        with c4a.run("r", ledger=ledger):
            return hello(1)
    finally:
        ledger.close()


def test_a_new_ledger_makes_its_own_secret(ledger_path):
    """For this user only; whoever opens the ledger later finds it."""
    assert use(ledger_path) == "hello 1"
    file = ledger_path.with_name("ledger.sqlite.c4a") / "secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(bytes.fromhex(file.read_text())) == 32
    before = file.read_bytes()
    assert use(ledger_path) == "hello 1"
    assert file.read_bytes() == before


@pytest.mark.parametrize("secret", [ONE, TWO])
def test_a_given_secret_is_never_written_down(secret, ledger_path):
    """Text counts as UTF-8, so text and its bytes are one secret."""
    ledger = c4a.Ledger.open(ledger_path, secret=secret)
    with c4a.run("r", ledger=ledger):
        hello(1)
    text = secret if isinstance(secret, bytes) else secret.encode()
    assert text not in files_of(ledger)
    assert text.hex().encode() not in files_of(ledger)
    ledger.close()
    assert not (ledger_path.with_name("ledger.sqlite.c4a") / "secret").exists()
    assert use(ledger_path, secret=text) == "hello 1"


def test_the_environment_gives_what_is_not_passed(ledger_path, monkeypatch):
    """C4A_SECRET, C4A_OLD_SECRETS and C4A_LEDGER; what is passed goes before it."""
    monkeypatch.setenv("C4A_SECRET", ONE)
    monkeypatch.setenv("C4A_LEDGER", str(ledger_path))
    assert use(None) == "hello 1"
    assert ledger_path.exists()
    monkeypatch.setenv("C4A_SECRET", THREE)
    with pytest.raises(SecretMismatch):
        use(None)
    assert use(None, secret=ONE) == "hello 1"
    monkeypatch.setenv("C4A_SECRET", "")
    with pytest.raises(SecretMissing):
        use(None)


def test_another_secret_is_refused_at_init(ledger_path):
    """The ledger remembers which one it belongs to; nothing is read or run on the word of another."""
    use(ledger_path, secret=ONE)
    for wrong in (THREE, ONE + " ", TWO):
        with pytest.raises(SecretMismatch, match="secret="):
            use(ledger_path, secret=wrong)


def test_a_ledger_without_its_secret_never_gets_a_new_one(ledger_path):
    """A new one would make every approval worthless: it says so, and leaves everything as it is."""
    use(ledger_path)
    folder = ledger_path.with_name("ledger.sqlite.c4a")
    for damage in (
        lambda: (folder / "secret").write_text("no hexadecimal\n"),
        lambda: (folder / "secret").write_text(""),
        lambda: shutil.rmtree(folder),
    ):
        damage()
        for _ in range(2):
            with pytest.raises(SecretMissing, match="backup"):
                use(ledger_path)
    assert not (folder / "secret").exists()
    with pytest.raises(SecretMismatch):
        use(ledger_path, secret=ONE)


@pytest.mark.parametrize("secret", ["", "too short", b"x" * 15, 123456789012345678, ["a list of sixteen or more"]])
def test_a_secret_that_is_none_is_refused(secret, ledger_path):
    """Bytes or text of at least 16 bytes; nothing is made."""
    with pytest.raises(UsageError, match="16 bytes"):
        use(ledger_path, secret=secret)
    assert not ledger_path.exists()


def test_old_secrets_still_read_what_they_signed(ledger_path, monkeypatch):
    """After a change of secret; and only those that are given, by argument or environment, comma-separated."""
    use(ledger_path, secret=ONE)
    changed = c4a.Ledger.open(ledger_path, secret=TWO, old_secrets=[THREE, ONE])
    changed.rotate_secret()
    changed.close()
    assert use(ledger_path, secret=TWO, old_secrets=[ONE]) == "hello 1"
    with pytest.raises(LedgerTampered, match="secret that is not at hand"):
        use(ledger_path, secret=TWO)
    monkeypatch.setenv("C4A_OLD_SECRETS", f"{THREE},{ONE}")
    assert use(ledger_path, secret=TWO) == "hello 1"
    with pytest.raises(UsageError, match="16 bytes"):
        use(ledger_path, secret=TWO, old_secrets=["short"])


def test_a_ledger_in_memory_has_a_secret_of_its_own():
    """It lives as long as the ledger does."""
    assert use(":memory:") == use(":memory:", secret=ONE) == "hello 1"


def test_the_usual_place_keeps_secret_and_owners_in_its_own_folder(tmp_path, monkeypatch):
    """`.c4a/ledger.sqlite` has `.c4a/secret`; any other file X has a folder X.c4a."""
    monkeypatch.chdir(tmp_path)
    assert use(None) == "hello 1"
    assert {path.name for path in Path(".c4a").iterdir()} >= {"ledger.sqlite", "secret", "owners"}
    use("elsewhere.sqlite")
    assert {path.name for path in Path("elsewhere.sqlite.c4a").iterdir()} == {"secret", "owners"}


def test_many_processes_that_start_at_once_on_nothing_get_one_ledger_and_one_secret(child, tmp_path):
    """Whoever comes first makes both, and the others find them."""
    code = """
    input()
    ledger = c4a.init(LEDGER)
    @c4a.effect(name="hello")
    def hello(n):
        act()
        return n
    with c4a.run("r"): say(hello(1), ledger.ledger_id.hex(), ledger.keyring.current.hex())
    """
    children = [child(code) for _ in range(6)]
    for one in children:
        one.go_on()
    heard = [one.hear() for one in children]
    assert heard == [heard[0]] * 6
    assert [one.end() for one in children] == [0] * 6
    assert (tmp_path / "world.txt").read_text() == "effect\n"
