"""What the core finds of this package: the entry point, and what it tells of LangGraph."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

import call4agents_langgraph
from call4agents_core.plugin import GROUP, Plugin
from call4agents_langgraph import _plugin

pytestmark = pytest.mark.framework


def test_the_entry_point_leads_to_the_plugin():
    """The core knows of this package by nothing else."""
    (entry,) = metadata.entry_points(group=GROUP, name="langgraph")
    plugin = entry.load()
    assert isinstance(plugin, Plugin)
    assert plugin.framework == "LangGraph"
    assert plugin.play is not None


def test_loading_it_imports_nothing_of_the_framework():
    """Each start of the command loads it, and LangGraph takes seconds."""
    program = (
        "import sys, call4agents_langgraph._plugin; "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'langgraph', 'langchain_core', 'langchain', 'pydantic'}))"
    )
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "[]"


def test_the_public_names_are_there():
    """Each is imported when it is asked for."""
    for name in call4agents_langgraph.__all__:
        assert getattr(call4agents_langgraph, name) is not None
        assert name in dir(call4agents_langgraph)
    assert call4agents_langgraph.__version__ == metadata.version("call4agents-langgraph")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        call4agents_langgraph.nothing  # noqa: B018


def test_columns_say_where_an_action_was_called():
    """As `list` and `show` print them; what the intent does not know is left out."""
    where = {"node": "tools", "step": 3, "checkpoint": "1f1", "task": "x", "namespace": "tools:x", "tool_call": "c"}
    assert _plugin.plugin.columns(where) == {"node": "tools", "step": "3", "checkpoint": "1f1"}
    assert _plugin.plugin.columns({}) == {}


def test_installed_versions_in_the_tested_range_are_no_finding():
    """Those of this environment are tested right now."""
    assert list(_plugin.plugin.checks()) == []


def test_a_version_outside_the_tested_range_is_a_risk(monkeypatch):
    """`doctor` says which, and which range was tested."""
    monkeypatch.setattr(_plugin, "_version", lambda name: "0.6.0" if name == "langgraph" else None)
    (finding,) = _plugin.plugin.checks()
    assert finding.risk
    assert finding.text.startswith("langgraph 0.6.0 is installed")
