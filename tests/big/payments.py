"""The payment server seen from outside: one HTTP request, and the log of what it really charged."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from plan import PATIENCE

#: How long to wait for answers that come only after all earlier requests are decided, in seconds.
LONG_PATIENCE = 20.0


class PaymentFailed(Exception):
    """The server answered with an error, which says nothing of what it did."""


#: All that can come out of a request. None of it says whether the charge was made.
TROUBLE = (PaymentFailed, HTTPException, OSError)


def request(
    port: int,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    *,
    headers: dict[str, str] | None = None,
    patience: float = PATIENCE,
) -> Any:
    """Send one request on a connection of its own; the answer's JSON. Raises one of `TROUBLE`."""
    connection = HTTPConnection("127.0.0.1", port, timeout=patience)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers or {})
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise PaymentFailed(answer.status)
    return json.loads(text)


def look_up(port: int, order: int) -> dict[str, Any] | None:
    """The charge of an order, by its reference. The answer stays true of all that was sent before."""
    return request(port, "GET", f"/referenced/{order}", patience=LONG_PATIENCE)


def await_decisions(port: int) -> None:
    """Return once every request that reached the server before this one is charged or will never be."""
    request(port, "GET", "/decided", patience=LONG_PATIENCE)


def charges_in(log: Path) -> list[dict[str, Any]]:
    """Every charge that was really made, oldest first."""
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines(keepends=True) if line[-1] == "\n"]
