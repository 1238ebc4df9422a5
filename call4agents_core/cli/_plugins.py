"""Frameworks and plugins as they are installed here. The one place that knows which plugins exist."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import TYPE_CHECKING, NamedTuple

from call4agents_core.plugin import GROUP, Plugin

if TYPE_CHECKING:
    from collections.abc import Iterator


class Framework(NamedTuple):
    """A framework that people build agents with: the distributions that bring it, and the one that is our plugin for it."""

    name: str
    distributions: tuple[str, ...]
    plugin: str | None = None


FRAMEWORKS = (
    Framework("LangGraph", ("langgraph", "langchain"), "call4agents-langgraph"),
    Framework("Pydantic AI", ("pydantic-ai", "pydantic-ai-slim")),
    Framework("OpenAI Agents SDK", ("openai-agents",)),
    Framework("MCP", ("mcp", "fastmcp", "fastmcp-slim")),
)
DRIVERS = ("psycopg",)


class Installed(NamedTuple):
    """A plugin that is installed: itself, or why it cannot be loaded. ``distribution`` is what brought it."""

    name: str
    distribution: str
    plugin: Plugin | None
    problem: str = ""


@cache
def installed() -> tuple[Installed, ...]:
    """Every installed plugin, loaded, which imports its framework."""
    return tuple(_installed())


def _installed() -> Iterator[Installed]:
    for entry in sorted(entry_points(group=GROUP)):
        distribution = entry.dist.name if entry.dist is not None else entry.value
        try:
            plugin = entry.load()
        except Exception as error:  # somebody else's module, which may raise anything
            yield Installed(entry.name, distribution, None, f"{type(error).__name__}: {error}")
            continue
        if isinstance(plugin, Plugin):
            yield Installed(entry.name, distribution, plugin)
        else:
            yield Installed(entry.name, distribution, None, f"{entry.value} is no call4agents_core.plugin.Plugin")


def version_of(distribution: str) -> str | None:
    """The installed version, if it is installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def frameworks_here() -> Iterator[tuple[Framework, bool]]:
    """Each framework that is installed, and whether its plugin is. Loads nothing."""
    for framework in FRAMEWORKS:
        if any(map(version_of, framework.distributions)):
            yield framework, framework.plugin is not None and version_of(framework.plugin) is not None


def install_lines() -> Iterator[str]:
    """For each framework that is here without its plugin: what to type."""
    for framework, has_plugin in frameworks_here():
        if framework.plugin is not None and not has_plugin:
            yield f"{framework.name} is installed, and its plugin is not: pip install {framework.plugin}"
