"""What reconcile= and a person may say of an action in doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Happened:
    """It happened, and this is its result."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class DidNotHappen:
    """It surely did not happen: a new attempt may be made."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can tell: it stays in doubt."""


def happened(result: Any = None) -> Happened:
    """The answer that an action in doubt did happen, with the result that its call is to return from now on."""
    return Happened(result)


def did_not_happen() -> DidNotHappen:
    """The answer that an action in doubt surely did not happen, so that it may be tried again."""
    return DidNotHappen()


def unknown() -> Unknown:
    """The answer that nobody can tell, so that the action stays in doubt."""
    return Unknown()
