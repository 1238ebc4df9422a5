"""A yes covers one action with exactly its arguments; a no is enforced. The rules alone, without a disk."""

from call4agents_core._rules import Asked, Begun, Doubt, Recorded, Refused, Running, Settled
from tests.rules.streams import START, Call, Stream

NEEDY = Call(needs_yes=True)


def test_a_yes_lets_the_call_run_and_is_used_up_by_its_intent():
    """Intent and spending are one entry: it names the yes."""
    stream = Stream()
    yes = stream.approve()
    stream.begin(NEEDY)
    assert stream.entries[-1].data["uses"] == yes.n
    assert stream.state.yes == {}


def test_a_yes_covers_its_own_arguments_only():
    """Another digest is another call: it asks for a yes of its own and does not touch this one."""
    stream = Stream()
    stream.approve(Call("ten"))
    assert stream.call(Call("eleven", needs_yes=True)) == Refused("waiting")
    assert stream.call(Call("ten", needs_yes=True)) == Begun(3)


def test_a_call_that_needs_no_yes_spends_none():
    """What somebody approved in vain is still there, and does no harm."""
    stream = Stream()
    stream.approve()
    stream.begin(Call())
    assert "uses" not in stream.entries[-1].data


def test_saying_yes_twice_gives_one_right():
    """A double click is one click: the second changes nothing."""
    stream = Stream()
    assert stream.approve() is not None
    assert stream.approve() is None
    assert stream.approve(valid_for=60) is None  # it holds without end already
    stream.begin(NEEDY)
    stream.owner = "alive"
    assert isinstance(stream.call(NEEDY), Running)


def test_a_second_yes_that_lasts_longer_replaces_the_first_and_is_still_one_right():
    """The later end counts, and the intent names the newer entry."""
    stream = Stream()
    stream.approve(valid_for=60)
    assert stream.approve(valid_for=60) is None
    assert stream.approve(valid_for=120) is not None
    stream.now += 90
    stream.begin(NEEDY)
    assert stream.entries[-1].data["uses"] == 2
    assert stream.state.yes == {}


def test_saying_yes_after_the_action_is_done_changes_nothing():
    """There is nothing to allow any more."""
    stream = Stream()
    stream.approve()
    stream.finish(stream.begin(NEEDY))
    assert stream.approve() is None
    assert isinstance(stream.call(NEEDY), Recorded)


def test_a_yes_that_comes_while_the_action_runs_does_not_run_it_twice():
    """The second click of a double click may come late."""
    stream = Stream()
    stream.approve()
    attempt = stream.begin(NEEDY)
    stream.approve()
    stream.finish(attempt)
    assert isinstance(stream.call(NEEDY), Recorded)


def test_a_no_cancels_every_unused_yes_of_the_action():
    """Of whatever spelling, and however often it was given."""
    stream = Stream()
    stream.approve(Call("ten"))
    stream.approve(Call("10.00"))
    no = stream.deny()
    for digest in ("ten", "10.00"):
        assert stream.call(Call(digest, needs_yes=True)) == Refused("denied", no)
    assert stream.kinds == ["approved", "approved", "denied"]
    stream.ask()
    assert stream.call(NEEDY).why == "waiting"


def test_a_no_lasts_until_a_new_yes():
    """Then the action runs, with that yes spent even where the effect asks for none."""
    for call in (NEEDY, Call()):
        stream = Stream()
        stream.deny()
        yes = stream.approve()
        stream.begin(call)
        assert stream.entries[-1].data.get("uses") == (yes.n if call.needs_yes else None)


def test_asking_anew_only_turns_the_refusal_into_a_request():
    """After a no, a person has to ask; then calls wait instead of being denied, and still none runs."""
    stream = Stream()
    no = stream.deny()
    assert stream.call(Call()) == Refused("denied", no)
    assert stream.ask() == Asked(2)
    assert stream.call(Call()) == Refused("waiting", stream.entries[1])
    assert stream.call(NEEDY) == Refused("waiting", stream.entries[1])
    stream.approve()
    assert isinstance(stream.call(NEEDY), Begun)


def test_a_denied_call_never_asks_by_itself():
    """However often it is made, no request is opened."""
    stream = Stream()
    stream.deny()
    for _ in range(3):
        stream.call(NEEDY)
    assert stream.kinds == ["denied"]
    assert stream.state.asked is None


def test_a_no_closes_the_request():
    """The request that was open is answered."""
    stream = Stream()
    stream.call(NEEDY)
    stream.deny()
    assert stream.state.asked is None
    assert [entry.n for entry in stream.state.requests] == [1]


def test_asking_names_the_request_that_is_open_for_the_same_arguments():
    """One open request for one call; other arguments under the same key get their own."""
    stream = Stream()
    assert stream.ask(Call("ten")) == Asked(1)
    assert stream.ask(Call("ten")) == Asked(1)
    assert stream.ask(Call("10.00")) == Asked(2)
    assert stream.kinds == ["asked", "asked"]


def test_asking_for_what_is_done_is_pointless_and_says_so():
    """No request is opened for a finished action."""
    stream = Stream()
    stream.finish(stream.begin())
    assert stream.ask() == Settled("it is done")
    assert len(stream.entries) == 2


def test_validity_is_judged_when_the_yes_is_used():
    """Given in time and used too late is no yes; the end itself is too late."""
    for late, runs in ((59.9, True), (60.0, False), (61.0, False)):
        stream = Stream()
        stream.approve(valid_for=60)
        stream.now = START + late
        assert isinstance(stream.call(NEEDY), Begun) is runs
        assert stream.kinds == (["approved", "intent"] if runs else ["approved", "asked"])


def test_an_expired_yes_can_be_given_anew():
    """The later yes counts."""
    stream = Stream()
    stream.approve(valid_for=1)
    stream.now += 2
    assert stream.approve(valid_for=1) is not None
    assert isinstance(stream.call(NEEDY), Begun)


def test_the_yes_holds_on_when_its_attempt_is_proved_not_done():
    """The new attempt uses the same yes; no second one is needed, and none is left over."""
    stream = Stream()
    yes = stream.approve()
    stream.free(stream.begin(NEEDY))
    assert isinstance(stream.call(NEEDY), Begun)
    assert stream.entries[-1].data["uses"] == yes.n
    stream.fail(4)
    stream.resolve("did-not-happen")
    assert isinstance(stream.call(NEEDY), Begun)
    assert stream.state.yes == {}


def test_the_yes_that_holds_on_expires_like_any_other():
    """Its validity is judged again at the next use."""
    stream = Stream()
    stream.approve(valid_for=60)
    stream.free(stream.begin(NEEDY))
    stream.now += 61
    assert stream.call(NEEDY) == Refused("waiting")


def test_a_no_between_two_attempts_stops_the_second():
    """Whether it comes while the first runs or after it has ended, the yes that was used does not come back."""
    for before_the_end in (True, False):
        stream = Stream()
        stream.approve()
        attempt = stream.begin(NEEDY)
        if before_the_end:
            stream.deny()
        stream.free(attempt)
        if not before_the_end:
            stream.deny()
        assert stream.call(NEEDY).why == "denied"
        assert stream.call(Call()).why == "denied"
        stream.ask()
        assert stream.call(NEEDY).why == "waiting"  # nor when somebody asks anew


def test_a_no_does_not_change_what_is_done():
    """It comes too late: nothing is written."""
    stream = Stream()
    stream.finish(stream.begin())
    assert stream.deny() is None
    assert isinstance(stream.call(), Recorded)


def test_an_approved_action_in_doubt_stays_in_doubt():
    """A yes says that it may be done, not whether it was."""
    stream = Stream()
    stream.approve()
    stream.fail(stream.begin(NEEDY))
    stream.approve()
    assert isinstance(stream.call(NEEDY), Doubt)
