"""Every link of a document leads somewhere."""

from __future__ import annotations

import pytest

from tests.docs.pages import ROOT, pages, parsed

LINKS = sorted({(page.name, target) for page in pages() for target in page.links})
OTHERS = ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]


def anchors_of(path):
    return parsed(path).anchors


@pytest.mark.parametrize(("name", "target"), LINKS, ids=[f"{name}->{target}" for name, target in LINKS])
def test_link_resolves(name, target):
    """The file is there, and the heading that is named in it too."""
    file, _, anchor = target.partition("#")
    assert "://" not in file, "documents link to this repository only"
    path = (ROOT / name).parent / file if file else ROOT / name
    assert path.exists(), f"{name} links to {file}, which is not there"
    if anchor:
        assert anchor in anchors_of(path), f"{name} links to {target}, and there is no such heading"


def test_every_page_of_docs_is_linked_from_the_index():
    """No page is lost."""
    linked = {target.partition("#")[0] for page in pages() if page.name == "docs/index.md" for target in page.links}
    names = {page.path.name for page in pages() if page.name.startswith("docs/")} - {"index.md"}
    assert names - linked == set()


@pytest.mark.parametrize("name", OTHERS)
def test_other_documents_link_to_what_is_there(name):
    """The documents at the root keep their links as well."""
    page = parsed(ROOT / name)
    assert [
        target for target in page.links if "://" not in target and not (ROOT / target.partition("#")[0]).exists()
    ] == []
