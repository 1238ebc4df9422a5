"""`call4agents pending`, `approve` and `deny`."""

from __future__ import annotations

import pytest


def test_pending_shows_what_will_run(cli, trips):
    """The arguments with defaults, newest first."""
    out = cli("pending").out
    assert out.index(trips.nasty) < out.index(trips.asked)
    assert "pay(amount=10, to='alice', note=None)" in out
    assert f"call4agents approve {trips.asked}" in out


def test_json_limit_and_run(cli, trips):
    """--json, --limit, --run."""
    assert [one["id"] for one in cli("pending", "--json").json] == [trips.nasty, trips.asked]
    assert [one["id"] for one in cli("pending", "--json", "--limit", 1).json] == [trips.nasty]
    assert cli("pending", "--json", "--run", "trip-1").json == []
    assert cli("pending", "--run", "trip-1").out == "Nothing waits for a yes.\n"


def test_approved_call_runs_once_and_no_other(cli, trips):
    """A yes covers exactly one action with exactly these arguments."""
    assert "pay(amount=10, to='alice', note=None)" in cli("approve", trips.asked, "--by", "ann").out
    assert "ApprovalRequired" in cli.agent("trip-3", "pay(11, 'alice')").err
    assert [cli.agent("trip-3", "pay(10, 'alice')").out for _ in range(2)] == ["10\n", "10\n"]
    assert cli.lines() == ["pay 10 alice"]
    assert trips.asked not in cli("pending").out


def test_approving_twice_gives_one_right(cli, trips):
    """A double click is one yes; after the call it changes nothing, and says so."""
    cli("approve", trips.asked)
    cli("approve", trips.asked)
    assert cli.agent("trip-3", "pay(10, 'alice')").out == "10\n"
    assert "is done already" in cli("approve", trips.asked).out
    assert cli.agent("trip-3", "pay(10, 'alice')").out == "10\n"
    assert cli.lines() == ["pay 10 alice"]


def test_denied_call_is_refused_with_the_reason(cli, trips):
    """A no is enforced, and cannot be turned by a late yes to the same request."""
    assert "Denied: pay(amount=10" in cli("deny", trips.asked, "--by", "bob", "--reason", "too much").out
    refusal = cli.agent("trip-3", "pay(10, 'alice')").err
    assert "ApprovalDenied" in refusal
    assert "too much" in refusal
    cli("approve", trips.asked, code=1)
    assert cli.lines() == []


def test_deny_comes_too_late_after_the_call(cli, trips):
    """What is done stays done: exit 1."""
    cli("approve", trips.asked)
    cli.agent("trip-3", "pay(10, 'alice')")
    assert "too late" in cli("deny", trips.asked, code=1).err


def test_validity_ends(cli, trips):
    """--valid-for counts in seconds, and is checked when the yes is used."""
    assert "Approved until 2" in cli("approve", trips.asked, "--valid-for", 0.001).out
    assert "ApprovalRequired" in cli.agent("trip-3", "pay(10, 'alice')").err
    assert cli.lines() == []


@pytest.mark.parametrize("words", [("approve", "no-such-id"), ("deny", "no-such-id")])
def test_unknown_request_is_exit_2(cli, trips, words):
    """There is no such request."""
    assert "no request 'no-such-id'" in cli(*words, code=2).err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "soon"])
def test_impossible_validity_is_exit_2_and_no_yes(cli, trips, seconds):
    """Nothing is written for it."""
    cli("approve", trips.asked, f"--valid-for={seconds}", code=2)
    assert "ApprovalRequired" in cli.agent("trip-3", "pay(10, 'alice')").err
