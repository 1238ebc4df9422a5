"""The big test: payments over real HTTP, workers killed all the time, and each order charged exactly once.

    python run.py [--seed N] [--orders 300] [--workers 12] [--kills 20] [--ledger LOCATION] [--control]

Without --seed: as many seeds as C4A_SEEDS says, 10 of them if it says nothing. After each, a short control shows what the same
workers do without us. Ends with 1 if any order was charged twice or not at all, if a doubt is left, or if the test was too mild.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from board import Board
from commands import doubts, verify
from crew import Crew, Helper, Killer
from judge import Verdict, judged
from payments import await_decisions, charges_in, request
from plan import Plan

#: How often the runner looks where the workers are, in seconds; and after how many of these looks it does all else.
GLANCE, GLANCES = 0.001, 20

#: The share of the orders that the workers may take at once. The others follow as the kills proceed, so that these are spread
#: over all; but so many are open at any time, so that nobody stands where he cannot be killed.
FIRST_SHARE, LEAST_OPEN = 0.1, 2

#: The share of orders and kills that the short control gets, and the fewest orders that show anything.
CONTROL_SHARE, CONTROL_LEAST = 0.2, 12


def played(plan: Plan, enough_kills: int) -> Verdict:
    """Play one test to its end."""
    started = time.monotonic()
    board = Board(plan.board, plan.orders)
    server = Helper("server.py", plan)
    plan = replace(plan, port=int(server.word()))
    person = None if plan.control else Helper("person.py", plan)
    crew = Crew(plan, board)
    try:
        helpers = [helper for helper in (server, person) if helper is not None]
        work(plan, board, crew, Killer(crew, enough_kills, random.Random(plan.seed)), helpers)
    finally:
        crew.dismiss()
        answers = person.leave() if person is not None else ""
        facts = findings(plan, answers) if server.alive else {}
        server.leave()
    verdict = judged(charges_in(plan.log), board, kills=crew.kills, seconds=time.monotonic() - started, **facts)
    board.close()
    return replace(verdict, faults=(*crew.faults, *verdict.faults))


def work(plan: Plan, board: Board, crew: Crew, killer: Killer, helpers: list[Helper]) -> None:
    """Until all orders are settled, time is up, or something is wrong."""
    while not board.all_settled and time.monotonic() < plan.until and not crew.faults:
        due = math.ceil(plan.orders * (FIRST_SHARE + (1 - FIRST_SHARE) * killer.share))
        board.open_gate(max(due, board.settled + LEAST_OPEN))
        crew.keep_up()
        crew.faults.extend(f"{helper.name} ended" for helper in helpers if not helper.alive)
        for _ in range(GLANCES):
            killer.strike()
            time.sleep(GLANCE)
    if not board.all_settled and not crew.faults:
        crew.faults.append(f"time is up with {plan.orders - board.settled} orders open")


def findings(plan: Plan, answers: str) -> dict[str, Any]:
    """What is left when all workers are gone: once the server has decided on everything, and by the ledger's own commands."""
    await_decisions(plan.port)
    if plan.control:
        return {}
    tally, given = request(plan.port, "GET", "/tally"), json.loads(answers or "{}")
    helped = {
        "repeat dropped by key": tally.get("repeats dropped", 0),
        "looked up": tally.get("looked up", 0),
        "a person said it happened": given.get("happened", 0),
        "and that it did not": given.get("did not happen", 0),
    }
    broken = verify(plan)
    return {"in_doubt": len(doubts(plan)), "helped": Counter(helped), "faults": (broken,) if broken else ()}


def one(options: argparse.Namespace, seed: int, *, control: bool, share: float = 1.0) -> tuple[Verdict, list[str]]:
    """Play the test of a seed, or its control, in a folder of its own; print and return what came of it, and why it failed."""
    folder = tempfile.mkdtemp(prefix="c4a-big-")
    kills = math.ceil(options.kills * share)
    plan = Plan(
        folder=folder,
        seed=seed,
        orders=max(math.ceil(options.orders * share), min(options.orders, CONTROL_LEAST)),
        workers=options.workers,
        prefix=f"big-{secrets.token_hex(4)}",
        ledger="" if control else options.ledger or str(Path(folder, "ledger.sqlite")),
        lease=options.lease,
        until=time.monotonic() + options.seconds,
    )
    verdict = played(plan, kills)
    if control:
        complaints = [
            *verdict.faults,
            *([] if verdict.doubles else ["the control shows no doubles, so this test proves nothing"]),
        ]
    else:
        complaints = verdict.complaints(kills)
    print(f"seed {seed}{', WITHOUT us' if control else ''}: {verdict}", flush=True)
    for complaint in complaints:
        print(f"    FAILED: {complaint}", flush=True)
    if complaints:
        print(f"    what is left of it lies in {folder}", flush=True)
    else:
        shutil.rmtree(folder)
    return verdict, complaints


def main() -> int:
    """Play all seeds; 0 if everything holds."""
    options = parsed()
    seeds = [options.seed] if options.seed is not None else range(1, int(os.environ.get("C4A_SEEDS", "10")) + 1)
    with_us, without, failed = Verdict(), Verdict(), False
    for seed in seeds:
        if not options.control:
            verdict, complaints = one(options, seed, control=False)
            with_us, failed = with_us + verdict, failed or bool(complaints)
        verdict, complaints = one(options, seed, control=True, share=1.0 if options.control else CONTROL_SHARE)
        without, failed = without + verdict, failed or bool(complaints)
    if not options.control:
        print(f"total of {len(seeds)}: {with_us}")
    print(f"total of {len(seeds)}, WITHOUT us: {without}")
    return int(failed)


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="play this one only")
    parser.add_argument("--orders", type=int, default=300)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--kills", type=int, default=20, help="at least so many in each window (default: 20)")
    parser.add_argument("--seconds", type=float, default=180.0, help="the most that one test may take (default: 180)")
    parser.add_argument(
        "--ledger", metavar="LOCATION", help="any that c4a.init() knows; else a new SQLite file for each seed"
    )
    parser.add_argument(
        "--lease", type=float, default=5.0, help="where owners are known by heartbeats, in seconds (default: 5)"
    )
    parser.add_argument("--control", action="store_true", help="only the control, with all orders")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
