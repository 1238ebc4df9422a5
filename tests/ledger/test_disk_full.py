"""A ledger that cannot be written: nothing runs without its intent, and no result is lost in silence."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import call4agents_core as c4a
from call4agents_core.errors import EffectInDoubt, EffectRunning, LedgerError, LedgerReadOnly, ResultNotRecorded
from tests.kit import Boom

pytestmark = pytest.mark.usefixtures("in_run")


@pytest.fixture
def disk(ledger):
    """Fills the disk for the writer of this process, and frees it again."""

    class Disk:
        def fill(self):
            connection = ledger.store._writing().connection
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")

        def free(self):
            ledger.store._writing().connection.execute("PRAGMA max_page_count = 1000000")

    return Disk()


@pytest.fixture
def ran():
    return []


@pytest.fixture
def big(ran, ledger):
    """An effect whose intent and result need pages of their own."""

    @c4a.effect(name="big", wait=0.2)
    def big(text, n=0):
        ran.append(n)
        return [text, n]

    return big


LONG = "x" * 100_000


def test_a_disk_that_is_full_at_the_intent_lets_nothing_run(big, ran, disk, ledger):
    """The tool is not called; once there is room, the call is new."""
    disk.fill()
    for _ in range(2):
        with pytest.raises(LedgerError, match="disk is full") as caught:
            big(LONG)
        assert not isinstance(caught.value, ResultNotRecorded)
    assert ran == []
    disk.free()
    assert big(LONG) == [LONG, 0]
    assert ledger.verify().faults == ()


def test_a_disk_that_is_full_at_the_result_hands_the_result_over(ran, disk, ledger):
    """ResultNotRecorded carries it; later calls are in doubt, in this process and in the next, and a person can resolve it."""

    @c4a.effect(name="big", wait=0.2)
    def big(n):
        ran.append(n)
        disk.fill()
        return [LONG, n]

    with pytest.raises(ResultNotRecorded, match="call4agents resolve r") as caught:
        big(1)
    assert caught.value.result == [LONG, 1]
    assert isinstance(caught.value, LedgerError)
    assert isinstance(caught.value.__cause__, LedgerError)
    for _ in range(2):
        with pytest.raises(EffectInDoubt) as doubt:
            big(1)
        assert not isinstance(doubt.value, EffectRunning)
    disk.free()
    ledger.close()
    again = c4a.Ledger.open(ledger.location)
    with c4a.run("r", ledger=again):
        with pytest.raises(EffectInDoubt, match="its process ended inside it"):
            big(1)
        again.resolve("r", caught.value.action, c4a.happened(caught.value.result))
        assert big(1) == [LONG, 1]
    assert ran == [1]
    again.close()


def test_a_disk_that_is_full_at_a_failure_still_lets_the_failure_out(ran, disk, caplog):
    """The tool's own exception, unchanged; the log says that its end could not be written, and the action is in doubt."""

    @c4a.effect(name="fails", wait=0.2)
    def fails(n):
        ran.append(n)
        raise Boom("why")

    broken = LedgerError("here", "the disk is full")
    with pytest.MonkeyPatch.context() as patch:
        append = c4a.Ledger.append

        def full(self, *args, durable, **more):
            if not durable:
                raise broken
            return append(self, *args, durable=durable, **more)

        patch.setattr(c4a.Ledger, "append", full)
        with pytest.raises(Boom, match="why"):
            fails(1)
    assert "could not be written" in caplog.text
    with pytest.raises(EffectInDoubt, match="its process ended inside it"):
        fails(1)
    assert ran == [1]


def test_a_read_only_ledger_gives_results_and_runs_nothing(big, ran, ledger):
    """What is done can be read; what is new is refused before the tool runs, and so is every decision."""
    assert big("x") == ["x", 0]
    ledger.close()
    reader = c4a.Ledger.open(ledger.location, read_only=True)
    with c4a.run("r", ledger=reader):
        assert big("x") == ["x", 0]
        for write in (
            lambda: big("y"),
            lambda: c4a.approve(big, text="y"),
            lambda: c4a.request_approval(big, text="y"),
        ):
            with pytest.raises(LedgerReadOnly):
                write()
    assert ran == [0]
    reader.close()


def test_a_closed_ledger_says_so(big, ran, ledger):
    """It does not open itself again."""
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="it was closed"):
        big("x")
    assert ran == []


SMALL = """
import call4agents_core as c4a, os, sys
c4a.init(sys.argv[1])
ran = []
@c4a.effect(name="fill")
def fill(n, text):
    ran.append(n)
    return n
def fill_up():
    with open(os.path.join(os.path.dirname(sys.argv[1]), "filler"), "wb", buffering=0) as file:
        try:
            while True: file.write(b"x" * 4096)
        except OSError: pass
@c4a.effect(name="last")
def last(n):
    fill_up()
    return "r" * 50_000
with c4a.run("r"):
    fill(0, "")
    try: last(1)
    except c4a.errors.ResultNotRecorded as error: print("result", len(error.result), flush=True)
    try: fill(1, "y" * 50_000)
    except c4a.errors.LedgerError as error: print("intent", type(error).__name__, ran, flush=True)
    os.unlink(os.path.join(os.path.dirname(sys.argv[1]), "filler"))
    print("after", fill(1, "y" * 50_000), fill(0, ""), ran, flush=True)
    try: last(1)
    except c4a.errors.EffectInDoubt as error: print("doubt", flush=True)
"""


@pytest.fixture
def tiny_disk(tmp_path):
    """A real file system of two megabytes, where this user may mount one."""
    place, mount = tmp_path / "tiny", shutil.which("mount")
    place.mkdir()
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    yield place
    subprocess.run([shutil.which("umount"), place], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_a_real_disk_that_is_full(tiny_disk):
    """At the result: handed over, then in doubt. At the intent: the tool is not called. With room again everything goes on."""
    ledger = tiny_disk / "ledger.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", SMALL, ledger],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"HOME": str(tiny_disk)},
    )
    assert done.stdout.splitlines() == ["result 50000", "intent LedgerError [0]", "after 1 0 [0, 1]", "doubt"], (
        done.stderr
    )


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(big, ran, ledger, monkeypatch):
    """The owners folder is part of the ledger: without it nobody could tell whether an attempt still runs."""
    owners = Path(ledger.location + ".c4a") / "owners"
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(owners)
    owners.write_text("a file in its place")
    with pytest.raises(LedgerReadOnly, match="owners"):
        big("x")
    assert ran == []
