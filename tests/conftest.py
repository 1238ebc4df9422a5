"""What all tests share: the header, a clean environment, and a world whose effects can be counted after a crash."""

from __future__ import annotations

import os
import platform
import sqlite3
from importlib import metadata
from pathlib import Path

import pytest

from call4agents_core.testing import World, killed

FRAMEWORKS = ("langgraph", "langchain", "pydantic-ai-slim", "openai-agents", "mcp", "fastmcp", "psycopg")
REPEAT = int(os.environ.get("C4A_REPEAT", "3"))


def pytest_report_header() -> str:
    """Versions that a report of a failure needs."""
    found = [f"{name} {version}" for name in FRAMEWORKS if (version := _version(name))]
    return ", ".join([f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}", *found])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How often processes were killed, and where."""
    if killed:
        terminalreporter.section("processes ended by SIGKILL")
        for point, times in sorted(killed.items()):
            terminalreporter.write_line(f"{times:6} {point}")
        terminalreporter.write_line(f"{killed.total():6} in all")


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world in which nothing has happened yet."""
    return World(tmp_path / "world.txt")


@pytest.fixture
def ledger_path(tmp_path: Path) -> Path:
    """Where a test may put its ledger; nothing is there yet."""
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def repetitions() -> int:
    """How often a test of a race repeats itself: C4A_REPEAT, else 3."""
    return REPEAT


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("C4A_") and not name.startswith("C4A_TEST_")]:
        monkeypatch.delenv(name)
