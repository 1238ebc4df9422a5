"""What the tests of a SQLite ledger share."""

import contextlib

import pytest

from call4agents_core import Ledger


@pytest.fixture
def open_ledger():
    """Opens ledgers, which are closed after the test."""
    with contextlib.ExitStack() as stack:

        def opened(*where, **options):
            ledger = Ledger.open(*where, **options)
            stack.callback(ledger.close)
            return ledger

        yield opened
