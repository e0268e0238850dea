"""One simulated process: the real engine with every role, on a store and services with trouble."""

from asyncio import Task
from collections.abc import Coroutine
from random import Random
from typing import TYPE_CHECKING, Any

from makegood.errors import StoreError
from makegood.runtime.engine import Engine
from makegood.testing.faulty import FaultyStore, StoreFault
from makegood.testing.virtual import Process, VirtualClock

if TYPE_CHECKING:
    from tests.boundaries.simulation import World


class Member:
    """A process. `operations` are what it has asked of its store and its services, in order."""

    def __init__(self, world: "World", number: int, ahead: int) -> None:
        self.number = number
        self.operations: list[str] = []
        self.process = Process()
        self.dead = self.frozen = False
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
        self.engine = Engine(self.store, world.agents, clock=self.clock, chance=Random(number), watched=False)

        self._tasks: list[Task[object]] = []

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
        for user in self._world.users:
            self.begin(user.uses(self))
        try:
            await self.engine.failed()
        except Exception as error:
            self._world.complaints.append(f"a room of process {self.number} ended: {error!r}")

    def check_slots(self) -> None:
        """S16: when nothing is claimed, no slot is taken; a slow or hung store keeps what it was asked."""
        hangs = any(t.member == self.number and t.fault is StoreFault.HANGS for t in self._world.struck)
        runner = self.engine._runner
        assert runner is not None
        if self.process.runs and not hangs and not self.engine.desk._flushing:
            assert not runner._flights, "S16: a call is under way that nobody waits for"
            assert runner._reserved == 0, f"S16: {runner._reserved} slots are reserved for nothing"

    async def let_go(self) -> None:
        """At the world's end: close what even a dead process had open."""
        await self._disk.close()
