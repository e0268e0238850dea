"""A simulated world: real engines on one disk, services with ledgers, people, and trouble for all of them.

A world is played in two parts. First everything goes wrong that its `strikes` and `happenings` hold; then it
heals: no more trouble, at least one process runs, services answer. From then on every task must come to
rest within a time that follows from its plan (L1), and the record must agree with the ledgers (S1).
"""

import gc
import logging
from asyncio import sleep
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial
from random import Random
from typing import Any

from makegood.core.plan import Plan, StepPlan
from makegood.core.record import ENDED, Kind, Phase, TaskState
from makegood.testing.faulty import StoreFault
from makegood.testing.invariants import parks_for_cause
from makegood.testing.observer import Run
from makegood.testing.simulation.backups import Backup
from makegood.testing.simulation.casting import Cast, simulated
from makegood.testing.simulation.disks import Disk, MemoryDisk
from makegood.testing.simulation.faults import (
    JUMP_OF,
    CallFault,
    DeliveryFault,
    Fault,
    Script,
    Strikes,
    Trouble,
    WorldFault,
)
from makegood.testing.simulation.happenings import CUT, Cut, Happening, Line
from makegood.testing.simulation.member import Member
from makegood.testing.simulation.network import Network
from makegood.testing.simulation.people import People
from makegood.testing.simulation.scenarios import Scenario
from makegood.testing.simulation.watch import Watch
from makegood.testing.virtual import Process, TimeStandsStill, run, virtual_loop

RESTART = 1.0
"""Seconds after which somebody starts another process in place of a dead or a silent one."""
FROZEN = 12.0
"""How many seconds a frozen process stays so: longer than every lease and every wait-out."""
COSTS_NO_DOUBT = frozenset((StoreFault.UNAVAILABLE, StoreFault.REQUEST_LOST, StoreFault.ANSWER_LOST))
ASKS_AT_ONCE, ASKS_A_SECOND = 500, 20
"""How many operations a process may ask for, for each task and each second: most seconds are idle (L3)."""
PERSONS_TRIES = 40
"""How often a person looks after what is parked before we say that nobody can help it."""


class World:
    """A scenario, `tasks` times at once, begun by so many `engines`, with `troubles` at operations.

    `strikes` are faults of another source than a list; `happenings` come at moments of their own. Trouble
    ends after `trouble_for` seconds. `lag` is what a store takes each way, in seconds; tasks begin `spread`
    seconds apart; `bound`: no call outlives its bound; `cast` gives the services, one for each step, and the
    agents that call them. The `complaints` say what was wrong.
    """

    def __init__(
        self,
        scenario: Scenario,
        *troubles: Trouble,
        tasks: int = 1,
        engines: int = 1,
        strikes: Strikes | None = None,
        happenings: Sequence[Happening] = (),
        trouble_for: float = 0.0,
        lag: float = 0.001,
        spread: float = 0.0,
        disk: Disk | None = None,
        bound: bool = True,
        seed: int = 0,
        cast: Cast = simulated,
    ) -> None:
        self.scenario = scenario
        self.engines = engines
        self.happenings = happenings
        self.lag = lag
        self.disk = disk or MemoryDisk()
        self.watch = Watch(Random(seed), frozen=not bound)
        self.complaints = self.watch.complaints
        self.members: list[Member] = []
        self.struck: list[Trouble] = []
        self.cuts: list[Cut] = []
        self.late_until = 0.0
        self.dark_until = 0.0
        self.ahead = 0
        self.backup: Backup | None = None
        self._tasks = tasks
        self.happened = 0
        self.until_rest = 0
        self.seconds_played = 0.0
        self.people = People(self, [number * spread for number in range(tasks)], Random(seed))
        self.services, self.agents = cast(scenario, Network(self))
        self._strikes = strikes or Script(troubles)
        self._trouble_for = trouble_for
        self._calm = False
        self._calls: Counter[tuple[str, str, Kind]] = Counter()
        for user in self.people.users:
            self.watch.expect(user.task_id, scenario.compiled, self.services)

    @property
    def seconds(self) -> float:
        """Seconds since the world began."""
        return virtual_loop().seconds

    @property
    def is_dark(self) -> bool:
        """Whether no process is started now."""
        return self.seconds < self.dark_until

    # --- processes

    def launch(self, ahead: int = 0) -> None:
        """Start a process with every role, with users in it; its wall clock may be off by so many ms."""
        if self.is_dark:
            self.later(self.dark_until - self.seconds, partial(self.launch, ahead))
            return
        member = Member(self, len(self.members), self.ahead + ahead)
        self.members.append(member)
        member.start()

    def _replace(self) -> None:
        """Start a process, if there are fewer than there should be."""
        if sum(member.runs for member in self.members) < self.engines:
            self.launch()

    def kill(self, process: Process) -> None:
        """The process is gone, and somebody starts another."""
        member = self.member_of(process)
        if not member.dead:
            member.dead, member.frozen = True, False
            process.freeze()
            self.watch.died(member.engine.member_id)
            self.later(RESTART, self._replace)

    def freeze(self, process: Process, seconds: float = FROZEN) -> None:
        """The process stands still for long; somebody starts another beside it."""
        member = self.member_of(process)
        if not member.frozen and not member.dead:
            member.frozen = True
            process.freeze()
            self.later(RESTART, self._replace)
            self.later(seconds, partial(self._thaw, member))

    def _thaw(self, member: Member) -> None:
        if not member.dead and member.frozen:
            member.frozen = False
            member.thawed_at = self.seconds
            member.process.thaw()
            if self._calm:
                self._send_home()

    def misdeploy(self, *, renames: bool) -> None:
        """From now on no process that is up can read what calls are given, or has the undos and probes."""
        for member in self.members:
            member.change(renames=renames)

    def redeploy(self) -> None:
        """Processes that can make all calls come in place of those that cannot."""
        for member in self.members:
            if member.changed:
                self.kill(member.process)

    def black_out(self, seconds: float) -> None:
        """Every process dies, and none starts for so many seconds."""
        self.dark_until = max(self.dark_until, self.seconds + seconds)
        for member in self.members:
            self.kill(member.process)

    def forget(self, task_id: str) -> None:
        """Ask nothing more of a task: no record can tell what became of it."""
        self.people.users = [user for user in self.people.users if user.task_id != task_id]
        self.watch.forget(task_id)

    def member_of(self, process: Process) -> Member:
        return next(member for member in self.members if member.process is process)

    def running(self, which: int) -> Member | None:
        """One of the processes that run; None: none does."""
        running = [member for member in self.members if member.runs]
        return running[which % len(running)] if running else None

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        """Let something happen that no process's death prevents."""
        virtual_loop().call_later(seconds, what, context=Context())

    # --- faults

    def strikes_store(self, member: Member, verb: str) -> StoreFault | None:
        fault = self._next(member, verb, Line.STORE)
        if fault is StoreFault.HANGS:
            member.hung = True
            self.later(RESTART, self._replace)
        return fault if isinstance(fault, StoreFault) else None

    def strikes_call(self, member: Member, task_id: str, step: StepPlan, kind: Kind) -> CallFault | None:
        self._calls[task_id, step.name, kind] += 1
        nth = self._calls[task_id, step.name, kind]
        scripted = self.scenario.script.get((step.name, kind, nth))
        fault = self._next(member, f"{kind.name.lower()} {step.name}", Line.SERVICES)
        return fault if isinstance(fault, CallFault) else scripted

    def strikes_report(self, member: Member) -> DeliveryFault | None:
        fault = self._next(member, "report", None)
        return fault if isinstance(fault, DeliveryFault) else None

    def _next(self, member: Member, operation: str, line: Line | None) -> Fault | None:
        """The fault for a member's next operation, if one is due there."""
        member.operations.append(operation)
        asks = ASKS_AT_ONCE * self._tasks + ASKS_A_SECOND * (self.seconds - member.born_at)
        if len(member.operations) > asks:
            self.complaints.append(f"L3: process {member.number} asks for {operation} again and again")
        if self._calm:
            return None
        for cut in self.cuts:
            if cut.line is line and cut.member in (None, member.number):
                return CUT[cut.line, cut.way]
        number = len(member.operations)
        fault = self._strikes.at(member.number, number, operation)
        if fault is not None:
            self.struck.append(Trouble(number, fault, member.number))
            if isinstance(fault, WorldFault):
                self._strike(fault)
        return fault

    def _strike(self, fault: WorldFault) -> None:
        jump = JUMP_OF[fault]
        if fault in (WorldFault.ANOTHER_AHEAD, WorldFault.ANOTHER_BEHIND):
            self.later(0, partial(self.launch, jump))
        else:
            self.jump(jump)

    def jump(self, millis: int) -> None:
        """Every wall clock jumps, for good."""
        self.ahead += millis
        for member in self.members:
            member.clock.ahead += millis

    def arrived(self, task_id: str, step: StepPlan, kind: Kind) -> None:
        """A call reached its service."""
        if kind is Kind.DO and step.name == self.scenario.cancel_at:
            for user in self.people.users:
                user.wants_to_cancel |= user.task_id == task_id

    # --- from the beginning to the end

    async def play(self) -> None:
        """Let it happen, let it heal and settle, and check."""
        virtual_loop().set_exception_handler(self._fell_over)
        for _ in range(self.engines):
            self.launch()
        for happening in self.happenings:
            self.later(happening.at, partial(self._happen, happening))
        await sleep(self._trouble_for)
        if self._trouble_for:
            await self._heal()
        await self._settle()
        self.until_rest = len(self.members[0].operations)
        await sleep(max(0.0, self.late_until - self.seconds) + 0.1)
        await self._settle()
        self._check()
        await self._see_to_parked()
        self.seconds_played = self.seconds
        for member in self.members:
            self.watch.guard(member.check_slots)
            await member.let_go()

    def _happen(self, happening: Happening) -> None:
        if not self._calm:
            self.happened += 1
            happening.happen(self)

    def _fell_over(self, loop: object, context: dict[str, Any]) -> None:
        """A task or a callback of the product's raised what nobody caught."""
        self.complaints.append(f"{context['message']}: {context.get('exception')!r} {context.get('task')}")

    async def _heal(self) -> None:
        """The end of all trouble; what is dead or hung is replaced, what is frozen goes on in its time."""
        await sleep(max(0.0, self.dark_until + RESTART - self.seconds))
        self.redeploy()
        self._calm = True
        for service in self.services:
            service.trouble = False
        self._replace()
        self._send_home()

    def _send_home(self) -> None:
        """When all is well, one process is enough; the others leave."""
        for member in [member for member in self.members if member.runs][1:]:
            member.leave(1.0)

    async def _settle(self) -> None:
        """L1: wait until every task has come to rest."""
        until = self.seconds + settles_within(self.scenario.compiled)
        while self.seconds < until:
            await sleep(0.5)
            if self.complaints:
                return
            if self.watch.at_rest() and not any(member.frozen for member in self.members):
                return
            if self._calm and (member := self.running(0)):
                member.begin(self.people.resume_all(member))
        self.complaints.append(f"L1: it never settles: {[run.head for run in self.watch.runs]}")

    def _check(self) -> None:
        self.watch.check_end()
        for user in self.people.users:
            self._check_how_it_ended(user.task_id)

    def _check_how_it_ended(self, task_id: str) -> None:
        task = self.watch.find(task_id)
        if task is None:
            self.complaints.append("S11: it was never submitted")
        elif task.head.state in self._ends(task):
            return
        elif task.head.state is not TaskState.FAILED:
            marks, reason = list(task.head.marks), task.head.reason
            self.complaints.append(f"it ended {task.head.state.name}: {marks} {reason}")
        elif self._every_call_was_answered and Phase.DOUBT in task.head.marks:
            self.complaints.append("P4: it is in doubt, though every call was answered and every answer came")
        elif not self.watch.frozen and not task.head.restored_at:
            self.watch.guard(partial(parks_for_cause, task, self._may_refuse))

    def _ends(self, task: Run) -> frozenset[TaskState]:
        """How this task may end: as its scenario says, unless something happened that turns a task, or
        whoever was to turn it came too late."""
        too_late = bool(self.scenario.cancel_at) and not task.cancelled
        return self.scenario.ends | ENDED if self._may_refuse or too_late else self.scenario.ends

    @property
    def _every_call_was_answered(self) -> bool:
        """Whether nothing went wrong but a moment's trouble with the store, which must cost no doubt."""
        quiet = not self.happenings and not self.scenario.script and not self.scenario.moody
        return quiet and all(trouble.fault in COSTS_NO_DOUBT for trouble in self.struck)

    @property
    def _may_refuse(self) -> bool:
        """Whether services may have said no without the scenario's saying so."""
        return self.scenario.moody or any(trouble.fault is CallFault.REFUSED for trouble in self.struck)

    async def _see_to_parked(self) -> None:
        """What is parked a person can help: it comes to an end, and the ledgers agree."""
        if not self._calm:
            return
        for service in self.services:
            service.refuses = service.refuses_undo = False
        for _ in range(PERSONS_TRIES):
            if TaskState.FAILED.name not in self.states():
                break
            if member := self.running(0):
                await self.people.see_to_parked(member)
            await self._settle()
        if TaskState.FAILED.name in self.states() and not self.watch.frozen:
            self.complaints.append(f"P1: nobody can help it: {[run.head for run in self.watch.runs]}")
        self.watch.check_end()

    def states(self) -> list[str]:
        """How the tasks stand, by name."""
        return [TaskState(run.head.state).name for run in self.watch.runs]

    def story(self) -> str:
        """What happened, for whoever must find out why."""
        rows = [f"{row.at} {row.process}: {row.facts}" for run in self.watch.runs for row in run.rows]
        operations = [f"{member.number}: {member.operations[:200]}" for member in self.members]
        return "\n".join([*self.complaints, *operations, *self.states(), *rows])


def settles_within(plan: Plan) -> float:
    """L1: in how many seconds a task is at rest, once all is well: every try of every step, every pause
    between two of them, every wait-out and every probe, and some rounds of the supervisor."""
    return 60.0 + sum(_longest(step) for step in plan.steps)


def _longest(step: StepPlan) -> float:
    life, pause, undo_pause = step.life / 1000, step.retry.cap * 1.25, step.undo_retry.cap * 1.25
    tries = step.retry.attempts * (life + pause)
    probes = 2 * step.asks * (step.timeout / 1000 + pause)
    return tries + probes + 4 * (life + undo_pause)


class _Errors(logging.Handler):
    """What the product calls a fault of its own is one here."""

    def __init__(self, complaints: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._complaints = complaints

    def emit(self, record: logging.LogRecord) -> None:
        self._complaints.append(f"logged: {record.getMessage()} {record.exc_info and record.exc_info[1]!r}")


GARBAGE_MAX = 50_000
"""New objects before garbage is looked for: a world is small, and looking often takes a fifth of its time."""


def play(world: World) -> World:
    """Play a world to its end in virtual time."""
    log, handler = logging.getLogger("makegood"), _Errors(world.complaints)
    level, often = log.level, gc.get_threshold()
    log.addHandler(handler)
    log.setLevel(logging.ERROR)
    gc.set_threshold(GARBAGE_MAX, *often[1:])
    try:
        run(world.play())
    except TimeStandsStill as error:
        world.complaints.append(f"L3: {error}")
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        gc.set_threshold(*often)
    return world
