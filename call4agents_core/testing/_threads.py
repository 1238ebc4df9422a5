"""Threads that start at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    T = TypeVar("T")


def together(count: int, work: Callable[[int], T]) -> list[T]:
    """What ``work(i)`` gives in ``count`` threads that start at once; an exception in one of them is raised here."""
    gate, found, errors = threading.Barrier(count), dict[int, "T"](), list[BaseException]()

    def one(i: int) -> None:
        try:
            gate.wait()
            found[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [found[i] for i in range(count)]
