"""Cases from public reports: retries, restarts and resumes that did something twice, or lost it.

Each docstring begins with the case's id in the reference list. Left out here, and where they are taken:
#3 (undo, archive, the big test): R10, R28, R31, R32. #4 (PostgreSQL): D30. #5 (LangGraph): D01 to D07, R01 to R05.
#6 (Pydantic AI): R19. #7 (OpenAI Agents): D09, D12, R20, R35. #8 (MCP): D16, D17, D18. #9 (record, replay, diff): R16, R29, R30.
#5 also: D19, an edit into another tool, which needs the framework's decision.
"""

import smtplib
import socket
import threading
from email.message import EmailMessage

import pytest

import call4agents_core as c4a
from call4agents_core.errors import EffectInDoubt, EffectRefused, KeyConflict
from tests.kit import Boom, Safe

# ---- the outside world does it, and says that it failed ---------------------------------------------------------------

REFUND = """
class Unavailable(Exception): pass
class Api:
    def refund(self, charge, key):
        known = open(WORLD).read().split() if os.path.exists(WORLD) else []
        say("key", key)
        if f"{charge}/{key}" not in known: act(f"{charge}/{key}")
        if int(os.environ["FAILS"]): raise Unavailable("503")
        return "refunded"
@c4a.effect(name="refund", idempotent_for=86400)
def refund(charge): return Api().refund(charge, c4a.idempotency_key())
c4a.init(LEDGER)
with c4a.run("order-7"):
    for _ in range(int(os.environ["TRIES"])): attempt(refund, "ch_1")
"""


def test_d08_a_refund_whose_api_answers_503_is_refunded_once(tell, world):
    """D08: the API does the refund and answers 503; three retries and two restarts make one refund, under one key."""
    heard = tell(REFUND, FAILS="1", TRIES="3") + tell(REFUND, FAILS="1", TRIES="1") + tell(REFUND, FAILS="0", TRIES="2")
    keys = [what[1] for what in heard if what[0] == "key"]
    assert len(keys) == 5  # four that failed and one that did not; the last call is answered from the record
    assert len(set(keys)) == 1
    assert world.count() == 1
    assert heard[-2:] == [["value", "refunded"]] * 2


def mail_server(deliver):
    """An SMTP server that takes one mail and hangs up before it says so."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb") as stream:
            stream.write(b"220 ready\r\n")
            stream.flush()
            while line := stream.readline():
                word = line.strip().upper()
                if word == b"DATA":
                    stream.write(b"354 go on\r\n")
                    stream.flush()
                    while stream.readline().strip() != b".":
                        pass
                    deliver()
                    return
                stream.write(b"250 fine\r\n")
                stream.flush()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return listener, thread


@pytest.mark.usefixtures("ledger", "in_run")
def test_r36_a_mail_whose_confirmation_is_lost_is_not_sent_again(world):
    """R36: the server took the mail and the connection broke before it said so; the loop calls again: one mail, in doubt."""
    listener, thread = mail_server(lambda: world.act("mail"))

    @c4a.effect(wait=0.2)
    def send(to, text):
        mail = EmailMessage()
        mail["From"], mail["To"] = "us@example.org", to
        mail.set_content(text)
        with smtplib.SMTP("127.0.0.1", listener.getsockname()[1], timeout=5) as server:
            server.send_message(mail)

    with pytest.raises(smtplib.SMTPException):
        send("bob@example.org", "hello")
    thread.join(10)
    listener.close()
    for _ in range(3):
        with pytest.raises(EffectInDoubt, match="SMTP"):
            send("bob@example.org", "hello")
    assert world.count() == 1


@pytest.mark.usefixtures("ledger", "in_run")
def test_r38_reconcile_looks_up_by_our_own_reference():
    """R38: after a lost connection reconcile= gets key and arguments; its three answers are each taken for what they say."""
    bank, answers = {}, {"happened": None, "did not": None, "unknown": None}

    def look(reference, idempotency_key):
        found = bank.get(idempotency_key)
        if found is not None:
            return c4a.happened(found)
        return c4a.did_not_happen() if reference == "did not" else c4a.unknown()

    @c4a.effect(reconcile=look, wait=0.2)
    def charge(reference):
        first = reference not in tried
        tried.append(reference)
        if reference == "happened" or not first:
            bank[c4a.idempotency_key()] = f"receipt of {reference}"
        if first:
            raise ConnectionError("reset by peer")
        return f"receipt of {reference}"

    tried = []
    for reference in answers:
        with pytest.raises(ConnectionError):
            charge(reference)
    assert charge("happened") == "receipt of happened"
    assert charge("did not") == "receipt of did not"
    with pytest.raises(EffectInDoubt):
        charge("unknown")
    assert tried == ["happened", "did not", "unknown", "did not"]


@pytest.mark.usefixtures("ledger", "in_run")
def test_r27_a_window_judged_by_a_clock_that_moved_never_sends_too_late(clock):
    """R27: an hour back or ahead must never send again after the API has forgotten the key."""
    sent = []

    @c4a.effect(idempotent_for=3600, wait=0.2)
    def pay(n):
        sent.append(n)
        raise Boom

    for n, step in ((1, 3600), (2, -3600)):
        with pytest.raises(Boom):
            pay(n)
        clock.time += step
        with pytest.raises(EffectInDoubt):
            pay(n)
    assert sent == [1, 2]


# ---- retries ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("ledger", "in_run")
def test_r09_a_hidden_second_call_after_an_error_is_refused():
    """R09: a fallback inside a library calls the failed tool again at once, with fewer arguments spelled out."""
    ran = []

    @c4a.effect
    def pay(amount, currency="EUR"):
        ran.append(amount)
        raise Boom

    def library():
        try:
            return pay(10, "EUR")
        except Boom:
            return pay(amount=10)

    for _ in range(2):
        with pytest.raises(EffectInDoubt):
            library()
    assert ran == [10]


@pytest.mark.usefixtures("ledger", "in_run")
def test_r08_a_retried_task_does_not_repeat_the_tools_that_had_succeeded():
    """R08: the second tool fails, the whole task is tried again: the first one gives its result."""
    ran = []

    @c4a.effect
    def book(seat):
        ran.append(seat)
        return f"booked {seat}"

    @c4a.effect(retry_on=Safe)
    def pay(amount):
        ran.append(amount)
        if ran.count(amount) < 3:
            raise Safe
        return "paid"

    def task():
        return book("12A"), pay(10)

    for _ in range(2):
        with pytest.raises(Safe):
            task()
    assert task() == task() == ("booked 12A", "paid")
    assert ran == ["12A", 10, 10, 10]


@pytest.mark.usefixtures("ledger", "in_run")
def test_r12_finishing_one_of_six_pending_actions_starts_none_of_the_others():
    """R12: six wait for a yes; one is approved and done, and no other runs."""
    ran = []

    @c4a.effect(approval=True)
    def long(n):
        ran.append(n)
        return n

    def resume():
        found = []
        for n in range(6):
            try:
                found.append(long(n))
            except EffectRefused:
                found.append(None)
        return found

    assert resume() == [None] * 6
    c4a.approve(long, n=3)
    assert resume() == resume() == [None, None, None, 3, None, None]
    assert ran == [3]
    assert len(c4a.pending()) == 5


@pytest.mark.usefixtures("ledger", "in_run")
def test_r15_an_action_inside_a_retried_action_is_done_once():
    """R15: the outer one is tried again, and finds what the inner one had done."""
    written = []

    @c4a.effect
    def write(line):
        written.append(line)
        return len(written)

    @c4a.effect(retry_on=Safe)
    def step(n):
        at = write("begun")
        if n not in tried:
            tried.append(n)
            raise Safe
        return at

    tried = []
    with pytest.raises(Safe):
        step(1)
    assert step(1) == 1
    assert written == ["begun"]


@pytest.mark.usefixtures("ledger", "in_run")
def test_r34_a_failure_that_passes_is_neither_lost_nor_called_done(ledger):
    """R34: what retry_on= names is tried again; any other failure is seen as a doubt, not as done."""
    ran = []

    @c4a.effect(retry_on=TimeoutError, wait=0.2)
    def answer(mail):
        ran.append(mail)
        if ran.count(mail) == 1:
            raise TimeoutError if mail == "first" else Boom
        return "answered"

    for mail, error in (("first", TimeoutError), ("second", Boom)):
        with pytest.raises(error):
            answer(mail)
    assert answer("first") == "answered"
    with pytest.raises(EffectInDoubt):
        answer("second")
    assert sorted(row.state for row in ledger.store.actions()) == ["done", "in-doubt"]


# ---- which call is which ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("ledger", "in_run")
def test_d24_a_reworded_reason_does_not_pay_twice(ledger):
    """D24: the key is the order, not what the model wrote; without a key, two near-identical actions are seen in the list."""
    paid = []

    @c4a.effect(name="pay")
    def pay(amount, reason):
        paid.append(reason)
        return len(paid)

    with pytest.raises(KeyConflict, match="reason"):
        [pay(10, reason, c4a_key="order-7") for reason in ("the invoice", "for the invoice")]
    keyed = c4a.effect(name="keyed", exclude=("reason",))(pay.__wrapped__)
    assert keyed(20, "invoice", c4a_key="order-8") == keyed(20, "the invoice of May", c4a_key="order-8")
    before = len(paid)
    assert pay(30, "request 6f1c") != pay(30, "request 77aa")
    assert len(paid) == before + 2
    assert len(ledger.store.actions(tool="pay")) == 3


@pytest.mark.usefixtures("ledger", "in_run")
def test_r37_a_short_lived_token_is_no_part_of_the_key():
    """R37: excluded, it still reaches the tool, and a fresh one does not make a second payment."""
    seen = []

    @c4a.effect(exclude=("token",))
    def pay(amount, token):
        seen.append(token)
        return "paid"

    assert [pay(10, "token of monday"), pay(10, token="token of tuesday")] == ["paid", "paid"]
    assert seen == ["token of monday"]


@pytest.mark.usefixtures("ledger", "in_run")
def test_r39_one_key_with_other_arguments_is_an_error(ledger):
    """R39: never the old result for a new question; and a failed call is not remembered as a result."""
    ran = []

    @c4a.effect(retry_on=Safe)
    def pay(amount):
        ran.append(amount)
        if len(ran) == 1:
            raise Safe
        return amount

    with pytest.raises(Safe):
        pay(10, c4a_key="k")
    with pytest.raises(KeyConflict):
        pay(11, c4a_key="k")
    assert pay(10, c4a_key="k") == 10
    with pytest.raises(KeyConflict):
        pay(11, c4a_key="k")
    assert ran == [10, 10]


DEPLOYED = """
c4a.init(LEDGER)
def make(name):
    def first(n): return act("charge") or "charged"
    return c4a.effect(first) if name == "" else c4a.effect(name=name)(first)
with c4a.run("r"): say(make(os.environ["NAME"])(1))
"""


def test_r33_an_action_survives_the_move_of_its_function_where_it_has_a_name(tell, world, ledger):
    """R33: a deploy moves or renames the function; with name= it is the same action, without it the old one is seen alone."""
    tell(DEPLOYED, NAME="charge")
    ran = []

    @c4a.effect(name="charge")
    def charge_card(n):
        ran.append(n)
        return "charged"

    @c4a.effect
    def unnamed(n):
        ran.append(n)
        return "charged"

    with c4a.run("r"):
        assert charge_card(1) == "charged"
        assert ran == []
        unnamed(1)
    assert ran == [1]
    assert {row.tool for row in ledger.store.actions()} == {"charge", f"{__name__}.{unnamed.__qualname__}"}
