"""What an archive moves, what it leaves, and what the ledger does with what has moved."""

from __future__ import annotations

import pytest

import call4agents_core as c4a
from call4agents_core.errors import (
    ApprovalDenied,
    ApprovalRequired,
    EffectArchived,
    EffectInDoubt,
    LedgerReadOnly,
)
from tests.kit import Boom, Safe


def runs_of(ledger, state):
    return sorted({row.run for row in ledger.store.actions(states=(state,))})


# ---- what moves ------------------------------------------------------------------------------------------------------


def test_whole_settled_runs_move_and_all_others_stay(ledger, tools, volume, world, archived, sound, child):
    """Running, in doubt, waiting and approved actions keep their whole run here; done, denied and not done ones let it go."""
    for run in ("done", "running", "in doubt", "waiting", "approved", "denied", "not done"):
        with c4a.run(run):
            tools.pay(1)
    with c4a.run("in doubt"), pytest.raises(Boom):
        tools.risky(1)
    with c4a.run("not done"), pytest.raises(Safe):
        tools.risky("safe")
    with c4a.run("waiting"), pytest.raises(ApprovalRequired):
        tools.guarded(1)
    c4a.approve(tools.guarded, n=1, c4a_run="approved")
    c4a.deny(tools.guarded, n=1, c4a_run="denied")
    running = child("""
        c4a.init(LEDGER)
        @c4a.effect(name="slow")
        def slow():
            say("inside")
            input()
        with c4a.run("running"): slow()
    """)
    running.hear()

    moved = ledger.archive(volume, older_than=0)

    assert moved == (3, 5, 9, 0)
    assert archived() == {
        "done": [("pay", "done")],
        "denied": [("guarded", "denied"), ("pay", "done")],
        "not done": [("pay", "done"), ("risky", "not-done")],
    }
    assert runs_of(ledger, "archived") == ["denied", "done", "not done"]
    assert runs_of(ledger, "done") == ["approved", "in doubt", "running", "waiting"]
    sound()
    running.go_on()
    assert running.end() == 0


def test_young_runs_stay_until_they_are_old(ledger, tools, volume, clock, archived):
    """The age of a run is that of its newest entry, in days."""
    with c4a.run("old"):
        tools.pay(1)
    with c4a.run("used again"):
        tools.pay(1)
    clock.time += 86_400
    with c4a.run("used again"):
        tools.pay(2)
    clock.time += 86_400

    assert ledger.archive(volume, older_than=2.01) == (0, 0, 0, 2)
    assert ledger.archive(volume, older_than=1.5) == (1, 1, 2, 1)
    assert list(archived()) == ["old"]
    assert ledger.archive(volume, older_than=1) == (1, 2, 4, 0)
    assert sorted(archived()) == ["old", "used again"]


def test_progress_is_told_each_run_that_moved(ledger, tools, volume):
    """And no other one."""
    for run in ("a", "b"):
        with c4a.run(run):
            tools.pay(1)
    with c4a.run("c"), pytest.raises(ApprovalRequired):
        tools.guarded(1)
    told = []
    ledger.archive(volume, older_than=0, progress=told.append)
    assert sorted(told) == ["a", "b"]


def test_a_run_that_is_used_while_it_is_copied_stays_whole(ledger, tools, volume, world, monkeypatch, sound):
    """What was copied of it is completed by the next archive; nothing is lost and nothing stands twice."""
    with c4a.run("r"):
        tools.pay(1)
    entomb = ledger.store.entomb

    def used_meanwhile(run, last, stones):
        with c4a.run("r"):
            tools.pay(2)
        return entomb(run, last, stones)

    with monkeypatch.context() as patch:
        patch.setattr(ledger.store, "entomb", used_meanwhile)
        assert ledger.archive(volume, older_than=0) == (0, 0, 0, 1)
    assert runs_of(ledger, "archived") == []
    with c4a.run("r"):
        assert tools.pay(1) == "pay 1"
    assert ledger.archive(volume, older_than=0) == (1, 2, 4, 0)
    assert world.count() == 2
    sound()


def test_of_two_archives_at_once_neither_leaves_out_what_the_other_has_not_copied(
    ledger, tools, volume, monkeypatch, sound
):
    """An append that finds its place taken looks again, and copies the rest."""
    with c4a.run("r"):
        with pytest.raises(Safe):
            tools.risky("safe")
        (row,) = ledger.store.actions()
        rows = ledger.store.read("r", row.action)
        with pytest.raises(Safe):
            tools.risky("safe")
    from call4agents_core._types import Draft
    from call4agents_core.stores.sqlite import SQLiteStore

    append, raced = SQLiteStore.append, []

    def other_first(store, drafts, *, durable):
        if store.location != ledger.location and not raced:
            raced.append(store)
            half = [Draft(one.run, one.action, one.n, one.body, one.mac, "risky", "not-done") for one in rows]
            assert append(store, half, durable=False)
        return append(store, drafts, durable=durable)

    monkeypatch.setattr(SQLiteStore, "append", other_first)
    assert ledger.archive(volume, older_than=0).entries == 4
    assert raced
    archive = c4a.Ledger.open(volume, read_only=True)
    assert len(archive.store.read("r", row.action)) == 4
    archive.close()
    sound()


def test_what_is_denied_or_in_doubt_says_so_until_it_moves(ledger, tools, volume):
    """An archive that leaves a run alone changes nothing of it."""
    with c4a.run("r"):
        with pytest.raises(Boom):
            tools.risky(1)
        c4a.deny(tools.guarded, n=1)
    ledger.archive(volume, older_than=0)
    with c4a.run("r"):
        with pytest.raises(EffectInDoubt):
            tools.risky(1)
        with pytest.raises(ApprovalDenied):
            tools.guarded(1)


# ---- afterwards ------------------------------------------------------------------------------------------------------


def test_what_has_moved_is_never_run_again(ledger, tools, volume, world):
    """Done, denied or not done: EffectArchived; and no decision about it opens it again."""
    with c4a.run("r"):
        tools.pay(1)
        with pytest.raises(Safe):
            tools.risky("safe")
        c4a.deny(tools.guarded, n=1)
    ledger.archive(volume, older_than=0)
    before = world.lines()
    with c4a.run("r"):
        for call in (lambda: tools.pay(1), lambda: tools.risky("safe"), lambda: tools.guarded(1)):
            with pytest.raises(EffectArchived):
                call()
            with pytest.raises(EffectArchived):
                call()
    assert world.lines() == before
    assert c4a.pending() == []


def test_new_actions_of_an_archived_run_work_and_move_into_the_same_archive(
    ledger, tools, volume, world, archived, sound
):
    """As often as one likes; what is there stays as it is."""
    for n in range(3):
        with c4a.run("r"):
            tools.pay(n)
        assert ledger.archive(volume, older_than=0) == (1, 1, 2, 0)
        assert archived() == {"r": [("pay", "done")] * (n + 1)}
        sound()
    assert ledger.archive(volume, older_than=0) == (0, 0, 0, 0)
    assert world.count() == 3
    with c4a.run("r"):
        for n in range(3):
            with pytest.raises(EffectArchived):
                tools.pay(n)


def test_each_month_may_have_an_archive_of_its_own(ledger, tools, tmp_path):
    """What moves into the second is in the second only."""
    for n in (1, 2):
        with c4a.run("r"):
            tools.pay(n)
        ledger.archive(tmp_path / f"{n}.sqlite", older_than=0)
    for n in (1, 2):
        archive = c4a.Ledger.open(tmp_path / f"{n}.sqlite", read_only=True)
        assert archive.verify() == (2, 1, ())
        archive.close()


def test_repeats_go_on_counting_behind_those_that_have_moved(ledger, tools, volume, world, archived):
    """repeat="run": an archived action is finished, so the next call is the next ordinal."""
    with c4a.run("r"):
        tools.again(1)
        tools.again(1)
        ledger.archive(volume, older_than=0)
        assert tools.again(1) == "again 1"
    assert world.count("again r 1") == 3
    assert len({row.action for row in ledger.store.actions(tool="again")}) == 3
    ledger.archive(volume, older_than=0)
    assert archived() == {"r": [("again", "done")] * 3}


def test_undo_of_a_partly_archived_run_lists_what_moved_and_reverses_the_rest(ledger, tools, volume, world):
    """It is honest about what it cannot reverse."""
    with c4a.run("r"):
        tools.pay(1)
        ledger.archive(volume, older_than=0)
        tools.pay(2)
    for dry_run in (True, False):
        report = c4a.undo("r", dry_run=dry_run)
        assert [one.arguments for one in report.undone] == [{"n": "2"}]
        assert [(one.tool, one.why) for one in report.without_undo] == [("pay", "its record has moved to an archive")]
        assert not report.clean
    assert [line for line in world.lines() if "refund" in line] == ["refund 2"]


def test_an_undone_run_moves_with_its_reversals(ledger, tools, volume, world, archived, sound):
    """And stays undone: undo again does nothing."""
    with c4a.run("r"):
        tools.pay(1)
    c4a.undo("r")
    ledger.archive(volume, older_than=0)
    assert archived() == {"r": [("pay", "undone"), ("pay.undo", "done")]}
    assert c4a.undo("r").undone == []
    assert world.count("refund 1") == 1
    sound()


def test_requests_of_what_has_moved_are_closed_and_gone(ledger, tools, volume, sound):
    """A request of the archive cannot be answered any more; the archive still knows it."""
    with c4a.run("r"):
        request = c4a.request_approval(tools.guarded, n=1)
        request.approve()
        tools.guarded(1)
        denied = c4a.request_approval(tools.guarded, n=2)
        denied.deny()
    with c4a.run("open"):
        still = c4a.request_approval(tools.guarded, n=3)
    ledger.archive(volume, older_than=0)
    assert [one.id for one in c4a.pending()] == [still.id]
    for one in (request, denied):
        with pytest.raises(c4a.errors.UsageError):
            c4a.approve_request(one.id)
        assert ledger.store.requests(id=one.id) == []
    archive = c4a.Ledger.open(volume, read_only=True)
    assert [archive.store.requests(id=one.id)[0].open for one in (request, denied)] == [False, False]
    assert archive.pending() == []
    archive.close()
    sound()


# ---- the archive itself ----------------------------------------------------------------------------------------------


def test_an_archive_is_read_like_a_ledger_and_refused_for_writing(ledger, tools, volume):
    """By open and by init; nothing in it can be acted on."""
    with c4a.run("r"):
        tools.pay(1)
    ledger.archive(volume, older_than=0)
    for opened in (c4a.Ledger.open, c4a.init):
        with pytest.raises(LedgerReadOnly, match="archive"):
            opened(volume)
    archive = c4a.Ledger.open(volume, read_only=True)
    with c4a.run("r", ledger=archive):
        assert tools.pay(1) == "pay 1"
        for act in (lambda: tools.pay(2), lambda: c4a.approve(tools.pay, n=3), archive.rotate_secret):
            with pytest.raises(LedgerReadOnly):
                act()
    assert archive.verify() == (2, 1, ())
    archive.close()


@pytest.mark.parametrize("opened", [True, False], ids=["secret file", "secret given"])
def test_an_archive_has_the_secret_of_its_ledger(opened, ledger_path, tools, volume):
    """From its own file; a secret that was given is never written down, and is given for the archive too."""
    secret = None if opened else "a secret that was given"
    ledger = c4a.Ledger.open(ledger_path, secret=secret)
    with c4a.run("r", ledger=ledger):
        tools.pay(1)
    ledger.archive(volume, older_than=0)
    ledger.close()
    file = volume.with_name(volume.name + ".c4a") / "secret"
    assert file.exists() is opened
    if opened:
        assert file.stat().st_mode & 0o777 == 0o600
    archive = c4a.Ledger.open(volume, read_only=True, secret=secret)
    assert archive.verify() == (2, 1, ())
    archive.close()


def test_the_secret_may_change_during_an_archive(ledger, tools, volume, monkeypatch, sound):
    """A run that the new one signed in was used meanwhile, so it stays; what was copied of it can be read."""
    for run in ("a", "b"):
        with c4a.run(run):
            tools.pay(1)
    entomb = ledger.store.entomb

    def rotate_once(run, last, stones):
        monkeypatch.undo()
        other = c4a.Ledger.open(ledger.location)
        other.rotate_secret()
        with c4a.run("b", ledger=other):
            tools.pay(2)
        other.close()
        return entomb(run, last, stones)

    monkeypatch.setattr(ledger.store, "entomb", rotate_once)
    ledger.archive(volume, older_than=0)
    assert runs_of(ledger, "archived") == ["a"]
    sound()
    assert ledger.archive(volume, older_than=0).runs == 1
    sound()
