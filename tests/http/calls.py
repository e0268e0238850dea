"""Being in a call, without an engine around it."""

from collections.abc import Callable
from contextvars import copy_context
from time import monotonic
from typing import TypeVar

from makegood.agents.call import Call, enter
from makegood.core.record import Kind

T = TypeVar("T")


def in_call(work: Callable[[], T], *, seconds: float = 5.0, kind: Kind = Kind.DO) -> T:
    """Do this as a call that has so many seconds."""
    over = monotonic() + seconds
    current = Call(
        task_id="trip-1",
        step="book",
        kind=kind,
        attempt=1,
        key="trip-1-book",
        do_key="trip-1-book",
        result_known=True,
        complete_by=0,
        left=lambda: over - monotonic(),
    )

    def within() -> T:
        enter(current)
        return work()

    return copy_context().run(within)
