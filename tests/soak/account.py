"""What one service holds of one task, in the light of the calls that the task's history tells of."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from makegood.client.connection import Snapshot
from makegood.core.events import Claimed, EvidenceFiled, Offered
from makegood.core.record import Kind
from makegood.demo.check import STEP_OF, Reservation

CLOCK_GRAIN = 50
"""Milliseconds by which a service's clock and the store's may differ; both are this machine's."""


class Life(NamedTuple):
    """From when until when a call can have its effect, as its record has it."""

    until: float
    since: float


@dataclass(frozen=True)
class Account:
    """The reservations that a service ever made for a task."""

    service: str
    made: Sequence[Reservation]
    snapshot: Snapshot

    def unrecorded(self) -> list[str]:
        """Those made before any call for them was recorded."""
        first = min((life.since for life in self._lives), default=float("inf"))
        return [each.confirmation for each in self.made if _made_at(each) < first]

    def late(self) -> list[str]:
        """Those that no call can have made in its life, each call making one at most."""
        lives, late = list(self._lives), []
        for each in sorted(self.made, key=_made_at):
            life = next((life for life in lives if life.since <= _made_at(each) <= life.until), None)
            if life is None:
                late.append(each.confirmation)
            else:
                lives.remove(life)
        return late

    def seen(self) -> bool:
        """Whether a late report of the step stands in the history."""
        return any(isinstance(fact, EvidenceFiled) and fact.step == self._step for _, fact in self._facts)

    @property
    def _step(self) -> int:
        return self.snapshot.plan.index_of[STEP_OF[self.service]]

    @cached_property
    def _facts(self) -> list[tuple[int, object]]:
        return [(row.at, fact) for _, row in self.snapshot.rows for fact in row.facts]

    @cached_property
    def _lives(self) -> list[Life]:
        """The lives of the step's do-calls, those that end first first."""
        offers = [fact for _, fact in self._facts if isinstance(fact, Offered)]
        do_calls = {fact.attempt for fact in offers if (fact.step, fact.kind) == (self._step, Kind.DO)}
        life = self.snapshot.plan.steps[self._step].life + CLOCK_GRAIN
        return sorted(
            Life(until=at + life, since=at - CLOCK_GRAIN)
            for at, fact in self._facts
            if isinstance(fact, Claimed) and fact.attempt in do_calls
        )


def _made_at(reservation: Reservation) -> float:
    """Milliseconds since 1970, as the store counts."""
    return datetime.fromisoformat(reservation.created_at).timestamp() * 1000
