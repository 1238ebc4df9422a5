"""The short form of the big test: a few orders, a few workers, a few kills in each window. The long form: make bigtest."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parent

pytestmark = pytest.mark.crash


@pytest.fixture(scope="module")
def short():
    """One seed, whose server shows all its manners, played to its end by the runner; and its control."""
    words = {"--seed": 8, "--orders": 30, "--workers": 4, "--kills": 2, "--seconds": 45}
    line = [sys.executable, str(HERE / "run.py"), *(str(word) for pair in words.items() for word in pair)]
    done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=110)
    with_us, without = done.stdout.splitlines()[-2:]
    return SimpleNamespace(code=done.returncode, told=done.stdout + done.stderr, with_us=with_us, without=without)


def test_every_order_is_charged_exactly_once_whoever_dies_where(short):
    """Kills before, inside and after the charge, a server with bad manners: no double, nothing lost, no doubt left."""
    assert short.code == 0, short.told
    assert "orders 30, charges 30, doubles 0, lost 0, in doubt 0;" in short.with_us


def test_the_same_workers_without_us_charge_twice(short):
    """The control: otherwise the test would be too mild to prove anything."""
    assert "WITHOUT us" in short.without, short.told
    assert "doubles 0" not in short.without


# ---- the judge, who could be wrong too -----------------------------------------------------------------------------


@pytest.fixture
def judge(monkeypatch, tmp_path):
    """The judge, with a board of three orders that are all struck off: order 0 by charge 1, and so on."""
    monkeypatch.syspath_prepend(HERE)
    board, judge = importlib.import_module("board"), importlib.import_module("judge")
    drawn = board.Board(tmp_path / "board", 3)
    for order in range(3):
        drawn.settle(order, order + 1)
    yield SimpleNamespace(**{**vars(judge), "board": drawn})
    drawn.close()


def charges(*orders):
    """What the server charged: these orders, in this order."""
    return [{"charge": number, "order": order} for number, order in enumerate(orders, 1)]


def enough(judge):
    """As many kills as are wanted."""
    return Counter(dict.fromkeys(judge.WINDOWS, 5))


def test_the_judge_has_nothing_against_one_charge_for_each_order(judge):
    """What the other tests here take away from."""
    assert judge.judged(charges(0, 1, 2), judge.board, kills=enough(judge)).complaints(5) == []


def test_the_judge_counts_each_charge_beyond_the_first(judge):
    """Three charges of one order are two doubles."""
    assert judge.judged(charges(0, 1, 2, 2, 2), judge.board).doubles == 2


@pytest.mark.parametrize(
    ("made", "receipts"), [((0, 1), {}), ((0, 1, 2), {2: 0}), ((0, 1, 2), {2: 1})], ids=["uncharged", "open", "false"]
)
def test_the_judge_takes_an_order_without_charge_or_true_receipt_for_lost(judge, made, receipts):
    """An order that was never charged, one that was never struck off, and one whose receipt is another's."""
    for order, receipt in receipts.items():
        judge.board.settle(order, receipt)
    verdict = judge.judged(charges(*made), judge.board, kills=enough(judge))
    assert verdict.complaints(5) == ["lost: 1"]


def test_the_judge_wants_its_kills_in_every_window_and_no_doubt_left(judge):
    """A test that kills too little, or leaves a doubt, has failed."""
    verdict = judge.judged(charges(0, 1, 2), judge.board, kills=enough(judge) - Counter(inside=1), in_doubt=1)
    assert verdict.complaints(5) == ["in doubt: 1", "too few kills inside the charge"]


@pytest.mark.parametrize(
    ("phase", "charged", "window"),
    [
        ("BEFORE", False, "before"),
        ("BEFORE", True, "elsewhere"),
        ("INSIDE", False, "inside"),
        ("INSIDE", True, "inside"),
        ("OVER", True, "after"),
        ("OVER", False, "elsewhere"),
        ("CALLING", False, "elsewhere"),
        ("IDLE", True, "elsewhere"),
    ],
)
def test_a_kill_counts_where_worker_and_server_agree_that_it_was(judge, phase, charged, window):
    """The worker's last word alone is not enough: before means that nothing was charged yet, after that it was."""
    judge.board.show(0, 2, judge.Phase[phase])
    assert judge.window_of(judge.board.place(0), charges(2 if charged else 1)) == window
