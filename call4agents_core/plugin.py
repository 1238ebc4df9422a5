"""What plugins may use besides the names of the package root: the parts that calls are made of, and what a plugin tells the core.

A plugin finds ledger and run by its framework's own words, makes a `Call`, and lets `perform` or `aperform` run the tool.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from call4agents_core._async import aperform
from call4agents_core._call import Call, Effect
from call4agents_core._codec import register as register_type
from call4agents_core._registry import effect_of, remember
from call4agents_core._scope import current_ledger, current_run, default_ledger
from call4agents_core._shown import command
from call4agents_core._steps import perform
from call4agents_core.errors import recast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

__all__ = [
    "GROUP",
    "Call",
    "Effect",
    "Finding",
    "Plugin",
    "Scene",
    "aperform",
    "command",
    "current_ledger",
    "current_run",
    "default_ledger",
    "effect_of",
    "perform",
    "recast",
    "register_type",
    "remember",
]

#: The entry points by which the core finds installed plugins; each names a `Plugin`.
GROUP = "call4agents.plugins"


class Finding(NamedTuple):
    """Something that `doctor` tells: a risky setting that was found, and what to do about it."""

    risk: bool
    text: str


@dataclass(frozen=True)
class Scene:
    """One crash for `quickstart` to play: where it happens, and with or without us. ``folder`` is empty and the scene's own."""

    folder: Path
    guarded: bool
    kill: Literal["inside", "after"]


@dataclass(frozen=True)
class Plugin:
    """What a plugin tells the core.

    ``framework`` is the name that people know it by, ``distributions`` those whose versions `doctor` prints. ``play`` plays a
    scene with the real framework and real killed processes, and says how often the effect happened. ``checks`` looks for risky
    settings. ``columns`` says where in the framework an action was called, from what its intent stored.
    """

    framework: str
    distributions: tuple[str, ...]
    play: Callable[[Scene], int] | None = None
    checks: Callable[[], Iterable[Finding]] = field(default=tuple)
    columns: Callable[[Mapping[str, Any]], Mapping[str, str]] = field(default=lambda _where: {})
