"""Digests, MACs and keys. Every input is length-prefixed and starts with its purpose, so that no two purposes share bytes.

docs/record-format.md gives the layouts with test vectors.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT = 1
LEDGER_ID_BYTES = 32
KEY_ID_BYTES = 4
MAC_BYTES = KEY_ID_BYTES + 32


def _joined(purpose: bytes, *parts: bytes) -> bytes:
    found = [purpose]
    for part in parts:
        found += (len(part).to_bytes(4, "big"), part)
    return b"".join(found)


def key_id(secret: bytes, ledger_id: bytes) -> bytes:
    """Which secret a MAC was made with: names it, tells nothing of it."""
    return hmac.digest(secret, _joined(b"c4a-key-id-1\0", ledger_id), "sha256")[:KEY_ID_BYTES]


def arguments_digest(ledger_id: bytes, encoded: bytes) -> bytes:
    """The strict digest of canonical arguments: what an approval covers, and the key of a call without c4a_key."""
    return sha256(_joined(b"c4a-arguments-1\0", ledger_id, encoded)).digest()


def given_key_digest(ledger_id: bytes, key: str) -> bytes:
    """The key of a call that was given one by c4a_key or key=."""
    return sha256(_joined(b"c4a-given-key-1\0", ledger_id, key.encode("utf-8", "surrogatepass"))).digest()


def action_id(ledger_id: bytes, run: str, tool: str, key: bytes, ordinal: int) -> str:
    """The id of one (run, tool, key, ordinal): 32 hexadecimal digits."""
    return sha256(
        _joined(b"c4a-action-1\0", ledger_id, run.encode(), tool.encode(), key, ordinal.to_bytes(8, "big"))
    ).hexdigest()[:32]


def idempotency_key(ledger_id: bytes, action: str) -> str:
    """The key for outside APIs: 44 characters, the same for every attempt, whatever the secret is by then."""
    return "c4a-" + sha256(_joined(b"c4a-idempotency-1\0", ledger_id, bytes.fromhex(action))).hexdigest()[:40]


def request_id(action: str, n: int) -> str:
    """The id of the request that entry ``n`` of an action opened: 16 hexadecimal digits."""
    return sha256(_joined(b"c4a-request-1\0", bytes.fromhex(action), n.to_bytes(4, "big"))).hexdigest()[:16]


class Keyring:
    """The secret of a ledger, and older ones that entries may still be signed with."""

    def __init__(self, ledger_id: bytes, secret: bytes, old_secrets: Iterable[bytes] = ()) -> None:
        self.ledger_id = ledger_id
        self.current = key_id(secret, ledger_id)
        self._secrets = {key_id(old, ledger_id): old for old in old_secrets} | {self.current: secret}
        self._head = b"c4a-entry-1\0" + len(ledger_id).to_bytes(4, "big") + ledger_id

    def knows(self, key: bytes) -> bool:
        """Whether the secret of this key id is at hand."""
        return key in self._secrets

    def sign(self, run: str, action: str, n: int, before: bytes, body: bytes) -> bytes:
        """The MAC of an entry over its content, its run, its place, and the MAC of the entry before it (none: empty)."""
        return self.current + hmac.digest(
            self._secrets[self.current], self._message(run, action, n, before, body), "sha256"
        )

    def accepts(self, mac: bytes, run: str, action: str, n: int, before: bytes, body: bytes) -> bool:
        """Whether the MAC was made for this very entry with a secret that is at hand."""
        secret = self._secrets.get(mac[:KEY_ID_BYTES])
        if secret is None:
            return False
        return hmac.compare_digest(
            mac[KEY_ID_BYTES:], hmac.digest(secret, self._message(run, action, n, before, body), "sha256")
        )

    def _message(self, run: str, action: str, n: int, before: bytes, body: bytes) -> bytes:
        name = run.encode()
        return b"".join(
            (
                self._head,
                len(name).to_bytes(4, "big"),
                name,
                bytes.fromhex(action),
                n.to_bytes(4, "big"),
                len(before).to_bytes(4, "big"),
                before,
                len(body).to_bytes(4, "big"),
                body,
            )
        )
