"""`call4agents doctor` and `call4agents report`."""

from __future__ import annotations

import os
import platform
import sqlite3

import pytest

PLUGIN = """
from call4agents_core.plugin import Finding, Plugin

def checks():
    yield Finding(True, "The saver keeps nothing on disk.")

plugin = Plugin("Weaver", ("weaver",), checks=checks)
"""


@pytest.fixture
def install(bare, tmp_path):
    """Install a distribution, as far as metadata goes, into the otherwise empty environment of `bare`."""
    site = tmp_path / "site"
    site.mkdir()
    bare.environ["PYTHONPATH"] = str(site)

    def installing(name: str, version: str = "1.0", *, headers: str = "", entry: str = "", **modules: str) -> None:
        folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{headers}\n")
        (folder / "entry_points.txt").write_text(f"[call4agents.plugins]\n{entry}\n" if entry else "")
        for module, text in modules.items():
            (site / f"{module}.py").write_text(text)

    return installing


def test_versions(cli, trips):
    """Python, SQLite, ourselves."""
    out = cli("doctor", code=(0 if plugins_load() else 1)).out
    assert platform.python_version() in out
    assert sqlite3.sqlite_version in out
    assert "call4agents-core" in out


def plugins_load() -> bool:
    """Whether the plugins of this checkout can be imported here."""
    from call4agents_core.cli._plugins import installed

    return all(entry.plugin is not None for entry in installed())


def test_a_fresh_checkout_is_fine_and_there_is_no_ledger(bare):
    """Exit 0, says that there is none, and makes none."""
    out = bare("doctor", ledger=False).out
    assert "none at .c4a/ledger.sqlite yet" in out
    assert list(bare.folder.iterdir()) == []


def test_health_of_a_ledger(bare, trips):
    """Size, place, and what waits for people."""
    facts = {line.split()[0]: line.split()[-1] for line in bare("doctor").out.splitlines() if line.startswith("  ")}
    assert facts["entries"] == "12"
    assert facts["in"] == "1"  # in doubt
    assert facts["open"] == "2"  # open requests


def test_a_framework_without_its_plugin_is_named_with_the_line_that_installs_it(bare, install):
    """Only where the plugin exists."""
    install("langgraph", "1.2.3")
    install("openai-agents", "0.9")
    out = bare("doctor").out
    assert "langgraph         1.2.3" in out
    assert "LangGraph is installed, and its plugin is not: pip install call4agents-langgraph" in out
    assert "OpenAI Agents SDK has no plugin in this release" in out
    assert out.count("pip install") == 1


def test_findings_of_plugins_are_told(bare, install):
    """What a plugin looks for, found through its entry point."""
    install("weaver", "3.1")
    install("call4agents-weaver", entry="weaver = c4a_weaver:plugin", c4a_weaver=PLUGIN)
    out = bare("doctor").out
    assert "RISK  The saver keeps nothing on disk." in out
    assert out.index("call4agents-weaver  1.0") < out.index("weaver              3.1")


@pytest.mark.parametrize(
    ("source", "told"),
    [("import no_such_framework", "ModuleNotFoundError: No module named 'no_such_framework'"), ("plugin = 3", "is no call4agents_core.plugin.Plugin")],
)  # fmt: skip
def test_a_plugin_that_cannot_be_loaded_is_exit_1(bare, install, source, told):
    """Named with the reason; the rest is told all the same."""
    install("call4agents-weaver", entry="weaver = c4a_weaver:plugin", c4a_weaver=source)
    out = bare("doctor", code=1).out
    assert told in out
    assert sqlite3.sqlite_version in out


def test_the_secret_is_never_printed(bare, trips):
    """Only whether it is set."""
    bare.environ["C4A_SECRET"] = "s3cret-of-somebody-else"
    for command, code in (("doctor", 1), ("report", 0)):  # it is not the secret of this ledger
        out = bare(command, code=code).out
        assert "C4A_SECRET is set" in out
        assert "is not the one that it belongs to" in out
        assert "s3cret" not in out


@pytest.mark.skipif(os.name != "posix", reason="modes of another kind")
def test_a_secret_that_others_may_read_is_a_risk(bare, trips):
    """With the command that mends it."""
    secret = f"{bare.ledger}.c4a/secret"
    assert "RISK" not in bare("doctor").out
    os.chmod(secret, 0o644)
    assert f"chmod 600 {secret}" in bare("doctor").out


def test_a_broken_ledger_is_exit_1_and_can_be_reported(bare, trips):
    """For such days there is `report`."""
    os.remove(f"{bare.ledger}.c4a/secret")
    assert "RISK" in bare("doctor", code=1).out
    assert "**risk**" in bare("report").out


def test_report_is_markdown_without_the_home_folder(bare, trips):
    """Ready to be pasted, without the name that stands in the path of the home folder."""
    bare.environ["HOME"] = str(bare.ledger.parent)
    out = bare("report").out
    assert "### Versions" in out
    assert f"| Python | {platform.python_version()}" in out
    assert f"| location | ~/{bare.ledger.name} |" in out
    assert str(bare.ledger.parent) not in out


def test_report_names_the_issue_tracker_if_the_package_does(bare, install):
    """From the metadata of the installed package; else it says that there is a place to look for."""
    assert "http" not in bare("report").out
    install(
        "call4agents-core",
        headers="Project-URL: Home, https://example.org\nProject-URL: Issues, https://example.org/issues",
    )
    assert bare("report").out.endswith("Paste the text above here: https://example.org/issues\n")
