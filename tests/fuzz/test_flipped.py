"""Flipped bytes, in an entry and in the file: the right answer or a clear error of ours, never a wrong yes, never a second effect."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.kit import raw

#: What a ledger that nobody has touched lets happen: the yes for guarded(4), once.
ALLOWED = Counter({"guarded 4": 1})

SMALL, LARGE = 40, 2_000


def flipped(content: bytes, chance) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]


def flip_an_entry(place, chance) -> tuple[str, bool]:
    """One bit of one column of one row; which, and whether that takes a whole action away from where it is looked for."""
    with raw(place) as db:
        rows = db.execute("SELECT seq, run, action, n, body, mac FROM c4a_entries").fetchall()
        row = dict(zip(("seq", "run", "action", "n", "body", "mac"), chance.choice(rows), strict=True))
        column = chance.choice(("run", "action", "n", "body", "mac"))
        old = row[column]
        if column == "n":
            new = old ^ 1 << chance.randrange(40)
        elif column == "run":
            new = flipped(old.encode(), chance).decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
        else:
            new = flipped(old, chance)
        alone = sum(one[2] == row["action"] for one in rows) == 1
        change = f"UPDATE OR IGNORE c4a_entries SET {column} = ? WHERE seq = ?"
        if not db.execute(change, (new, row["seq"])).rowcount:  # its new place is taken
            return flip_an_entry(place, chance)
    return f"{column} of entry {row['seq']}: {old!r} -> {new!r}", alone and column in ("run", "action", "n")


def try_entries(case, chance, folder, times):
    refusals: Counter[str] = Counter()
    for copy in range(times):
        place = case.copy(folder / f"{copy}.sqlite")
        what, gone = flip_an_entry(place, chance)
        assert case.faults(place), f"{what}: verify does not name it"
        refused, did = case.look(place)
        refusals.update(refused)
        # A whole action that is not where it is looked for counts as new, and only verify can tell: see docs/threat-model.md.
        assert gone or did <= ALLOWED, f"{what}: {did}"
    assert refusals["LedgerTampered"]


def test_a_flipped_bit_in_an_entry_is_an_error_of_ours(case, chance, tmp_path):
    """Whatever is asked of the ledger then; and verify names it."""
    try_entries(case, chance, tmp_path, SMALL)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_flipped_bits_in_entries_are_errors_of_ours(case, chance, tmp_path):
    """The same, many times."""
    try_entries(case, chance, tmp_path, LARGE)


def try_files(case, chance, folder, times):
    for copy in range(times):
        place = case.copy(folder / f"{copy}.sqlite")
        content = place.read_bytes()
        for _ in range(chance.choice((1, 1, 4, 32))):
            content = flipped(content, chance)
        place.write_bytes(content)
        faults = case.faults(place)
        place.write_bytes(content)
        _, did = case.look(place)
        # The database keeps no checksums of its index: an action that it does not find counts as new, and verify says so.
        assert did <= ALLOWED or faults, did


def test_flipped_bits_in_the_file_are_errors_of_ours(case, chance, tmp_path):
    """Header, schema, tables and indexes: no exception of the database or of Python comes through."""
    try_files(case, chance, tmp_path, SMALL)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_flipped_bits_in_the_file_are_errors_of_ours(case, chance, tmp_path):
    """The same, many times."""
    try_files(case, chance, tmp_path, LARGE)


def test_an_untouched_copy_gives_the_right_answers(case, tmp_path):
    """The control: all that is refused is what a sound ledger refuses, and the open yes runs once."""
    place = case.copy(tmp_path / "copy.sqlite")
    assert case.faults(place) == []
    refused, did = case.look(place)
    assert sorted(refused) == ["ApprovalDenied", "ApprovalRequired", "EffectInDoubt"]
    assert did == ALLOWED
