"""redact=: the value of an argument is in the key and nowhere else."""

import logging

import pytest

import call4agents_core as c4a
from call4agents_core.errors import ApprovalRequired, EffectInDoubt, KeyConflict, UnstableArgument
from tests.kit import Boom, files_of

pytestmark = pytest.mark.usefixtures("in_run")

#: No bytes of a ledger look so by chance.
TRACE, DIGITS = "Zq4711qZ", 471_104_711_047_110
PEM = f"-----BEGIN KEY-----\nMIIB{TRACE}\n-----END KEY-----"
SECRETS = {
    "a token": (f"sk-live-{TRACE}", TRACE),
    "with both quotes": (f'it\'s "{TRACE}"', TRACE),
    "with a backslash": (f"back\\slash-{TRACE}", TRACE),
    "of several lines": (PEM, TRACE),
    "bytes": (f"sk-live-{TRACE}".encode(), TRACE),
    "a number": (DIGITS, str(DIGITS)),
    "in a dict": ({"headers": {"Authorization": f"Bearer {TRACE}"}}, TRACE),
    "in a list": ([f"sk-{TRACE}-a", (f"sk-{TRACE}-b",)], TRACE),
    "not ASCII": (f"schlüssel-{TRACE}", TRACE),
}


@pytest.mark.parametrize(("token", "trace"), SECRETS.values(), ids=SECRETS)
def test_the_value_is_in_no_file_and_no_text(token, trace, ledger, caplog):
    """Asked for, approved, run, and raised with the value in the message: nothing of it stays."""
    caplog.set_level(logging.DEBUG)
    texts = []

    @c4a.effect(redact=("token",), approval=True)
    def call(what, token):
        if what == "boom":
            parts = list(token.values()) if isinstance(token, dict) else token if isinstance(token, list) else [token]
            raise Boom(f"the server refused {token}", token, *parts, str(parts[0]))
        return "fine"

    for what in ("get", "boom"):
        with pytest.raises(ApprovalRequired) as asked:
            call(what, token)
        texts += [str(asked.value), repr(asked.value.request), repr(c4a.pending())]
        c4a.approve(call, what=what, token=token)
    assert call("get", token) == "fine"
    with pytest.raises(Boom):
        call("boom", token)
    with pytest.raises(EffectInDoubt) as doubt:
        call("boom", token)
    texts += [str(doubt.value), doubt.value.cause, caplog.text]
    assert "Boom" in doubt.value.cause
    assert not [text for text in texts if trace in text]
    assert trace.encode() not in files_of(ledger)


def test_the_value_is_still_in_the_key(ledger):
    """Two tokens are two actions, and a yes for the one is none for the other."""
    ran = []

    @c4a.effect(redact="token", approval=True)
    def call(token):
        ran.append(token)
        return len(ran)

    c4a.approve(call, token="one")
    with pytest.raises(ApprovalRequired):
        call("two")
    assert [call("one"), call("one")] == [1, 1]
    c4a.approve(call, token="two")
    assert call("two") == 2
    assert ran == ["one", "two"]


def test_the_shown_call_says_that_something_is_hidden(ledger):
    """A person sees that there is an argument, and not its value."""

    @c4a.effect(redact=("token",), approval=True)
    def call(what, token):
        """Never runs."""

    assert c4a.request_approval(call, what="get", token="x").arguments == {"what": "'get'", "token": "<redacted>"}


def test_a_conflict_names_the_argument_and_not_its_value(ledger):
    """Under one c4a_key, another token is another call."""

    @c4a.effect(redact=("token",))
    def call(token):
        return "fine"

    call("sk-live-4711", c4a_key="k")
    with pytest.raises(KeyConflict, match="token") as caught:
        call("sk-live-4712", c4a_key="k")
    assert "471" not in str(caught.value)


def test_an_unstable_argument_is_named_without_what_is_in_it(ledger):
    """The path to the part at fault shows keys of a dict, and those may be what is to be hidden."""

    @c4a.effect(redact=("token",))
    def call(token):
        """Never runs."""

    with pytest.raises(UnstableArgument, match="token") as caught:
        call({"sk-live-4711": object()})
    assert "4711" not in str(caught.value)


def test_a_long_message_is_not_cut_inside_the_value(ledger):
    """Half a secret is too much."""

    @c4a.effect(redact=("token",))
    def call(token):
        raise Boom("x" * 480 + token)

    token = "sk-live-" + "0123456789" * 2
    with pytest.raises(Boom):
        call(token)
    with pytest.raises(EffectInDoubt) as caught:
        call(token)
    assert "sk-l" not in caught.value.cause


class Rude:
    def __str__(self):
        raise RuntimeError("no text for you")

    __repr__ = __str__


def test_a_value_that_has_no_text_does_not_get_in_the_way(ledger):
    """The tool's own exception is what the caller gets."""

    @c4a.effect(redact=("token",))
    def call(token):
        raise Boom("why")

    with pytest.raises(Boom):
        call(Rude(), c4a_key="k")
    with pytest.raises(EffectInDoubt, match="why"):
        call(Rude(), c4a_key="k")
