"""Prints how often processes were killed, and where."""

from __future__ import annotations

from call4agents_core.testing import killed


def pytest_terminal_summary(terminalreporter):
    if killed:
        terminalreporter.section("processes ended by SIGKILL")
        for point, times in sorted(killed.items()):
            terminalreporter.write_line(f"{times:6} {point}")
        terminalreporter.write_line(f"{killed.total():6} in all")
