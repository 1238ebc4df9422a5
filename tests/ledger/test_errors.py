"""The errors: one tree, texts that say what happened and what to do, codes that never change, and all survive pickle."""

import pickle
import shlex

import pytest

import call4agents_core as c4a
from call4agents_core import errors
from call4agents_core._reports import Reversal, UndoReport
from call4agents_core.errors import Call4AgentsError
from tests.kit import Boom, Opaque

FACTS = {"run": "r-1", "tool": "shop.pay", "action": "ab" * 16}
DOUBT = {**FACTS, "since": 1.5, "cause": "its process ended inside it", "ledger": "/data/my ledger.sqlite"}
REQUEST = c4a.ApprovalRequest("0123456789abcdef", *FACTS.values(), {"amount": "10"}, 1.5, "/data/ledger.sqlite")
REPORT = UndoReport("r-1", "ledger", in_doubt=[Reversal("shop.pay", "ab" * 16, {"amount": "10"}, why="it is in doubt")])
PLACE = ("/data/ledger.sqlite", "it is closed on Sundays")

#: One of each class.
EACH = [
    Call4AgentsError("Something happened, and this says what to do about it."),
    errors.UsageError("This cannot mean anything; give a number of seconds instead."),
    errors.NoActiveRun("shop.pay"),
    errors.NotInitialised("shop.pay"),
    errors.UnstableArgument("shop.pay", "amount", "is NaN, which equals nothing"),
    errors.KeyConflict("shop.pay", "r-1", "order-7", ("amount", "to")),
    errors.EffectRefused.repeated(**FACTS),
    errors.EffectInDoubt(**DOUBT),
    errors.EffectRunning(**DOUBT),
    errors.EffectUndone(**FACTS),
    errors.EffectArchived(**FACTS),
    errors.ApprovalRequired(REQUEST),
    errors.ApprovalDenied(**FACTS, by="boss", reason="too much"),
    errors.ResultNotKept(**FACTS, shown="<lock>", why="locks cannot be stored"),
    errors.UndoStopped(REPORT),
    errors.ReplayMismatch(run="r-1", step=3, recorded="shop.pay(10)", called="shop.pay(11)"),
    errors.ReplayMissing(run="r-1", step=3, called="shop.pay(11)"),
    errors.LedgerError(*PLACE),
    errors.LedgerBusy(*PLACE),
    errors.LedgerReadOnly(*PLACE),
    errors.LedgerTampered(PLACE[0], run="r-1", action="ab" * 16, n=3, why="its MAC does not fit"),
    errors.LedgerTooNew(*PLACE),
    errors.LedgerNotFound(PLACE[0]),
    errors.SecretMissing(*PLACE),
    errors.SecretMismatch(*PLACE),
    errors.ResultNotRecorded(PLACE[0], **FACTS, result={"id": 7}, why="the disk is full"),
]
NAMES = [type(error).__name__ for error in EACH]

TREE = {
    "UsageError": "RuntimeError", "NoActiveRun": "UsageError", "NotInitialised": "UsageError", "UnstableArgument": "UsageError TypeError",
    "KeyConflict": "UsageError ValueError", "EffectRefused": "", "EffectInDoubt": "EffectRefused", "EffectRunning": "EffectInDoubt",
    "EffectUndone": "EffectRefused", "EffectArchived": "EffectRefused", "ApprovalRequired": "EffectRefused", "ApprovalDenied": "EffectRefused",
    "ResultNotKept": "EffectRefused", "UndoStopped": "", "ReplayMismatch": "", "ReplayMissing": "", "LedgerError": "", "LedgerBusy": "LedgerError",
    "LedgerReadOnly": "LedgerError", "LedgerTampered": "LedgerError", "LedgerTooNew": "LedgerError", "LedgerNotFound": "LedgerError",
    "SecretMissing": "LedgerError", "SecretMismatch": "LedgerError", "ResultNotRecorded": "LedgerError",
}  # fmt: skip


def all_kinds(kind=Call4AgentsError):
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield below
            yield from all_kinds(below)


def test_the_tree_is_the_one_that_the_design_fixes():
    """Who catches a class catches what stands below it, and no class stands outside the tree."""
    assert {kind.__name__ for kind in all_kinds()} == set(TREE)
    for name, bases in TREE.items():
        ancestors = [kind.__name__ for kind in getattr(errors, name).__mro__]
        assert {"Call4AgentsError", *bases.split()} <= set(ancestors)


def test_there_is_one_of_each_class_here():
    """So that no new class is left out of the tests below."""
    assert sorted(NAMES) == sorted(["Call4AgentsError", *TREE])


@pytest.mark.parametrize("error", EACH, ids=NAMES)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_pickle_with_all_its_facts(error, protocol):
    """Process pools and task queues carry errors about."""
    twin = pickle.loads(pickle.dumps(error, protocol))
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert (twin.code, twin.args) == (error.code, error.args)
    assert twin.__dict__ == error.__dict__
    assert pickle.loads(pickle.dumps(twin, protocol)).__dict__ == error.__dict__


def test_each_class_has_a_code_of_its_own():
    """Stable, in the style of an anchor, and not inherited."""
    codes = [kind.code for kind in (Call4AgentsError, *all_kinds())]
    assert len(set(codes)) == len(codes) == len(TREE) + 1
    assert all(code == code.lower() and code.replace("-", "").isalnum() for code in codes)
    assert all("code" in vars(kind) for kind in all_kinds())


@pytest.mark.parametrize("error", EACH[1:], ids=NAMES[1:])
def test_a_text_says_what_happened_and_what_to_do(error):
    """One or more whole sentences; facts that a program needs are attributes too."""
    text = str(error)
    assert len(text) > 40
    assert text.rstrip("`").endswith((".", ")")), text
    for name in ("run", "tool"):
        if hasattr(error, name) and not isinstance(error, errors.NotInitialised | errors.NoActiveRun):
            assert getattr(error, name) in text or isinstance(error, errors.UnstableArgument)


ADVICE = {
    "NoActiveRun": "call4agents_core.run(",
    "NotInitialised": "call4agents_core.init()",
    "UnstableArgument": "exclude=('amount',)",
    "KeyConflict": "exclude=('amount', 'to',)",
    "EffectRefused": 'repeat="refuse"',
    "EffectInDoubt": "`call4agents resolve r-1 abababababababababababababababab happened --ledger '/data/my ledger.sqlite'`",
    "EffectRunning": "wait=",
    "EffectUndone": "c4a_key",
    "EffectArchived": "archive",
    "ApprovalRequired": "`call4agents approve 0123456789abcdef --ledger /data/ledger.sqlite`",
    "ApprovalDenied": "request_approval()",
    "ResultNotKept": "encode=",
    "LedgerTampered": "`call4agents verify --ledger /data/ledger.sqlite`",
    "LedgerNotFound": "--ledger",
    "ResultNotRecorded": "`call4agents resolve r-1 abababababababababababababababab happened --ledger /data/ledger.sqlite`",
}


@pytest.mark.parametrize("name", ADVICE)
def test_a_text_has_the_whole_command_or_option_that_helps(name):
    """To be typed as it stands, quoted for a shell."""
    assert ADVICE[name] in str(EACH[NAMES.index(name)])


@pytest.mark.parametrize("run", ["two words", "it's", "-dash", "$HOME", "; rm -rf /", "ünï"])
def test_a_command_in_a_text_can_be_typed_as_it_stands(run):
    """Whatever the run is called: the shell takes it apart into the words that are meant."""
    text = str(errors.EffectInDoubt(**{**DOUBT, "run": run}))
    words = shlex.split(text.partition("`")[2].partition("`")[0])
    assert words[:2] == ["call4agents", "resolve"]
    assert {run, "ab" * 16, "happened", "/data/my ledger.sqlite"} <= set(words)
    if run.startswith("-"):
        assert words[words.index(run) - 1] == "--"


def test_no_text_holds_what_cannot_be_seen():
    """Control and bidi characters in names and causes are escaped."""
    hidden = "\x1b[31m\u202e"
    facts = {"run": hidden, "tool": hidden, "action": "ab" * 16}
    made = [
        errors.NoActiveRun(hidden),
        errors.KeyConflict(hidden, hidden, hidden, ("amount",)),
        errors.EffectInDoubt(**facts, since=1, cause=hidden, ledger=hidden),
        errors.ApprovalDenied(**facts, by=hidden, reason=hidden),
        errors.ResultNotKept(**facts, shown=hidden, why=hidden),
        errors.ResultNotRecorded(hidden, **facts, result=None, why=hidden),
        errors.LedgerNotFound(hidden, f"the database has no ledger (its tables: {hidden})"),
    ]
    for one in made:
        assert "\x1b" not in str(one)
        assert "\u202e" not in str(one)


def test_a_result_that_cannot_be_pickled_does_not_keep_its_error_from_it():
    """The error arrives; the result stays behind."""
    twin = pickle.loads(pickle.dumps(errors.ResultNotRecorded("here", **FACTS, result=lambda: 0, why="why")))
    assert twin.result is None
    assert twin.run == "r-1"


@pytest.mark.usefixtures("ledger", "in_run")
def test_errors_as_they_are_raised_survive_pickle():
    """Not only those that a test makes: with a request, a ledger and a cause on them."""

    @c4a.effect(name="pay", approval=lambda n: n == 3)
    def pay(n):
        if n == 1:
            raise Boom
        return Opaque()

    raised = []
    with pytest.raises(Boom):
        pay(1)
    pay(2)
    c4a.deny(pay, n=4)
    for call in (
        lambda: pay(1),
        lambda: pay(2),
        lambda: pay(3),
        lambda: pay(4),
        lambda: pay(object()),
        lambda: c4a.approve("x"),
    ):
        with pytest.raises(Call4AgentsError) as caught:
            call()
        raised.append(caught.value)
    twins = [pickle.loads(pickle.dumps(error)) for error in raised]
    assert [(type(twin), str(twin)) for twin in twins] == [(type(error), str(error)) for error in raised]
    assert twins[2].request == raised[2].request


def test_a_plugin_can_recast_an_error_as_one_of_its_framework():
    """The same facts and text, and also an exception that the framework knows."""

    class Pause(Exception):
        pass

    class Doubt(errors.EffectInDoubt, Pause):
        pass

    error = EACH[NAMES.index("EffectInDoubt")]
    recast = errors.recast(error, Doubt)
    assert isinstance(recast, Pause)
    assert (str(recast), recast.action, recast.code) == (str(error), error.action, error.code)
