"""A store in memory, for tests: several of them on one MemoryFile behave like processes on one file."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

import msgspec

from makegood.clock import Clock, SystemClock
from makegood.core.plan import Millis
from makegood.errors import StoreUnavailable
from makegood.store.checks import place_in_search, refusal, refuse_doubles
from makegood.store.protocol import (
    Answer,
    Change,
    Committed,
    DuePage,
    Member,
    Page,
    Query,
    Rejected,
    Row,
    Stale,
    Stamp,
    Stored,
)
from makegood.store.stamp import StoreTime


class _Task(msgspec.Struct):
    id: int
    stored: Stored
    rows: list[Row]


class MemoryFile:
    """What outlives a MemoryStore: to drop the store is the death of a process, this is the disk."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tasks: dict[str, _Task] = {}
        self.plans: dict[str, bytes] = {}
        self.members: dict[str, Member] = {}
        self.mark: Millis = 0


class MemoryStore:
    """Keeps tasks in memory; see Store for what each verb promises."""

    def __init__(self, file: MemoryFile | None = None, *, clock: Clock | None = None) -> None:
        self._file = file or MemoryFile()
        self._time = StoreTime(clock or SystemClock())
        self._is_open = False

    async def open(self) -> None:
        self._is_open = True
        await self.now()

    async def migrate(self) -> Sequence[str]:
        await self.open()
        return ()

    async def close(self) -> None:
        self._is_open = False

    def stamp(self) -> Stamp:
        return self._time.stamp

    async def now(self) -> Millis:
        with self._verb() as now:
            return now

    async def commit(self, changes: Sequence[Change]) -> Sequence[Answer]:
        refuse_doubles(changes)
        if not changes:
            return ()
        with self._verb() as now:
            self._file.mark = now
            return [self._write(change) for change in changes]

    async def load(self, task_ids: Sequence[str]) -> Sequence[Stored | None]:
        with self._verb():
            tasks = [self._file.tasks.get(task_id) for task_id in task_ids]
            return [task.stored if task else None for task in tasks]

    async def history(self, task_id: str, *, after: int = 0) -> Sequence[Row]:
        with self._verb():
            task = self._file.tasks.get(task_id)
            return task.rows[max(after, 0) :] if task else []

    async def due(
        self, before: Millis, *, after: tuple[Millis, int] | None = None, limit: int = 200
    ) -> DuePage:
        with self._verb():
            by_place = {
                (task.stored.due, task.id): task.stored
                for task in self._file.tasks.values()
                if task.stored.due is not None and task.stored.due <= before
            }
            places = sorted(place for place in by_place if after is None or place > after)
            shown = places[:limit]
            return DuePage(tuple(by_place[place] for place in shown), shown[-1] if places[limit:] else None)

    async def search(self, query: Query, *, after: str | None = None, limit: int = 100) -> Page:
        below = place_in_search(after)
        with self._verb():
            newest_first = reversed(self._file.tasks.values())
            found = (task for task in newest_first if task.id < below and _matches(task.stored, query))
            tasks = list(islice(found, limit + 1))
            shown = tasks[:limit]
            return Page(tuple(task.stored for task in shown), str(shown[-1].id) if tasks[limit:] else None)

    async def save_plan(self, version: str, name: str, document: bytes) -> None:
        with self._verb() as now:
            self._file.mark = now
            self._file.plans.setdefault(version, document)

    async def load_plan(self, version: str) -> bytes | None:
        with self._verb():
            return self._file.plans.get(version)

    async def renew_member(self, member: Member, lease: Millis) -> None:
        with self._verb() as now:
            self._file.mark = now
            renewed = msgspec.structs.replace(member, lease_until=now + lease)
            self._file.members[member.member_id] = renewed

    async def remove_member(self, member_id: str) -> None:
        with self._verb() as now:
            self._file.mark = now
            self._file.members.pop(member_id, None)

    async def members(self) -> Sequence[Member]:
        with self._verb() as now:
            ordered = sorted(self._file.members.items())
            return [member for _, member in ordered if member.lease_until > now]

    @contextmanager
    def _verb(self) -> Iterator[Millis]:
        """Hold the file alone, at one moment of store time; the stamp is kept afterwards."""
        if not self._is_open:
            raise StoreUnavailable(
                "this MemoryStore is not open; use it inside `async with`, as in `async with Makegood(...)`"
            )
        asked = self._time.asked()
        with self._file.lock:
            now = self._time.now(self._file.mark)
            yield now
            mark = self._file.mark
        self._time.answered(now, mark, asked)

    def _write(self, change: Change) -> Answer:
        if reason := refusal(change):
            return Rejected(reason)
        task = self._file.tasks.get(change.task_id)
        if (task.stored.version if task else 0) != change.base:
            return Stale()
        if task is None:
            task = _created(change, len(self._file.tasks) + 1)
            self._file.tasks[change.task_id] = task
        task.stored = msgspec.structs.replace(
            task.stored, version=change.base + 1, state=change.state, due=change.due, head=change.head
        )
        task.rows.append(Row(change.base + 1, change.write_id, change.row))
        return Committed()


def _created(change: Change, number: int) -> _Task:
    stored = Stored(
        task_id=change.task_id,
        version=0,
        state=change.state,
        due=change.due,
        head=change.head,
        plan=change.plan,
        plan_version=change.plan_version,
        created_at=change.created_at,
    )
    return _Task(number, stored, [])


def _matches(task: Stored, query: Query) -> bool:
    return (query.states is None or task.state in query.states) and (
        query.plan is None or task.plan == query.plan
    )
