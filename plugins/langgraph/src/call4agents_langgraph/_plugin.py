"""What the core finds of this package by its entry point. Imports nothing of LangGraph: it is loaded whenever the CLI asks for plugins."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

from call4agents_core.plugin import Finding, Plugin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from call4agents_core.plugin import Scene

_DISTRIBUTIONS = ("langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite", "langchain", "langchain-core")


def _play(scene: Scene) -> int:
    from call4agents_langgraph._play import play

    return play(scene)


def _checks() -> Iterator[Finding]:
    """Installed versions outside the ranges that this package was tested with."""
    from packaging.requirements import Requirement

    for line in metadata.requires("call4agents-langgraph") or ():
        requirement = Requirement(line)
        version = _version(requirement.name)
        if version is not None and not requirement.specifier.contains(version, prereleases=True):
            text = f"{requirement.name} {version} is installed, and call4agents-langgraph is tested with {requirement.specifier}."
            yield Finding(risk=True, text=text)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _columns(where: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(where[name]) for name in ("node", "step", "checkpoint") if name in where}


plugin = Plugin(framework="LangGraph", distributions=_DISTRIBUTIONS, play=_play, checks=_checks, columns=_columns)
