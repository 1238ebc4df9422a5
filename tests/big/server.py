"""A payment server with bad manners: it charges and drops the line, delays, fails before or after it has charged.

    python server.py PLAN      prints its port, and ends when its standard input is closed

POST /keyed drops a repeat under the same Idempotency-Key, and answers with the first charge. POST /referenced knows no keys, but
GET /referenced/ORDER looks the charge up. POST /plain has neither. Each charge is a line in the log, on disk before anything is answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socketserver
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

from plan import PATIENCE, Plan


class Manner(NamedTuple):
    """How one request is treated. Waiting times are in patiences of the client; ``status`` None: the line is dropped."""

    wait: float = 0.0
    charges: int = 1
    wait_then: float = 0.0
    status: int | None = 200


PROMPT = Manner()
TWICE = Manner(
    charges=2
)  # a machine on the way has sent the request again; only with a key, for nothing else can help there
MANNERS = {
    PROMPT: 10,
    Manner(wait=0.3): 3,
    Manner(status=None): 4,
    Manner(status=500): 4,
    Manner(charges=0, status=503): 3,
    Manner(charges=0, status=None): 2,
    Manner(wait_then=2.0): 1,  # it has charged, and the client has gone when it says so
    Manner(wait=1.5): 2,  # the client has gone before it charges
    TWICE: 3,
}


class Charges:
    """What was charged. One at a time, and on disk before anybody hears of it."""

    def __init__(self, log: Path) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._guard = threading.Lock()
        self._by_key: dict[str, dict[str, Any]] = {}
        self._by_order: dict[int, dict[str, Any]] = {}
        self._count = 0
        self.tally: Counter[str] = Counter()

    def make(self, order: int, amount: int, key: str | None) -> dict[str, Any]:
        """Charge; under a key that is known, say what was charged."""
        with self._guard:
            if key is not None and key in self._by_key:
                self.tally["repeats dropped"] += 1
                return self._by_key[key]
            self._count += 1
            charge = {"charge": self._count, "order": order, "amount": amount}
            os.write(self._log, json.dumps({**charge, "at": time.monotonic()}).encode() + b"\n")
            os.fsync(self._log)
            self._by_order[order] = charge
            if key is not None:
                self._by_key[key] = charge
            return charge

    def of(self, order: int) -> dict[str, Any] | None:
        """The newest charge of an order."""
        with self._guard:
            self.tally["looked up"] += 1
            return self._by_order.get(order)


class Decisions:
    """Which requests are decided: charged, or never to be charged. Numbered in the order in which their connections came.

    An answer to a look-up is true only if no earlier request can still charge, so it waits for these.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: set[int] = set()
        self._came = 0

    def come(self) -> int:
        """A connection has come: its number."""
        with self._changed:
            self._came += 1
            self._open.add(self._came)
            return self._came

    def decided(self, number: int) -> None:
        """Nothing will be charged any more for this one."""
        with self._changed:
            self._open.discard(number)
            self._changed.notify_all()

    def wait_for_earlier(self, number: int) -> None:
        """Until all that came before are decided."""
        with self._changed:
            self._open.discard(number)
            self._changed.notify_all()
            self._changed.wait_for(lambda: min(self._open, default=number) >= number)


class PaymentServer(socketserver.ThreadingTCPServer):
    """Accepts connections one after the other, and serves each in a thread of its own."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, plan: Plan) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan, self.charges, self.decisions = plan, Charges(plan.log), Decisions()
        self._seen: Counter[int] = Counter()
        self._numbers: dict[Any, int] = {}
        self._guard = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        """In the thread that accepts: connections get their numbers in the order in which they came."""
        self._numbers[request] = self.decisions.come()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """The connection has ended, whatever became of it."""
        self.decisions.decided(self._numbers.pop(request))
        super().shutdown_request(request)

    def number_of(self, connection: Any) -> int:
        """When a connection came."""
        return self._numbers[connection]

    def manner_towards(self, order: int, *, keyed: bool) -> Manner:
        """The same for the same request of the same order, in every test with this seed."""
        with self._guard:
            self._seen[order] += 1
            chance = random.Random(f"{self.plan.seed}/{order}/{self._seen[order]}")
        manner = chance.choices(list(MANNERS), list(MANNERS.values()))[0]
        return PROMPT if manner == TWICE and not keyed else manner


class Handler(BaseHTTPRequestHandler):
    """One connection, one request."""

    server: PaymentServer

    def do_POST(self) -> None:
        """Charge, one way or another."""
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:  # whoever sent it died in the middle
            return
        order = json.loads(body)
        key = self.headers["Idempotency-Key"] if self.path == "/keyed" else None
        manner = self.server.manner_towards(order["order"], keyed=key is not None)
        time.sleep(manner.wait * PATIENCE)
        charge = None
        for _ in range(manner.charges):
            charge = self.server.charges.make(order["order"], order["amount"], key)
        self.server.decisions.decided(self.server.number_of(self.connection))
        time.sleep(manner.wait_then * PATIENCE)
        self._answer(manner.status, charge)

    def do_GET(self) -> None:
        """Look up, once all earlier requests are decided."""
        self.server.decisions.wait_for_earlier(self.server.number_of(self.connection))
        _, what, *rest = self.path.split("/")
        if what == "referenced":
            self._answer(200, self.server.charges.of(int(rest[0])))
        else:
            self._answer(200, dict(self.server.charges.tally))

    def _answer(self, status: int | None, answer: Any) -> None:
        if status is None:
            return
        text = json.dumps(answer).encode()
        with contextlib.suppress(OSError):  # the client has gone
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    def handle(self) -> None:
        """As usual, but for clients that were killed while they spoke."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        """The log of charges is enough."""


def main() -> None:
    """Serve until standard input is closed."""
    with PaymentServer(Plan.from_json(sys.argv[1])) as server:
        print(server.server_address[1], flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
