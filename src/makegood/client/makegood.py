"""`Makegood`: a connection to a store and, with agents, everything that drives its tasks."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from random import SystemRandom
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from makegood.auditing.audit import Audit, Report
from makegood.auditing.listing import LISTING_TIMEOUT
from makegood.authoring.agent import Agent
from makegood.authoring.plans import PlanDefinition
from makegood.client.connection import Connection, Snapshot, TaskPage, known_form
from makegood.client.legible import legible
from makegood.client.task import Task
from makegood.core.events import TaskSubmitted, decode_row
from makegood.core.plan import Millis, millis
from makegood.errors import PayloadError, PlanError, SubmissionConflict
from makegood.ids import check_task_id, make_task_id
from makegood.payload import canonical, codec_for, differing_paths, lost_paths
from makegood.runtime.engine import GRACE, Engine
from makegood.store.protocol import Member, Store
from makegood.store.url import DEFAULT_URL, open_store

In = TypeVar("In")
Out = TypeVar("Out")


class Makegood:
    """A connection to a store; with agents, also the scheduler, the agents and the supervisor beside it.

    Use it as an async context manager. Several on one store, in one process or many, are safe.
    `audit_every`: audit the store every so many seconds, and log what is newly found.
    """

    def __init__(
        self,
        store: str | Store = DEFAULT_URL,
        agents: Sequence[Agent] = (),
        *,
        audit_every: float | None = None,
    ) -> None:
        self._store = open_store(store) if isinstance(store, str) else store
        self._agents = _check_agents(agents)
        self._engine = Engine(self._store, self._agents, audit_every=audit_every)
        self._desk = self._engine.desk
        self._connection = Connection(self._desk)
        self._saved_plans: set[str] = set()
        self._chance = SystemRandom()

    async def __aenter__(self) -> Self:
        await self._engine.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._engine.stop(GRACE if kind is None else 0, leave_running=False)

    # --- submitting

    async def submit(
        self,
        plan: PlanDefinition[In, Out],
        input: In | None = None,
        *,
        task_id: str | None = None,
        deadline: float | timedelta | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Task[Out]:
        """Enter a task; once this returns it is durable. `deadline` is a length of time (seconds) from now.

        The same id, plan and input again is the existing task. Raises SubmissionConflict for another plan or
        input under a taken id, PayloadError for an input that cannot be written, StoreError.
        """
        _check_plan(plan)
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
    ) -> Task[Out]:
        """The same with an input that is JSON already. A field its type does not have raises PayloadError."""
        _check_plan(plan)
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
    ) -> Task[Out]:
        now = self._desk.now()
        name = self._new_id(plan.name, now) if task_id is None else check_task_id(task_id)
        event = TaskSubmitted(msgspec.Raw(raw), _moment(now, deadline), _check_tags(tags or {}))
        await self._save_plan(plan)
        if not await self._desk.submit(plan.plan, name, event):
            await self._check_same(plan, name, raw)
        return Task(self._connection, name, plan.output_type)

    def _new_id(self, plan: str, now: Millis) -> str:
        return make_task_id(plan, now, self._chance.getrandbits(64))

    async def _save_plan(self, plan: PlanDefinition[Any, Any]) -> None:
        if plan.version not in self._saved_plans:
            await self._store.save_plan(plan.version, plan.name, plan.document.canonical())
            self._saved_plans.add(plan.version)

    async def _check_same(self, plan: PlanDefinition[Any, Any], task_id: str, raw: bytes) -> None:
        """The id is taken: fine if it is this very submission, made before."""
        stored = await self._connection.stored(task_id)
        if stored.plan != plan.name:
            raise SubmissionConflict(
                f"task {task_id!r} is there already, with plan {stored.plan!r}, not {plan.name!r}; "
                "choose another id"
            )
        rows = await self._store.history(task_id)
        with legible(task_id):
            [before] = [f.input for f in decode_row(rows[0].body).facts if isinstance(f, TaskSubmitted)]
        if canonical(bytes(before)) != canonical(raw):
            paths = ", ".join(differing_paths(bytes(before), raw))
            raise SubmissionConflict(
                f"task {task_id!r} is there already, with another input (differs at {paths}); "
                "choose another id"
            )

    # --- looking

    def task(self, task_id: str) -> Task[Any]:
        """A handle on a task by its id; whether it is there shows when it is used."""
        return Task(self._connection, task_id, Any)

    async def snapshot(self, task_id: str) -> Snapshot:
        """A task as it stands, with its history. Raises UnknownTask, StoreError."""
        return await self._connection.snapshot(task_id)

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
        return await self._connection.list(states, plan, limit=limit, after=after)

    async def audit(
        self,
        *task_ids: str,
        agents: Sequence[Agent] | None = None,
        listing_timeout: float = LISTING_TIMEOUT,
        seal: Path | None = None,
        against: Path | None = None,
    ) -> Report:
        """What these tasks, or all, have done outside, and everything that is not as it should be.

        What `agents` (if not said, those given to this object) can list of their services is compared with
        the record, each listing function within `listing_timeout` seconds. `seal` is a new file in which the
        digests of all histories are written down, `against` an older one to check them with.

        Raises UnknownTask, StoreError, MakegoodError for a file that cannot be used, PayloadError for one
        that is no seal.
        """
        compared = self._agents if agents is None else _check_agents(agents)
        audit = Audit(self._store, compared, listing_timeout=listing_timeout)
        return await audit.run([known_form(task_id) for task_id in task_ids], seal=seal, against=against)

    async def members(self) -> Sequence[Member]:
        """The living processes."""
        return await self._store.members()

    async def migrate(self) -> Sequence[str]:
        """Bring the store's schema up to this version; the names of what was applied."""
        return await self._store.migrate()


def _check_plan(plan: object) -> None:
    if not isinstance(plan, PlanDefinition):
        raise PlanError(f"{plan!r} is no plan; submit what @plan made of a function")


def _check_tags(tags: Mapping[Any, Any]) -> dict[str, str]:
    for name, value in tags.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise PayloadError(f"tags: {name!r}: {value!r} is not text; tags are pairs of text")
    return dict(tags)


def _check_agents(agents: object) -> Sequence[Agent]:
    listed = list(agents) if isinstance(agents, Iterable) else [agents]
    for agent in listed:
        if not isinstance(agent, Agent):
            raise PlanError(f"{agent!r} is no agent; give a list of them: agents=[flights, hotels]")
    return [agent for agent in listed if isinstance(agent, Agent)]


def _moment(now: Millis, length: float | timedelta | None) -> Millis:
    if length is None:
        return 0
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if not 0 < seconds < 1e9:
        raise PlanError(f"a deadline is a length of time in seconds, above 0 and below 1e9, not {seconds}")
    return now + millis(seconds)
