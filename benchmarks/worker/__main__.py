"""`python -m benchmarks.worker KIND LOCATION`: does what is ordered on standard input, one JSON line each way."""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.worker.floor import Floor
from benchmarks.worker.ledgers import Ledgers

_LIBRARIES = {"ours": "call4agents_core", "peer": "call4agents"}


def main(kind: str, location: str) -> None:
    """Answer orders until the pipe is closed. What anything else prints goes to standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    subject = Floor(location) if kind == "floor" else Ledgers(_LIBRARIES[kind], location)
    print(json.dumps({"value": None}), file=answers, flush=True)
    for line in sys.stdin:
        order, arguments = json.loads(line)
        print(json.dumps(_answer(subject, order, arguments)), file=answers, flush=True)


def _answer(subject: object, order: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"value": getattr(subject, order)(**arguments)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


main(*sys.argv[1:])
