"""What reconcile= and a person may say of an action in doubt."""

from __future__ import annotations

from typing import Any, NamedTuple


class Happened(NamedTuple):
    """It happened, and this is its result."""

    result: Any = None


class _Word:
    """An answer that says all by what it is."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class DidNotHappen(_Word):
    """It surely did not happen: a new attempt may be made."""

    __slots__ = ()


class Unknown(_Word):
    """Nobody can tell: it stays in doubt."""

    __slots__ = ()


def happened(result: Any = None) -> Happened:
    """The answer that an action in doubt did happen, with the result that its call is to return from now on."""
    return Happened(result)


def did_not_happen() -> DidNotHappen:
    """The answer that an action in doubt surely did not happen, so that it may be tried again."""
    return DidNotHappen()


def unknown() -> Unknown:
    """The answer that nobody can tell, so that the action stays in doubt."""
    return Unknown()
