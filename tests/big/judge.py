"""The verdict on one test. It stands on the payment server's log; what the ledger says of itself counts for nothing here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from board import Board, Phase, Place

#: Where a worker was killed, seen from the charge of its order; what is none of these is "elsewhere".
WINDOWS = ("before", "inside", "after")


def window_of(place: Place, charges: Iterable[Mapping[str, Any]]) -> str:
    """The window in which a worker died: its own last word, held against what the server had charged by then.

    before: in the tool, nothing sent, and nothing charged for the order. inside: its request was under way. after: the
    request is over, the order is charged, and it is not struck off.
    """
    charged = any(charge["order"] == place.order for charge in charges)
    match place.phase:
        case Phase.BEFORE if not charged:
            return "before"
        case Phase.INSIDE:
            return "inside"
        case Phase.OVER if charged:
            return "after"
        case _:
            return "elsewhere"


@dataclass(frozen=True)
class Verdict:
    """What came of one test, or of several together.

    ``doubles``: charges beyond the first of an order. ``lost``: orders without a charge, or whose receipt is of none that was
    made for them. ``helped``: how often each way out of a doubt was taken. ``faults``: what must not happen in any test.
    """

    orders: int = 0
    charges: int = 0
    doubles: int = 0
    lost: int = 0
    in_doubt: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    helped: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    faults: tuple[str, ...] = ()

    def __add__(self, other: Verdict) -> Verdict:
        return Verdict(
            self.orders + other.orders,
            self.charges + other.charges,
            self.doubles + other.doubles,
            self.lost + other.lost,
            self.in_doubt + other.in_doubt,
            _sum(self.kills, other.kills),
            _sum(self.helped, other.helped),
            self.seconds + other.seconds,
            self.faults + other.faults,
        )

    def __str__(self) -> str:
        kills = ", ".join(f"{window} {self.kills[window]}" for window in (*WINDOWS, "elsewhere"))
        helped = ", ".join(f"{way} {count}" for way, count in self.helped.items())
        return (
            f"orders {self.orders}, charges {self.charges}, doubles {self.doubles}, lost {self.lost}, in doubt {self.in_doubt}; "
            f"kills: {kills}; {f'ways out of a doubt: {helped}; ' if helped else ''}{self.seconds:.1f} s"
        )

    def complaints(self, least_kills: int) -> list[str]:
        """Why the test has failed; nothing: it holds."""
        wrong = {"doubles": self.doubles, "lost": self.lost, "in doubt": self.in_doubt}
        return [
            *self.faults,
            *(f"{what}: {count}" for what, count in wrong.items() if count),
            *(f"too few kills {window} the charge" for window in WINDOWS if self.kills[window] < least_kills),
            *(f"{way} was never needed" for way, count in self.helped.items() if not count),
        ]


def _sum(one: Counter[str], other: Counter[str]) -> Counter[str]:
    """Both together. `+` would drop what is 0, and that is worth seeing."""
    return Counter({name: one[name] + other[name] for name in {**one, **other}})


def judged(charges: list[dict[str, Any]], board: Board, **facts: Any) -> Verdict:
    """The verdict on a test whose server has decided on everything."""
    of_order: dict[int, set[int]] = {order: set() for order in range(board.orders)}
    for charge in charges:
        of_order[charge["order"]].add(charge["charge"])
    return Verdict(
        orders=board.orders,
        charges=len(charges),
        doubles=sum(max(len(made) - 1, 0) for made in of_order.values()),
        lost=sum(board.receipt(order) not in made for order, made in of_order.items()),
        **facts,
    )
