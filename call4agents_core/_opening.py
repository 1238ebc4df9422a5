"""Where a ledger is, and how it is opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from call4agents_core._ledger import Core
from call4agents_core._secrets import Secrets
from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from call4agents_core.stores._protocol import Store

C = TypeVar("C", bound=Core)

DEFAULT_LOCATION = os.path.join(".c4a", "ledger.sqlite")


def chosen_location(location: str | os.PathLike[str] | None) -> str:
    """What was passed, else C4A_LEDGER, else `.c4a/ledger.sqlite`."""
    return os.fspath(location) if location is not None else os.environ.get("C4A_LEDGER") or DEFAULT_LOCATION


def opened(
    kind: type[C],
    location: str | os.PathLike[str] | None,
    *,
    secret: object = None,
    old_secrets: Iterable[object] = (),
    read_only: bool = False,
    beside: bool = False,
) -> C:
    """A ledger of this kind at a location; see `Ledger.open`."""
    store, secrets = _store(chosen_location(location), secret, old_secrets, read_only, beside)
    try:
        return kind(store, secrets)
    except BaseException:
        store.close()
        raise


def _store(
    address: str, secret: object, old_secrets: Iterable[object], read_only: bool, beside: bool
) -> tuple[Store, Secrets]:
    if "://" in address:
        scheme = address.partition("://")[0]
        msg = f"A ledger at {scheme}:// cannot be opened: this release keeps ledgers in SQLite files. Give a path, or ':memory:'."
        raise UsageError(msg)
    from call4agents_core.stores.sqlite import SQLiteStore, side_folder

    file = None if address == ":memory:" else side_folder(address) / "secret"
    place = address if file is None else os.path.realpath(address)
    secrets = Secrets(place, file, secret, old_secrets)
    new = None if read_only else secrets.of_new_ledger
    return SQLiteStore(address, new=new, read_only=read_only, beside=beside), secrets
