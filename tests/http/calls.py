"""Being in a call, without an engine around it."""

from collections.abc import Callable
from contextvars import copy_context
from time import monotonic
from typing import TypeVar

from makegood.agents.call import Call, enter
from makegood.core.record import Kind

T = TypeVar("T")


def in_call(
    work: Callable[[], T],
    *,
    seconds: float = 5.0,
    kind: Kind = Kind.DO,
    task_id: str = "trip-1",
    hides: Callable[[str], str] = str,
) -> T:
    """Do this as a call that has so many seconds, and hides its secrets so."""
    over = monotonic() + seconds
    current = Call(
        task_id=task_id,
        step="book",
        kind=kind,
        attempt=1,
        key=f"{task_id}-book",
        do_key=f"{task_id}-book",
        result_known=True,
        complete_by=0,
        left=lambda: over - monotonic(),
        hides=hides,
    )

    def within() -> T:
        enter(current)
        return work()

    return copy_context().run(within)
