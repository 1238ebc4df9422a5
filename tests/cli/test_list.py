"""`call4agents list`."""

from __future__ import annotations

import pytest

from call4agents_core._rules import DIED


def test_actions_are_listed_newest_first_with_arguments_and_state(cli, trips):
    """A line for each action."""
    lines = cli("list").out.splitlines()
    assert lines[0].split() == ["began", "run", "action", "state", "call"]
    assert [line.split()[1] for line in lines[1:]] == ["trip-3"] * 2 + ["trip-2"] * 2 + ["trip-1"] * 3
    assert lines[3].split()[2:] == [trips.in_doubt[:12], "in-doubt", "charge(amount=666)"]
    assert lines[-1].endswith("  done      book(seat='3C')")


def test_json_has_the_whole_of_each(cli, trips):
    """One array; each object tells run, whole id, tool, arguments, state and a time with its offset."""
    found = cli("list", "--json").json
    assert len(found) == 7
    doubt = found[2]
    began = doubt.pop("began")
    assert doubt == {"run": "trip-2", "action": trips.in_doubt, "tool": "charge", "arguments": {"amount": "666"}, "state": "in-doubt"}  # fmt: skip
    assert began[10] == "T"
    assert began[-6] in "+-"


def test_fifty_unless_limit(cli):
    """The default is 50, and the output says that there are more."""
    assert cli.agent("many", "[book(n) for n in range(51)]").code == 0
    assert len(cli("list", "--json").json) == 50
    assert "There are more." in cli("list").out
    assert "There are more." not in cli("list", "--limit", 51).out
    (newest,) = cli("list", "--json", "--limit", "1").json
    assert newest["arguments"] == {"seat": "50"}


@pytest.mark.parametrize(
    ("option", "runs"),
    [(("--run", "trip-1"), ["trip-1"] * 3), (("--tool", "book"), ["trip-2"] + ["trip-1"] * 3), (("--state", "waiting"), ["trip-3"] * 2),
     (("--state", "in-doubt"), ["trip-2"]), (("--state", "running"), []), (("--state", "done", "--run", "trip-2"), ["trip-2"]),
     (("--tool", "charge", "--state", "done"), [])],
)  # fmt: skip
def test_options_choose(cli, trips, option, runs):
    """--run, --tool and --state, alone and together."""
    assert [one["run"] for one in cli("list", "--json", *option).json] == runs


def test_nothing_to_list_is_said(cli, trips):
    """An empty table would look like a fault."""
    assert cli("list", "--tool", "no-such-tool").out == "No action is like that.\n"


def test_runs_are_listed_with_their_actions(cli, trips):
    """--runs: the run with the newest entry first."""
    found = cli("list", "--runs", "--json").json
    assert [(one["run"], one["actions"]) for one in found] == [("trip-3", 2), ("trip-2", 2), ("trip-1", 3)]
    assert [line.split()[1:] for line in cli("list", "--runs", "--limit", 1).out.splitlines()][:2] == [["action", "run", "actions"], ["trip-3", "2"]]  # fmt: skip


def test_an_attempt_is_running_while_its_process_lives_and_in_doubt_afterwards(cli, trips):
    """An attempt that has no end on record is told by its owner."""
    process = cli.start_agent("live", "charge(7)")
    try:
        assert process.stdout.readline() == "running\n"
        assert [one["run"] for one in cli("list", "--json", "--state", "running").json] == ["live"]
        assert [one["run"] for one in cli("list", "--json", "--state", "in-doubt").json] == ["trip-2"]
        assert [one["run"] for one in cli("doubt", "--json").json] == ["trip-2"]
        assert "attempt 1 began" in cli("show", "live").out
        (action,) = [one["action"] for one in cli("list", "--run", "live", "--json").json]
        assert "alive" in cli("resolve", "live", action, "happened", code=1).err
    finally:
        process.kill()
        process.communicate()
    assert [one["run"] for one in cli("list", "--json", "--state", "in-doubt").json] == ["live", "trip-2"]
    assert cli("doubt", "--json").json[0]["cause"] == DIED
    assert f"in doubt: {DIED}" in cli("show", "live").out


def test_the_state_is_that_of_the_entries_not_of_the_derived_table(cli, trips):
    """The derived table says where to look; what is printed was checked."""
    import sqlite3

    connection = sqlite3.connect(cli.ledger)
    with connection:
        connection.execute("UPDATE c4a_actions SET tool = 'harmless', state = 'done' WHERE state = 'in-doubt'")
    connection.close()
    found = cli("list", "--json", "--run", "trip-2").json[0]
    assert (found["tool"], found["state"]) == ("charge", "in-doubt")
