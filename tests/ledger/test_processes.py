"""Interrupted writers and forked children: what one thread or process does must not be taken for another's."""

import os
import subprocess
import sys

import pytest

import call4agents_core as c4a
from call4agents_core.errors import EffectInDoubt, EffectRunning

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


# ---- an interrupted writer -------------------------------------------------------------------------------------------

INTERRUPTED = """
ledger = c4a.init(LEDGER)
@c4a.effect(name="pay", wait=0.1)
def pay(n):
    act(f"paid {n}")
    return n
with c4a.run("r"):
    pay(0)
    lock = ledger.store._writing().lock
    held, free = threading.Event(), threading.Event()
    def hold():
        with lock:
            held.set()
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
            free.wait(10)
    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    threading.Timer(0.6, free.set).start()
    attempt(pay, 1)
    holder.join()
    attempt(pay, 2)
    attempt(pay, 1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_a_call_that_is_interrupted_while_its_intent_waits_leaves_no_doubt(tell, world):
    """Ctrl-C in one thread while another writes: nobody writes the intent later on, and the action is new."""
    assert tell(INTERRUPTED) == [["KeyboardInterrupt", ""], ["value", 2], ["value", 1]]
    assert world.lines() == ["paid 0", "paid 2", "paid 1"]


ENDS = """
import asyncio, sys, threading
import call4agents_core as c4a
@c4a.effect(name="pay", wait=20)
def pay(n): return n
c4a.init(sys.argv[1])
def call():
    with c4a.run("r"): pay(1)
threads = [threading.Thread(target=call) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_a_process_that_never_closed_its_ledger_ends_in_silence(ledger_path):
    """Whatever is left of the interpreter when the ledger goes."""
    for _ in range(3):
        command = [sys.executable, "-c", ENDS, ledger_path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert (done.stdout, done.stderr) == ("", "")


# ---- fork ------------------------------------------------------------------------------------------------------------

FORKS_IN_A_TOOL = """
import warnings
ledger = c4a.init(LEDGER)
@c4a.effect(name="pay", wait=0.1)
def pay(n):
    act("parent")
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
    return "parent's"
with c4a.run("r"):
    try: say("value", pay(1))
    except SystemExit: os._exit(0)
    attempt(pay, 1)
say(len(ledger.verify().faults))
"""


@forks
def test_a_child_that_comes_back_out_of_a_tool_does_not_end_its_parents_attempt(tell, world):
    """The attempt belongs to the process that began it: the child's exit is not its failure."""
    heard = tell(FORKS_IN_A_TOOL)
    assert heard == [["value", "parent's"], ["value", "parent's"], [0]]
    assert world.count() == 1


USES_ITS_LEDGER_IN_A_CHILD = """
ledger = c4a.init(LEDGER)
@c4a.effect(name="pay")
def pay(n):
    act(f"paid {n}")
    return n
@c4a.effect(name="slow", wait=0.2)
def slow(n):
    act("slow")
    time.sleep(0.5)
with c4a.run("r"):
    pay(1)
    running = threading.Thread(target=lambda: c4a.run("r")(slow)(1))
    running.start()
    while "slow" not in open(WORLD).read(): time.sleep(0.01)
    child = os.fork()
    if child == 0:
        attempt(pay, 1)
        attempt(pay, 2)
        attempt(slow, 1)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    running.join()
    attempt(pay, 2)
    attempt(slow, 1)
say(list(ledger.verify().faults))
"""


@forks
def test_a_forked_child_uses_the_ledger_as_a_process_of_its_own(tell, world):
    """It reads what was done, runs what is new, and sees its parent's attempts as those of another live process."""
    heard = tell(USES_ITS_LEDGER_IN_A_CHILD, PYTHONWARNINGS="ignore::DeprecationWarning")
    assert heard[:2] == [["value", 1], ["value", 2]]
    assert heard[2][0] == "EffectRunning"
    assert heard[3:] == [["value", 2], ["value", None], [[]]]
    assert world.lines() == ["paid 1", "slow", "paid 2"]


OUTLIVES_ITS_PARENT = """
c4a.init(LEDGER)
@c4a.effect(name="pay")
def pay(n):
    act()
    if os.fork() == 0:
        os.close(1)
        time.sleep(20)
        os._exit(0)
    die()
with c4a.run("r"): pay(1)
"""


@forks
@pytest.mark.crash
def test_a_child_that_outlives_its_killed_parent_does_not_keep_the_action_alive(tell, world, ledger):
    """Its lock is not inherited."""
    tell(OUTLIVES_ITS_PARENT, status=-9)

    @c4a.effect(name="pay", wait=0.2)
    def pay(n):
        """Never runs."""

    with c4a.run("r"), pytest.raises(EffectInDoubt) as caught:
        pay(1)
    assert not isinstance(caught.value, EffectRunning)
    assert world.count() == 1


MEMORY = """
ledger = c4a.init(":memory:")
@c4a.effect(name="pay")
def pay(n):
    act()
with c4a.run("r"):
    pay(1)
    if (child := os.fork()) == 0:
        attempt(pay, 1)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""


@forks
def test_a_ledger_in_memory_does_not_reach_into_a_child(tell, world):
    """Two copies of it would each run everything."""
    ((kind, text),) = tell(MEMORY)
    assert kind == "LedgerError"
    assert "forked" in text
    assert world.count() == 1
