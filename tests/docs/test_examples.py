"""What the documents show runs: every example, every session at a console, and what they print."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import ROOT, Page, pages, parsed
from tests.docs.playing import Example, agree, examples, mistakes, run, session

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = [example for page in pages() for example in examples(page)]
SESSIONS = [page for page in pages() if any(block.info == ("console",) for block in page.blocks)]
SLOW_SESSIONS = [page for page in pages() if any(block.info == ("console", "slow") for block in page.blocks)]
HAS_SHELL = pytest.mark.skipif(sys.platform == "win32", reason="the sessions are typed into sh")


def named(example: Example) -> str:
    return example.blocks[0].where


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_block_says_what_it_is(page):
    """An info string that means nothing would leave its block untested."""
    assert mistakes(page) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_example_runs_and_prints_what_its_page_says(example, tmp_path):
    """Each example runs by itself, in an empty folder, without a warning."""
    run(example, tmp_path)


@HAS_SHELL
@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.name)
def test_console_prints_what_the_page_shows(page, tmp_path):
    """All that a page types is typed in one folder, in order."""
    session(page, tmp_path, slow=False)


@pytest.mark.slow
@HAS_SHELL
@pytest.mark.parametrize("page", SLOW_SESSIONS, ids=lambda page: page.name)
def test_long_session_prints_what_the_page_shows(page, tmp_path):
    """As above, for what takes longer."""
    session(page, tmp_path, slow=True)


def test_documents_have_examples_and_sessions():
    """The tests above are about something."""
    assert len(EXAMPLES) > 10
    assert {page.name for page in SESSIONS} >= {"docs/quickstart.md", "docs/approvals.md"}
    assert {page.name for page in pages()} >= {"README.md", "docs/index.md", "docs/errors.md", "docs/record-format.md"}


# ---- the player itself ---------------------------------------------------------------------------------------------


def document(folder: Path, text: str) -> Page:
    file = folder / "page.md"
    file.write_text(text, encoding="utf-8")
    return parsed(file)


def test_example_with_another_output_fails(tmp_path):
    """An output that the program does not print is found."""
    page = document(tmp_path, "```python\nprint(1)\n```\n\n```text output\n2\n```\n")
    with pytest.raises(AssertionError, match="the page shows"):
        run(*examples(page), tmp_path)


def test_example_that_raises_fails_with_the_line_of_the_page(tmp_path):
    """A traceback names lines as the page counts them."""
    page = document(tmp_path, "text\n\n```python\nx = 1\n```\n\n```python continued\nraise OSError\n```\n")
    with pytest.raises(AssertionError, match="line 8, in <module>\n    raise OSError"):
        run(*examples(page), tmp_path)


@HAS_SHELL
def test_session_with_another_output_fails(tmp_path):
    """An output that the command does not print is found."""
    with pytest.raises(AssertionError, match="the page shows"):
        session(document(tmp_path, "```console\n$ echo one\ntwo\n```\n"), tmp_path, slow=False)


@HAS_SHELL
def test_session_gives_a_command_the_id_of_this_run(tmp_path):
    """An id of the page is a name for the id that this run has printed at its place."""
    text = "```python file=new.py\nimport secrets; print('id', secrets.token_hex(8))\n```\n"
    text += "```console\n$ python new.py | tee seen\nid 0123456789abcdef\n$ grep -c 0123456789abcdef seen\n1\n```\n"
    session(document(tmp_path, text), tmp_path, slow=False)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\n...\nd\n", "a\nb\nc\nd\n"),
        ("took 0.12 s\n", "took 3 s\n"),
        ("at 2026-12-01 10:00:00\n", "at 2027-01-02 03:04:05\n"),
    ],
)
def test_what_varies_may_differ(shown, printed):
    """Left-out lines, dates, times and lengths of time are others each time."""
    agree(shown, printed, {}, "")


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("0123456789ab 0123456789ab\n", "0123456789ab aaaaaaaaaaaa\n"),
        ("0123456789ab ba9876543210\n", "0123456789ab 0123456789ab\n"),
        ("sent 1\n", "sent 2\n"),
        ("a\n", "a\nb\n"),
    ],
)
def test_what_does_not_vary_must_not_differ(shown, printed):
    """Two names are two ids, one name is one id, and figures and lines count."""
    with pytest.raises(AssertionError):
        agree(shown, printed, {}, "")


@pytest.mark.parametrize("info", ["pyhton", "python continues", "python continued", "text output", "console fast"])
def test_block_that_nobody_would_test_is_named(tmp_path, info):
    """A slip in an info string is found."""
    assert mistakes(document(tmp_path, f"```{info}\n```\n"))


def test_documents_stand_in_the_repository():
    """The pages are those of this repository."""
    assert all(page.path.is_relative_to(ROOT) for page in pages())
