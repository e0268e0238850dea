"""The tasks of a store that have not ended: which are due, what they wait for, which cannot be read."""

from collections.abc import Iterable

import msgspec

from makegood.core import events
from makegood.core.events import decode_row
from makegood.core.machine import due
from makegood.core.plan import Millis, Plan, pinned_plan
from makegood.core.record import Head, TaskState, decode_head
from makegood.errors import PlanError, StoreError
from makegood.reading.waiting import task_waiting
from makegood.store.protocol import Query, Store, Stored

LOOKED_AT_MAX = 10_000
PAGE = 200
UNDER_WAY = (int(TaskState.RUNNING), int(TaskState.COMPENSATING))


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """A task that somebody should have moved on: what it waits for, and since when it is due.

    `action` is the "agent/action" of the step that waits, or "".
    """

    task_id: str
    waits_for: str
    action: str
    since: Millis


class HandedBack(msgspec.Struct, frozen=True, kw_only=True):
    """A step whose call no agent could make of late: which "agent/action", why, and since when."""

    task_id: str
    action: str
    why: str
    since: Millis


class Work(msgspec.Struct):
    """What was found among the tasks that have not ended; `more`: there are others, not looked at."""

    under_way: int = 0
    parked: int = 0
    due: list[Due] = []
    handed_back: list[HandedBack] = []
    illegible: dict[str, str] = {}
    more: bool = False


async def work_of(store: Store, now: Millis) -> Work:
    """Look at the tasks that have not ended, the newest LOOKED_AT_MAX of them. Raises StoreError."""
    looking = _Looking(store, now)
    after: str | None = None
    query = Query(states=(*UNDER_WAY, int(TaskState.FAILED)))
    for _ in range(LOOKED_AT_MAX // PAGE):
        page = await store.search(query, after=after, limit=PAGE)
        for stored in page.tasks:
            await looking.at(stored)
        after = page.next
        if after is None:
            break
    looking.work.more = after is not None
    return looking.work


class _Looking:
    def __init__(self, store: Store, now: Millis) -> None:
        self.work = Work()
        self._store, self._now = store, now
        self._plans: dict[str, Plan | PlanError] = {}

    async def at(self, stored: Stored) -> None:
        """Count a task in."""
        under_way = stored.state in UNDER_WAY
        self.work.under_way += under_way
        self.work.parked += not under_way
        plan = await self._plan(stored.plan_version)
        if isinstance(plan, PlanError):
            self.work.illegible[stored.task_id] = str(plan)
            return
        try:
            head = decode_head(stored.head)
            due = _due(stored.task_id, head, plan, self._now)
            back = await self._handed_back(stored.task_id, head, plan)
        except StoreError:
            raise
        except Exception as error:  # a damaged record may decode and still hold together nowhere
            self.work.illegible[stored.task_id] = f"{type(error).__name__}: {error}"
        else:
            self.work.due += due
            self.work.handed_back += back

    async def _handed_back(self, task_id: str, head: Head, plan: Plan) -> list[HandedBack]:
        back = [step for step, opened in head.open.items() if opened.handed_back]
        rows = [decode_row(row.body) for row in await self._store.history(task_id)] if back else []
        return [
            HandedBack(
                task_id=task_id,
                action=f"{plan.steps[step].agent}/{plan.steps[step].action}",
                why=why,
                since=since,
            )
            for step in back
            for since, why in [_back(rows, step)]
        ]

    async def _plan(self, version: str) -> Plan | PlanError:
        if version not in self._plans:
            document = await self._store.load_plan(version)
            try:
                self._plans[version] = pinned_plan(version, document)
            except PlanError as error:
                self._plans[version] = error
        return self._plans[version]


def _back(rows: Iterable[events.Row], step: int) -> tuple[Millis, str]:
    """When a step's call was handed back first, after whatever was last heard of it, and why it was last."""
    since, why = 0, ""
    for row in rows:
        for fact in row.facts:
            if isinstance(fact, events.HandedBack) and fact.step == step:
                since, why = since or row.at, fact.why
            elif isinstance(fact, events.Reported | events.Probed) and fact.step == step:
                since = 0
    return since, why


def _due(task_id: str, head: Head, plan: Plan, now: Millis) -> list[Due]:
    waiting = task_waiting(plan, head, now)
    since = due(plan, head)  # a client enters and moves tasks as due at once, for others to look at
    if waiting is None or since is None or since > now:
        return []
    step = None if waiting.step is None else plan.steps[waiting.step]
    action = "" if step is None else f"{step.agent}/{step.action}"
    return [Due(task_id=task_id, waits_for=waiting.on, action=action, since=since)]
