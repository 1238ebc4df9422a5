"""The README's code runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.framework
README = Path(__file__).parents[1] / "README.md"


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch):
    """In its order, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    names: dict = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert names["graph"].get_state(names["config"]).values == {"answer": "paid 10 to alice"}
    assert len(names["saver"].ledger.store.actions(run="thread-1")) == 1
    names["saver"].ledger.close()
    names["saver"].conn.close()
