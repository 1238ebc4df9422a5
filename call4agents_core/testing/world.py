"""A world outside the ledger, whose effects can be counted after whatever crash."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class World:
    """A file with one line for each effect. A line is on disk when `act` returns, and any number of processes may act at once."""

    path: Path

    def act(self, line: str = "effect") -> None:
        """Let one effect happen."""
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, f"{line}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)

    def lines(self) -> list[str]:
        """Every effect so far, oldest first."""
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []

    def count(self, line: str | None = None) -> int:
        """How many effects happened, or how many wrote this line."""
        return len([seen for seen in self.lines() if line in (None, seen)])
