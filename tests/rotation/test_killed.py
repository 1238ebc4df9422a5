"""A change of the secret is killed by SIGKILL at each step: the next start works, with whichever secret the ledger then belongs to."""

from __future__ import annotations

import pytest

import call4agents_core as c4a

pytestmark = pytest.mark.crash

#: How the process dies: before and after each step of the change, and inside the two that write.
DEATHS = {
    "before the secret is written": "_secrets._write_whole = lambda *_: die()",
    "while it is being written": "_secrets.os.fsync = lambda _: die()",
    "before it has its name": "_secrets.os.replace = lambda *_: die()",
    "after the secret, before the ledger's note": "SQLiteStore.rekey = lambda *_: die()",
    "in the transaction of the note": """
writer = ledger.store._writing()
writer.connection.set_trace_callback(lambda sql: die() if sql == "COMMIT" else None)
""",
    "after the note": """
rekey = SQLiteStore.rekey
SQLiteStore.rekey = lambda *args: (rekey(*args), die())
""",
}

CODE = """
from call4agents_core import _secrets
from call4agents_core.stores.sqlite import SQLiteStore
ledger = c4a.init(LEDGER{options})
@c4a.effect(name="pay")
def pay(n): return n
with c4a.run("r"): pay(1)
{death}
ledger.rotate_secret()
"""


def after(ledger_path, **secrets):
    """The next process: it reads, writes, changes the secret once more, and verifies."""
    ledger = c4a.Ledger.open(ledger_path, **secrets)
    pay = c4a.effect(name="pay")(lambda n: pytest.fail("it ran again") if n == 1 else n)
    with c4a.run("r", ledger=ledger):
        assert pay(1) == 1
        assert pay(2) == 2
    assert ledger.verify().faults == ()
    return ledger


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS)
def test_the_next_start_works_wherever_a_change_was_killed(death, tell, ledger_path):
    """The secret is on disk before the ledger belongs to it, and stays there with all older ones."""
    tell(CODE.format(options="", death=death), status=-9)
    file = ledger_path.with_name(ledger_path.name + ".c4a") / "secret"
    ledger = after(ledger_path)
    known = file.read_text().split()
    ledger.rotate_secret()
    assert file.read_text().split()[1:] == known
    ledger.close()
    assert file.stat().st_mode & 0o777 == 0o600
    after(ledger_path).close()


@pytest.mark.parametrize("death", [name for name in DEATHS if "note" in name])
def test_the_next_start_works_with_both_given_secrets(death, tell, ledger_path):
    """Whether the ledger's note was written or not; the change can be made again where it was not."""
    new, old = "the new secret of the ledger", "the old secret of the ledger"
    c4a.Ledger.open(ledger_path, secret=old).close()
    tell(CODE.format(options=f", secret={new!r}, old_secrets=[{old!r}]", death=DEATHS[death]), status=-9)
    ledger = after(ledger_path, secret=new, old_secrets=[old])
    if death == "after the note":
        with pytest.raises(c4a.errors.UsageError):
            ledger.rotate_secret()
    else:
        ledger.rotate_secret()
    ledger.close()
    with pytest.raises(c4a.errors.SecretMismatch):
        c4a.Ledger.open(ledger_path, secret=old)
    after(ledger_path, secret=new, old_secrets=[old]).close()


def test_the_name_of_the_secret_is_on_disk_before_the_ledger_belongs_to_it(tell):
    """A power cut after the note must not take the file back to what it was: file and folder are synced before it."""
    ((order,),) = tell("""
        from call4agents_core import _secrets
        from call4agents_core.stores.sqlite import SQLiteStore
        ledger, order, sync, rekey = c4a.init(LEDGER), [], os.fsync, SQLiteStore.rekey
        def fsync(handle):
            order.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")).split(".")[-1])
            sync(handle)
        os.fsync = fsync
        SQLiteStore.rekey = lambda *args: (order.append("note"), rekey(*args))
        ledger.rotate_secret()
        say([os.path.basename(step) if not step.isdigit() else "file" for step in order])
    """)
    assert order == ["file", "c4a", "note"]
