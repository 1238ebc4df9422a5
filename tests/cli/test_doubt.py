"""`call4agents doubt` and `call4agents resolve`."""

from __future__ import annotations

import shlex

import pytest

from call4agents_core._rules import DIED


def test_doubt_tells_since_when_why_the_key_and_what_to_type(cli, trips):
    """All that a person needs who is called at night."""
    out = cli("doubt").out
    assert "charge(amount=666)" in out
    for part in ("trip-2", trips.in_doubt, "ConnectionError", "reset by peer", "c4a-", "since"):
        assert part in out
    assert "book" not in out


def test_the_command_that_doubt_prints_resolves(cli, trips):
    """It can be pasted as it is."""
    (line,) = [line.split(None, 1)[1] for line in cli("doubt").out.splitlines() if line.startswith("  resolve ")]
    program, *words = shlex.split(line)
    assert program == "call4agents"
    cli(*words, ledger=False)
    assert cli("doubt").out == "Nothing is in doubt.\n"


def test_json(cli, trips):
    """One array with both command lines for each."""
    (one,) = cli("doubt", "--json").json
    assert (one["run"], one["action"], one["arguments"]) == ("trip-2", trips.in_doubt, {"amount": "666"})
    assert [line.split()[4] for line in one["resolve"]] == ["happened", "did-not-happen"]
    assert cli("doubt", "--json", "--limit", 1).json == [one]


def test_fail_if_any(cli, trips):
    """3 while there is a doubt, 0 afterwards; without the option always 0."""
    cli("doubt")
    cli("doubt", "--fail-if-any", code=3)
    cli("doubt", "--fail-if-any", "--json", code=3)
    cli("resolve", "trip-2", trips.in_doubt, "did-not-happen")
    cli("doubt", "--fail-if-any")
    assert cli("doubt", "--json").json == []


def test_a_killed_process_leaves_a_doubt(cli):
    """SIGKILL inside the tool."""
    cli.agent("r", "charge(13)")
    (one,) = cli("doubt", "--json").json
    assert one["cause"] == DIED


def test_happened_gives_the_result_to_the_next_call(cli, trips):
    """--result comes back, and the tool does not run."""
    out = cli("resolve", "trip-2", trips.in_doubt[:10], "happened", "--result", '{"charged": 666}').out
    assert "charge(amount=666)" in out
    assert cli.agent("trip-2", "charge(666)").out == "{'charged': 666}\n"
    assert cli.lines() == []


def test_did_not_happen_lets_it_run_again(cli, trips):
    """A new attempt, which raises anew in this world."""
    cli("resolve", "trip-2", trips.in_doubt, "did-not-happen")
    assert "ConnectionError" in cli.agent("trip-2", "charge(666)").err
    assert cli.lines() == ["charge 666"]


@pytest.mark.parametrize("result", ["{no json", "NaN", "", "sent"])
def test_a_result_that_is_no_json_is_exit_2_and_changes_nothing(cli, trips, result):
    """A typo never becomes the result of a payment."""
    assert "Nothing was written" in cli("resolve", "trip-2", trips.in_doubt, "happened", "--result", result, code=2).err
    cli("doubt", "--fail-if-any", code=3)


def test_a_result_goes_with_happened_only(cli, trips):
    """What did not happen has no result."""
    cli("resolve", "trip-2", trips.in_doubt, "did-not-happen", "--result", "1", code=2)
    cli("doubt", "--fail-if-any", code=3)


def test_what_is_done_is_not_resolved(cli, trips):
    """Refused with 1: the action is there, and the answer is no."""
    done = next(one["action"] for one in cli("list", "--run", "trip-2", "--json").json if one["state"] == "done")
    assert "nothing to resolve" in cli("resolve", "trip-2", done, "did-not-happen", code=1).err
    assert cli.agent("trip-2", "book('9Z')").out == "'ref-9Z'\n"
    assert cli.lines() == []


@pytest.mark.parametrize(("run", "action"), [("trip-2", "ffffffff"), ("trip-9", "ffffffff"), ("trip-1", "")])
def test_an_unknown_action_is_exit_2(cli, trips, run, action):
    """There is no such thing."""
    cli("resolve", run, action, "happened", code=2)
    cli("doubt", "--fail-if-any", code=3)
