"""Finding the effect behind what a user hands over: the decorated function, a bound method, or a tool's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from call4agents_core._call import Effect

MARK = "__call4agents_effect__"
_by_name: dict[str, Callable[..., Any]] = {}


def remember(wrapper: Callable[..., Any], effect: Effect) -> None:
    """Mark the wrapper as that of an effect, and find it under its tool's name from now on."""
    setattr(wrapper, MARK, effect)
    _by_name[effect.tool] = wrapper


def known(tool: str) -> Callable[..., Any] | None:
    """The newest effect of that name in this process."""
    return _by_name.get(tool)


def effect_of(tool: Callable[..., Any] | str) -> tuple[Callable[..., Any], Effect, object | None]:
    """Wrapper, effect, and the object that a method was reached through. Raises UsageError."""
    found = _by_name.get(tool) if isinstance(tool, str) else tool
    effect = getattr(found, MARK, None)
    if found is None or effect is None:
        what = (
            f"No effect called {tool!r} is known here; import its module"
            if isinstance(tool, str)
            else f"{tool!r} is no effect; decorate it with @effect"
        )
        msg = f"{what}, or pass the decorated function."
        raise UsageError(msg)
    wrapper = getattr(found, "__func__", found)
    return wrapper, effect, getattr(found, "__self__", None) if wrapper is not found else None
