"""A scenario in a simulated world: real engines on one disk, faults at their boundaries, what came of it."""

import logging
from asyncio import sleep
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial
from typing import Any, Protocol

from makegood.clock import Clock
from makegood.core.plan import StepPlan
from makegood.core.record import Kind, TaskState
from makegood.store.memory import MemoryFile, MemoryStore
from makegood.store.protocol import Store
from makegood.testing.faulty import StoreFault
from makegood.testing.virtual import Process, run, virtual_loop
from tests.boundaries.faults import JUMP_OF, CallFault, Fault, Trouble, WorldFault
from tests.boundaries.member import Member
from tests.boundaries.network import Network, agent_for, services_of
from tests.boundaries.scenarios import Scenario
from tests.boundaries.user import User
from tests.boundaries.watch import Watch, parks_rightly

RESTART = 1.0
"""Seconds after which somebody starts another process in place of a dead or a silent one."""
FROZEN = 12.0
"""How many seconds a frozen process stays so: longer than every lease and every wait-out."""
SETTLES_WITHIN = 300.0
LATE = 3.5
"""Seconds in which whatever was late has come."""


class Disk(Protocol):
    """What outlives processes."""

    def store(self, clock: Clock) -> Store:
        """This disk, as a process with this clock opens it."""


class MemoryDisk:
    def __init__(self) -> None:
        self._file = MemoryFile()

    def store(self, clock: Clock) -> Store:
        return MemoryStore(self._file, clock=clock)


class World:
    """A scenario, `tasks` times at once, begun by so many `engines`, with `troubles` at operations.

    `events` happen at their moments, in seconds. `lag` is what a store takes each way, in seconds. The
    `complaints` say what was wrong.
    """

    def __init__(
        self,
        scenario: Scenario,
        *troubles: Trouble,
        tasks: int = 1,
        engines: int = 1,
        events: Sequence[tuple[float, Callable[["World"], None]]] = (),
        lag: float = 0.001,
        disk: Disk | None = None,
    ) -> None:
        self.scenario = scenario
        self.troubles = troubles
        self.engines = engines
        self.events = events
        self.lag = lag
        self.disk = disk or MemoryDisk()
        self.watch = Watch()
        self.complaints = self.watch.complaints
        self.members: list[Member] = []
        self.struck: list[Trouble] = []
        self.until_rest = 0
        self.services = services_of(scenario)
        self.users = [User(self, f"trip-{n + 1}") for n in range(tasks)]
        network = Network(self)
        self.agents = [agent_for(service, network) for service in self.services]
        self._ahead = 0
        self._calls: Counter[tuple[str, str, Kind]] = Counter()
        for user in self.users:
            self.watch.expect(user.task_id, scenario.compiled, list(self.services))

    # --- processes

    def launch(self, ahead: int = 0) -> None:
        """Start a process with every role, with users in it; its wall clock may be off by so many ms."""
        member = Member(self, len(self.members), self._ahead + ahead)
        self.members.append(member)
        member.start()

    def kill(self, process: Process) -> None:
        """The process is gone, and somebody starts another."""
        member = self.member_of(process)
        if not member.dead:
            member.dead, member.frozen = True, False
            process.freeze()
            self.watch.died(member.engine.member_id)
            self.later(RESTART, self.launch)

    def freeze(self, process: Process) -> None:
        """The process stands still for long; somebody starts another beside it."""
        self.member_of(process).frozen = True
        process.freeze()
        self.later(RESTART, self.launch)
        self.later(FROZEN, partial(self._thaw, process))

    def _thaw(self, process: Process) -> None:
        member = self.member_of(process)
        if not member.dead:
            member.frozen = False
            process.thaw()

    def member_of(self, process: Process) -> Member:
        return next(member for member in self.members if member.process is process)

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        """Let something happen that no process's death prevents."""
        virtual_loop().call_later(seconds, what, context=Context())

    # --- faults

    def strikes_store(self, member: Member, verb: str) -> StoreFault | None:
        fault = self._next(member, verb)
        if fault is StoreFault.HANGS:
            self.later(RESTART, self.launch)
        return fault if isinstance(fault, StoreFault) else None

    def strikes_call(self, member: Member, task_id: str, step: StepPlan, kind: Kind) -> CallFault | None:
        self._calls[task_id, step.name, kind] += 1
        nth = self._calls[task_id, step.name, kind]
        scripted = self.scenario.script.get((step.name, kind, nth))
        fault = self._next(member, f"{kind.name.lower()} {step.name}")
        return fault if isinstance(fault, CallFault) else scripted

    def _next(self, member: Member, what: str) -> Fault | None:
        """The fault for a member's next operation, if one is due there."""
        member.operations.append(what)
        here = (member.number, len(member.operations))
        trouble = next((trouble for trouble in self.troubles if (trouble.member, trouble.at) == here), None)
        if trouble is None:
            return None
        self.struck.append(trouble)
        if isinstance(trouble.fault, WorldFault):
            self._strike(trouble.fault)
        return trouble.fault

    def _strike(self, fault: WorldFault) -> None:
        jump = JUMP_OF[fault]
        if fault in (WorldFault.ANOTHER_AHEAD, WorldFault.ANOTHER_BEHIND):
            self.later(0, lambda: self.launch(jump))
        else:
            self.jump(jump)

    def jump(self, millis: int) -> None:
        """Every wall clock jumps, for good."""
        self._ahead += millis
        for member in self.members:
            member.clock.ahead += millis

    def arrived(self, task_id: str, step: StepPlan, kind: Kind) -> None:
        """A call reached its service."""
        if kind is Kind.DO and step.name == self.scenario.cancel_at:
            next(user for user in self.users if user.task_id == task_id).wants_to_cancel = True

    # --- from the beginning to the end

    async def play(self) -> None:
        """Let it happen, let it settle, and check."""
        virtual_loop().set_exception_handler(self._fell_over)
        for _ in range(self.engines):
            self.launch()
        for seconds, event in self.events:
            self.later(seconds, partial(event, self))
        await self._settle()
        self.until_rest = len(self.members[0].operations)
        await sleep(LATE)
        await self._settle()
        self.watch.check_end()
        for user in self.users:
            self._check_how_it_ended(user)
        for member in self.members:
            self.watch.guard(member.check_slots)
            await member.let_go()

    def _fell_over(self, loop: object, context: dict[str, Any]) -> None:
        """A task or a callback of the product's raised what nobody caught."""
        self.complaints.append(f"{context['message']}: {context.get('exception')!r} {context.get('task')}")

    async def _settle(self) -> None:
        until = virtual_loop().seconds + SETTLES_WITHIN
        while virtual_loop().seconds < until:
            await sleep(0.5)
            if self.watch.at_rest() and not any(member.frozen for member in self.members):
                return
        self.complaints.append(f"L1: it never settles: {[run.head for run in self.watch.runs]}")

    def _check_how_it_ended(self, user: User) -> None:
        task, scenario = self.watch.find(user.task_id), self.scenario
        if task is None:
            self.complaints.append("S11: it was never submitted")
        elif task.head.state not in scenario.ends and not parks_rightly(task, scenario):
            self.complaints.append(
                f"it ended {task.head.state.name}: {list(task.head.marks)} {task.head.reason}"
            )

    def states(self) -> list[str]:
        """How the tasks stand, by name."""
        return [TaskState(run.head.state).name for run in self.watch.runs]

    def story(self) -> str:
        """What happened, for whoever must find out why."""
        rows = [f"{row.at} {row.process}: {row.facts}" for run in self.watch.runs for row in run.rows]
        operations = [f"{member.number}: {member.operations[:200]}" for member in self.members]
        return "\n".join([*self.complaints, *operations, *self.states(), *rows])


class _Errors(logging.Handler):
    """What the product calls a fault of its own is one here."""

    def __init__(self, complaints: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._complaints = complaints

    def emit(self, record: logging.LogRecord) -> None:
        self._complaints.append(f"logged: {record.getMessage()} {record.exc_info and record.exc_info[1]!r}")


def play(world: World) -> World:
    """Play a world to its end in virtual time."""
    log, handler = logging.getLogger("makegood"), _Errors(world.complaints)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.ERROR)
    try:
        run(world.play())
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    return world


def play_all(scenario: Scenario, troubles: Sequence[Sequence[Trouble]]) -> None:
    """One world for each list of troubles; raises AssertionError with the story of the first gone wrong."""
    for each in troubles:
        world = play(World(scenario, *each))
        assert not world.complaints, f"{scenario.name}, {each}\n{world.story()}"
