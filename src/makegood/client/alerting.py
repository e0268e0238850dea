"""The alerts: people are told of each task that is parked, by hooks. See makegood.alerts for ready ones.

A parked task that nobody was told of yet is found on the rounds as well, whichever process parked it and
whatever died since; that people were told, and by which hooks, is recorded in its history. So each is told at
least once. A hook that failed where another did not is tried again as long as this process lives.
"""

import asyncio
import logging
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from makegood.agenda import every
from makegood.alerts import Alert, Hook, name_of
from makegood.apart import in_task
from makegood.client.connection import Connection, Snapshot
from makegood.core.events import Alerted, TaskMoved
from makegood.core.record import Head, TaskState
from makegood.errors import MakegoodError, in_words
from makegood.rooms import Entry
from makegood.store.protocol import Query

log = logging.getLogger("makegood.alerts")

PERIOD = 60.0
"""Seconds between two looks for parked tasks that nobody was told of."""
PATIENCE = 60.0
"""Seconds that a hook may take."""
TOGETHER = 10
"""Tasks of which people are told at the same time: a hook that hangs must not hold up all others."""
PAGE = 200


class Telling(NamedTuple):
    """The hooks by which people are still to be told of a parking, which is known by its commit."""

    parked_by: int
    hooks: Sequence[Hook]


class Alerts:
    """Tells people by `hooks`. One that fails is tried again on the next round, the others are not."""

    def __init__(self, connection: Connection, hooks: Sequence[Hook], *, period: float = PERIOD) -> None:
        self._connection = connection
        self._hooks = hooks
        self._period = period
        self._parked: dict[str, None] = {}
        self._found = asyncio.Event()
        self._unfinished: dict[str, Telling] = {}

    def saved(self, entry: Entry) -> None:
        """A task was committed here."""
        if wants_alert(entry.head):
            self._note(entry.task_id)

    async def run(self) -> None:
        """Look, and tell, for ever; ends when cancelled."""
        await asyncio.gather(every(self._period, self._look, "alerts"), self._tell_all())

    def _note(self, task_id: str) -> None:
        self._parked[task_id] = None
        self._found.set()

    async def _look(self) -> None:
        """Find every parked task that nobody was told of, or not by all hooks."""
        for task_id in self._unfinished:
            self._note(task_id)
        query, after = Query(states=(TaskState.FAILED,)), None
        while True:
            page = await self._connection.store.search(query, after=after, limit=PAGE)
            for stored in page.tasks:
                head = self._connection.desk.shelf.head_of(stored)
                if head is not None and wants_alert(head):
                    self._note(stored.task_id)
            after = page.next
            if after is None:
                return

    async def _tell_all(self) -> None:
        while True:
            await self._found.wait()
            self._found.clear()
            while self._parked:
                some = list(islice(self._parked, TOGETHER))
                for task_id in some:
                    del self._parked[task_id]
                await asyncio.gather(*map(self._try_to_tell, some))

    async def _try_to_tell(self, task_id: str) -> None:
        try:
            await self._tell(task_id)
        except MakegoodError as error:
            log.warning("task %s is parked, and cannot be read: %s", task_id, error)
        except Exception:  # a fault of ours: the next round tries again
            log.exception("task %s is parked, and its alert failed", task_id)

    async def _tell(self, task_id: str) -> None:
        snapshot = await self._connection.snapshot(task_id)
        telling = self._unfinished.pop(task_id, None)
        if telling is None or telling.parked_by != _parked_by(snapshot):
            if not wants_alert(snapshot.head):
                return
            telling = Telling(_parked_by(snapshot), self._hooks)
        alert = Alert.of(snapshot.record, snapshot.why(await self._connection.alive()))
        came = await asyncio.gather(*[self._call(hook, alert) for hook in telling.hooks])
        failed = [hook for hook, has_told in zip(telling.hooks, came, strict=True) if not has_told]
        told = [hook for hook, has_told in zip(telling.hooks, came, strict=True) if has_told]
        if failed:
            self._unfinished[task_id] = telling._replace(hooks=failed)
        now = await self._connection.snapshot(task_id)  # a hook may take long: it may be parked anew by now
        if told and wants_alert(now.head) and _parked_by(now) == telling.parked_by:
            self._connection.desk.post(task_id, Alerted(", ".join(map(name_of, told))))

    async def _call(self, hook: Hook, alert: Alert) -> bool:
        try:
            await in_task(lambda: hook(alert), PATIENCE)
        except Exception as error:  # whatever the user's hook raises
            said = str(error) if type(error) is MakegoodError else in_words(error)
            log.warning(
                "task %s is parked, and %s could not tell: %s; it is tried again within %g s",
                alert.task_id,
                name_of(hook),
                said,
                self._period,
                extra={"task_id": alert.task_id},
            )
            return False
        return True


def wants_alert(head: Head) -> bool:
    """Whether it is parked and nobody was told of it yet."""
    return head.state is TaskState.FAILED and not head.alerted


def _parked_by(snapshot: Snapshot) -> int:
    """The commit that parked it; 0 where it does not stand parked."""
    if snapshot.head.state is not TaskState.FAILED:
        return 0
    moves = [version for version, row in snapshot.rows if any(isinstance(f, TaskMoved) for f in row.facts)]
    return max(moves, default=0)
