"""Where the secret of a ledger comes from, and whether it is the right one."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from typing import TYPE_CHECKING

from call4agents_core._keys import Keyring, key_id
from call4agents_core._locks import lock
from call4agents_core.errors import LedgerReadOnly, SecretMismatch, SecretMissing, UsageError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    from call4agents_core._types import Meta

SHORTEST = 16
_one_thread = threading.Lock()  # a lock of the kernel tells processes apart, not threads


def as_bytes(secret: object) -> bytes:
    """A secret as bytes; text counts as UTF-8. At least 16 bytes."""
    if isinstance(secret, str):
        secret = secret.encode()
    if not isinstance(secret, bytes) or len(secret) < SHORTEST:
        msg = f"A secret is bytes or text of at least {SHORTEST} bytes. Make one with: python -c 'import secrets; print(secrets.token_hex(32))'"
        raise UsageError(msg)
    return secret


class Secrets:
    """The secrets for one ledger: what was given (argument, else C4A_SECRET), else the file beside a ledger that made its own."""

    def __init__(self, location: str, file: Path | None, given: object, old: Iterable[object]) -> None:
        """``file``: None for a ledger that has no folder of its own."""
        self._location, self._file = location, file
        given = given if given is not None else os.environ.get("C4A_SECRET") or None
        self._given = None if given is None else as_bytes(given)
        listed = os.environ.get("C4A_OLD_SECRETS", "")
        self._old = [as_bytes(secret) for secret in old] or [as_bytes(text) for text in listed.split(",") if text]
        self._fresh: list[bytes] = []  # of a ledger that has no file for them; newest first

    def of_new_ledger(self, ledger_id: bytes) -> bytes:
        """The key id for a ledger that is being made; makes its secret unless one was given. Called under the ledger's write lock."""
        return key_id(self._given or self._made(), ledger_id)

    def keyring(self, meta: Meta) -> Keyring:
        """The keys of an existing ledger. Raises SecretMissing or SecretMismatch; never makes a new secret for it."""
        given = [self._given] if self._given is not None else []
        found = [*(given or self._kept()), *self._old]
        # A new secret may be at hand, beside the old one, before the ledger belongs to it: see `successor`.
        right = [secret for secret in found if key_id(secret, meta.ledger_id) == meta.key_id]
        if not right:
            where = "the secret that was given" if given else f"the secret in {self._file}"
            raise SecretMismatch(
                self._location,
                f"{where} is not the one that it belongs to",
                "Give the right one (secret= or C4A_SECRET); older ones go into old_secrets= or C4A_OLD_SECRETS.",
            )
        return Keyring(meta.ledger_id, right[0], [secret for secret in found if secret is not right[0]])

    def successor(self, meta: Meta) -> Keyring:
        """The keys after a change of secret: the given one follows the old ones that were given with it; else a new one is made
        and written down, with all before it, into the file.
        """
        if self._given is not None:
            if key_id(self._given, meta.ledger_id) == meta.key_id:
                msg = f"{self._location} belongs to the secret that was given already. For another one, give that, and this one among the old secrets."
                raise UsageError(msg)
            if meta.key_id not in {key_id(old, meta.ledger_id) for old in self._old}:
                advice = "Give the new secret in C4A_SECRET and the one that it follows in C4A_OLD_SECRETS."
                raise SecretMismatch(
                    self._location, "none of the old secrets that were given is the one that it belongs to", advice
                )
            return Keyring(meta.ledger_id, self._given, self._old)
        new = secrets.token_bytes(32)
        if self._file is None:
            self._fresh = [new, *self._kept()]
            return Keyring(meta.ledger_id, new, [*self._fresh, *self._old])
        with self._alone(self._file):
            kept = self._kept()
            self._write(self._file, [new, *kept])
        return Keyring(meta.ledger_id, new, [*kept, *self._old])

    def copy_to(self, file: Path) -> None:
        """Let a volume of the same ledger have the secrets that lie in our file. Given ones are never written down."""
        if self._given is None and self._file is not None:
            with self._alone(self._file):
                self._write(file, self._kept())

    @contextlib.contextmanager
    def _alone(self, file: Path) -> Generator[None]:
        """One process at a time: of two that change the secret at once, neither may write over what the other has added."""
        with _one_thread:
            try:
                handle = os.open(file.with_name(f"{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise self._unwritable(error) from error
            try:
                while not lock(handle, shared=False):
                    time.sleep(0.01)
                yield
            finally:
                os.close(handle)

    def _write(self, file: Path, found: list[bytes]) -> None:
        try:
            _write_whole(file, "".join(secret.hex() + "\n" for secret in found))
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> LedgerReadOnly:
        why = f"the folder for its secret cannot be written ({error})"
        return LedgerReadOnly(self._location, why, "Name a location where this user may write, or give secret=.")

    def _kept(self) -> list[bytes]:
        """The secrets in the file, newest first."""
        if self._fresh:
            return self._fresh
        try:
            lines = self._file.read_text(encoding="ascii").split() if self._file is not None else []
            found = [bytes.fromhex(line) for line in lines]
        except (OSError, ValueError):
            found = []
        if not found:
            raise SecretMissing(
                self._location,
                f"it exists, and its secret does not ({self._file} cannot be read)",
                "Put the file back from the backup, or give the secret with secret= or C4A_SECRET. A new one would make every approval and every entry worthless, so none was made.",
            )
        return found

    def _made(self) -> bytes:
        if self._file is None:
            self._fresh = [secrets.token_bytes(32)]
            return self._fresh[0]
        with contextlib.suppress(SecretMissing):
            return self._kept()[0]  # of a process that was killed while it made this ledger
        secret = secrets.token_bytes(32)
        self._write(self._file, [secret])
        return secret


def _write_whole(path: Path, text: str) -> None:
    """The file with this text, for this user only, or no file: never half of it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, text.encode("ascii"))
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(part, path)
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    """Bring a new name to disk. A power cut must not leave a ledger that belongs to a secret which is gone."""
    with contextlib.suppress(OSError):  # Windows opens no folders, and needs no such sync
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
