"""The client: submit, wait, look, act. Given agents, `Makegood` is the whole engine in one object."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from random import SystemRandom
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import msgspec

from makegood.authoring.agent import Agent
from makegood.authoring.plans import PlanDefinition
from makegood.core.events import (
    Act,
    CancelAsked,
    PauseAsked,
    ResolveAsked,
    ResumeAsked,
    RetryAsked,
    Row,
    SkipAsked,
    TaskSubmitted,
    Verdict,
    decode_row,
)
from makegood.core.plan import Millis, Plan, millis
from makegood.core.record import AT_REST, Head, TaskState, decode_head
from makegood.errors import (
    ActRefused,
    Compensated,
    Failed,
    MakegoodError,
    PayloadError,
    PlanError,
    SubmissionConflict,
    UnknownTask,
)
from makegood.ids import check_task_id, make_task_id
from makegood.payload import canonical, codec_for, differing_paths, lost_paths, resolve
from makegood.reading import view
from makegood.reading import why as words
from makegood.reading.words import state_name
from makegood.runtime.engine import GRACE, Engine
from makegood.store.protocol import Member, Query, Store, Stored
from makegood.store.url import DEFAULT_URL, open_store

In = TypeVar("In")
Out = TypeVar("Out")

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
        """The exported record. Raises MissingPath when the output refers to something that is not there."""
        return view.record_of(
            self.plan, self.stored.task_id, self.head, self.rows, now=self.read_at, resolve=resolve
        )


@dataclass(frozen=True)
class TaskPage:
    """Some of the tasks asked for, in short, and where to go on (None: that was all)."""

    tasks: Sequence[dict[str, Any]]
    next: str | None


class Makegood:
    """A connection to a store; with agents, also the scheduler, the agents and the supervisor beside it.

    Use it as an async context manager. Several on one store, in one process or many, are safe.
    """

    def __init__(self, store: str | Store = DEFAULT_URL, agents: Sequence[Agent] = ()) -> None:
        self._store = open_store(store) if isinstance(store, str) else store
        self._engine = Engine(self._store, agents)
        self._desk = self._engine.desk
        self._saved_plans: set[str] = set()
        self._chance = SystemRandom()

    async def __aenter__(self) -> Self:
        await self._engine.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._engine.stop(GRACE if kind is None else 0)

    # --- submitting

    async def submit(
        self,
        plan: PlanDefinition[In, Out],
        input: In | None = None,
        *,
        task_id: str | None = None,
        deadline: float | timedelta | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> "Task[Out]":
        """Enter a task; once this returns it is durable. `deadline` is a length of time (seconds) from now.

        The same id, plan and input again is the existing task. Raises SubmissionConflict for another plan or
        input under a taken id, PayloadError for an input that cannot be written, StoreError.
        """
        raw = codec_for(plan.input_type).encode(input, "input")
        return await self._enter(plan, raw, task_id, deadline, tags)

    async def submit_json(
        self,
        plan: PlanDefinition[Any, Out],
        raw: bytes,
        *,
        task_id: str | None = None,
        deadline: float | timedelta | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> "Task[Out]":
        """The same with an input that is JSON already. A field its type does not have raises PayloadError."""
        codec = codec_for(plan.input_type)
        kept = codec.encode(codec.decode(raw, "input"), "input")
        lost = lost_paths(raw, kept)
        if lost:
            raise PayloadError(
                f"{lost[0]}: plan {plan.name} takes no such field; correct its name or leave it out"
            )
        return await self._enter(plan, kept, task_id, deadline, tags)

    async def _enter(
        self,
        plan: PlanDefinition[Any, Out],
        raw: bytes,
        task_id: str | None,
        deadline: float | timedelta | None,
        tags: Mapping[str, str] | None,
    ) -> "Task[Out]":
        now = self._desk.now()
        name = self._new_id(plan.name, now) if task_id is None else check_task_id(task_id)
        event = TaskSubmitted(msgspec.Raw(raw), _moment(now, deadline), dict(tags or {}))
        await self._save_plan(plan)
        if not await self._desk.submit(plan.plan, name, event):
            await self._check_same(plan, name, raw)
        return Task(self, name, plan.output_type)

    def _new_id(self, plan: str, now: Millis) -> str:
        return make_task_id(plan, now, self._chance.getrandbits(64))

    async def _save_plan(self, plan: PlanDefinition[Any, Any]) -> None:
        if plan.version not in self._saved_plans:
            await self._store.save_plan(plan.version, plan.name, plan.document.canonical())
            self._saved_plans.add(plan.version)

    async def _check_same(self, plan: PlanDefinition[Any, Any], task_id: str, raw: bytes) -> None:
        """The id is taken: fine if it is this very submission, made before."""
        [stored] = await self._store.load([task_id])
        if stored is None:
            raise UnknownTask(task_id)
        if stored.plan != plan.name:
            raise SubmissionConflict(
                f"task {task_id!r} is there already, with plan {stored.plan!r}, not {plan.name!r}; "
                "choose another id"
            )
        [first, *_] = await self._store.history(task_id)
        before = next(f.input for f in decode_row(first.body).facts if isinstance(f, TaskSubmitted))
        if canonical(bytes(before)) != canonical(raw):
            paths = ", ".join(differing_paths(bytes(before), raw))
            raise SubmissionConflict(
                f"task {task_id!r} is there already, with another input (differs at {paths}); "
                "choose another id"
            )

    # --- looking

    def task(self, task_id: str) -> "Task[Any]":
        """A handle on a task by its id; whether it is there shows when it is used."""
        return Task(self, task_id, Any)

    async def snapshot(self, task_id: str) -> Snapshot:
        """A task as it stands, with its history. Raises UnknownTask, StoreError."""
        [stored] = await self._store.load([task_id])
        if stored is None:
            raise UnknownTask(task_id)
        rows = await self._store.history(task_id)
        read = [(row.version, decode_row(row.body)) for row in rows if row.version <= stored.version]
        plan = await self._desk.shelf.plan(stored.plan_version)
        return Snapshot(stored, decode_head(stored.head), plan, read, self._desk.now())

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
        page = await self._store.search(Query(states=numbers, plan=plan), after=after, limit=limit)
        now, tasks = self._desk.now(), []
        for stored in page.tasks:
            compiled = await self._desk.shelf.plan(stored.plan_version)
            tasks.append(view.summary_of(compiled, stored.task_id, decode_head(stored.head), now))
        return TaskPage(tasks, page.next)

    async def members(self) -> Sequence[Member]:
        """The living processes."""
        return await self._store.members()

    async def migrate(self) -> Sequence[str]:
        """Bring the store's schema up to this version; the names of what was applied."""
        return await self._store.migrate()

    # --- for tasks

    async def act(self, task_id: str, act: Act) -> bool:
        """Apply an act; False: it was so already. Raises UnknownTask, ActRefused, StoreError."""
        try:
            return await self._desk.act(task_id, act)
        except ActRefused as refused:
            raise ActRefused(f"task {task_id}: {refused}") from None

    async def step_number(self, task_id: str, step: str) -> int:
        """The number of a step by its name. Raises UnknownTask, ActRefused when the plan has no such step."""
        [stored] = await self._store.load([task_id])
        if stored is None:
            raise UnknownTask(task_id)
        plan = await self._desk.shelf.plan(stored.plan_version)
        if step not in plan.index_of:
            known = ", ".join(plan.index_of)
            raise ActRefused(f"task {task_id}: plan {plan.name} has no step {step!r}; it has {known}")
        return plan.index_of[step]

    async def state(self, task_id: str) -> TaskState:
        """Where a task stands. Raises UnknownTask, StoreError."""
        [stored] = await self._store.load([task_id])
        if stored is None:
            raise UnknownTask(task_id)
        return TaskState(stored.state)

    async def at_rest(self, task_id: str) -> TaskState:
        """Wait until a task has ended or is parked, by whichever process."""
        pause = POLL_FIRST
        while True:
            heard = self._desk.ended(task_id)
            try:
                state = await self.state(task_id)
                if state in AT_REST:
                    return state
                done, _ = await asyncio.wait([heard], timeout=pause)
                if done:
                    return heard.result()
            finally:
                self._desk.forget_waiter(task_id, heard)
            pause = min(POLL_CAP, pause * 1.5)


class Task(Generic[Out]):
    """A handle on one task: wait for it, look at it, act on it."""

    def __init__(self, makegood: Makegood, task_id: str, output_type: Any) -> None:
        self._makegood = makegood
        self.task_id = task_id
        self._output_type = output_type

    def __repr__(self) -> str:
        return f"<task {self.task_id}>"

    # --- waiting

    async def wait(self, timeout: float | None = None) -> str:
        """Wait until it ends or is parked: "Completed", "Compensated" or "Failed".

        Raises TimeoutError after `timeout` seconds; the task goes on.
        """
        async with asyncio.timeout(timeout):
            return state_name(await self._makegood.at_rest(self.task_id))

    async def result(self, timeout: float | None = None) -> Out:
        """Wait for its output. Raises Compensated or Failed with the reason, TimeoutError, PayloadError when
        the output refers to what a result does not have, StoreError."""
        state = await self.wait(timeout)
        snapshot = await self._makegood.snapshot(self.task_id)
        if state == "Completed":
            if "outputError" in snapshot.record:
                raise PayloadError(f"task {self.task_id}: {snapshot.record['outputError']}")
            output: Out = codec_for(self._output_type).convert(snapshot.record.get("output"), "output")
            return output
        raise (Compensated if state == "Compensated" else Failed)(
            self.task_id, snapshot.record.get("reason", "it was undone")
        )

    # --- looking

    async def record(self) -> dict[str, Any]:
        """The record as JSON values: the document of the pattern."""
        return (await self._makegood.snapshot(self.task_id)).record

    async def history(self) -> Sequence[tuple[int, Row]]:
        """Its history: version and row, oldest first."""
        return (await self._makegood.snapshot(self.task_id)).rows

    async def why(self) -> str:
        """In words: what it waits for, since when, until when, and what happens next."""
        snapshot = await self._makegood.snapshot(self.task_id)
        members = await self._makegood.members()
        alive = words.Alive(
            roles=frozenset(role for member in members for role in member.roles),
            actions=frozenset(action for member in members for action in member.actions),
        )
        return words.why(
            snapshot.plan, self.task_id, snapshot.head, snapshot.rows, now=snapshot.read_at, alive=alive
        )

    # --- acting

    async def cancel(self, *, by: str, why: str = "") -> str:
        """Turn it: what it did is undone. Raises ActRefused when it is Completed or past its pivot."""
        fresh = await self._makegood.act(self.task_id, CancelAsked(by, why))
        state = await self._makegood.state(self.task_id)
        if state is TaskState.RUNNING:
            return "cancel is pending: its pivot is in doubt" if fresh else "cancel was pending already"
        if fresh:
            return "cancelled"
        return "already compensated" if state is TaskState.COMPENSATED else "already compensating"

    async def pause(self, *, by: str, why: str = "") -> str:
        """Start no call until resumed; open calls finish."""
        return "paused" if await self._makegood.act(self.task_id, PauseAsked(by, why)) else "already paused"

    async def resume(self, *, by: str, why: str = "") -> str:
        """Go on."""
        return (
            "resumed" if await self._makegood.act(self.task_id, ResumeAsked(by, why)) else "it was not paused"
        )

    async def retry(self, step: str | None = None, *, by: str, why: str = "") -> str:
        """Try a step (or every step that waits for another try) again now."""
        number = -1 if step is None else await self._makegood.step_number(self.task_id, step)
        await self._makegood.act(self.task_id, RetryAsked(number, by, why))
        return "trying again"

    async def skip(self, step: str, result_json: bytes | None = None, *, by: str, why: str = "") -> str:
        """Go on as if the step were done by hand. Raises ActRefused where that would break a promise."""
        number = await self._makegood.step_number(self.task_id, step)
        await self._makegood.act(self.task_id, SkipAsked(number, by, why, _raw(result_json)))
        return f"skipped {step}"

    async def resolve(
        self, step: str, verdict: str, result_json: bytes | None = None, *, by: str, why: str = ""
    ) -> str:
        """Settle what only a person can: "done", "absent", "undone", "kept" or "left". Raises ActRefused."""
        if verdict not in set(Verdict):
            raise ActRefused(f"{verdict!r} is no verdict; say {', '.join(Verdict)}")
        number = await self._makegood.step_number(self.task_id, step)
        await self._makegood.act(
            self.task_id, ResolveAsked(number, Verdict(verdict), by, why, _raw(result_json))
        )
        return f"resolved {step} as {verdict}"


def _state_number(name: str) -> int:
    for state in TaskState:
        if state_name(state) == name:
            return state
    known = ", ".join(state_name(state) for state in TaskState)
    raise MakegoodError(f"{name!r} is no state of a task; the states are {known}")


def _raw(result_json: bytes | None) -> tuple[msgspec.Raw, ...]:
    return () if result_json is None else (msgspec.Raw(canonical(result_json)),)


def _moment(now: Millis, length: float | timedelta | None) -> Millis:
    if length is None:
        return 0
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if not 0 < seconds < 1e9:
        raise PlanError(f"a deadline is a length of time in seconds, above 0 and below 1e9, not {seconds}")
    return now + millis(seconds)
