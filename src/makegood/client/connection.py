"""What a client knows of one store: reading tasks, applying acts, waiting for ends."""

import asyncio
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import msgspec

from makegood.authoring.agent import Agent
from makegood.client.legible import ILLEGIBLE, legible
from makegood.core.events import Act, Row, decode_row
from makegood.core.plan import Millis, Plan, StepPlan
from makegood.core.record import AT_REST, Head, TaskState, decode_head
from makegood.desk import Desk
from makegood.errors import ActRefused, MakegoodError, PlanError, StoreError, StoreUnavailable, UnknownTask
from makegood.ids import TASK_ID
from makegood.payload import Codec, Envelope, resolve
from makegood.reading import view, why
from makegood.reading.facts import facts_of
from makegood.reading.matching import Where
from makegood.reading.opening import opened_head, opened_row
from makegood.reading.past import Past
from makegood.reading.under_way import Alive
from makegood.reading.words import state_name
from makegood.store.checks import INTEGER_MAX
from makegood.store.protocol import Page, Query, Stored

log = logging.getLogger("makegood.client")

ANY = Where()
PAGE = 200
"""Tasks that are read at a time, where only a look into them tells which are meant."""
POLL_FIRST, POLL_CAP = 0.05, 1.0
"""Seconds between looks at a task that another process drives."""


class Snapshot(msgspec.Struct, frozen=True, dict=True):
    """A task read at one moment: its head, plan and history, opened as far as this process can."""

    stored: Stored
    head: Head
    plan: Plan
    rows: list[tuple[int, Row]]
    read_at: Millis
    closed: list[tuple[int, Row]]
    """The rows as they are stored."""
    envelope: Envelope

    def __repr__(self) -> str:
        state = state_name(self.head.state)
        return f"<snapshot of {self.stored.task_id}: {state}, version {self.stored.version}>"

    @cached_property
    def record(self) -> dict[str, Any]:
        """The exported record. Raises StoreError where it does not hold together."""
        with legible(self.stored.task_id):
            return view.record_of(
                self.plan, self.stored.task_id, self.head, self.rows, now=self.read_at, resolve=resolve
            )

    def output(self) -> Any:
        """The output of a Completed task, as JSON values, its secrets in clear.

        Raises PayloadError where it refers to what a result does not have, or cannot be opened; StoreError.
        """
        with legible(self.stored.task_id):
            past = Past(self.plan, self.closed)
            values = past.values
            values.input = msgspec.Raw(self.envelope.open(bytes(values.input), "the input"))
            for step, raw in values.results.items():
                where = f"the result of {self.plan.steps[step].name}"
                values.results[step] = msgspec.Raw(self.envelope.open(bytes(raw), where))
            return view.output_of(self.plan, past, resolve)

    def facts(self, *, after: int = 0) -> list[dict[str, Any]]:
        """The history as JSON values, a fact each, without the first `after` rows. Raises StoreError."""
        with legible(self.stored.task_id):
            return facts_of(self.plan, self.rows[after:])

    def why(self, alive: Alive) -> str:
        """In words: what it waits for, since when, until when, and what happens next. Raises StoreError."""
        with legible(self.stored.task_id):
            return why.why(
                self.plan, self.stored.task_id, self.head, self.rows, now=self.read_at, alive=alive
            )


class TaskPage(msgspec.Struct, frozen=True):
    """Some of the tasks asked for, in short, and where to go on (None: that was all).

    It iterates over its `tasks`, each as `makegood list --json` has it.
    """

    tasks: Sequence[dict[str, Any]]
    next: str | None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)


class Connection:
    """Tasks in a store, seen through a desk."""

    def __init__(self, desk: Desk, envelope: Envelope, agents: Iterable[Agent] = ()) -> None:
        self.agents = list(agents)
        """Those whose types are known here."""
        self.desk = desk
        self.envelope = envelope
        self.store = desk.store
        self._is_open = False
        self._opened_in: tuple[int, asyncio.AbstractEventLoop] | None = None

    def open(self) -> None:
        """From now on somebody is at the desk, in the running event loop."""
        self._opened_in = os.getpid(), asyncio.get_running_loop()
        self._is_open = True

    def close(self) -> None:
        """Nobody is any more."""
        self._is_open = False

    def check_open(self) -> None:
        """Raise StoreUnavailable where nobody is at the desk: what is posted there would wait for ever."""
        if self._opened_in is None or not self._is_open:
            raise StoreUnavailable("this Makegood is not open; use it inside `async with`")
        process, loop = self._opened_in
        if process != os.getpid():
            raise StoreUnavailable(
                f"this Makegood was opened in process {process}, of which this one is a fork; open it only "
                "after the fork"
            )
        if loop is not asyncio.get_running_loop():
            raise StoreUnavailable(
                "this Makegood was opened in another event loop; use it there, or makegood.sync, which any "
                "thread may call"
            )

    def loop_has_ended(self) -> bool:
        """Whether the event loop that it was opened in is closed, and with it all that was done here. Raises
        StoreUnavailable where that loop lives and is not the running one."""
        if self._opened_in is None or self._opened_in[0] != os.getpid():
            return False
        if self._opened_in[1].is_closed():
            return True
        if self._is_open:
            self.check_open()
        return False

    async def stored(self, task_id: str) -> Stored:
        """A task as the store holds it. Raises UnknownTask, StoreError."""
        [stored] = await self.store.load([known_form(task_id)])
        if stored is None:
            raise UnknownTask(task_id)
        return stored

    async def alive(self) -> Alive:
        """What the living processes are and can do."""
        members = await self.store.members()
        return Alive(
            roles=frozenset(role for member in members for role in member.roles),
            actions=frozenset(action for member in members for action in member.actions),
        )

    async def snapshot(self, task_id: str) -> Snapshot:
        """A task as it stands, with its history. Raises UnknownTask, StoreError."""
        stored = await self.stored(task_id)
        rows = await self.store.history(task_id)
        plan = await self._plan(stored)
        with legible(task_id):
            closed = [(row.version, decode_row(row.body)) for row in rows if row.version <= stored.version]
            read = [(version, opened_row(row, self.envelope)) for version, row in closed]
            head = opened_head(decode_head(stored.head), self.envelope)
            return Snapshot(stored, head, plan, read, self.desk.now(), closed, self.envelope)

    async def list(self, where: Where = ANY, *, limit: int = 100, after: str | None = None) -> TaskPage:
        """Tasks in short, newest first; `after` is a former page's `next`.

        Raises StoreError, MakegoodError for a limit that is none.
        """
        tasks: list[dict[str, Any]] = []
        _check_where(where)
        size = _size(limit) if where.by_store else PAGE
        while True:
            page = await self._page(where, after, size)
            for number, stored in enumerate(page.tasks, start=1):
                if await self._is_meant(where, stored):
                    tasks.append(await self._summary(stored))
                if len(tasks) == limit and number < len(page.tasks):
                    return TaskPage(tasks, (await self._page(where, after, number)).next)
            after = page.next
            if after is None or len(tasks) == limit:
                return TaskPage(tasks, after)

    async def find(self, where: Where = ANY) -> Sequence[str]:
        """The ids of all tasks that are meant, newest first. Raises StoreError, MakegoodError."""
        _check_where(where)
        found: list[str] = []
        after: str | None = None
        while True:
            page = await self._page(where, after, PAGE)
            found += [stored.task_id for stored in page.tasks if await self._is_meant(where, stored)]
            after = page.next
            if after is None:
                return found

    async def _page(self, where: Where, after: str | None, limit: int) -> Page:
        return await self.store.search(Query(states=where.numbers, plan=where.plan), after=after, limit=limit)

    async def _is_meant(self, where: Where, stored: Stored) -> bool:
        """One that cannot be read is meant where nothing is asked that it would have to be read for."""
        if where.by_store:
            return True
        read = await self._read(stored)
        return read is not None and where.holds(*read, self.desk.now())

    async def _read(self, stored: Stored) -> tuple[Plan, Head] | None:
        head = self.desk.shelf.head_of(stored)
        if head is not None:
            with suppress(StoreError):
                return await self._plan(stored), opened_head(head, self.envelope)
        return None

    async def _summary(self, stored: Stored) -> dict[str, Any]:
        """A task in short; one whose record or plan cannot be read is listed as such."""
        read = await self._read(stored)
        if read is not None:
            plan, head = read
            with suppress(StoreError), legible(stored.task_id):
                return view.summary_of(plan, stored.task_id, head, self.desk.now())
        return _illegible(stored)

    async def act(self, task_id: str, act: Act) -> bool:
        """Apply an act; False: it was so already. Raises UnknownTask, ActRefused, StoreError."""
        self.check_open()
        try:
            with legible(known_form(task_id)):
                return await self.desk.act(task_id, act)
        except ActRefused as refused:
            raise ActRefused(f"task {task_id}: {refused}") from None

    async def find_step(self, task_id: str, step: str) -> tuple[int, Head]:
        """The number of a step by its name, and its task as it stands.

        Raises UnknownTask, StoreError, ActRefused when the plan has no such step.
        """
        stored = await self.stored(task_id)
        plan = await self._plan(stored)
        if step not in plan.index_of:
            known = ", ".join(plan.index_of)
            raise ActRefused(f"task {task_id}: plan {plan.name} has no step {step!r}; it has {known}")
        number = plan.index_of[step]
        with legible(stored.task_id):
            return number, decode_head(stored.head)

    async def step(self, task_id: str, step: str) -> StepPlan:
        """A step by its name. Raises as find_step does."""
        number, _ = await self.find_step(task_id, step)
        return (await self._plan(await self.stored(task_id))).steps[number]

    def result_codec(self, step: StepPlan) -> Codec | None:
        """What a step's result must be; None where that is not known here."""
        for agent in self.agents:
            if agent.name == step.agent and step.action in agent.actions:
                return agent.actions[step.action].result_codec
        return None

    def say_unchecked(self, task_id: str, step: StepPlan) -> None:
        """Warn that a result is on record which nobody could check."""
        log.warning(
            "task %s: the result of %s is not checked by its type, as no agent here has %s/%s; it is with "
            "--app APP, or where a Makegood has or knows the agent. As long as no call was made of it, "
            "`makegood resolve %s %s done --result JSON --app APP` corrects it",
            *(task_id, step.name, step.agent, step.action, task_id, step.name),
        )

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

    async def head(self, task_id: str) -> Head:
        """A task as it stands, as the core sees it. Raises UnknownTask, StoreError."""
        stored = await self.stored(task_id)
        with legible(task_id):
            return decode_head(stored.head)

    async def at_rest(self, task_id: str) -> TaskState:
        """Wait until a task has ended or is parked, by whichever process."""
        self.check_open()
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


def known_form(task_id: object) -> str:
    """The id as given. Raises UnknownTask for what no task can be called."""
    if not isinstance(task_id, str) or not TASK_ID.fullmatch(task_id):
        raise UnknownTask(str(task_id))
    return task_id


def _check_where(where: object) -> None:
    if not isinstance(where, Where):
        raise MakegoodError(
            f"where={where!r}: tasks are chosen by a Where, as in Where(states=('Failed',)); "
            "`from makegood.client import Where`"
        )


def _size(limit: object) -> int:
    """How many tasks a page may have. Raises MakegoodError for what is no number of them."""
    if not isinstance(limit, int) or limit < 1:
        raise MakegoodError(f"limit={limit!r}: a page holds a whole number of tasks, 1 or more")
    return min(limit, INTEGER_MAX)


def _illegible(stored: Stored) -> dict[str, Any]:
    """What a list shows of a task whose record it cannot read: no more than the store itself knows."""
    state = next((state_name(state) for state in TaskState if state == stored.state), "unknown")
    return {"taskId": stored.task_id, "state": state, "plan": stored.plan, "reason": ILLEGIBLE}
