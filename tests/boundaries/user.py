"""Somebody who wants a task done: submits until he is answered, and cancels likewise, through any process."""

from asyncio import sleep
from typing import TYPE_CHECKING

import msgspec

from makegood.core.events import CancelAsked, TaskSubmitted
from makegood.core.record import Direction
from makegood.errors import ActRefused, StoreError

if TYPE_CHECKING:
    from tests.boundaries.member import Member
    from tests.boundaries.simulation import World

PATIENCE = 0.5
"""Seconds before he tries again."""


class User:
    """One per task. Once he is answered, what he asked for must be in the record (S11)."""

    def __init__(self, world: "World", task_id: str) -> None:
        self.task_id = task_id
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
        while not self.submitted:
            try:
                await self._submit(member)
            except StoreError:
                await sleep(PATIENCE)
        while self._world.scenario.cancel_at and not self.cancelled:
            await sleep(0.05)
            if self.wants_to_cancel:
                await self._cancel(member)

    async def _submit(self, member: "Member") -> None:
        scenario, desk = self._world.scenario, member.engine.desk
        plan = scenario.compiled
        await member.store.save_plan(plan.version, plan.name, scenario.document)
        deadline = desk.now() + int(scenario.deadline * 1000) if scenario.deadline else 0
        await desk.submit(plan, self.task_id, TaskSubmitted(msgspec.Raw(b"{}"), deadline))
        self.submitted = True
        if self._world.watch.find(self.task_id) is None:
            self._world.complaints.append("S11: a submission was answered, and is not in the store")

    async def _cancel(self, member: "Member") -> None:
        try:
            await member.engine.desk.act(self.task_id, CancelAsked("ann", "no longer wanted"))
        except StoreError:
            return
        except ActRefused:
            self.cancelled = True
            return
        self.cancelled = True
        task = self._world.watch.find(self.task_id)
        assert task is not None
        if not any(isinstance(fact, CancelAsked) for row in task.rows for fact in row.facts):
            self._world.complaints.append("S11: a cancel was answered, and is not in the record")
        task.cancelled = task.head.direction is Direction.UNDO
