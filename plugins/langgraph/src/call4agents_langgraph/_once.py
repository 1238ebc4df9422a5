"""One call of an effect inside LangGraph: found its place, run at most once, its refusals as exceptions that LangGraph lets through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph.errors import GraphDrained, GraphInterrupt

from call4agents_core.plugin import Call, aperform, perform
from call4agents_langgraph._place import Place, place_of
from call4agents_langgraph._results import answering, detached
from call4agents_langgraph.errors import refusals

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from call4agents_core import Ledger
    from call4agents_core.plugin import Effect

#: What LangGraph raises to stop a node that it will run again from its top: no failure, so the attempt counts as not made.
PAUSES = (GraphInterrupt, GraphDrained)


class Asked(NamedTuple):
    """A call as it came: the effect, all arguments by name, whether the first is the object of a method, and the key it was given."""

    effect: Effect
    values: dict[str, Any]
    receiver: bool
    key: str | None
    tool_call: str | None

    @classmethod
    def of(
        cls,
        effect: Effect,
        wrapper: object,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        key: str | None = None,
        tool_call: Callable[[Mapping[str, Any]], str | None],
    ) -> Asked:
        """Bind the arguments. Raises the TypeError that the call itself would raise."""
        values, receiver = effect.bind(wrapper, args, kwargs)
        return cls(effect, values, receiver, key, tool_call(values))

    def place(self) -> Place:
        """Where it was called."""
        return place_of(self.effect.tool, self.tool_call)

    def call(self, place: Place, ledger: Ledger) -> Call:
        """The action that it means."""
        call = Call(self.effect, place.run, ledger.ledger_id, self.values, receiver=self.receiver, key=self.key)
        call.where = place.where
        return call


def once(asked: Asked, body: Callable[[], Any]) -> Any:
    """Run the body at most once, or return what is recorded; a result that answers a tool call answers the one that is asked now."""
    with refusals():
        place = asked.place()
        ledger = place.ready(asked.effect.tool)
        found = perform(ledger, asked.call(place, ledger), lambda: detached(body(), asked.tool_call), pauses=PAUSES)
        return answering(found, asked.tool_call)


async def aonce(asked: Asked, body: Callable[[], Awaitable[Any]]) -> Any:
    """`once`, for a body to be awaited."""

    async def detached_body() -> Any:
        return detached(await body(), asked.tool_call)

    with refusals():
        place = asked.place()
        ledger = await place.aready()
        found = await aperform(ledger, asked.call(place, ledger), detached_body, pauses=PAUSES)
        return answering(found, asked.tool_call)
