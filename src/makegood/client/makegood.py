"""`Makegood`: a connection to a store and, with agents, everything that drives its tasks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import SystemRandom
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

import msgspec

from makegood.alerts import Hook
from makegood.auditing.audit import Audit, Report
from makegood.auditing.listing import LISTING_TIMEOUT
from makegood.authoring.agent import Agent
from makegood.authoring.plans import PlanDefinition
from makegood.client.bulk import RATE, Acted, act_on, restored
from makegood.client.connection import ANY, Connection, Snapshot, TaskPage, known_form
from makegood.client.legible import legible
from makegood.client.task import Task, user
from makegood.core.events import TaskSubmitted, decode_row
from makegood.core.plan import Millis, millis
from makegood.errors import MakegoodError, PayloadError, PlanError, StoreError, SubmissionConflict
from makegood.ids import check_task_id, make_task_id
from makegood.payload import Envelope, PayloadCodec, UnknownField, canonical, codec_for, differing_paths
from makegood.reading.matching import Where
from makegood.reading.words import is_text
from makegood.runtime.engine import GRACE, Engine
from makegood.store.protocol import Member, Store
from makegood.store.url import DEFAULT_URL, open_store

SUBMITTED_MAX = 1_000
"""Tasks that submit_many enters at most: they are one commit."""

In = TypeVar("In")
Out = TypeVar("Out")


class Terms(NamedTuple):
    """What holds for a task that is submitted: moments (0: none), and tags."""

    deadline: Millis
    start_at: Millis
    tags: dict[str, str]


class Makegood:
    """A connection to a store; with agents, also the scheduler, the agents and the supervisor beside it.

    Use it as an async context manager. Several on one store, in one process or many, are safe.
    `audit_every`: audit the store every so many seconds, and log what is newly found. `alerts` are told of
    each task that is parked (see makegood.alerts). `codec` makes other bytes of payloads and error texts
    before they are stored, and back: all processes on a store need the same one.
    """

    def __init__(
        self,
        store: str | Store = DEFAULT_URL,
        agents: Sequence[Agent] = (),
        *,
        audit_every: float | None = None,
        alerts: Sequence[Hook] = (),
        codec: PayloadCodec | None = None,
    ) -> None:
        self._store = open_store(store) if isinstance(store, str) else _check_store(store)
        self._agents = _check_agents(agents)
        self._envelope = Envelope(codec)
        self._engine = Engine(
            self._store, self._agents, audit_every=audit_every, alerts=alerts, envelope=self._envelope
        )
        self._desk = self._engine.desk
        self._connection = Connection(self._desk, self._envelope)
        self._saved_plans: set[str] = set()
        self._chance = SystemRandom()

    async def __aenter__(self) -> Self:
        await self._engine.start()
        self._connection.is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.is_open = False
        await self._engine.stop(GRACE if kind is None else 0, leave_running=False)

    # --- submitting

    async def submit(
        self,
        plan: PlanDefinition[In, Out],
        input: In | None = None,
        *,
        task_id: str | None = None,
        deadline: float | timedelta | None = None,
        start_at: datetime | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Task[Out]:
        """Enter a task; once this returns it is durable.

        Nothing of it starts before `start_at` (aware; now, if not said). `deadline` is a length of time
        (seconds) from its start: what has not completed by then is undone.

        The same id, plan and input again is the existing task. Raises SubmissionConflict for another plan or
        input under a taken id, PayloadError for an input that cannot be written, StoreError.
        """
        _check_plan(plan)
        raw = codec_for(plan.input_type).encode(input, "input", limit=self._envelope.clear_max)
        return await self._enter(plan, raw, task_id, self._terms(deadline, start_at, tags))

    async def submit_many(
        self,
        plan: PlanDefinition[In, Out],
        inputs: Iterable[In],
        *,
        task_ids: Sequence[str] | None = None,
        deadline: float | timedelta | None = None,
        start_at: datetime | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Sequence[Task[Out]]:
        """Enter a task for each input, all of them in one commit; see submit. At most SUBMITTED_MAX.

        All inputs are checked before any is entered. Where one of `task_ids` is taken by a task with another
        plan or input, SubmissionConflict is raised once the others are durable.
        """
        _check_plan(plan)
        codec, limit = codec_for(plan.input_type), self._envelope.clear_max
        raws = [codec.encode(each, f"inputs[{n}]", limit=limit) for n, each in enumerate(inputs)]
        terms = self._terms(deadline, start_at, tags)
        names = self._names(plan.name, len(raws), task_ids)
        await self._save_plan(plan)
        entering = [self._enter(plan, raw, name, terms, names) for raw, name in zip(raws, names, strict=True)]
        entered = await asyncio.gather(*entering, return_exceptions=True)
        for each in entered:
            if isinstance(each, BaseException):
                raise each
        return [each for each in entered if not isinstance(each, BaseException)]

    def _names(self, plan: str, number: int, task_ids: Sequence[str] | None) -> list[str]:
        """The ids of tasks that are submitted together. Raises MakegoodError where they cannot be."""
        if number > SUBMITTED_MAX:
            raise MakegoodError(
                f"submit_many was given {number:,} inputs and takes {SUBMITTED_MAX:,}; call it several times"
            )
        if task_ids is None:
            return [self._new_id(plan, self._desk.now()) for _ in range(number)]
        names = [check_task_id(task_id) for task_id in task_ids]
        if len(names) != number or len(set(names)) != number:
            raise MakegoodError(
                f"submit_many was given {number} inputs and {len(set(names))} different ids; give one each"
            )
        return names

    async def submit_json(
        self,
        plan: PlanDefinition[Any, Out],
        raw: bytes,
        *,
        task_id: str | None = None,
        deadline: float | timedelta | None = None,
        start_at: datetime | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Task[Out]:
        """The same with an input that is JSON already. A field its type does not have raises PayloadError."""
        _check_plan(plan)
        codec = codec_for(plan.input_type)
        try:
            kept = codec.encode(codec.decode(raw, "input"), "input", limit=self._envelope.clear_max)
        except UnknownField as error:
            raise PayloadError(
                f"{error.path}: plan {plan.name} takes no such field; correct its name or leave it out"
            ) from None
        return await self._enter(plan, kept, task_id, self._terms(deadline, start_at, tags))

    def _terms(
        self,
        deadline: float | timedelta | None,
        start_at: datetime | None,
        tags: Mapping[str, str] | None,
    ) -> Terms:
        start = _moment(start_at)
        begins = max(self._desk.now(), start)
        return Terms(0 if deadline is None else begins + _length(deadline), start, _check_tags(tags or {}))

    async def _enter(
        self,
        plan: PlanDefinition[Any, Out],
        raw: bytes,
        task_id: str | None,
        terms: Terms,
        beside: Sequence[str] = (),
    ) -> Task[Out]:
        """Enter a task, in one commit with those `beside` it, which are entered at the same time."""
        name = self._new_id(plan.name, self._desk.now()) if task_id is None else check_task_id(task_id)
        closed = msgspec.Raw(self._envelope.close(raw, "input"))
        event = TaskSubmitted(closed, terms.deadline, terms.tags, terms.start_at)
        self._connection.check_open()
        await self._save_plan(plan)
        if not await self._desk.submit(plan.plan, name, event, beside=beside):
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
            [given] = [f.input for f in decode_row(rows[0].body).facts if isinstance(f, TaskSubmitted)]
        before = self._envelope.open(bytes(given), f"the input of task {task_id!r}")
        if canonical(before) != canonical(raw):
            paths = ", ".join(differing_paths(before, raw))
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

    async def list(self, where: Where = ANY, *, limit: int = 100, after: str | None = None) -> TaskPage:
        """Tasks in short, newest first; `after` is a former page's `next`. Raises StoreError."""
        return await self._connection.list(where, limit=limit, after=after)

    async def find(self, where: Where = ANY) -> Sequence[str]:
        """The ids of all tasks that are meant, newest first: what is to be acted on, before it is."""
        return await self._connection.find(where)

    def act_on(
        self, task_ids: Iterable[str], act: Callable[[Task[Any]], Awaitable[str]], *, rate: float = RATE
    ) -> AsyncIterator[Acted]:
        """Act on each of these tasks, at most `rate` a second, and tell what came of each as it comes.

            async for acted in mg.act_on(await mg.find(where), lambda task: task.retry(why="card works")): ...

        One that is refused, or not there, keeps none of the others. Raises StoreError, MakegoodError for a
        rate that is none.
        """
        return act_on(map(self.task, task_ids), act, rate=rate)

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
        audit = Audit(self._store, compared, self._envelope, listing_timeout=listing_timeout)
        return await audit.run([known_form(task_id) for task_id in task_ids], seal=seal, against=against)

    async def restored(self, *, by: str | None = None, why: str = "") -> int:
        """Say that the store was put back from a backup, before any process is started on it.

        What was recorded since the backup is lost, not what was done. So whatever is open, and whatever comes
        next, may have been called or undone: it is called again by its key, asked for by its probe, or else a
        person is asked. Answers how many tasks that concerns. Raises MakegoodError while processes are alive
        on the store, StoreError.
        """
        return await restored(self._connection, by or user(), why)

    async def members(self) -> Sequence[Member]:
        """The living processes."""
        return await self._store.members()

    async def migrate(self) -> Sequence[str]:
        """Bring the store's schema up to this version; the names of what was applied."""
        return await self._store.migrate()


def _check_plan(plan: object) -> None:
    if not isinstance(plan, PlanDefinition):
        raise PlanError(f"{plan!r} is no plan; submit what @plan made of a function")


def _check_store(store: Any) -> Store:
    if not hasattr(store, "commit"):
        raise StoreError(f"{store!r} is no store; give its URL, such as {DEFAULT_URL}")
    known: Store = store
    return known


def _check_tags(tags: object) -> dict[str, str]:
    if not isinstance(tags, Mapping):
        raise PayloadError(f"tags={tags!r}: tags are pairs of text, as in tags={{'customer': '17'}}")
    for name, value in tags.items():
        if not is_text(name) or not is_text(value):
            raise PayloadError(f"tags: {name!r}: {value!r} is not text; tags are pairs of text")
    return dict(tags)


def _check_agents(agents: object) -> Sequence[Agent]:
    listed: list[Any] = list(agents) if isinstance(agents, Iterable) else [agents]
    for agent in listed:
        if not isinstance(agent, Agent):
            raise PlanError(f"{agent!r} is no agent; give a list of them: agents=[flights, hotels]")
    named: dict[str, Agent] = {}
    for agent in listed:
        if named.setdefault(agent.name, agent) is not agent:
            raise PlanError(f"two different agents are called {agent.name!r}; give one another name")
    return list(named.values())


def _length(length: object) -> Millis:
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if not isinstance(seconds, int | float) or not 0 < seconds < 1e9:
        raise PlanError(f"a deadline is a length of time in seconds, above 0 and below 1e9, not {seconds!r}")
    return millis(seconds)


def _moment(moment: object) -> Millis:
    if moment is None:
        return 0
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise MakegoodError(
            f"start_at={moment!r} is no moment in time: give a datetime with a time zone, "
            "datetime(2027, 1, 1, tzinfo=UTC) say"
        )
    return max(0, millis(moment.timestamp()))
