"""What the ledger says of itself, by its own command: what is in doubt, and whether all is as it was written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from plan import Plan

ROOT = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    """Of every child: this checkout first, and no ledger but the one that is named."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    kept = {name: value for name, value in os.environ.items() if name not in ("C4A_LEDGER", "C4A_OLD_SECRETS")}
    return {**kept, "PYTHONPATH": paths}


def _command(plan: Plan, *words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "call4agents_core", *words, "--ledger", plan.ledger]
    return subprocess.run(line, check=False, env=environment(), stdout=subprocess.PIPE, text=True)


def doubts(plan: Plan) -> list[dict[str, Any]]:
    """What is in doubt in this test: each with its run, action and tool."""
    done = _command(plan, "doubt", "--json")
    done.check_returncode()
    return [doubt for doubt in json.loads(done.stdout) if plan.order_of(doubt["run"]) is not None]


def verify(plan: Plan) -> str:
    """What `verify` finds wrong; empty: nothing."""
    done = _command(plan, "verify")
    return "" if done.returncode == 0 else f"verify ended with {done.returncode}: {done.stdout.strip()}"
