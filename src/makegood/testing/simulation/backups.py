"""A backup of the store that is put back: what was recorded since is lost, what was done is not (F5).

Whoever puts it back ends every process first, tells makegood so (`Makegood.restored`), and only then starts
processes again. What no record can tell then is left alone by the world: a task that was submitted after the
backup is gone, and one whose first undo was made since, or a further round of a step begun, may be taken for
what it no longer is. `makegood audit --with` is there for those (decision 20).
"""

from asyncio import sleep
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from makegood.client.bulk import restored
from makegood.client.connection import Connection
from makegood.core.events import Offered, Row
from makegood.core.record import Direction, Head, Kind
from makegood.payload import Envelope
from makegood.runtime.engine import MEMBER_LEASE, Engine
from makegood.testing.faulty import FaultyStore
from makegood.testing.observer import Run
from makegood.testing.virtual import Process, VirtualClock

if TYPE_CHECKING:
    from makegood.testing.simulation.world import World

NOBODY_LIVES: Final = MEMBER_LEASE / 1000 + 1.0
"""Seconds after which the processes on the list of the backup are known to have ended."""
DARK: Final = 60.0
"""Seconds in which no process is started; less than half of it is needed."""


@dataclass(frozen=True)
class Kept:
    """A task as the backup has it."""

    run: Run
    rows: int

    @staticmethod
    def of(run: Run) -> "Kept":
        known = Run(run.task_id, run.plan, run.services, run.stored, list(run.rows))
        known.values, known.numbers = deepcopy(run.values), deepcopy(run.numbers)
        known.cancelled = run.cancelled
        return Kept(known, len(run.rows))


class Backup:
    """The store of a world as it stands when this is made."""

    def __init__(self, world: "World") -> None:
        world.disk.back_up()
        self._world = world
        self._kept = {run.task_id: Kept.of(run) for run in world.watch.runs}

    def put_back(self) -> None:
        """End every process, have the store as it was, and tell makegood."""
        world = self._world
        world.black_out(DARK)
        world.disk.put_back()
        for run in list(world.watch.runs):
            kept = self._kept.get(run.task_id)
            if kept is None or _beyond_any_record(kept.run.head, run.rows[kept.rows :]):
                world.forget(run.task_id)
            else:
                world.watch.put_back(kept.run)
        self._telling = Process().start(self._tell())

    async def _tell(self) -> None:
        """What `makegood doctor --restored` does."""
        await sleep(NOBODY_LIVES)
        clock, watch = VirtualClock(ahead=self._world.ahead), self._world.watch
        disk = self._world.disk.store(clock)
        store = FaultyStore(
            disk,
            clock,
            strikes=lambda verb: None,
            kill=_never,
            freeze=_never,
            committed=watch.committed,
            lag=self._world.lag,
        )
        engine = Engine(store, clock=clock, chance=Random(0), watched=False)
        connection = Connection(engine.desk, Envelope())
        await engine.start()
        connection.open()
        await restored(connection, "ann", "the disk is gone; this is the backup")
        await engine.stop()
        assert clock.monotonic() < self._world.dark_until, "telling of a backup took too long"


def _never() -> None:
    raise AssertionError("nothing goes wrong while a backup is put back")


def _beyond_any_record(then: Head, lost: list[Row]) -> bool:
    """Whether what was done since cannot be found by what stands in the backup."""
    offers = [fact for row in lost for fact in row.facts if isinstance(fact, Offered)]
    undone = then.direction is Direction.FORWARD and any(offer.kind is Kind.UNDO for offer in offers)
    return undone or any(offer.kind is Kind.DO and offer.round > 1 for offer in offers)
