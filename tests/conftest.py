"""What all tests share: the header, a clean environment, and a world whose effects can be counted after a crash."""

from __future__ import annotations

import os
import platform
import sqlite3
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

FRAMEWORKS = ("langgraph", "langchain", "pydantic-ai-slim", "openai-agents", "mcp", "fastmcp", "psycopg")
REPEAT = int(os.environ.get("C4A_REPEAT", "3"))


def pytest_report_header() -> str:
    """Versions that a report of a failure needs."""
    found = [f"{name} {version}" for name in FRAMEWORKS if (version := _version(name))]
    return ", ".join([f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}", *found])


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True)
class World:
    """A file outside the ledger with one line for each effect. A line is on disk when `act` returns."""

    path: Path

    def act(self, line: str = "effect") -> None:
        """Let one effect happen."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    def lines(self) -> list[str]:
        """Every effect so far, oldest first."""
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []

    def count(self, line: str | None = None) -> int:
        """How many effects happened, or how many wrote this line."""
        return len([seen for seen in self.lines() if line in (None, seen)])


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
