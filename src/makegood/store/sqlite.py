"""The embedded store: one SQLite file, shared by as many processes of one machine as like."""

import asyncio
import logging
import os
import random
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from makegood.clock import Clock, SystemClock
from makegood.core.plan import Millis
from makegood.errors import StoreUnavailable
from makegood.store.checks import place_in_search, refusal, refuse_doubles, too_large
from makegood.store.migrations import load_migrations
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
from makegood.store.sqlite_file import SQL, SqliteFile
from makegood.store.stamp import StoreTime

log = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[apsw.Connection, Millis], T]

MARK_MAX: Millis = 200_000_000_000_000
"""The latest store time that is believed (the year 8307): whatever is waited for then still has a date."""

_BEFORE_ALL = (-(2**63), 0)


class SqliteStore:
    """Keeps tasks in a SQLite file, durable against the loss of power; see Store for what each verb promises.

    `sleep` and `jitter` (0 to 1) space the tries to get a lock that another process holds.
    """

    library = f"SQLite {apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})"
    """The SQLite library in use."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        clock = clock or SystemClock()
        self._time = StoreTime(clock)
        self._file = SqliteFile(
            path, migrations=load_migrations("sqlite"), wall=clock.wall, sleep=sleep, jitter=jitter
        )

    @property
    def path(self) -> Path:
        """The file, from the root."""
        return self._file.path

    async def open(self) -> None:
        await self._file.open()
        await self.now()
        log.info("%s is open with %s", self.path, self.library)

    async def migrate(self) -> Sequence[str]:
        return await self._file.migrate()

    async def close(self) -> None:
        self._file.close()

    def stamp(self) -> Stamp:
        return self._time.stamp

    async def now(self) -> Millis:
        return await self._read(lambda db, now: now)

    async def commit(self, changes: Sequence[Change]) -> Sequence[Answer]:
        refuse_doubles(changes)
        if not changes:
            return ()
        try:
            await self._write(partial(_write_all, changes))
        except _NotAll:
            return await self._write(partial(_write_each, changes))
        return (Committed(),) * len(changes)

    async def load(self, task_ids: Sequence[str]) -> Sequence[Stored | None]:
        return await self._read(lambda db, now: [_load(db, task_id) for task_id in task_ids])

    async def history(self, task_id: str, *, after: int = 0) -> Sequence[Row]:
        asked = {"task_id": task_id, "after": after}
        return await self._read(lambda db, now: [Row(*row) for row in _rows(db, "history", asked)])

    async def due(
        self, before: Millis, *, after: tuple[Millis, int] | None = None, limit: int = 200
    ) -> DuePage:
        after_due, after_id = after or _BEFORE_ALL
        asked = {"before": before, "after_due": after_due, "after_id": after_id, "limit": limit + 1}
        rows = await self._read(lambda db, now: _rows(db, "due", asked))
        shown = rows[:limit]
        return DuePage(tuple(map(_stored, shown)), (shown[-1][4], shown[-1][0]) if rows[limit:] else None)

    async def search(self, query: Query, *, after: str | None = None, limit: int = 100) -> Page:
        states = None if query.states is None else msgspec.json.encode(query.states).decode()
        asked = {"below": place_in_search(after), "plan": query.plan, "states": states, "limit": limit + 1}
        rows = await self._read(lambda db, now: _rows(db, "search", asked))
        shown = rows[:limit]
        return Page(tuple(map(_stored, shown)), str(shown[-1][0]) if rows[limit:] else None)

    async def save_plan(self, version: str, name: str, document: bytes) -> None:
        await self._write(lambda db, now: db.execute(SQL["save_plan"], (version, name, document)))

    async def load_plan(self, version: str) -> bytes | None:
        rows = await self._read(lambda db, now: _rows(db, "load_plan", (version,)))
        return next((document for (document,) in rows), None)

    async def renew_member(self, member: Member, lease: Millis) -> None:
        await self._write(partial(_renew, member, lease))

    async def remove_member(self, member_id: str) -> None:
        await self._write(lambda db, now: db.execute(SQL["remove_member"], (member_id,)))

    async def members(self) -> Sequence[Member]:
        rows = await self._read(lambda db, now: _rows(db, "members", (now,)))
        return [member for row in rows if (member := self._member(*row))]

    async def _read(self, work: Work[T]) -> T:
        asked = self._time.asked()
        at, mark, found = await self._file.read(partial(self._timed, work))
        self._time.answered(at, mark, asked)
        return found

    async def _write(self, work: Work[T]) -> T:
        asked = self._time.asked()
        at, written = await self._file.write(partial(self._marked, work))
        self._time.answered(at, at, asked)
        return written

    def _timed(self, work: Work[T], db: apsw.Connection) -> tuple[Millis, Millis, T]:
        mark = self._mark(db)
        now = self._time.now(mark)
        return now, mark, work(db, now)

    def _marked(self, work: Work[T], db: apsw.Connection) -> tuple[Millis, T]:
        now, _, written = self._timed(work, db)
        db.execute(SQL["move_mark"], (now,))
        return now, written

    def _mark(self, db: apsw.Connection) -> Millis:
        """The latest store time any commit was given. Raises StoreUnavailable where the file has none."""
        mark = db.execute(SQL["mark"]).get
        if not isinstance(mark, int) or mark > MARK_MAX:
            said = "is not there" if mark is None else f"says {mark}, which is no time"
            raise StoreUnavailable(
                f"{self.path} is damaged: row 1 of its table clock {said}; restore a backup, or, while the "
                f"system's clock is right, run: sqlite3 {self.path} '{SQL['reset_mark']}'"
            )
        return mark

    def _member(self, member_id: str, raw: bytes) -> Member | None:
        """A member; None for a damaged row, which is said in the log."""
        try:
            return msgspec.json.decode(raw, type=Member)
        except (ValueError, RecursionError) as error:
            log.warning(
                "%s: member %r is passed over, its row is damaged (%s); if it lives it writes a new one, "
                "else delete it from the table members",
                self.path,
                member_id,
                error,
            )
            return None


class _NotAll(Exception):
    """Some change of a batch is stale or refused; none of the batch is written."""


def _write_all(changes: Sequence[Change], db: apsw.Connection, now: Millis) -> None:
    """Write the batch with one statement a kind; raises _NotAll if a single change does not fit."""
    if any(map(too_large, changes)):
        raise _NotAll
    before = db.total_changes()
    try:
        db.executemany(SQL["create"], [_created(change) for change in changes if not change.base])
        db.executemany(SQL["update"], [_updated(change) for change in changes if change.base])
        if db.total_changes() - before != len(changes):
            raise _NotAll
        db.executemany(SQL["append"], [_appended(change) for change in changes])
    except (OverflowError, UnicodeEncodeError) as error:
        raise _NotAll from error


def _write_each(changes: Sequence[Change], db: apsw.Connection, now: Millis) -> list[Answer]:
    """Write what fits, one by one, and say of each how it went."""
    return [_write_one(change, db) for change in changes]


def _write_one(change: Change, db: apsw.Connection) -> Answer:
    if reason := refusal(change):
        return Rejected(reason)
    if change.base:
        db.execute(SQL["update"], _updated(change))
    else:
        db.execute(SQL["create"], _created(change))
    if not db.changes():
        return Stale()
    db.execute(SQL["append"], _appended(change))
    return Committed()


def _created(change: Change) -> tuple[Any, ...]:
    return (
        change.task_id,
        change.state,
        change.due,
        change.head,
        change.plan,
        change.plan_version,
        change.created_at,
    )


def _updated(change: Change) -> tuple[Any, ...]:
    return change.state, change.due, change.head, change.task_id, change.base


def _appended(change: Change) -> tuple[Any, ...]:
    return change.task_id, change.base + 1, change.write_id, change.row


def _rows(db: apsw.Connection, query: str, asked: tuple[Any, ...] | dict[str, Any]) -> list[Any]:
    return db.execute(SQL[query], asked).fetchall()


def _load(db: apsw.Connection, task_id: str) -> Stored | None:
    return next(map(_stored, _rows(db, "load", (task_id,))), None)


def _stored(row: tuple[Any, ...]) -> Stored:
    _, task_id, version, state, due, head, plan, plan_version, created_at = row
    return Stored(
        task_id=task_id,
        version=version,
        state=state,
        due=due,
        head=head,
        plan=plan,
        plan_version=plan_version,
        created_at=created_at,
    )


def _renew(member: Member, lease: Millis, db: apsw.Connection, now: Millis) -> None:
    renewed = msgspec.structs.replace(member, lease_until=now + lease)
    db.execute(SQL["remove_lapsed"], (now,))
    db.execute(SQL["renew_member"], (member.member_id, renewed.lease_until, msgspec.json.encode(renewed)))
