"""Figures are made round by round, so that a machine which is slow for a while changes none of them."""

from __future__ import annotations

import pytest

from benchmarks.goals import GOALS, PLAIN, Goal
from benchmarks.report import Measured, markdown, plain_rows, rows, text
from benchmarks.samples import excess, plain, ratio, spread, take, turns
from tests.docs.pages import page
from tests.docs.pages import rows as table_rows

NAMES = ("new", "approved", "repeated", "threads", "tasks", "processes", "gap", "stall")


def samples():
    """A value for every name that a figure can ask for."""
    found = {f"{what}.{kind}": [1.0, 2.0] for what in NAMES for kind in ("ours", "peer")}
    found |= {f"{what}.{kind}": [1.0, 2.0] for what in ("same", "anywhere") for kind in ("full", "ten")}
    found |= {f"{what}.{kind}": [1.0, 2.0] for what in ("list", "doubt", "pending") for kind in ("time", "memory")}
    found |= {f"{what}.start": [1.0, 2.0] for what in ("bare", "import", "help", "list")}
    return found | {name: [1.0, 2.0] for name in ("one.floor", "two.floor", "gap.floor", "fill.ours", "size.ours")}


def measured(**changes):
    about = {"machine": {"cores": "2"}, "settings": {"actions": 5000}, "notes": [], "samples": samples()}
    return Measured(**about | changes)


def test_round_in_which_everything_is_slow_changes_no_ratio():
    """Values of one round are divided by values of the same round."""
    quiet = {"new.ours": [1.0, 1.0, 1.0], "new.peer": [2.0, 2.0, 2.0]}
    disturbed = {"new.ours": [1.0, 9.0, 90.0], "new.peer": [2.0, 18.0, 180.0]}
    figure = ratio("new.ours", "new.peer")
    assert figure(quiet) == figure(disturbed) == [0.5, 0.5, 0.5]


def test_excess_is_taken_round_by_round_and_scaled():
    """What is beside it in the same round is taken off."""
    assert excess("a", "b", 1000)({"a": [3.0, 5.0], "b": [1.0, 4.0]}) == [2000, 1000]


def test_figure_of_unequal_rounds_is_refused():
    """Rounds that are missing on one side would shift all that follow."""
    with pytest.raises(ValueError, match="zip"):
        ratio("a", "b")({"a": [1.0], "b": [1.0, 2.0]})


def test_spread_is_the_median_with_the_half_of_the_rounds_around_it():
    """One wild round moves neither."""
    assert spread([1, 2, 3, 4, 1000]) == (3, 2, 4)
    assert spread([7]) == (7, 7, 7)


def test_every_kind_begins_a_round_equally_often_after_one_to_warm_up():
    """Whoever comes first in a round finds another disk than whoever comes last."""
    kinds = ("floor", "peer", "ours")
    order = list(turns(6, kinds))
    assert [number for number, _ in order[:3]] == [0, 0, 0]
    firsts = [kind for place, (number, kind) in enumerate(order) if number and order[place - 1][0] != number]
    assert sorted(firsts) == sorted(kinds * 2)
    assert {frozenset(kind for number, kind in order if number == each) for each in range(7)} == {frozenset(kinds)}


def test_take_adds_one_value_for_each_name():
    """Names are `what.kind`."""
    found = {}
    take(found, "ours", {"new": 1.0})
    take(found, "ours", {"new": 2.0})
    assert found == {"new.ours": [1.0, 2.0]}


# ---- goals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at_least", "value", "met"), [(False, 2.6, False), (False, 2.5, True), (True, 2.4, False), (True, 2.5, True)])  # fmt: skip
def test_bound_is_kept_on_its_own_side(at_least, value, met):
    """At most, or at least; the bound itself is kept."""
    assert Goal("rate", plain("rate"), "x", 2.5, at_least=at_least).met(value) is met


@pytest.mark.parametrize("goal", [*GOALS, *PLAIN], ids=lambda goal: goal.what)
def test_figure_asks_for_samples_that_there_are(goal):
    """A slip in the name of a sample would leave its figure unmeasured for ever."""
    assert goal.found(samples()) is not None


def test_table_says_of_each_goal_whether_it_is_met():
    """Yes, no in capitals, nothing for a figure without a goal, and what was not measured is called so."""
    found = samples() | {"new.peer": [1.0, 2.0], "repeated.ours": [0.1, 0.2]}
    del found["threads.peer"]
    table = {row[0]: row[1:] for row in rows(found)}
    assert table["new action / 0.5.0"] == ("1.00 x", "1.00 to 1.00", "at most 0.5 x", "NO")
    assert table["repeated action / 0.5.0"][-1] == "yes"
    assert table["new action / two durable inserts"][-2:] == ("", "")
    assert table["32 threads, new actions per second / 0.5.0"] == ("not measured", "", "at least 2.5 x", "")


def test_what_is_kept_as_json_gives_the_same_tables():
    """The figures are made of the samples, so a file can be shown again."""
    before = measured(notes=["something was left out"])
    after = Measured.from_json(before.as_json())
    assert (text(after), markdown(after)) == (text(before), markdown(before))
    assert "something was left out" in text(after)
    assert "something was left out" in markdown(after)


def test_page_on_performance_shows_the_tables_of_this_version():
    """Figures and goals of docs/performance.md are those that are measured."""
    shown = table_rows(page("docs/performance.md").text)
    by_name = {row[0]: row for row in shown}
    for goal in rows(samples()):
        assert by_name[goal[0]][3] == goal[3]
    assert {row[0] for row in plain_rows(samples())} <= set(by_name)
