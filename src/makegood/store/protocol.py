"""What a state store must do: a handful of verbs in batches. `testing.conformance` is the suite it must pass.

A task is one head row, replaced in place under its version, and one append row per commit. The store reads
neither: both are bytes to it. Times are milliseconds of store time since 1970-01-01 UTC.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from makegood.core.plan import Millis


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One task's new head and append row, to be written if the task still has version `base`.

    `base` 0 creates the task. `write_id` is random: it tells, after a lost answer, whose version it is.
    `due` is when the record next needs someone, None when nothing may move it on by itself.
    """

    task_id: str
    base: int
    write_id: int
    state: int
    due: Millis | None
    head: bytes
    row: bytes
    plan: str = ""
    plan_version: str = ""
    created_at: Millis = 0


class Committed(msgspec.Struct, frozen=True):
    """The change is durable as version base + 1."""


class Stale(msgspec.Struct, frozen=True):
    """Somebody wrote first (or, for a new task, the id is taken); nothing of this change is in the store."""


class Rejected(msgspec.Struct, frozen=True):
    """The store cannot hold this change (too large, say); nothing of it is in the store."""

    reason: str


Answer = Committed | Stale | Rejected


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A task as the store holds it."""

    task_id: str
    version: int
    state: int
    due: Millis | None
    head: bytes
    plan: str
    plan_version: str
    created_at: Millis


class Row(msgspec.Struct, frozen=True):
    """One append row: what the commit of `version` added, and under which write id."""

    version: int
    write_id: int
    body: bytes


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Which tasks to list; None means any."""

    states: tuple[int, ...] | None = None
    plan: str | None = None


class Page(msgspec.Struct, frozen=True):
    """Some of what was asked for, newest first, and where to go on (None: that was all)."""

    tasks: tuple[Stored, ...]
    next: str | None


class DuePage(msgspec.Struct, frozen=True):
    """Some of what is due, in order of due time, and where to go on (None: that was all)."""

    tasks: tuple[Stored, ...]
    next: tuple[Millis, int] | None


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A living process: its random id, its roles, its actions ("agent/action" -> signature hash)."""

    member_id: str
    roles: tuple[str, ...]
    actions: dict[str, str]
    host: str = ""
    pid: int = 0
    started_at: Millis = 0
    lease_until: Millis = 0


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """Store time as the newest answer brought it.

    `at` is store time when the verb was done, `seen` the local monotonic second in which its answer came,
    `round_trip` the seconds from asking to `seen`. `at` plus the time since `seen` is never ahead of what
    the store would say. `mark` is the moment that no later answer of the store, to whomever, is behind; where
    each process brings its own clock, as with a file, `at` may be ahead of it.
    """

    at: Millis
    seen: float
    round_trip: float
    mark: Millis


class Store(Protocol):
    """The state store. Every verb raises StoreUnavailable when it could not be done, and did nothing then."""

    async def open(self) -> None:
        """Connect; raises SchemaMismatch when the store's schema is not this code's."""

    async def migrate(self) -> Sequence[str]:
        """Connect and bring the schema up to this code's; the names of what was applied.

        Safe when several processes do it at once: each change is applied by one of them.
        """

    async def close(self) -> None:
        """Let go of every resource; safe to call twice."""

    def stamp(self) -> Stamp:
        """The stamp that came with the newest answer; all zero before the first."""

    async def now(self) -> Millis:
        """Store time: never falls, and never behind a recorded moment, whatever the wall clocks do."""

    async def commit(self, changes: Sequence[Change]) -> Sequence[Answer]:
        """Write the changes in one durable transaction; one answer per change, in order.

        At most one change per task, else ValueError. One stale or rejected change fails no other.
        Raises StoreUncertain when the answer was lost: each change may be in the store, or not. Whatever is
        read afterwards has it in, or out for good: no change lands later (proofs/submit.pml).
        """

    async def load(self, task_ids: Sequence[str]) -> Sequence[Stored | None]:
        """The tasks as they stand, in the order asked; None where no task has the id."""

    async def history(self, task_id: str, *, after: int = 0) -> Sequence[Row]:
        """The append rows with a version above `after`, oldest first; empty for an unknown task."""

    async def due(
        self, before: Millis, *, after: tuple[Millis, int] | None = None, limit: int = 200
    ) -> DuePage:
        """Tasks due at or before a moment, in order of due time; `after` is a former page's `next`."""

    async def search(self, query: Query, *, after: str | None = None, limit: int = 100) -> Page:
        """Tasks that match, newest first; `after` is a former page's `next`."""

    async def save_plan(self, version: str, name: str, document: bytes) -> None:
        """Keep a plan document for ever under its version; saving it again changes nothing."""

    async def load_plan(self, version: str) -> bytes | None:
        """The plan document with this version."""

    async def renew_member(self, member: Member, lease: Millis) -> None:
        """Enter or renew a process in the list of members; its lease ends `lease` from now."""

    async def remove_member(self, member_id: str) -> None:
        """Take a process off the list; it need not be on it."""

    async def members(self) -> Sequence[Member]:
        """The processes whose lease has not ended."""
