"""Binding calls to signatures: one spelling for f(1), f(a=1) and f(1, b=<default>); and callbacks that take arguments by name."""

from __future__ import annotations

import functools
import inspect
import weakref
from typing import TYPE_CHECKING, Any, cast

from call4agents_core._canonical import module_name
from call4agents_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside partials, and the __call__ of a callable object: what says whether it is async or a generator."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return type(function).__call__


def tool_name(function: Callable[..., Any]) -> str:
    """`module.function`; the running program's module goes by its spec or file, since `__main__` is another one each time."""
    while isinstance(function, functools.partial):
        function = function.func
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{module_name(kind.__module__)}.{kind.__qualname__}"


def described(function: Callable[..., Any], tool: str) -> inspect.Signature:
    """The signature, or a UsageError where Python knows none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        msg = f"{tool}: its signature cannot be read ({error}). Wrap it in a function of your own."
        raise UsageError(msg) from error


class Binder:
    """Binds the arguments of calls to one function, quickly where the call is of a usual form."""

    def __init__(self, function: Callable[..., Any], tool: str) -> None:
        self.signature = described(function, tool)
        parameters = self.signature.parameters.values()
        self.names = tuple(self.signature.parameters)
        taken = [name for name in self.names if name.startswith("c4a_")]
        if taken:
            msg = f"{tool}: a parameter must not be called {taken[0]}: names that begin with c4a_ are options of the call."
            raise UsageError(msg)
        self._positional = tuple(p.name for p in parameters if p.kind in _POSITIONAL)
        self._by_name = frozenset(
            p.name for p in parameters if p.kind not in (*_VARIADIC, inspect.Parameter.POSITIONAL_ONLY)
        )
        self._defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
        self._variadic = any(p.kind in _VARIADIC for p in parameters)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters with their values, defaults filled in. Raises the TypeError that the call itself would raise."""
        if self._variadic or len(args) > len(self._positional):
            return self._bind_slowly(args, kwargs)
        found = dict(zip(self._positional, args, strict=False))
        if not (kwargs.keys() <= self._by_name) or not found.keys().isdisjoint(kwargs):
            return self._bind_slowly(args, kwargs)
        found = {**self._defaults, **found, **kwargs}
        if len(found) != len(self.names):
            return self._bind_slowly(args, kwargs)
        return {name: found[name] for name in self.names}  # in their order, however the call spells them

    def _bind_slowly(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)


class ByName:
    """A callback that is given those of the offered values which it names; one with ``**`` gets all, one with only ``*`` all in order."""

    def __init__(self, function: Callable[..., Any], offered: Iterable[str], option: str, tool: str) -> None:
        self.function = function
        parameters = described(function, f"{tool}: {option}").parameters.values()
        self.takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
        self.names = tuple(p.name for p in parameters if p.kind not in _VARIADIC)
        self._in_order = (
            not self.takes_all
            and not self.names
            and any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        )
        offered = tuple(offered)
        known = frozenset(offered)
        for p in parameters:
            if p.kind is inspect.Parameter.POSITIONAL_ONLY:
                msg = f"{tool}: {option} takes {p.name!r} by position only; let it take arguments by name."
                raise UsageError(msg)
            if p.kind not in _VARIADIC and p.name not in known and p.default is inspect.Parameter.empty:
                msg = f"{tool}: {option} asks for {p.name!r}, which is none of {', '.join(sorted(known)) or 'its arguments (it has none)'}."
                raise UsageError(msg)
        self.names = offered if self._in_order else tuple(name for name in self.names if name in known)

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """Call it with what it asks for."""
        if self.takes_all:
            return self.function(**values)
        if self._in_order:
            return self.function(*(values[name] for name in self.names if name in values))
        return self.function(**{name: values[name] for name in self.names if name in values})


# ---- the receiver of a method --------------------------------------------------------------------------------------


class Receivers:
    """Tells whether the first argument of a call is the object or class through which a method was reached.

    By where the effect stands in the class, never by what a parameter is called: `self` and `cls` are names like others.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        outer = getattr(function, "__qualname__", "").rpartition(".")[0]
        self.possible = bool(outer) and not outer.endswith("<locals>")
        self._seen: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()

    def is_receiver(self, wrapper: object, first: object) -> bool:
        """Whether ``first`` is an instance (or, for a class method, the class) in whose class ``wrapper`` stands as a method."""
        kind = first if isinstance(first, type) else type(first)
        found = self._seen.get(kind)
        if found is None:
            found = self._seen[kind] = _stands_in(kind, wrapper, as_class=isinstance(first, type))
        return found


def _stands_in(kind: type, wrapper: object, *, as_class: bool) -> bool:
    for ancestor in kind.__mro__:
        for value in cast("dict[str, Any]", vars(ancestor)).values():
            if as_class and isinstance(value, classmethod) and cast("Any", value).__func__ is wrapper:
                return True
            if not as_class and value is wrapper:
                return True
    return False
