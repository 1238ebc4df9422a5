"""`call4agents quickstart`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.crash

PLUGIN = """
from call4agents_core.plugin import Plugin

def play(scene):
    assert not any(scene.folder.iterdir())
    {body}

plugin = Plugin("Weaver", ("weaver",), play=play)
"""


@pytest.fixture
def quick(bare, tmp_path):
    """The command in an environment without frameworks, with a folder of its own for what is temporary."""
    (tmp_path / "tmp").mkdir()
    bare.environ["TMPDIR"] = str(tmp_path / "tmp")
    return bare


@pytest.fixture
def site(quick, tmp_path):
    """A folder of modules that the command and its children can import."""
    folder = tmp_path / "site"
    folder.mkdir()
    quick.environ["PYTHONPATH"] = str(folder)
    return folder


def install(site: Path, name: str, entry: str = "", source: str = "") -> None:
    """A distribution as far as the command looks at it, with an entry point."""
    folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n\n")
    (folder / "entry_points.txt").write_text(f"[call4agents.plugins]\n{entry}\n" if entry else "")
    (site / "c4a_weaver.py").write_text(source)


def rows(out: str) -> dict[str, str]:
    """The figures by what they are about."""
    lines = [line for line in out.splitlines() if "sent " in line or "paid " in line]
    return {line.split("  ")[0] + (" inside" if "inside" in line else ""): line for line in lines}


def test_plain_python(quick, tmp_path):
    """The six lines: 2 without; 1 with a crash after; 1 and EffectInDoubt with one inside; mallory refused; alice paid once."""
    out = quick("quickstart", ledger=False).out
    found = rows(out)
    assert "sent 2   sent 1, its result came back" in found["plain Python"]
    assert "sent 2   sent 1, then EffectInDoubt" in found["plain Python inside"]
    assert found["pay(9999, mallory)"].endswith("ApprovalRequired: paid 0")
    assert found["pay(10, alice), killed, called again"].endswith("paid 1")
    assert out.splitlines()[-2].startswith("  call4agents doctor")
    assert out.splitlines()[-1].startswith("  call4agents doubt")
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list(quick.folder.iterdir()) == []


def test_settings_and_files_of_the_user_do_not_matter(quick, trips):
    """It runs in any folder, with any settings of ours, and leaves the user's ledger alone."""
    before = quick.ledger.read_bytes()
    quick.environ |= {"C4A_LEDGER": str(quick.ledger), "C4A_SECRET": "too short"}
    for name in ("json.py", "signal.py", "call4agents_core.py"):
        (quick.folder / name).write_text("raise SystemExit('a file of the user was imported')")
    quick.python = (sys.executable, "-S", "-P")
    quick("quickstart", ledger=False)
    assert quick.ledger.read_bytes() == before


def test_without_our_guard_the_promise_is_seen_to_be_broken(quick, site):
    """The figures are read, not written down: an effect that guards nothing sends twice, pays mallory, and is exit 1."""
    (site / "sitecustomize.py").write_text(
        "import call4agents_core\n"
        "call4agents_core.effect = lambda function=None, **options: function or (lambda function: function)\n"
        "call4agents_core.approve = lambda *args, **options: None\n"
    )
    out = quick("quickstart", ledger=False, code=1).out
    assert "sent 2   sent 2" in rows(out)["plain Python"]
    assert "NOT AS PROMISED: plain Python, killed right after the tool: sent 2 without and 2 with the ledger" in out
    assert "NOT AS PROMISED: a yes to pay(10, alice) paid mallory" in out


def test_plugins_play_both_crashes_without_and_with_us(quick, site):
    """A row for each crash, found through the entry point."""
    install(site, "call4agents-weaver", "w = c4a_weaver:plugin", PLUGIN.format(body="return 1 if scene.guarded else 2"))
    lines = [
        line.split("  ") for line in quick("quickstart", ledger=False).out.splitlines() if line.startswith("Weaver")
    ]
    assert [[cell.strip() for cell in line if cell] for line in lines] == [
        ["Weaver", "right after the tool", "sent 2", "sent 1"],
        ["Weaver", "inside the tool", "sent 2", "sent 1"],
    ]


def test_a_figure_of_a_plugin_that_is_not_as_promised_is_exit_1(quick, site):
    """Also where the crash was none: 1 without us proves nothing."""
    install(site, "call4agents-weaver", "w = c4a_weaver:plugin", PLUGIN.format(body="return 1"))
    out = quick("quickstart", ledger=False, code=1).out
    assert "NOT AS PROMISED: Weaver, killed inside the tool: sent 1 without and 1 with the ledger, not 2 and 1" in out


def test_a_plugin_that_fails_costs_its_own_rows_only(quick, site):
    """Its traceback is shown, the plain figures stand, and the exit code is 1."""
    install(site, "call4agents-weaver", "w = c4a_weaver:plugin", PLUGIN.format(body="raise OSError('no room')"))
    done = quick.run(*quick.python, "-m", "call4agents_core", "quickstart")
    assert done.code == 1
    assert "Weaver could not be played: OSError: no room" in done.out
    assert "Traceback" in done.err
    assert "sent 2   sent 1" in rows(done.out)["plain Python"]


def test_a_framework_without_its_plugin_is_named_with_the_line_that_installs_it(quick, site):
    """And the plain figures are shown."""
    install(site, "langgraph")
    assert (
        "LangGraph is installed, and its plugin is not: pip install call4agents-langgraph"
        in quick("quickstart", ledger=False).out
    )


@pytest.mark.framework
@pytest.mark.slow
def test_langgraph_is_played_for_real(cli):
    """A real LangGraph agent, killed inside and right after its tool, and resumed in a new process."""
    pytest.importorskip("call4agents_langgraph")
    lines = [line for line in cli("quickstart", ledger=False).out.splitlines() if line.startswith("LangGraph")]
    assert len(lines) == 2
    assert all("sent 2" in line and "sent 1" in line for line in lines)
