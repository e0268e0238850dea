"""Room 1, the Scheduler: it drives what goes well. It hands out what is planned, when its moment has come."""

from makegood.agenda import Agenda, every
from makegood.core import machine
from makegood.core.draft import Draft
from makegood.core.events import Driven
from makegood.core.record import PLANNED
from makegood.desk import Desk
from makegood.rooms import Entry


class Scheduler:
    """Starts planned steps and undos. It knows the plan; it calls nobody and decides no remedy."""

    def __init__(self, desk: Desk, *, period: float = 1.0) -> None:
        self._desk = desk
        self._period = period
        self._agenda = Agenda(desk.now, desk.look)

    def take(self, draft: Draft) -> Driven | None:
        """Hand out what is planned and due."""
        return Driven() if machine.wants_driving(draft) else None

    def saved(self, entry: Entry) -> None:
        """Keep the planned moments of a task that was just committed."""
        marks = entry.head.marks
        for step, opened in entry.head.open.items():
            if marks[step] in PLANNED:
                self._agenda.note(entry.task_id, opened.due)

    async def run(self) -> None:
        """Make the rounds for ever: find what others planned, or what a dead process left."""
        try:
            await every(self._period, self._rounds, "scheduler")
        finally:
            self._agenda.stop()

    async def _rounds(self) -> None:
        async for stored in self._desk.due():
            head = self._desk.shelf.head_of(stored)
            if head is not None and any(mark in PLANNED for mark in head.marks):
                self._desk.look(stored.task_id, stored)
