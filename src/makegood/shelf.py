"""The shelf beside a desk: tasks, plans and payloads at hand in this process. Losing it loses time only."""

import logging
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from makegood.core.events import decode_row
from makegood.core.plan import Plan, pinned_plan
from makegood.core.record import Head, decode_head
from makegood.core.values import Values
from makegood.errors import MakegoodError, PlanError, StoreError, UnknownTask
from makegood.rooms import Entry
from makegood.store.protocol import Store, Stored

log = logging.getLogger("makegood.desk")

ENTRIES_MAX = 50_000


class Shelf:
    """A bounded cache of what the store holds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._plans: dict[str, Plan] = {}
        self._unreadable: dict[str, MakegoodError] = {}
        self._damaged: dict[str, int] = {}

    async def load(self, task_ids: Sequence[str]) -> set[str]:
        """Load what is not at hand; answers which were read just now. Raises StoreUnavailable."""
        lacking = [task_id for task_id in task_ids if task_id not in self._entries]
        if lacking:
            for stored in await self._store.load(lacking):
                if stored is not None:
                    await self._put(stored)
        return set(lacking)

    def get(self, task_id: str) -> Entry | MakegoodError:
        """The task as last read or committed here, or why it is not at hand."""
        entry = self._entries.get(task_id)
        if entry is not None:
            return entry
        return self._unreadable.get(task_id) or UnknownTask(task_id)

    def head_of(self, stored: Stored) -> Head | None:
        """The head of a task as just read; None, said once a version, when this code cannot read it."""
        try:
            return decode_head(stored.head)
        except msgspec.DecodeError as error:
            self._say(stored, f"its record is damaged: {error}")
            return None

    def keep(self, entry: Entry) -> None:
        """Remember a committed task; the longest untouched is forgotten when the shelf is full."""
        self._entries[entry.task_id] = entry
        self._entries.move_to_end(entry.task_id)
        while len(self._entries) > ENTRIES_MAX:
            self._entries.popitem(last=False)

    def forget(self, task_id: str) -> None:
        self._entries.pop(task_id, None)

    def heed(self, found: Stored) -> bool:
        """Forget a head older than what was just read; False when what was read is the older one."""
        cached = self._entries.get(found.task_id)
        if cached is not None and cached.version < found.version:
            self.forget(found.task_id)
        return cached is None or cached.version <= found.version

    def add_plan(self, plan: Plan) -> None:
        self._plans[plan.version] = plan

    async def plan(self, version: str) -> Plan:
        """The plan with this version. Raises PlanError when the store has none, or not that very one."""
        if version not in self._plans:
            self._plans[version] = pinned_plan(version, await self._store.load_plan(version))
        return self._plans[version]

    async def values(self, entry: Entry) -> Values:
        """The payloads of a task, from its history when this process has not seen all of it."""
        if entry.values is None:
            values = Values()
            for row in await self._store.history(entry.task_id):
                if row.version <= entry.version:
                    values.absorb(decode_row(row.body).facts)
            entry.values = values
        return entry.values

    async def _put(self, stored: Stored) -> None:
        """A record that cannot be read here is said so once, and harms no other task."""
        self._unreadable.pop(stored.task_id, None)
        try:
            plan = await self.plan(stored.plan_version)
            self.keep(Entry(stored.task_id, stored.version, decode_head(stored.head), plan))
        except (PlanError, msgspec.DecodeError) as error:
            self._say(stored, str(error))
            self._unreadable[stored.task_id] = StoreError(
                f"task {stored.task_id} cannot be read here: {error}"
            )

    def _say(self, stored: Stored, why: str) -> None:
        if self._damaged.get(stored.task_id) != stored.version:
            self._damaged[stored.task_id] = stored.version
            log.error(
                "task %s cannot be driven here: %s", stored.task_id, why, extra={"task_id": stored.task_id}
            )
