"""What a client knows of one store: reading tasks, applying acts, waiting for ends."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from makegood.client.legible import ILLEGIBLE, legible
from makegood.core.events import Act, Row, decode_row
from makegood.core.plan import Millis, Plan
from makegood.core.record import AT_REST, Head, TaskState, decode_head
from makegood.desk import Desk
from makegood.errors import ActRefused, MakegoodError, PlanError, StoreError, UnknownTask
from makegood.ids import TASK_ID
from makegood.payload import resolve
from makegood.reading import view, why
from makegood.reading.facts import facts_of
from makegood.reading.words import state_name
from makegood.store.protocol import Query, Stored

POLL_FIRST, POLL_CAP = 0.05, 1.0
"""Seconds between looks at a task that another process drives."""


@dataclass(frozen=True)
class Snapshot:
    """A task read at one moment: its head, plan and history."""

    stored: Stored
    head: Head
    plan: Plan
    rows: list[tuple[int, Row]]
    read_at: Millis

    @cached_property
    def record(self) -> dict[str, Any]:
        """The exported record. Raises StoreError where it does not hold together."""
        with legible(self.stored.task_id):
            return view.record_of(
                self.plan, self.stored.task_id, self.head, self.rows, now=self.read_at, resolve=resolve
            )

    def facts(self, *, after: int = 0) -> list[dict[str, Any]]:
        """The history as JSON values, a fact each, without the first `after` rows. Raises StoreError."""
        with legible(self.stored.task_id):
            return facts_of(self.plan, self.rows[after:])

    def why(self, alive: why.Alive) -> str:
        """In words: what it waits for, since when, until when, and what happens next. Raises StoreError."""
        with legible(self.stored.task_id):
            return why.why(
                self.plan, self.stored.task_id, self.head, self.rows, now=self.read_at, alive=alive
            )


@dataclass(frozen=True)
class TaskPage:
    """Some of the tasks asked for, in short, and where to go on (None: that was all)."""

    tasks: Sequence[dict[str, Any]]
    next: str | None


class Connection:
    """Tasks in a store, seen through a desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.store = desk.store

    async def stored(self, task_id: str) -> Stored:
        """A task as the store holds it. Raises UnknownTask, StoreError."""
        [stored] = await self.store.load([known_form(task_id)])
        if stored is None:
            raise UnknownTask(task_id)
        return stored

    async def alive(self) -> why.Alive:
        """What the living processes are and can do."""
        members = await self.store.members()
        return why.Alive(
            roles=frozenset(role for member in members for role in member.roles),
            actions=frozenset(action for member in members for action in member.actions),
        )

    async def snapshot(self, task_id: str) -> Snapshot:
        """A task as it stands, with its history. Raises UnknownTask, StoreError."""
        stored = await self.stored(task_id)
        rows = await self.store.history(task_id)
        plan = await self._plan(stored)
        with legible(task_id):
            read = [(row.version, decode_row(row.body)) for row in rows if row.version <= stored.version]
            return Snapshot(stored, decode_head(stored.head), plan, read, self.desk.now())

    async def list(
        self,
        states: Sequence[str] | None = None,
        plan: str | None = None,
        *,
        limit: int = 100,
        after: str | None = None,
    ) -> TaskPage:
        """Tasks in short, newest first; `after` is a former page's `next`. Raises MakegoodError for a state
        that is none."""
        numbers = None if states is None else tuple(_state_number(state) for state in states)
        page = await self.store.search(Query(states=numbers, plan=plan), after=after, limit=limit)
        now, tasks = self.desk.now(), []
        for stored in page.tasks:
            tasks.append(await self._summary(stored, now))
        return TaskPage(tasks, page.next)

    async def _summary(self, stored: Stored, now: Millis) -> dict[str, Any]:
        """A task in short; one whose record or plan cannot be read is listed as such."""
        head = self.desk.shelf.head_of(stored)
        if head is not None:
            with suppress(StoreError):
                plan = await self._plan(stored)
                with legible(stored.task_id):
                    return view.summary_of(plan, stored.task_id, head, now)
        return _illegible(stored)

    async def act(self, task_id: str, act: Act) -> bool:
        """Apply an act; False: it was so already. Raises UnknownTask, ActRefused, StoreError."""
        try:
            with legible(known_form(task_id)):
                return await self.desk.act(task_id, act)
        except ActRefused as refused:
            raise ActRefused(f"task {task_id}: {refused}") from None

    async def find_step(self, task_id: str, step: str) -> tuple[int, Millis]:
        """The number of a step by its name, and since when it stands as it does.

        Raises UnknownTask, StoreError, ActRefused when the plan has no such step.
        """
        stored = await self.stored(task_id)
        plan = await self._plan(stored)
        if step not in plan.index_of:
            known = ", ".join(plan.index_of)
            raise ActRefused(f"task {task_id}: plan {plan.name} has no step {step!r}; it has {known}")
        number = plan.index_of[step]
        with legible(stored.task_id):
            return number, decode_head(stored.head).stands_since(number)

    async def _plan(self, stored: Stored) -> Plan:
        """The plan a task is pinned to. Raises StoreError where the store does not hold it as it was."""
        try:
            with legible(stored.task_id):
                return await self.desk.shelf.plan(stored.plan_version)
        except PlanError as error:
            raise StoreError(f"task {stored.task_id} cannot be read here: {error}") from None

    async def state(self, task_id: str) -> TaskState:
        """Where a task stands. Raises UnknownTask, StoreError."""
        stored = await self.stored(task_id)
        with legible(task_id):
            return TaskState(stored.state)

    async def at_rest(self, task_id: str) -> TaskState:
        """Wait until a task has ended or is parked, by whichever process."""
        pause = POLL_FIRST
        while True:
            heard = self.desk.ended(task_id)
            try:
                state = await self.state(task_id)
                if state in AT_REST:
                    return state
                done, _ = await asyncio.wait([heard], timeout=pause)
                if done:
                    return heard.result()
            finally:
                self.desk.forget_waiter(task_id, heard)
            pause = min(POLL_CAP, pause * 1.5)


def known_form(task_id: str) -> str:
    """The id as given. Raises UnknownTask for what no task can be called."""
    if not TASK_ID.fullmatch(task_id):
        raise UnknownTask(task_id)
    return task_id


def _illegible(stored: Stored) -> dict[str, Any]:
    """What a list shows of a task whose record it cannot read: no more than the store itself knows."""
    state = next((state_name(state) for state in TaskState if state == stored.state), "unknown")
    return {"taskId": stored.task_id, "state": state, "plan": stored.plan, "reason": ILLEGIBLE}


def _state_number(name: str) -> int:
    for state in TaskState:
        if state_name(state) == name:
            return state
    known = ", ".join(state_name(state) for state in TaskState)
    raise MakegoodError(f"{name!r} is no state of a task; the states are {known}")
