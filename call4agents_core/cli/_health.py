"""What `doctor` and `report` tell: versions, how the ledger is, and settings that were looked at."""

from __future__ import annotations

import os
import platform
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from call4agents_core._opening import chosen_location
from call4agents_core.cli._plugins import DRIVERS, FRAMEWORKS, frameworks_here, install_lines, installed, version_of
from call4agents_core.cli.doubt import in_doubt
from call4agents_core.errors import Call4AgentsError, LedgerNotFound
from call4agents_core.ledger import Ledger
from call4agents_core.plugin import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator


class Health(NamedTuple):
    """Facts by name, in the order to print; ``broken``: the ledger is there and cannot be used, or a plugin cannot be loaded."""

    versions: dict[str, str]
    ledger: dict[str, str]
    findings: tuple[Finding, ...]
    broken: bool


def health(location: str | None) -> Health:
    """Look at this installation and at the ledger, if there is one. Makes none, writes nothing."""
    facts, about_ledger, ledger_broken = _ledger(location)
    findings = (*_environment(), *about_ledger, *_of_plugins())
    return Health(_versions(), facts, findings, ledger_broken or any(entry.plugin is None for entry in installed()))


def _versions() -> dict[str, str]:
    found = {
        "Python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.system()} {platform.release()})",
        "SQLite": sqlite3.sqlite_version,
        "call4agents-core": version_of("call4agents-core") or "not installed as a distribution",
    }
    ours = [entry.distribution for entry in installed()]
    theirs = [name for entry in installed() if entry.plugin is not None for name in entry.plugin.distributions]
    for name in (*ours, *(name for framework in FRAMEWORKS for name in framework.distributions), *DRIVERS, *theirs):
        number = version_of(name)
        if number is not None:
            found.setdefault(name, number)
    return found


# ---- the ledger ----------------------------------------------------------------------------------------------------


def _ledger(location: str | None) -> tuple[dict[str, str], list[Finding], bool]:
    try:
        with closing(Ledger.open(location, read_only=True)) as ledger:
            facts = {"location": ledger.location, **ledger.store.describe()}
            facts |= {
                "in doubt": str(sum(1 for _ in in_doubt(ledger))),
                "open requests": str(len(ledger.store.requests())),
            }
            return facts, list(_risks(ledger, facts)), False
    except LedgerNotFound:
        where = _without_password(chosen_location(location))
        return {"location": f"none at {where} yet; the first init() of a program makes one"}, [], False
    except Call4AgentsError as error:
        return {"location": _without_password(chosen_location(location))}, [Finding(risk=True, text=str(error))], True


def _risks(ledger: Ledger, facts: dict[str, str]) -> Iterator[Finding]:
    place = facts.get("place", "a local disk")
    yield Finding(place != "a local disk", f"The place of the ledger: {place}.")
    if ledger.location == ":memory:" or "://" in ledger.location:
        return
    from call4agents_core.stores.sqlite import side_folder

    secret = side_folder(ledger.location) / "secret"
    if os.name == "posix" and secret.exists() and secret.stat().st_mode & 0o077:
        yield Finding(risk=True, text=f"Other users may read the secret of the ledger. Type: chmod 600 {secret}")


def _without_password(location: str) -> str:
    scheme, separator, rest = location.partition("://")
    return f"{scheme}://…@{rest.rpartition('@')[2]}" if separator and "@" in rest else location


# ---- settings ------------------------------------------------------------------------------------------------------


def _environment() -> Iterator[Finding]:
    if os.environ.get("C4A_SECRET"):
        yield Finding(risk=False, text="C4A_SECRET is set; it is used instead of the secret beside a SQLite ledger.")
    else:
        yield Finding(
            risk=False, text="C4A_SECRET is not set; a SQLite ledger makes its own secret and keeps it beside itself."
        )
    if sqlite3.sqlite_version_info < (3, 35):
        yield Finding(
            risk=True, text=f"SQLite {sqlite3.sqlite_version} is too old; 3.35 is the oldest that is supported."
        )


def _of_plugins() -> Iterator[Finding]:
    for entry in installed():
        if entry.plugin is None:
            yield Finding(
                risk=True, text=f"The plugin {entry.name} of {entry.distribution} cannot be loaded: {entry.problem}"
            )
        else:
            yield from entry.plugin.checks()
    for line in install_lines():
        yield Finding(risk=False, text=line)
    for framework, _ in frameworks_here():
        if framework.plugin is None:
            text = f"{framework.name} has no plugin in this release; tools that are functions of yours can use @effect."
            yield Finding(risk=False, text=text)
