"""Waits for a lost call that grew longer though no fact says so: the core, told the rows again, knows it."""

from collections.abc import Iterator

from makegood.core.events import Moved, Row
from makegood.core.plan import Millis, Plan
from makegood.core.record import ASKS_A_PERSON, WAITING_OUT, Head
from makegood.reading.proof import folded

WAITS = WAITING_OUT | ASKS_A_PERSON
"""Phases in which nothing is decided before the last call can have landed."""


class Waits:
    """The waits of a task, followed row by row, as far as its rows hold together."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._head: Head | None = None
        self._holds = True

    def prolonged(self, row: Row) -> list[tuple[int, Millis]]:
        """Take in the next row: the steps that it leaves waiting as they were, but longer; and until when."""
        before, self._head = self._head, self._after(row)
        if before is None or self._head is None:
            return []
        moved = {fact.step for fact in row.facts if isinstance(fact, Moved)}
        return [each for each in _longer(before, self._head) if each[0] not in moved]

    def _after(self, row: Row) -> Head | None:
        """The record as the row leaves it. Its keys, which no wait depends on, are those of no task."""
        try:
            return folded(self._plan, "", self._head, row).head if self._holds else None
        except Exception:  # a damaged row may make the core raise anything; the proof of the record tells it
            self._holds = False
            return None


def _longer(before: Head, after: Head) -> Iterator[tuple[int, Millis]]:
    for step, opened in after.open.items():
        was = before.open.get(step)
        if after.marks[step] in WAITS and was is not None and 0 < was.due < opened.due:
            yield step, opened.due
