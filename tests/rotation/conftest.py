"""The fixtures of tests/kit.py."""

from tests.kit import child, ledger, tell

__all__ = ["child", "ledger", "tell"]
