"""One simulated process: the real engine with every role, on a store and services with trouble."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import TYPE_CHECKING, Any

from makegood.agents.repertoire import Repertoire
from makegood.core.events import Event, HandedBack, Hastened, LeaseRenewed, Probed, Reported
from makegood.errors import PayloadError, StoreError
from makegood.payload import Envelope
from makegood.runtime.engine import LAST_WORDS, Engine
from makegood.testing.faulty import SLOW_SECONDS, FaultyStore
from makegood.testing.simulation.casting import renamed
from makegood.testing.simulation.faults import DeliveryFault
from makegood.testing.virtual import Process, VirtualClock

if TYPE_CHECKING:
    from makegood.testing.simulation.world import World

REPORTS = (Reported, Probed, HandedBack, Hastened, LeaseRenewed)
LATE = 6.0
"""Seconds a late report takes: longer than its lease."""
SLACK = 3 * LAST_WORDS
"""Seconds a process may take to leave beyond its grace: to settle its desk, and to leave the members."""


class Reader(Envelope):
    """What a process stores and reads: nothing, where its code is of a version that `misreads` all."""

    def __init__(self, member: "Member") -> None:
        super().__init__()
        self._member = member

    def open(self, stored: bytes, where: str) -> bytes:
        if self._member.misreads:
            raise PayloadError(f"{where} cannot be read by this version")
        return super().open(stored, where)


class Member:
    """A process. `operations` are what it has asked of its store, its services and its desk, in order."""

    def __init__(self, world: "World", number: int, ahead: int) -> None:
        self.number = number
        self.operations: list[str] = []
        self.process = Process()
        self.dead = self.frozen = self.leaving = self.hung = False
        self.changed = self.misreads = False
        self.born_at = world.seconds
        self.thawed_at = 0.0
        self.clock = VirtualClock(ahead=ahead)
        self._world = world
        self._disk = world.disk.store(self.clock)
        self.store = FaultyStore(
            self._disk,
            self.clock,
            strikes=lambda verb: world.strikes_store(self, verb),
            kill=lambda: world.kill(self.process),
            freeze=lambda: world.freeze(self.process),
            committed=world.watch.committed,
            lag=world.lag,
        )
        self.engine = Engine(
            self.store,
            world.agents,
            clock=self.clock,
            chance=Random(number),
            watched=False,
            envelope=Reader(self),
        )
        self._post = self.engine.desk.post
        self.engine.desk.post = self._deliver  # type: ignore[method-assign]  # reports pass through the world
        self._tasks: list[asyncio.Task[object]] = []

    @property
    def runs(self) -> bool:
        """Whether it does its work."""
        return not (self.dead or self.frozen or self.leaving or self.hung)

    def start(self) -> None:
        self.begin(self._live())

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Do something as a part of this process."""
        self._tasks.append(self.process.start(work))

    async def _live(self) -> None:
        try:
            await self.engine.start()
        except StoreError:
            self._world.kill(self.process)  # as a service manager would: end it, and start it again
            return
        self._world.people.use(self)
        try:
            await self.engine.failed()
        except asyncio.CancelledError:
            if not self.leaving:
                raise
        except Exception as error:
            self._world.complaints.append(f"a room of process {self.number} ended: {error!r}")

    def _deliver(self, task_id: str, event: Event, answer: asyncio.Future[bool] | None = None) -> None:
        """A fact on its way to the desk; an agent's may be lost, late, or come twice."""
        fault = self._world.strikes_report(self) if isinstance(event, REPORTS) else None
        match fault:
            case DeliveryFault.LOST:
                return
            case DeliveryFault.LATE:
                self._world.late_until = self._world.seconds + LATE
                asyncio.get_running_loop().call_later(LATE, self._post, task_id, event)
                return
            case DeliveryFault.TWICE:
                self._post(task_id, event)
            case None:
                pass
        self._post(task_id, event, answer)

    def change(self, *, renames: bool) -> None:
        """From now on its code is of a version that `renames` undos and probes, or that misreads all."""
        self.changed = True
        if not renames:
            self.misreads = True
        elif self.engine._runner is not None:
            self.engine._runner._repertoire = Repertoire(renamed(self._world.agents, self._world.complaints))

    def leave(self, grace: float) -> None:
        """End as the process would at SIGTERM: within its grace, whatever the store does (L4)."""
        if not self.leaving:
            self.leaving = True
            self.begin(self._leave(grace))

    async def _leave(self, grace: float) -> None:
        begun = self.clock.monotonic()
        await self.engine.stop(grace)
        took = self.clock.monotonic() - max(begun, self.thawed_at)
        if took > grace + SLACK and not self.dead:
            self._world.complaints.append(f"L4: process {self.number} took {took:.1f} s to leave")

    def check_slots(self) -> None:
        """S16: when nothing is claimed, no slot is taken; a slow or hung store keeps what it was asked."""
        runner = self.engine._runner
        assert runner is not None
        if self.runs and not self.engine.desk._flushing:
            # a slow store may keep a call from learning that it is late: its claim, and what it is made of
            since = self.clock.monotonic() - 2 * SLOW_SECONDS
            late = [flight for flight in runner._flights.values() if flight.work.deadline < since]
            over = [flight.work.name for flight in late if self.thawed_at < since]
            assert not over, f"S16: calls are under way that nobody waits for: {over}"
            assert runner._reserved == 0, f"S16: {runner._reserved} slots are reserved for nothing"

    async def let_go(self) -> None:
        """At the world's end: close what even a dead process had open."""
        await self._disk.close()
