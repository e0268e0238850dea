"""`Makegood`: a connection to a store and, with agents, everything that drives its tasks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from inspect import iscoroutinefunction, signature, unwrap
from pathlib import Path
from reprlib import repr as shown
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from makegood.alerts import Hook, name_of
from makegood.auditing.audit import Audit, Report
from makegood.auditing.listing import LISTING_TIMEOUT
from makegood.authoring.agent import Agent
from makegood.authoring.plans import PlanDefinition
from makegood.client.bulk import RATE, Acted, act_on, restored
from makegood.client.connection import ANY, Connection, Snapshot, TaskPage, known_form
from makegood.client.submitting import Submitting, Terms
from makegood.client.task import Task, user
from makegood.errors import MakegoodError, PlanError, StoreError
from makegood.forks import keep_out_of
from makegood.payload import Envelope, PayloadCodec
from makegood.reading.lengths import in_seconds
from makegood.reading.matching import Where
from makegood.runtime.engine import GRACE, Engine
from makegood.store.protocol import Member, Store
from makegood.store.url import DEFAULT_URL, open_store

In = TypeVar("In")
Out = TypeVar("Out")


class Makegood:
    """A connection to a store; with agents, also the scheduler, the agents and the supervisor beside it.

    Use it as an async context manager; once closed it may be opened again, and the handles it gave go on with
    it. Several on one store, in one process or many, are safe.

    `audit_every` (seconds): audit the store so often, and log what is newly found. `alerts` are told of
    each task that is parked (see makegood.alerts). `codec` makes other bytes of payloads and error texts
    before they are stored, and back: all processes on a store need the same one.
    """

    def __init__(
        self,
        store: str | Store = DEFAULT_URL,
        agents: Sequence[Agent] = (),
        *,
        audit_every: float | timedelta | None = None,
        alerts: Sequence[Hook] = (),
        codec: PayloadCodec | None = None,
    ) -> None:
        self._store = open_store(store) if isinstance(store, str) else _check_store(store)
        self._agents = _check_agents(agents)
        self._envelope = Envelope(codec)
        self._make_engine = partial(
            Engine,
            self._store,
            self._agents,
            audit_every=None if audit_every is None else in_seconds("audit_every", audit_every),
            alerts=_check_hooks(alerts),
            envelope=self._envelope,
        )
        self._engine = self._make_engine()
        self._connection = Connection(self._engine.desk, self._envelope, self._agents)
        self._submitting = Submitting(self._connection)
        self._is_open = False

    async def __aenter__(self) -> Self:
        """Raises StoreError; MakegoodError where a lifespan cannot begin, or this is open already."""
        if self._is_open:
            raise MakegoodError(
                "this Makegood is open already, or not closed yet; close it first, or make another one"
            )
        self._is_open = True
        try:
            self._take_fresh_engine()
            if self._agents:
                keep_out_of(asyncio.get_running_loop())
            await self._engine.start()
        except BaseException:
            self._is_open = False
            raise
        self._connection.open()
        return self

    def _take_fresh_engine(self) -> None:
        """One that was stopped begins nothing any more, and one made before a fork has its parent's name."""
        self._engine = self._make_engine()
        self._connection.desk = self._engine.desk
        self._submitting = Submitting(self._connection)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection.loop_has_ended():
            self._connection.close()
            await self._let_go()
            return
        self._connection.close()
        await self._engine.stop(GRACE if kind is None else 0, leave_running=False)
        self._is_open = False

    async def _let_go(self) -> None:
        """Close one whose closing was cut off, once the loop has ended that drove its tasks."""
        if self._is_open:
            await self._engine.let_go()
            self._is_open = False

    if not TYPE_CHECKING:  # checkers refuse it anyway

        def __enter__(self) -> NoReturn:
            """Raises MakegoodError: a plain `with` is for the synchronous twin."""
            raise MakegoodError(
                "this Makegood is opened by `async with`; `with` opens the one of makegood.sync, for code "
                "without an event loop"
            )

        __exit__ = __enter__  # without it Python would not ask for the other

    def know(self, agents: Sequence[Agent]) -> None:
        """Check the results that people give (resolve, skip) by the types of these agents' actions as well.

        Those that it was made with are known anyway.
        """
        self._connection.agents += _check_agents(agents)

    # --- submitting

    async def submit(
        self,
        plan: PlanDefinition[In, Out],
        input: In | None = None,
        *,
        task_id: str | None = None,
        deadline: float | timedelta | None = None,
        start_at: datetime | timedelta | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Task[Out]:
        """Enter a task; once this returns it is durable.

        Nothing of it starts before `start_at`: an aware datetime, or how long from now. `deadline` is a
        length of time (seconds) from its start: what has not completed by then is undone.

        The same id, plan and input again is the existing task, also where the input's type has got an
        optional field since: it `existed`, and its deadline, start and tags stay. Raises SubmissionConflict
        for another plan or input under a taken id, PlanError for an id, a start or a deadline that is none,
        PayloadError for an input that cannot be written, StoreError.
        """
        return await self._submitting.one(plan, input, task_id, Terms(deadline, start_at, tags))

    async def submit_many(
        self,
        plan: PlanDefinition[In, Out],
        inputs: Iterable[In],
        *,
        task_ids: Sequence[str] | None = None,
        deadline: float | timedelta | None = None,
        start_at: datetime | timedelta | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Sequence[Task[Out]]:
        """Enter a task for each input, all of them in one commit; see submit. At most 1,000.

        All inputs are checked before any is entered. Where one of `task_ids` is taken by a task with another
        plan or input, SubmissionConflict is raised once the others are durable.
        """
        return await self._submitting.many(plan, inputs, task_ids, Terms(deadline, start_at, tags))

    async def submit_json(
        self,
        plan: PlanDefinition[Any, Out],
        raw: bytes,
        *,
        task_id: str | None = None,
        deadline: float | timedelta | None = None,
        start_at: datetime | timedelta | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Task[Out]:
        """The same with an input that is JSON already. A field its type does not have raises PayloadError."""
        return await self._submitting.json(plan, raw, task_id, Terms(deadline, start_at, tags))

    # --- looking

    def task(self, task_id: str) -> Task[Any]:
        """A handle on a task by its id; whether it is there shows when it is used. No types are known by it:
        its result is the output as JSON values."""
        return Task(self._connection, task_id, Any)

    async def snapshot(self, task_id: str) -> Snapshot:
        """A task as it stands, with its history. Raises UnknownTask, StoreError."""
        return await self._connection.snapshot(task_id)

    async def list(self, where: Where = ANY, *, limit: int = 100, after: str | None = None) -> TaskPage:
        """Tasks in short, as JSON values like those of `makegood list --json`, newest first; `after` is a
        former page's `next`. Raises StoreError."""
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
        listing_timeout: float | timedelta = LISTING_TIMEOUT,
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
        seconds = in_seconds("listing_timeout", listing_timeout)
        audit = Audit(self._store, compared, self._envelope, listing_timeout=seconds)
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
        """The living processes. Their moments are milliseconds since 1970, by the store's clock."""
        return await self._store.members()

    async def migrate(self) -> Sequence[str]:
        """Bring the store's schema up to this version; the names of what was applied."""
        return await self._store.migrate()


def _check_store(store: Any) -> Store:
    if not hasattr(store, "commit"):
        raise StoreError(f"{store!r} is no store; give its URL, such as {DEFAULT_URL}")
    known: Store = store
    return known


def _check_agents(agents: object) -> Sequence[Agent]:
    if not isinstance(agents, Iterable):
        raise PlanError(f"{agents!r} is no list of agents; give one: agents=[flights, hotels]")
    listed = list(agents)
    for agent in listed:
        if not isinstance(agent, Agent):
            raise PlanError(f"{agent!r} is no agent; give a list of them: agents=[flights, hotels]")
    named: dict[str, Agent] = {}
    for agent in listed:
        if (other := named.setdefault(agent.name, agent)) is not agent:
            raise PlanError(
                f"two different agents are called {agent.name!r}, at {other.place} and {agent.place}; "
                "give one another name"
            )
    return list(named.values())


def _check_hooks(hooks: Any) -> Sequence[Hook]:
    if isinstance(hooks, str) or not isinstance(hooks, Iterable):
        raise MakegoodError(f"alerts={shown(hooks)} is no list of hooks; give one: alerts=[page]")
    listed = list(hooks)
    for hook in listed:
        if why_not := _why_no_hook(hook):
            raise MakegoodError(
                f"alerts: {why_not}; a hook is an async function of an Alert: `async def page(alert): ...`, "
                "or a Command or WebHook of makegood.alerts"
            )
    return listed


def _why_no_hook(hook: Any) -> str:
    """Empty for one that is."""
    if not callable(hook):
        return f"{shown(hook)} is no function"
    if not any(map(iscoroutinefunction, (hook, unwrap(hook), type(hook).__call__))):
        return f"{name_of(hook)} is not async"
    try:
        signature(hook).bind(None)
    except TypeError as error:
        return f"{name_of(hook)} cannot be called with an Alert ({error})"
    return ""
