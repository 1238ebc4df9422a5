"""The goals: each figure with its bound. The ratios count; plain times are there to say what machine they were measured on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.samples import Samples, Spread, excess, plain, ratio, spread

if TYPE_CHECKING:
    from collections.abc import Callable

_US, _MS, _MB = 1e6, 1e3, 1 / 1e6


class Goal(NamedTuple):
    """A figure and its bound: at most ``bound``, or at least; None: no goal."""

    what: str
    figure: Callable[[Samples], list[float]]
    unit: str
    bound: float | None = None
    at_least: bool = False

    def found(self, samples: Samples) -> Spread | None:
        """The figure, or None if something that it needs was not measured."""
        try:
            return spread(self.figure(samples))
        except KeyError:
            return None

    def met(self, value: float) -> bool:
        """Whether a value keeps the bound."""
        assert self.bound is not None
        return value >= self.bound if self.at_least else value <= self.bound


GOALS = (
    Goal("new action, less one durable insert", excess("new.ours", "one.floor", _US), "us", 150),
    Goal("new action / two durable inserts", ratio("new.ours", "two.floor"), "x"),
    Goal("new action / 0.5.0", ratio("new.ours", "new.peer"), "x", 0.5),
    Goal("approved new action / new action", ratio("approved.ours", "new.ours"), "x", 1.15),
    Goal("approved new action / new action, 0.5.0", ratio("approved.peer", "new.peer"), "x"),
    Goal("repeated action / 0.5.0", ratio("repeated.ours", "repeated.peer"), "x", 0.5),
    Goal("repeated over and over, full ledger / 10 actions", ratio("same.full", "same.ten"), "x", 1.25),
    Goal("repeated anywhere, full ledger / 10 actions", ratio("anywhere.full", "anywhere.ten"), "x", 1.25),
    Goal("32 threads, new actions per second / 0.5.0", ratio("threads.ours", "threads.peer"), "x", 2.5, at_least=True),
    Goal("200 tasks, new actions per second / 0.5.0", ratio("tasks.ours", "tasks.peer"), "x", 2.5, at_least=True),
    Goal("longest gap of their event loop, less that of bare inserts", excess("gap.ours", "gap.floor", _MS), "ms", 20),
    Goal("8 processes, new actions per second / 0.5.0", ratio("processes.ours", "processes.peer"), "x", 1.5, at_least=True),
    Goal("longest stall of one of them", plain("stall.ours", _MS), "ms", 250),
    Goal("`list`, full ledger", plain("list.time"), "s", 0.3),
    Goal("`doubt`, full ledger", plain("doubt.time"), "s", 0.3),
    Goal("`pending`, full ledger", plain("pending.time"), "s", 0.3),
    Goal("`list`, most memory", plain("list.memory", _MB), "MB", 80),
    Goal("`doubt`, most memory", plain("doubt.memory", _MB), "MB", 80),
    Goal("`pending`, most memory", plain("pending.memory", _MB), "MB", 80),
    Goal("import of the core, over a bare interpreter", excess("import.start", "bare.start", _MS), "ms", 30),
    Goal("`call4agents --help`, over a bare interpreter", excess("help.start", "bare.start", _MS), "ms", 60),
    Goal("`call4agents list`, over a bare interpreter", excess("list.start", "bare.start", _MS), "ms", 60),
)  # fmt: skip

#: What the figures above are made of, for those who want to know what this machine does in a second.
PLAIN = (
    Goal("one durable insert", plain("one.floor", _US), "us"),
    Goal("two durable inserts", plain("two.floor", _US), "us"),
    Goal("new action", plain("new.ours", _US), "us"),
    Goal("new action, 0.5.0", plain("new.peer", _US), "us"),
    Goal("approved new action", plain("approved.ours", _US), "us"),
    Goal("approved new action, 0.5.0", plain("approved.peer", _US), "us"),
    Goal("repeated action", plain("repeated.ours", _US), "us"),
    Goal("repeated action, 0.5.0", plain("repeated.peer", _US), "us"),
    Goal("repeated over and over, ledger of 10 actions", plain("same.ten", _US), "us"),
    Goal("repeated over and over, full ledger", plain("same.full", _US), "us"),
    Goal("repeated anywhere, ledger of 10 actions", plain("anywhere.ten", _US), "us"),
    Goal("repeated anywhere, full ledger", plain("anywhere.full", _US), "us"),
    Goal("32 threads", plain("threads.ours"), "per s"),
    Goal("32 threads, 0.5.0", plain("threads.peer"), "per s"),
    Goal("200 tasks", plain("tasks.ours"), "per s"),
    Goal("200 tasks, 0.5.0", plain("tasks.peer"), "per s"),
    Goal("200 tasks, longest gap of the event loop", plain("gap.ours", _MS), "ms"),
    Goal("200 tasks, longest gap, 0.5.0", plain("gap.peer", _MS), "ms"),
    Goal("200 tasks of bare inserts, longest gap", plain("gap.floor", _MS), "ms"),
    Goal("8 processes", plain("processes.ours"), "per s"),
    Goal("8 processes, 0.5.0", plain("processes.peer"), "per s"),
    Goal("8 processes, longest stall, 0.5.0", plain("stall.peer", _MS), "ms"),
    Goal("new actions while the ledger was filled", plain("fill.ours"), "per s"),
    Goal("full ledger, closed: size of an action", plain("size.ours"), "bytes"),
    Goal("bare interpreter", plain("bare.start", _MS), "ms"),
)
