"""The tasks of a store as the audit reads them: whole, as written, while others may be writing."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

from makegood.core.plan import Plan, pinned_plan
from makegood.core.record import AT_REST, TaskState
from makegood.errors import PlanError, UnknownTask
from makegood.payload import Envelope
from makegood.reading.audit import Statement, statement_of
from makegood.reading.proof import Written
from makegood.store.protocol import Query, Store, Stored

PAGE = 100
BEFORE_ALL = -(2**63)
"""Below every version: rows that no commit can have written show as well."""


class Audited(NamedTuple):
    """A task as it is written, and what is to be said of it."""

    written: Written
    statement: Statement


class Records:
    """Reads and proves tasks, one after the other; of the plans each is read once."""

    def __init__(self, store: Store, envelope: Envelope) -> None:
        self._store = store
        self._envelope = envelope
        self._plans: dict[str, Plan | PlanError] = {}

    async def one(self, task_id: str) -> Audited:
        """Raises UnknownTask, StoreError."""
        [stored] = await self._store.load([task_id])
        audited = None if stored is None else await self._audited(stored)
        if audited is None:
            raise UnknownTask(task_id)
        return audited

    async def all(self) -> AsyncIterator[Audited]:
        """Every task that was there when this began, newest first. Raises StoreError."""
        async for stored in self._search(Query()):
            audited = await self._audited(stored)
            if audited is not None:
                yield audited

    async def moving(self) -> frozenset[str]:
        """The ids of the tasks that are under way. Raises StoreError."""
        query = Query(states=tuple(state for state in TaskState if state not in AT_REST))
        return frozenset([stored.task_id async for stored in self._search(query)])

    async def _search(self, query: Query) -> AsyncIterator[Stored]:
        """What matches, newest first, in bounded pages."""
        after: str | None = None
        while True:
            page = await self._store.search(query, after=after, limit=PAGE)
            for stored in page.tasks:
                yield stored
                await asyncio.sleep(0)  # a store may answer without a pause, and others have work to do
            after = page.next
            if after is None:
                return

    async def _audited(self, stored: Stored) -> Audited | None:
        written = await self._written(stored)
        if written is None:
            return None
        plan = await self._plan(stored.plan_version)
        if isinstance(plan, PlanError):
            return Audited(written, statement_of(written, None, str(plan)))
        return Audited(written, statement_of(written, plan, opener=self._envelope))

    async def _written(self, stored: Stored) -> Written | None:
        """The task with its rows; None where it was removed meanwhile.

        Rows are only ever added: those above the head's version are commits that came since it was read,
        unless a newer head still knows nothing of them.
        """
        rows = await self._store.history(stored.task_id, after=BEFORE_ALL)
        newest = stored.version
        if not rows or rows[-1].version > newest:
            [again] = await self._store.load([stored.task_id])
            if again is None:
                return None
            newest = again.version
        return Written(
            task_id=stored.task_id,
            version=stored.version,
            state=stored.state,
            due=stored.due,
            head=stored.head,
            plan=stored.plan,
            plan_version=stored.plan_version,
            created_at=stored.created_at,
            rows=[
                (row.version, row.write_id, row.body)
                for row in rows
                if row.version <= stored.version or row.version > newest
            ],
        )

    async def _plan(self, version: str) -> Plan | PlanError:
        if version not in self._plans:
            document = await self._store.load_plan(version)
            try:
                self._plans[version] = pinned_plan(version, document)
            except PlanError as error:
                self._plans[version] = error
        return self._plans[version]
