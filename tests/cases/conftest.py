"""The fixtures of tests/kit.py."""

from tests.kit import child, clock, in_run, ledger, tell

__all__ = ["child", "clock", "in_run", "ledger", "tell"]
