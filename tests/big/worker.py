"""A worker: takes orders off the shared list and pays them, until all are settled or it is killed.

    python worker.py PLAN SLOT

In the control the same tools are called without @effect: plain retry, as one would write it.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from board import Board, Phase
from payments import TROUBLE, look_up, request
from plan import TOOLS, Plan, amount_of, way_of

import call4agents_core as c4a

#: How many of the oldest open orders a worker chooses from: few enough that several take the same one.
REACH = 20

#: Longest pause around a request, in seconds: a tool does other things too, and can be killed at them.
PAUSE = 0.004

#: How long a call waits for another worker's attempt at the same order, in seconds.
WAIT = 1.0

Pay = Callable[..., dict[str, Any]]


class Till:
    """The worker's way to the payment server. Shows on the board where it is."""

    def __init__(self, plan: Plan, board: Board, slot: int) -> None:
        self._plan, self._board, self._slot = plan, board, slot
        self.run: Callable[[str], AbstractContextManager[Any]] = nullcontext if plan.control else c4a.run
        self.chance = random.Random(f"{plan.seed}/{slot}")

    def show(self, order: int, phase: Phase) -> None:
        """Say where the worker is, and stay there for a moment."""
        self._board.show(self._slot, order, phase)
        if phase in (Phase.BEFORE, Phase.OVER):
            time.sleep(self.chance.uniform(0, PAUSE))

    def pay(self, endpoint: str, order: int, amount: int, headers: dict[str, str]) -> dict[str, Any]:
        """Have the server charge; its receipt."""
        self.show(order, Phase.BEFORE)
        self.show(order, Phase.INSIDE)
        try:
            return request(self._plan.port, "POST", endpoint, {"order": order, "amount": amount}, headers=headers)
        finally:
            self.show(order, Phase.OVER)

    def look_up(self, order: int) -> Any:
        """What reconcile= asks."""
        charge = look_up(self._plan.port, order)
        return c4a.did_not_happen() if charge is None else c4a.happened(charge)


def guarded(till: Till) -> dict[str, Pay]:
    """The tool for each way."""

    @c4a.effect(name=TOOLS["idempotent_for"], idempotent_for=3600, wait=WAIT)
    def pay_with_key(order: int, amount: int) -> dict[str, Any]:
        return till.pay("/keyed", order, amount, c4a.idempotency_headers())

    @c4a.effect(name=TOOLS["reconcile"], reconcile=till.look_up, wait=WAIT)
    def pay_by_reference(order: int, amount: int) -> dict[str, Any]:
        return till.pay("/referenced", order, amount, {})

    @c4a.effect(name=TOOLS["resolve"], wait=WAIT)
    def pay_by_hand(order: int, amount: int) -> dict[str, Any]:
        return till.pay("/plain", order, amount, {})

    return {"idempotent_for": pay_with_key, "reconcile": pay_by_reference, "resolve": pay_by_hand}


def unguarded(till: Till) -> dict[str, Pay]:
    """The same without us. No key is sent, since there is nothing that would know it again after a crash."""
    endpoints = {"idempotent_for": "/keyed", "reconcile": "/referenced", "resolve": "/plain"}
    return {way: partial(till.pay, endpoint, headers={}) for way, endpoint in endpoints.items()}


def work(plan: Plan, board: Board, slot: int) -> None:
    """Pay until all is settled or time is up."""
    till = Till(plan, board, slot)
    pay = unguarded(till) if plan.control else guarded(till)
    while not board.all_settled and time.monotonic() < plan.until:
        orders = board.open_orders()[:REACH]
        if not orders or not settle(plan, board, till, till.chance.choice(orders), pay):
            time.sleep(till.chance.uniform(0, 0.02))


def settle(plan: Plan, board: Board, till: Till, order: int, pay: dict[str, Pay]) -> bool:
    """Pay one order, and strike it off if that gave a receipt."""
    till.show(order, Phase.CALLING)
    try:
        with till.run(plan.run_of(order)):
            receipt = pay[way_of(order)](order=order, amount=amount_of(order))
    except (*TROUBLE, c4a.errors.EffectInDoubt):  # some worker will come back to it
        till.show(order, Phase.IDLE)
        return False
    till.show(order, Phase.OVER)
    board.settle(order, receipt["charge"])
    till.show(order, Phase.IDLE)
    return True


def end_with_the_runner() -> None:
    """The other end of the pipe is closed with it, however it ends."""
    os.read(0, 1)
    os._exit(1)


def main() -> None:
    """Open what the plan names, and work."""
    plan, slot = Plan.from_json(sys.argv[1]), int(sys.argv[2])
    threading.Thread(target=end_with_the_runner, daemon=True).start()
    if not plan.control:
        c4a.init(plan.ledger, lease=plan.lease)
    work(plan, Board(plan.board, plan.orders), slot)


if __name__ == "__main__":
    main()
