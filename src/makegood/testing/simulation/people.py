"""People and their programs around a simulated world: they submit, give orders, and see to what is parked.

They are honest, and insist: an order is given until it is answered, through whichever process runs.
"""

from asyncio import sleep
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

import msgspec

from makegood.core.events import (
    Act,
    CancelAsked,
    PauseAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
    TaskSubmitted,
)
from makegood.core.record import Direction, TaskState
from makegood.errors import ActRefused, StoreError, UnknownTask
from makegood.testing.honesty import verdict_on
from makegood.testing.observer import Run

if TYPE_CHECKING:
    from makegood.testing.simulation.member import Member
    from makegood.testing.simulation.world import World

PATIENCE = 0.5
"""Seconds before somebody tries again."""
ORDERS = ("cancel", "pause", "resume", "retry", "retry all", "skip", "resolve", "resolve in haste")


class User:
    """Wants one task done. Once he is answered, what he asked for must be in the record (S11)."""

    def __init__(self, world: "World", task_id: str, begins_at: float) -> None:
        self.task_id = task_id
        self.begins_at = begins_at
        self.submitted = False
        self.wants_to_cancel = False
        self.cancelled = False
        self._world = world

    async def uses(self, member: "Member") -> None:
        """Ask a process for what has not been answered yet."""
        try:
            await self._use(member)
        except Exception as error:
            self._world.complaints.append(f"a user of {self.task_id} met {error!r}")

    async def _use(self, member: "Member") -> None:
        await sleep(max(0.0, self.begins_at - self._world.seconds))
        while not self.submitted and not member.leaving:
            try:
                await self._submit(member)
            except StoreError:
                await sleep(PATIENCE)
        while self._world.scenario.cancel_at and not self.cancelled and not member.leaving:
            await sleep(0.05)
            if self.wants_to_cancel:
                await self.cancel(member)

    async def _submit(self, member: "Member") -> None:
        scenario, desk = self._world.scenario, member.engine.desk
        plan = scenario.compiled
        await member.store.save_plan(plan.version, plan.name, scenario.document)
        start_at = desk.now() + int(scenario.starts_in * 1000) if scenario.starts_in else 0
        deadline = (start_at or desk.now()) + int(scenario.deadline * 1000) if scenario.deadline else 0
        given = TaskSubmitted(msgspec.Raw(scenario.input), deadline, start_at=start_at)
        await desk.submit(plan, self.task_id, given)
        self.submitted = True
        if not self._world.watch.knows_of(self.task_id):
            self._world.complaints.append("S11: a submission was answered, and is not in the store")

    async def cancel(self, member: "Member") -> None:
        """Cancel, and hold the product to its answer (S13)."""
        try:
            news = await member.engine.desk.act(self.task_id, CancelAsked("ann", "no longer wanted"))
        except (StoreError, UnknownTask):
            return
        except ActRefused:
            self.cancelled = True
            return
        self.cancelled = True
        task = self._world.watch.find(self.task_id)
        if task is None:
            return  # its world is over, or nobody asks about it any more
        if news and not any(isinstance(fact, CancelAsked) for row in task.rows for fact in row.facts):
            self._world.complaints.append("S11: a cancel was answered, and is not in the record")
        task.cancelled = task.head.direction is Direction.UNDO


class People:
    """Everybody: the users of a world's tasks, and those who look after them."""

    def __init__(self, world: "World", begin_at: Sequence[float], chance: Random) -> None:
        self.users = [User(world, f"{world.scenario.tasks}-{n}", at) for n, at in enumerate(begin_at, 1)]
        self._world = world
        self._chance = chance

    def use(self, member: "Member") -> None:
        """A process is up: whoever was not answered turns to it."""
        for user in self.users:
            member.begin(user.uses(member))

    async def order(self, member: "Member", order: str, task: int, step: int) -> None:
        """Give an order through a process; it may well be refused, or find no task."""
        user = self.users[task % len(self.users)]
        run = self._world.watch.find(user.task_id)
        if run is None:
            return
        if order == "cancel":
            await user.cancel(member)
        elif act := self._act(member, order, run, step % len(run.plan.steps)):
            await self._ordered(member, run, act)

    def _act(self, member: "Member", order: str, run: Run, step: int) -> Act | None:
        match order:
            case "pause":
                return PauseAsked("ann")
            case "resume":
                return ResumeAsked("ann")
            case "retry":
                return RetryAsked(step, "ann")
            case "retry all":
                return RetryAsked(-1, "ann")
            case "skip":
                return SkipAsked(step, "ann")
            case _:
                self._world.watch.now = max(self._world.watch.now, member.engine.desk.now())
                return verdict_on(self._world.watch, run, step, self._chance, in_haste="haste" in order)

    async def _ordered(self, member: "Member", run: Run, act: Act) -> bool:
        """Whether an order was taken. Its answer may be lost, as any."""
        try:
            return await member.engine.desk.act(run.task_id, act)
        except (StoreError, ActRefused):
            return False

    # --- when all is healed

    async def resume_all(self, member: "Member") -> None:
        for run in self._world.watch.runs:
            if run.head.paused:
                await self._ordered(member, run, ResumeAsked("ann"))

    async def see_to_parked(self, member: "Member") -> None:
        """Do what a person can about every step of the parked tasks."""
        for run in self._world.watch.runs:
            if run.head.state is TaskState.FAILED:
                await self._see_to(member, run)

    async def _see_to(self, member: "Member", run: Run) -> None:
        for step in range(len(run.plan.steps)):
            for order in self._chance.sample(("resolve", "retry", "skip"), 3):
                act = self._act(member, order, run, step)
                if act is not None and await self._ordered(member, run, act):
                    break
