"""Room 3, the Supervisor: it looks at the record on its own clock, finds what is failed or overdue, and has
the core choose the remedy: retry, probe, wait out, compensate, park. It never calls a service.
"""

import logging
from collections.abc import Callable
from math import ceil

from makegood.agenda import Agenda, every
from makegood.core.draft import Draft
from makegood.core.events import Inspected
from makegood.core.record import CALLED, KIND_OF, REPORTED
from makegood.core.remedy import lands_by, wants_inspection
from makegood.core.retry import JITTER_MAX
from makegood.desk import Desk
from makegood.rooms import Entry
from makegood.supervisor.witness import Witness

log = logging.getLogger("makegood.supervisor")


class Supervisor:
    """The safety net. Several may run at once, safely: each order is a conditional write."""

    def __init__(self, desk: Desk, *, random: Callable[[], float], period: float = 1.0) -> None:
        self._desk = desk
        self._random = random
        self._period = period
        self._agenda = Agenda(desk.now, desk.look)
        self._witness = Witness()

    def take(self, draft: Draft) -> Inspected | None:
        """Order what is due of this task, if anything is."""
        if not wants_inspection(draft.head, draft.now):
            return None
        self._say_who_fell_silent(draft)
        waited = self._waited(draft)
        return Inspected(jitter=int(self._random() * JITTER_MAX), waited=tuple(waited))

    def _say_who_fell_silent(self, draft: Draft) -> None:
        for step, opened in draft.head.open.items():
            if draft.marks[step] in CALLED and opened.due <= draft.now:
                name, kind = draft.step(step).name, KIND_OF[draft.phase(step)].name.lower()
                log.warning(
                    "%s %s: process %s, which called it, fell silent; a supervisor takes over",
                    draft.task_id,
                    name,
                    opened.owner,
                    extra={
                        "task_id": draft.task_id,
                        "step": name,
                        "kind": kind,
                        "attempt": opened.attempt,
                    },
                )

    def saved(self, entry: Entry) -> None:
        """Keep the moments of a task that was just committed; leases are found on the rounds."""
        self._witness.note(self._desk.store.stamp())
        head = entry.head
        for step, opened in head.open.items():
            mark = head.marks[step]
            if mark in REPORTED:
                self._agenda.note(entry.task_id, opened.due)
            if lands := lands_by(mark, opened):
                self._agenda.note(entry.task_id, lands)
            if opened.deadline:
                self._agenda.note(entry.task_id, opened.deadline)

    async def run(self) -> None:
        """Make the rounds for ever."""
        try:
            await every(self._period, self._rounds, "supervisor")
        finally:
            self._agenda.stop()

    async def _rounds(self) -> None:
        async for stored in self._desk.due():
            head = self._desk.shelf.head_of(stored)
            if head is not None and wants_inspection(head, self._desk.now()):
                self._desk.look(stored.task_id, stored)
        self._witness.note(self._desk.store.stamp())

    def _waited(self, draft: Draft) -> list[int]:
        """The steps whose wait-out is over in store time and by this process's own clock."""
        monotonic, waited = self._desk.clock.monotonic(), []
        for step, opened in draft.head.open.items():
            if 0 < lands_by(draft.marks[step], opened) <= draft.now:
                life = draft.step(step).life
                left = self._witness.left(opened.landing - life, life, monotonic)
                if left > 0:
                    self._agenda.note(draft.task_id, draft.now + ceil(left * 1000))
                else:
                    waited.append(step)
        return waited
