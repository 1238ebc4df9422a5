"""A class that overrides what a checkpointer overrides, and nothing else.

LangGraph asks what a checkpointer can do in two ways: whether its class overrides a method of the base, and whether the signature of
put_writes has ``task_path``. So the wrapper of each checkpointer is a class of its own, and its methods have the inner ones' signatures.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    S = TypeVar("S", bound="type[BaseCheckpointSaver[Any]]")
    Method = Callable[..., Any]

#: What a checkpointer may override; a method that a later release adds is forwarded too. A clone is made by the wrapper itself.
OVERRIDABLE = tuple(
    name
    for name, value in vars(BaseCheckpointSaver).items()
    if inspect.isfunction(value) and not name.startswith("_") and name != "with_allowlist"
)


def shaped_like(saver: BaseCheckpointSaver[Any], base: S, special: Mapping[str, Callable[[], Method]]) -> S:
    """The subclass of ``base`` for a checkpointer. ``special``: makers of methods to take where plain forwarding is not enough.

    What it overrides is read from the object, not from its class: a checkpointer may itself delegate to another one.
    """
    bound = {name: method for name in OVERRIDABLE if _is_overridden(name, method := getattr(saver, name))}
    managers = {name: maker for name, maker in _MANAGERS.items() if hasattr(type(saver), name)}
    known_by = (base, type(saver), tuple((name, _function(method)) for name, method in bound.items()), tuple(managers))
    made = _made.get(known_by)
    if made is None:
        body: dict[str, Any] = {name: maker() for name, maker in managers.items()}
        for name, method in bound.items():
            body[name] = _dressed(special[name]() if name in special else _forwarding(name, method), method)
        body["__module__"], body["__doc__"] = base.__module__, base.__doc__
        made = type(f"{base.__name__}({type(saver).__name__})", (base,), body)
        if all(
            inspect.ismethod(method) for method in bound.values()
        ):  # what else an object may hold lives no longer than it
            _made[known_by] = made
    return cast("S", made)


_made: dict[Any, type] = {}


def _function(method: Method) -> Method:
    return cast("Method", getattr(method, "__func__", method))


def _is_overridden(name: str, method: Method) -> bool:
    return _function(method) is not getattr(BaseCheckpointSaver, name)


def _forwarding(name: str, method: Method) -> Method:
    if inspect.iscoroutinefunction(method):

        async def forward_async(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await getattr(self._c4a_saver, name)(*args, **kwargs)

        return forward_async

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:  # an iterator, sync or async, is handed on as it is
        return getattr(self._c4a_saver, name)(*args, **kwargs)

    return forward


_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)


def _dressed(forward: Any, method: Method) -> Method:
    """The function with name, text and signature of the inner method."""
    functools.update_wrapper(forward, _function(method))
    signature = inspect.signature(method)
    parameters = [_SELF.replace(kind=_kind_before(signature)), *signature.parameters.values()]
    forward.__signature__ = signature.replace(parameters=parameters)
    return cast("Method", forward)


def _kind_before(signature: inspect.Signature) -> Any:
    first = next(iter(signature.parameters.values()), None)
    positional_only = first is not None and first.kind is inspect.Parameter.POSITIONAL_ONLY
    return inspect.Parameter.POSITIONAL_ONLY if positional_only else inspect.Parameter.POSITIONAL_OR_KEYWORD


# ---- context managers: whoever enters the wrapper gets the wrapper ---------------------------------------------------


def _enter() -> Method:
    def __enter__(self: Any) -> Any:  # noqa: N807
        self._c4a_saver.__enter__()
        return self

    return __enter__


def _exit() -> Method:
    def __exit__(self: Any, *error: Any) -> Any:  # noqa: N807
        return self._c4a_saver.__exit__(*error)

    return __exit__


def _aenter() -> Method:
    async def __aenter__(self: Any) -> Any:  # noqa: N807
        await self._c4a_saver.__aenter__()
        return self

    return __aenter__


def _aexit() -> Method:
    async def __aexit__(self: Any, *error: Any) -> Any:  # noqa: N807
        return await self._c4a_saver.__aexit__(*error)

    return __aexit__


_MANAGERS: Mapping[str, Callable[[], Method]] = {
    "__enter__": _enter, "__exit__": _exit, "__aenter__": _aenter, "__aexit__": _aexit
}  # fmt: skip
