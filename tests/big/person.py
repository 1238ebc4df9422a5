"""A person at a desk: reads what is in doubt, looks into the payment server's log, and says what happened.

    python person.py PLAN      ends when its standard input is closed, and prints how often it gave each answer

Only for orders that neither a key nor a look-up can help.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter

from commands import doubts
from payments import await_decisions, charges_in
from plan import TOOLS, Plan

import call4agents_core as c4a

#: How long the desk is left alone between two looks, in seconds.
PAUSE = 0.25


def answer(plan: Plan, ledger: c4a.Ledger, given: Counter[str]) -> None:
    """Look at every doubt once, and count the answers.

    The log is read after the list, and after the server has decided on all that was sent until then: so its silence about an
    order means that the attempt which is in doubt has charged nothing, and never will.
    """
    mine = [doubt for doubt in doubts(plan) if doubt["tool"] == TOOLS["resolve"]]
    if not mine:
        return
    await_decisions(plan.port)
    charged = {charge["order"]: charge for charge in charges_in(plan.log)}
    for doubt in mine:
        charge = charged.get(plan.order_of(doubt["run"]))
        outcome = c4a.did_not_happen() if charge is None else c4a.happened(charge)
        ledger.resolve(
            doubt["run"],
            doubt["action"],
            outcome,
            by="the desk",
            note="looked into the server's log",
            attempt=doubt["attempt"],
        )
        given["did not happen" if charge is None else "happened"] += 1


def main() -> None:
    """Answer until standard input is closed."""
    plan = Plan.from_json(sys.argv[1])
    closed = threading.Event()
    threading.Thread(target=lambda: (os.read(0, 1), closed.set()), daemon=True).start()
    ledger, given = c4a.init(plan.ledger, lease=plan.lease), Counter[str]()
    while not closed.wait(PAUSE):
        answer(plan, ledger, given)
    print(json.dumps(given), flush=True)


if __name__ == "__main__":
    main()
