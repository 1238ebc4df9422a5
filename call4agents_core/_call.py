"""An effect and one call of it: which action the call means, and what the ledger is to store of it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from call4agents_core import _keys, _stored
from call4agents_core._bind import Binder, Receivers, plain, tool_name
from call4agents_core._canonical import Unstable, canonical, loose
from call4agents_core._options import Options, checked, checked_text
from call4agents_core.errors import UnstableArgument, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from call4agents_core._options import Repeat

_NOTHING: frozenset[str] = frozenset()
_LOOSE_DIGITS = 32


class Effect:
    """A function whose calls are actions, with its options."""

    def __init__(self, function: Callable[..., Any], name: str | None, options: Mapping[str, Any]) -> None:
        self.function = function
        self.tool = _checked_name(function, name)
        inner = plain(function)
        if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
            msg = f"{self.tool} is a generator, which does its work piece by piece, so it cannot be once only. Put the part that acts into a function of its own."
            raise UsageError(msg)
        self.is_async = inspect.iscoroutinefunction(inner)
        self.binder = Binder(function, self.tool)
        self.options: Options = checked(self.tool, self.binder, **options)
        self.receivers = Receivers(inner)
        self.first = self.binder.names[0] if self.binder.names else ""

    def bind(self, wrapper: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """All arguments of a call by name, and whether the first is the object that the method was reached through."""
        bound = self.binder.bind(args, kwargs)
        return bound, bool(args) and self.receivers.possible and self.receivers.is_receiver(wrapper, args[0])


def _checked_name(function: Callable[..., Any], name: str | None) -> str:
    if not callable(function):
        msg = f"effect() decorates functions, and {function!r} is none."
        raise UsageError(msg)
    if isinstance(function, staticmethod):  # what it hides, an async function for one, nobody would see
        msg = f"{function!r} is a static method already: put @staticmethod above @effect."
        raise UsageError(msg)
    if name is None:
        name = tool_name(function)
        if name.endswith("<lambda>"):
            msg = "A lambda has no name that another process would find again: give the effect a name=."
            raise UsageError(msg)
    return checked_text("name=", name)


class Call:
    """One call, or one decision about a call: the action that it means and the arguments as they will run."""

    __slots__ = (
        "action",
        "arguments",
        "digest",
        "effect",
        "given_key",
        "idempotent_for",
        "key",
        "ledger_id",
        "loose",
        "needs_yes",
        "ordinal",
        "owner",
        "repeat",
        "reverses",
        "run",
        "values",
        "where",
    )

    def __init__(
        self,
        effect: Effect,
        run: str,
        ledger_id: bytes,
        values: dict[str, Any],
        *,
        receiver: bool,
        key: str | None,
        decision: bool = False,
        repeat: Repeat | None = None,
    ) -> None:
        """Raises UnstableArgument, before anything is written. ``values``: all arguments; ``receiver``: the first is the method's object;
        ``decision``: a person decides about the call, so whether it needs a yes is not asked.
        """
        self.effect, self.run, self.ledger_id, self.values = effect, run, ledger_id, values
        options = effect.options
        self.given_key = _given_key(effect, key, values)
        dropped = options.exclude | {effect.first} if receiver else options.exclude
        self.arguments = {name: value for name, value in values.items() if name not in dropped} if dropped else values
        approving = decision or options.approval is not False
        digest = _keys.arguments_digest(ledger_id, self._strict(approving))
        self.digest = digest.hex()
        if self.given_key is None:
            self.key, self.loose = digest, None
        else:
            self.key = _keys.given_key_digest(ledger_id, self.given_key)
            self.loose = {
                name: _keys.arguments_digest(ledger_id, loose(value)).hex()[:_LOOSE_DIGITS]
                for name, value in self.arguments.items()
            }
        self.needs_yes = (
            options.approval if isinstance(options.approval, bool) else not decision and bool(options.approval(values))
        )
        self.idempotent_for = options.idempotent_for
        self.repeat: Repeat = repeat or options.repeat or "return"
        self.owner = ""
        self.reverses: str | None = None  # the action that this one is the undo of
        self.where: dict[str, Any] = {}
        self.mean(1)

    def mean(self, ordinal: int) -> None:
        """Let the call mean the ``ordinal``-th of its deliberate repeats."""
        self.ordinal = ordinal
        self.action = _keys.action_id(self.ledger_id, self.run, self.effect.tool, self.key, ordinal)

    def _strict(self, approving: bool) -> bytes:
        """Canonical bytes of the arguments. A yes covers exact arguments only, so where one may be needed all must have them."""
        try:
            return canonical(self.arguments)
        except Unstable:
            lenient = self.given_key is not None and not approving
            return canonical(
                {name: _stable(self.effect, name, value, lenient) for name, value in self.arguments.items()}
            )

    # ---- what rules ask and entries hold ------------------------------------------------------------------------

    def head(self) -> dict[str, Any]:
        """What entry 1 of the action says of it."""
        facts = {"tool": self.effect.tool, "ordinal": self.ordinal, "key": self.given_key, "reverses": self.reverses}
        return {name: value for name, value in facts.items() if value is not None}

    def request(self) -> dict[str, Any]:
        """Arguments and digest, as a request or an approval stores them."""
        return self._with_loose(
            {"args": _stored.arguments(self.arguments, redact=self.effect.options.redact), "digest": self.digest}
        )

    def intent(self) -> dict[str, Any]:
        """Arguments, digest, owner and whether there is an undo, as an intent stores them."""
        undo = self.effect.options.undo
        values = self.arguments
        if undo is not None:  # an excluded argument is stored only where undo= names it
            wanted = self.effect.options.exclude.intersection(undo.names)
            values = {**values, **{name: self.values[name] for name in self.values if name in wanted}}
        data = self._with_loose(
            {
                "args": _stored.arguments(values, redact=self.effect.options.redact),
                "digest": self.digest,
                "owner": self.owner,
            }
        )
        if undo is not None:
            data["undo"] = True
        if self.where:
            data["where"] = self.where
        return data

    def _with_loose(self, data: dict[str, Any]) -> dict[str, Any]:
        if self.loose is not None:
            data["loose"] = self.loose
        return data

    def idempotency_key(self) -> str:
        """The key for the outside API."""
        return _keys.idempotency_key(self.ledger_id, self.action)

    def secret_texts(self) -> tuple[str, ...]:
        """What no text about the call may show."""
        return _stored.secret_texts(self.values, self.effect.options.redact) if self.effect.options.redact else ()


def _given_key(effect: Effect, key: str | None, values: dict[str, Any]) -> str | None:
    if key is None and effect.options.key is not None:
        key = effect.options.key(values)
    if key is None:
        return None
    return checked_text(f"{effect.tool}: c4a_key", key)


def _stable(effect: Effect, name: str, value: object, lenient: bool) -> object:
    """The value; or a stand-in for one that has no stable bytes, where the call was given a key that stands for it."""
    try:
        canonical(value)
    except Unstable as error:
        if not lenient:
            why = error.why if name in effect.options.redact else str(error)  # the path to it shows keys
            raise UnstableArgument(effect.tool, name, why) from None
        return {"c4a: no stable bytes": tool_name(type(value))}
    return value
