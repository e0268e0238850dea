"""Moments a room wants to be reminded of, kept in memory: losing them costs time, never facts."""

import asyncio
import heapq
import itertools
import logging
from collections.abc import Awaitable, Callable

from makegood.core.plan import Millis
from makegood.errors import StoreError

log = logging.getLogger("makegood.rooms")


class Agenda:
    """Task ids by the moment they are due; `look` is called when the moment has come."""

    def __init__(self, now: Callable[[], Millis], look: Callable[[str], None]) -> None:
        self._now = now
        self._look = look
        self._moments: list[tuple[Millis, int, str]] = []
        self._noted: set[tuple[str, Millis]] = set()
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    def note(self, task_id: str, due: Millis) -> None:
        """Remind me of this task at this moment of store time."""
        if (task_id, due) in self._noted:
            return
        self._noted.add((task_id, due))
        entry = (due, next(self._order), task_id)
        heapq.heappush(self._moments, entry)
        if self._moments[0] is entry:
            self._arm()

    def stop(self) -> None:
        """No more reminders."""
        self._moments.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        delay = max(0, self._moments[0][0] - self._now() + 1) / 1000
        self._timer = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._now()
        while self._moments and self._moments[0][0] <= now:
            due, _, task_id = heapq.heappop(self._moments)
            self._noted.discard((task_id, due))
            self._look(task_id)
        if self._moments:
            self._arm()


async def every(
    seconds: float, rounds: Callable[[], Awaitable[None]], what: str, *, sooner: asyncio.Event | None = None
) -> None:
    """Make a room's rounds for ever, on its own clock, or `sooner` when that is set.

    Trouble, whatever it is, only costs a round.
    """
    sooner, loop = sooner or asyncio.Event(), asyncio.get_running_loop()
    while True:
        sooner.clear()
        try:
            await rounds()
        except StoreError as error:
            log.warning("%s: these rounds failed, the next come in %g s: %s", what, seconds, error)
        except Exception:  # a fault of ours must not end a room that others count on
            log.exception("%s: these rounds failed, the next come in %g s", what, seconds)
        alarm = loop.call_later(seconds, sooner.set)
        try:
            await sooner.wait()
        finally:
            alarm.cancel()
