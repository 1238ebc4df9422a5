"""A new secret for a ledger: what is read, what is signed, who takes it up, and who is refused."""

from __future__ import annotations

import stat
import threading
import time

import pytest

import call4agents_core as c4a
from call4agents_core import _keys, _streams
from call4agents_core.errors import ApprovalRequired, LedgerReadOnly, LedgerTampered, SecretMismatch, UsageError

ONE, TWO, THREE = (f"secret number {n} of a ledger" for n in (1, 2, 3))


@c4a.effect(name="pay")
def pay(n):
    return f"paid {n}"


@c4a.effect(name="guarded", approval=True)
def guarded(n):
    return f"paid {n}"


def secret_file(ledger_path):
    return ledger_path.with_name(ledger_path.name + ".c4a") / "secret"


def signers(ledger):
    """Key ids of all entries in the order of writing."""
    return [row.mac[: _keys.KEY_ID_BYTES] for row in ledger.store.scan()]


def use(ledger_path, n=1, **secrets):
    """What a process does that opens the ledger with these secrets; the faults that verify finds."""
    ledger = c4a.Ledger.open(ledger_path, **secrets)
    try:
        with c4a.run("r", ledger=ledger):
            assert pay(n) == f"paid {n}"
        return ledger.verify().faults
    finally:
        ledger.close()


# ---- a secret in the file --------------------------------------------------------------------------------------------


def test_old_entries_verify_and_new_ones_are_signed_with_the_new_secret(ledger):
    """The last entry of an action may have another signer than its first."""
    with c4a.run("r"):
        pay(1)
        old = signers(ledger)
        ledger.rotate_secret()
        pay(2)
        assert pay(1) == "paid 1"
    assert signers(ledger)[:2] == old
    assert set(signers(ledger)[2:]) == {ledger.store.key_id()}
    assert ledger.store.key_id() not in old
    assert ledger.verify().faults == ()


def test_keys_and_actions_stay(ledger):
    """The idempotency key does not hang on the secret, or a rotation between two attempts would make a second charge."""
    keys = []

    @c4a.effect(name="send", retry_on=(ConnectionError,))
    def send():
        keys.append(c4a.idempotency_key())
        if len(keys) == 1:
            raise ConnectionError
        return "sent"

    with c4a.run("r"):
        with pytest.raises(ConnectionError):
            send()
        ledger.rotate_secret()
        assert send() == "sent"
    assert len(set(keys)) == 1
    assert len(ledger.store.actions()) == 1


def test_a_yes_from_before_is_valid_afterwards(ledger):
    """And a yes that is given afterwards answers a request from before."""
    with c4a.run("r"):
        c4a.approve(guarded, n=1)
        request = c4a.request_approval(guarded, n=2)
        ledger.rotate_secret()
        assert guarded(1) == "paid 1"
        request.approve()
        assert guarded(2) == "paid 2"
        with pytest.raises(ApprovalRequired):
            guarded(3)
    assert ledger.verify().faults == ()


def test_the_file_of_secrets_stays_for_this_user_only_and_keeps_them_all(ledger, ledger_path):
    """0600, newest first, one line each; and nothing else is left in the folder but its lock."""
    for n in range(1, 4):
        file = secret_file(ledger_path)
        lines = file.read_text().split()
        assert len(set(lines)) == n
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        ledger.rotate_secret()
        assert file.read_text().split()[1:] == lines
    names = {path.name for path in file.parent.iterdir()}
    assert names <= {"secret", "secret.lock", "owners"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_new_process_with_only_the_file_works(ledger, ledger_path, tell):
    """It reads what each of the secrets signed, and signs with the newest."""
    for n in range(3):
        with c4a.run("r"):
            pay(n)
        ledger.rotate_secret()
    ((key, faults),) = tell("""
        ledger = c4a.init(LEDGER)
        @c4a.effect(name="pay")
        def pay(n): return f"paid {n}"
        with c4a.run("r"):
            assert [pay(n) for n in range(4)] == [f"paid {n}" for n in range(4)]
        say([row.mac[:4].hex() for row in ledger.store.scan()][-1], ledger.verify().faults)
    """)
    assert key == ledger.store.key_id().hex()
    assert faults == []


def test_a_ledger_in_memory_keeps_all_its_secrets():
    """However often it gets a new one."""
    ledger = c4a.Ledger.open(":memory:")
    with c4a.run("r", ledger=ledger):
        for n in range(3):
            pay(n)
            ledger.rotate_secret()
        assert [pay(n) for n in range(3)] == ["paid 0", "paid 1", "paid 2"]
    assert ledger.verify().faults == ()
    assert len(set(signers(ledger))) == 3
    ledger.close()


def test_a_ledger_that_was_opened_for_reading_gets_no_new_secret(ledger, ledger_path):
    """Nothing is written, and the ledger stays as it is."""
    with c4a.run("r"):
        pay(1)
    reader = c4a.Ledger.open(ledger_path, read_only=True)
    with pytest.raises(LedgerReadOnly):
        reader.rotate_secret()
    reader.close()
    assert use(ledger_path) == ()


# ---- processes that run meanwhile ------------------------------------------------------------------------------------


def test_a_running_process_takes_it_up(ledger, ledger_path, child, monkeypatch):
    """With its next write that comes a second after it looked last; what it reads meanwhile, it can read."""
    running = child("""
        ledger = c4a.init(LEDGER)
        @c4a.effect(name="pay")
        def pay(n): return f"paid {n}"
        while (line := sys.stdin.readline()) != "end\\n":
            with c4a.run("child"): pay(int(line))
            say([row.mac[:4].hex() for row in ledger.store.scan(run="child")][-1], ledger.verify().faults)
    """)

    def write(n):
        running.process.stdin.write(f"{n}\n")
        running.process.stdin.flush()
        key, faults = running.hear()
        assert faults == []
        return key

    old = ledger.keyring.current.hex()
    assert write(1) == old
    ledger.rotate_secret()
    new = ledger.keyring.current.hex()
    assert write(2) in (old, new)
    assert _streams._LOOK_FOR_A_NEW_SECRET == 1.0
    time.sleep(1.05)
    assert write(3) == new
    running.process.stdin.write("end\n")
    assert running.end() == 0


def test_a_running_process_reads_what_the_new_secret_signed_at_once(ledger, ledger_path):
    """An entry whose key it does not know makes it look, however lately it has."""
    other = c4a.Ledger.open(ledger_path)
    for n in range(2):
        ledger.rotate_secret()
        with c4a.run("r"):
            pay(n)
        with c4a.run("r", ledger=other):
            assert pay(n) == f"paid {n}"
    assert other.keyring.current == ledger.keyring.current
    other.close()


def test_four_processes_write_while_the_secret_changes_twice(ledger, ledger_path, child):
    """No error, nothing lost, all three secrets have signed, and verify finds nothing."""
    code = """
        ledger = c4a.init(LEDGER)
        @c4a.effect(name="pay")
        def pay(n): return f"paid {n}"
        say("ready")
        input()
        until, n = time.monotonic() + 3.5, 0
        with c4a.run(str(os.getpid())):
            while time.monotonic() < until:
                assert pay(n) == f"paid {n}"
                n += 1
                time.sleep(0.002)
        say(n, ledger.keyring.current.hex())
    """
    writers = [child(code) for _ in range(4)]
    for writer in writers:
        writer.hear()
    for writer in writers:
        writer.go_on()
    other = c4a.Ledger.open(ledger_path)
    time.sleep(0.3)
    ledger.rotate_secret()
    time.sleep(1.2)
    other.rotate_secret()
    heard = [writer.hear() for writer in writers]
    assert [writer.end() for writer in writers] == [0] * 4
    assert {key for _, key in heard} == {other.store.key_id().hex()}
    assert len(set(signers(other))) == 3
    assert other.verify() == (2 * sum(n for n, _ in heard), sum(n for n, _ in heard), ())
    other.close()


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_of_many_that_change_it_at_once_none_loses_the_secret_of_another(kind, ledger, ledger_path, child):
    """Else the ledger would belong to a secret that nobody has."""
    if kind == "threads":
        threads = [threading.Thread(target=ledger.rotate_secret) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        made = 8
    else:
        code = """
            from call4agents_core import _secrets
            ledger, write = c4a.init(LEDGER), _secrets._write_whole
            _secrets._write_whole = lambda *args: (time.sleep(0.01), write(*args))  # long enough for another one to read
            say("ready")
            input()
            for _ in range(5): ledger.rotate_secret()
        """
        children = [child(code) for _ in range(4)]
        for one in children:
            one.hear()
        for one in children:
            one.go_on()
        assert [one.end() for one in children] == [0] * 4
        made = 20
    assert len(set(secret_file(ledger_path).read_text().split())) == made + 1
    assert use(ledger_path) == ()


# ---- secrets that are given ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_a_given_secret_is_followed_by_another_given_one(how, ledger_path, monkeypatch):
    """New and old given: it opens and goes on with the old one; rotate makes it the new one's; the old one alone is refused."""

    def given(secret, *old):
        if how == "argument":
            return {"secret": secret, "old_secrets": old}
        monkeypatch.setenv("C4A_SECRET", secret)
        monkeypatch.setenv("C4A_OLD_SECRETS", ",".join(old))
        return {}

    assert use(ledger_path, **given(ONE)) == ()
    assert use(ledger_path, 2, **given(TWO, ONE)) == ()
    assert use(ledger_path, 2, **given(ONE)) == ()  # nothing has changed yet
    ledger = c4a.Ledger.open(ledger_path, **given(TWO, ONE))
    ledger.rotate_secret()
    with c4a.run("r", ledger=ledger):
        pay(3)
    assert len(set(signers(ledger))) == 2
    assert ledger.verify().faults == ()
    ledger.close()
    with pytest.raises(SecretMismatch):
        use(ledger_path, **given(ONE))
    assert use(ledger_path, 4, **given(TWO, ONE)) == ()
    ledger = c4a.Ledger.open(ledger_path, **given(TWO))
    assert "not at hand" in "\n".join(ledger.verify().faults)
    with c4a.run("new", ledger=ledger):
        assert pay(1) == "paid 1"
    ledger.close()
    assert not secret_file(ledger_path).exists()


def test_a_given_secret_that_follows_nothing_is_refused(ledger_path):
    """The one that was given already is no new one; and a new one needs the old one beside it."""
    use(ledger_path, secret=ONE)
    ledger = c4a.Ledger.open(ledger_path, secret=ONE)
    with pytest.raises(UsageError, match="given already"):
        ledger.rotate_secret()
    ledger.close()
    ledger = c4a.Ledger.open(ledger_path, secret=TWO, old_secrets=[THREE, ONE])
    ledger.rotate_secret()
    with pytest.raises(UsageError, match="given already"):
        ledger.rotate_secret()
    ledger.close()
    with pytest.raises(SecretMismatch):
        use(ledger_path, secret=THREE, old_secrets=[ONE])


def test_a_running_process_with_both_secrets_takes_up_the_given_one(ledger_path, monkeypatch):
    """One that has only the old one is refused at its next write, before anything runs."""
    use(ledger_path, secret=ONE)
    monkeypatch.setattr(_streams, "_LOOK_FOR_A_NEW_SECRET", 0.0)
    both = c4a.Ledger.open(ledger_path, secret=TWO, old_secrets=[ONE])
    lone = c4a.Ledger.open(ledger_path, secret=ONE)
    changing = c4a.Ledger.open(ledger_path, secret=TWO, old_secrets=[ONE])
    changing.rotate_secret()
    with c4a.run("r", ledger=both):
        pay(2)
    assert both.keyring.current == changing.keyring.current
    ran = []
    act = c4a.effect(name="act")(lambda: ran.append(1))
    with c4a.run("r", ledger=lone), pytest.raises(SecretMismatch):
        act()
    assert ran == []
    for ledger in (both, lone, changing):
        ledger.close()


def test_a_secret_that_the_ledger_never_had_signs_nothing_that_is_believed(ledger, ledger_path, tmp_path):
    """An entry under another secret is refused, also while the own one changes."""
    with c4a.run("r"):
        pay(1)
    (row,) = ledger.store.actions()
    forged = _keys.Keyring(ledger.ledger_id, b"a secret of a stranger")
    state = ledger.state("r", row.action)
    body = b'{"v":1,"kind":"undone","at":1,"by":"x"}'
    from call4agents_core._types import Draft

    mac = forged.sign("r", row.action, 3, state.mac, body)
    ledger.store.append([Draft("r", row.action, 3, body, mac, "pay", "undone")], durable=True)
    ledger.rotate_secret()
    with c4a.run("r"), pytest.raises(LedgerTampered):
        pay(1)
