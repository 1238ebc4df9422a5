"""What every process of the big test has to know: the orders, how each kind of them is paid, and where things lie."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

#: How long a worker waits for the answer to a payment, in seconds.
PATIENCE = 0.3

#: What leads out of a doubt, by the number of the order; and the tool that pays so.
WAYS = ("idempotent_for", "reconcile", "resolve")
TOOLS = {"idempotent_for": "pay_with_key", "reconcile": "pay_by_reference", "resolve": "pay_by_hand"}


@dataclass(frozen=True)
class Plan:
    """One run of the test.

    ``prefix`` begins the ids of all runs, so that many tests may share a ledger. ``ledger`` is any location that
    `c4a.init` knows; empty: the control, in which nothing guards the workers. ``until`` is the end of all patience, on the
    monotonic clock, which all processes of a machine share. ``port``: where the payment server listens.
    """

    folder: str
    seed: int
    orders: int
    workers: int
    prefix: str
    ledger: str
    lease: float
    until: float
    port: int = 0

    @property
    def control(self) -> bool:
        """Whether nothing guards the workers."""
        return not self.ledger

    @property
    def board(self) -> Path:
        """Where the workers show what they do; see `Board`."""
        return Path(self.folder, "board")

    @property
    def log(self) -> Path:
        """The payment server's log, which is the judge: one line for each charge that it made."""
        return Path(self.folder, "charges.log")

    def run_of(self, order: int) -> str:
        """The id of the run in which an order is paid."""
        return f"{self.prefix}-{order}"

    def order_of(self, run: str) -> int | None:
        """The order that a run pays; None: it is none of this test's."""
        prefix, _, order = run.rpartition("-")
        return int(order) if prefix == self.prefix else None

    def to_json(self) -> str:
        """The plan as an argument on a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The plan that `to_json` wrote."""
        return cls(**json.loads(text))


def way_of(order: int) -> str:
    """What leads out of the doubts of an order: a third each."""
    return WAYS[order % len(WAYS)]


def amount_of(order: int) -> int:
    """What an order costs."""
    return 100 + order
