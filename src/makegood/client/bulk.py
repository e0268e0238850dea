"""Acting on many tasks: one after the other, at a bounded rate, each told as it is done."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from makegood.client.connection import Connection
from makegood.client.task import SoAlready, Task
from makegood.clock import SystemClock
from makegood.core.events import Restored
from makegood.errors import ActRefused, MakegoodError, UnknownTask
from makegood.reading.matching import Where

RATE = 50.0
"""Acts a second: what is started again all at once comes to its services all at once."""


class Acted(NamedTuple):
    """What came of an act on one task: `said` tells it.

    `refused`: nothing was changed, and `said` is why. `already`: nothing had to be, as it was so before.
    """

    task_id: str
    said: str
    refused: bool
    already: bool = False


async def act_on(
    tasks: Iterable[Task[Any]], act: Callable[[Task[Any]], Awaitable[str]], *, rate: float
) -> AsyncIterator[Acted]:
    """Act on each; see Makegood.act_on."""
    _check_rate(rate)
    clock = SystemClock()
    free = clock.monotonic()
    for task in tasks:
        await asyncio.sleep(max(0.0, free - clock.monotonic()))
        free = max(free, clock.monotonic()) + 1 / rate
        try:
            said = await act(task)
            yield Acted(task.task_id, said, refused=False, already=isinstance(said, SoAlready))
        except (ActRefused, UnknownTask) as refused:
            yield Acted(task.task_id, str(refused).removeprefix(f"task {task.task_id}: "), refused=True)


def _check_rate(rate: object) -> None:
    if not isinstance(rate, int | float) or not rate > 0:
        raise MakegoodError(f"a rate of {rate!r} acts a second cannot be; give a number above 0")


OPEN = Where(states=("Running", "Compensating", "Failed"))


async def restored(connection: Connection, by: str, why: str) -> int:
    """Tell every task that has not ended that a backup was put back; see Makegood.restored."""
    alive = await connection.store.members()
    if alive:
        names = ", ".join(f"{member.host}:{member.pid}" for member in alive)
        raise MakegoodError(
            f"processes are alive on this store ({names}); end them first: they go on from what they remember"
        )
    told = [await connection.desk.act(task_id, Restored(by, why)) for task_id in await connection.find(OPEN)]
    return sum(told)
