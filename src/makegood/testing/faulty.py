"""A store with trouble on the way to it: any operation may be struck by a fault, at a boundary of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import TypeVar

from makegood.clock import Clock
from makegood.core.plan import Millis
from makegood.errors import StoreUnavailable, StoreUncertain
from makegood.store.protocol import (
    Answer,
    Change,
    Committed,
    DuePage,
    Member,
    Page,
    Query,
    Row,
    Stamp,
    Store,
    Stored,
)
from makegood.testing.virtual import halt

T = TypeVar("T")

WRITES = frozenset({"commit", "save_plan", "renew_member", "remove_member", "migrate"})
"""Verbs whose answer, once lost, leaves open what happened; of the others nothing happened."""
SLOW_SECONDS = 6.0


class StoreFault(StrEnum):
    """What may strike one operation."""

    DIE_BEFORE = "the process dies before it"
    DIE_AFTER = "the process dies after it, before its answer"
    ANSWER_LOST = "it is done, its answer is lost"
    REQUEST_LOST = "it is not done, and nobody can tell"
    UNAVAILABLE = "it is not done, and says so"
    HANGS = "it is never done and never answers"
    SLOW = "its answer takes longer than a lease"
    FREEZES = "the process is frozen for long after it, before its answer"


class FaultyStore:
    """A store as one process sees it. `strikes` is asked before each operation, by the verb's name.

    `kill` and `freeze` stop the process in place. `committed` is told of every change when it is durable.
    Each way, there and back, takes `lag` seconds.
    """

    def __init__(
        self,
        inner: Store,
        clock: Clock,
        *,
        strikes: Callable[[str], StoreFault | None],
        kill: Callable[[], None],
        freeze: Callable[[], None],
        committed: Callable[[Change], None],
        lag: float = 0.001,
    ) -> None:
        self._inner = inner
        self._clock = clock
        self._strikes = strikes
        self._kill = kill
        self._freeze = freeze
        self._committed = committed
        self._stamp = Stamp(at=0, seen=0.0, round_trip=0.0, mark=0)
        self.lag = lag

    # --- the store's verbs

    async def open(self) -> None:
        await self._verb("open", self._inner.open)

    async def migrate(self) -> Sequence[str]:
        return await self._verb("migrate", self._inner.migrate)

    async def close(self) -> None:
        await self._inner.close()

    def stamp(self) -> Stamp:
        return self._stamp

    async def now(self) -> Millis:
        return await self._verb("now", self._inner.now)

    async def commit(self, changes: Sequence[Change]) -> Sequence[Answer]:
        return await self._verb("commit", lambda: self._told(changes))

    async def load(self, task_ids: Sequence[str]) -> Sequence[Stored | None]:
        return await self._verb("load", lambda: self._inner.load(task_ids))

    async def history(self, task_id: str, *, after: int = 0) -> Sequence[Row]:
        return await self._verb("history", lambda: self._inner.history(task_id, after=after))

    async def due(
        self, before: Millis, *, after: tuple[Millis, int] | None = None, limit: int = 200
    ) -> DuePage:
        return await self._verb("due", lambda: self._inner.due(before, after=after, limit=limit))

    async def search(self, query: Query, *, after: str | None = None, limit: int = 100) -> Page:
        return await self._verb("search", lambda: self._inner.search(query, after=after, limit=limit))

    async def save_plan(self, version: str, name: str, document: bytes) -> None:
        await self._verb("save_plan", lambda: self._inner.save_plan(version, name, document))

    async def load_plan(self, version: str) -> bytes | None:
        return await self._verb("load_plan", lambda: self._inner.load_plan(version))

    async def renew_member(self, member: Member, lease: Millis) -> None:
        await self._verb("renew_member", lambda: self._inner.renew_member(member, lease))

    async def remove_member(self, member_id: str) -> None:
        await self._verb("remove_member", lambda: self._inner.remove_member(member_id))

    async def members(self) -> Sequence[Member]:
        return await self._verb("members", self._inner.members)

    # --- the way there and back

    async def _verb(self, verb: str, work: Callable[[], Awaitable[T]]) -> T:
        asked, fault = self._clock.monotonic(), self._strikes(verb)
        await self._going(verb, fault)
        answer = await work()
        inner = self._inner.stamp()
        await self._coming(verb, fault)
        seen = self._clock.monotonic()
        if inner.at >= self._stamp.at:
            self._stamp = Stamp(at=inner.at, seen=seen, round_trip=seen - asked, mark=inner.mark)
        return answer

    async def _going(self, verb: str, fault: StoreFault | None) -> None:
        if fault is StoreFault.DIE_BEFORE:
            self._kill()
            await halt()
        await asyncio.sleep(self.lag)
        match fault:
            case StoreFault.UNAVAILABLE:
                raise StoreUnavailable(f"{verb}: the store cannot be reached")
            case StoreFault.REQUEST_LOST:
                raise _lost(verb)
            case StoreFault.HANGS:
                await asyncio.Event().wait()
            case _:
                pass

    async def _coming(self, verb: str, fault: StoreFault | None) -> None:
        match fault:
            case StoreFault.DIE_AFTER:
                self._kill()
                await halt()
            case StoreFault.FREEZES:
                self._freeze()
                await halt()
            case _:
                pass
        await asyncio.sleep(SLOW_SECONDS if fault is StoreFault.SLOW else self.lag)
        if fault is StoreFault.ANSWER_LOST:
            raise _lost(verb)

    async def _told(self, changes: Sequence[Change]) -> Sequence[Answer]:
        answers = await self._inner.commit(changes)
        for change, answer in zip(changes, answers, strict=True):
            if isinstance(answer, Committed):
                self._committed(change)
        return answers


def _lost(verb: str) -> StoreUnavailable | StoreUncertain:
    if verb in WRITES:
        return StoreUncertain(f"{verb}: its answer was lost")
    return StoreUnavailable(f"{verb}: its answer was lost")
