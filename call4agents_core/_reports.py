"""What an undo did, would do, and could not do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Reversal(NamedTuple):
    """One action in the report of an undo. ``why`` says what stands in the way, where something does.

    ``action`` is the action to be reversed; ``reversal`` is the action that reverses it, or ``action`` itself where it
    is that one which has to be settled first.
    """

    tool: str
    action: str
    arguments: dict[str, str]
    reversal: str = ""
    why: str = ""

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={text}" for name, text in self.arguments.items())
        return f"{self.tool}({shown}) [{self.action[:12]}]{': ' + self.why if self.why else ''}"


class UndoReport:
    """The undo of a run: every action of it that happened is in one of the lists, newest first. Where it stopped, those that only
    wait for what stands in the way are in none.

    ``undone``: reversed now (in a dry run: would be reversed, in this order). ``without_undo``: done, and their effects have
    no ``undo=``. ``in_doubt``: nobody knows whether they, or their reversals, happened. ``failed``: could not be reversed.
    ``already``: reversed by an earlier undo.
    """

    def __init__(self, run: str, ledger: str, dry_run: bool = False, **lists: list[Reversal]) -> None:
        """An empty report; ``lists``: what is in its lists from the start."""
        self.run, self.ledger, self.dry_run = run, ledger, dry_run
        self.undone = lists.get("undone", [])
        self.without_undo = lists.get("without_undo", [])
        self.in_doubt = lists.get("in_doubt", [])
        self.failed = lists.get("failed", [])
        self.already = lists.get("already", [])

    def __repr__(self) -> str:
        return f"UndoReport({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UndoReport) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    @property
    def clean(self) -> bool:
        """Whether everything that happened in the run is reversed."""
        return not (self.without_undo or self.stopped)

    @property
    def stopped(self) -> bool:
        """Whether something stands in the way of all that is older."""
        return bool(self.in_doubt or self.failed)

    def obstacles(self) -> str:
        """What stopped it, in words."""
        return "; ".join(
            _listed(name, found) for name, found in (("in doubt", self.in_doubt), ("failed", self.failed)) if found
        )


def _listed(name: str, found: Sequence[Reversal]) -> str:
    return f"{name}: {', '.join(map(str, found))}"
