"""The list of guards is in order; `make mutate` takes each one out, which takes minutes."""

import ast
import re

import pytest

from tests.mutation.run import ROOT, guards

ALL = guards()
NAMES = [guard.name for guard in ALL]


def test_each_guard_has_a_name_of_its_own():
    """It is what the run prints, and what chooses a guard on the command line."""
    assert len(ALL) >= 40
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("guard", ALL, ids=NAMES)
def test_the_edit_of_a_guard_applies_exactly_once_and_leaves_python(guard):
    """Otherwise the run would try something else than the name says."""
    texts = {edit.file: (ROOT / edit.file).read_text(encoding="utf-8") for edit in guard.edits}
    for edit in guard.edits:
        changed = edit.applied_to(texts[edit.file])
        assert changed != texts[edit.file]
        texts[edit.file] = changed
    for text in texts.values():
        ast.parse(text)


@pytest.mark.parametrize("guard", ALL, ids=NAMES)
def test_the_tests_of_a_guard_exist(guard):
    """Each is named, so that a run of it takes seconds."""
    assert guard.tests
    for test in guard.tests:
        file, _, name = test.partition("::")
        assert name
        function = re.escape(name.rpartition("::")[2].partition("[")[0])
        assert re.search(rf"^\s*(async )?def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
