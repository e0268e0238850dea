"""Random operations on a store and on the memory store: equal answers, and equal contents after each.

It is part of the suite every store passes, and needs pytest and hypothesis.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import chain
from operator import methodcaller
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from makegood.store.memory import MemoryFile, MemoryStore
from makegood.store.protocol import Change, DuePage, Member, Page, Query, Rejected, Store
from makegood.testing.conformance import MakeStore, NewData, StoreFixtures

PROCESSES = 2
HOUR = 3_600_000

names = st.sampled_from(["a", "b", "c", "d"])
plans = st.sampled_from(["book", "move"])
states = st.integers(0, 2)
dues = st.none() | st.integers(0, 4)
versions = st.sampled_from(["v1", "v2"])
blobs = st.binary(max_size=4)
members = st.builds(
    Member,
    member_id=st.sampled_from(["m1", "m2", "m3"]),
    roles=st.just(("agent",)),
    actions=st.just({}),
    pid=st.integers(1, 3),
)
changes = st.builds(
    Change,
    task_id=names,
    base=st.sampled_from([0, 0, 1, 1, 2, 3]),
    write_id=st.integers(-(2**63), 2**63),
    state=states,
    due=dues,
    head=blobs,
    row=blobs,
    plan=plans,
    plan_version=versions,
    created_at=st.integers(0, 3),
)
batches = st.lists(changes, max_size=5).map(
    lambda drawn: list({change.task_id: change for change in drawn}.values())
)
queries = st.builds(Query, states=st.none() | st.lists(states).map(tuple), plan=st.none() | plans)

Operation = methodcaller
"""A verb with its arguments, ready to be called on a store."""


def verb(name: str, *arguments: st.SearchStrategy[Any], **named: st.SearchStrategy[Any]) -> Any:
    """Calls of one verb."""
    return st.builds(methodcaller, st.just(name), *arguments, **named)


writes = verb("commit", batches)
operations = (
    writes
    | writes
    | verb("load", st.lists(names))
    | verb("history", names, after=st.integers(0, 4))
    | verb("due", st.integers(0, 4), limit=st.integers(1, 5))
    | verb("search", queries, limit=st.integers(1, 5))
    | verb("save_plan", versions, plans, blobs)
    | verb("load_plan", versions)
    | verb("renew_member", members, st.sampled_from([0, HOUR]))
    | verb("remove_member", members.map(lambda member: member.member_id))
    | verb("members")
)
step = st.tuples(st.integers(0, PROCESSES - 1), st.booleans(), operations)
steps = st.lists(st.lists(step, min_size=1), min_size=1).map(  # lists of lists: some dozens, not a handful
    lambda parts: list(chain.from_iterable(parts))
)


class AgreesWithMemory(StoreFixtures):
    """A store and the memory store cannot be told apart, whatever is done to them in whatever order."""

    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(steps=steps)
    def test_random_operations(self, new_data: NewData, steps: Sequence[tuple[int, bool, Operation]]) -> None:
        memory: MakeStore = partial(MemoryStore, MemoryFile())
        asyncio.run(self._compare(memory, new_data(), steps))

    async def _compare(
        self, reference: MakeStore, candidate: MakeStore, steps: Sequence[tuple[int, bool, Operation]]
    ) -> None:
        async with AsyncExitStack() as leaving:
            pairs = []
            for _ in range(PROCESSES):
                pairs.append((reference(), candidate()))
                for store in pairs[-1]:
                    await store.open()
                    leaving.push_async_callback(store.close)
            for process, reopens, operation in steps:
                expected, found = pairs[process]
                if reopens:
                    await found.close()
                    await found.open()
                assert comparable(await operation(found)) == comparable(await operation(expected))
                assert await contents(found) == await contents(expected)


def comparable(answer: Any) -> Any:
    """An answer without what each store may word or number in its own way."""
    match answer:
        case Rejected():
            return "rejected"
        case Member():
            return msgspec.structs.replace(answer, lease_until=0)
        case Page() | DuePage():
            return answer.tasks, answer.next is None
        case list() | tuple():
            return list(map(comparable, answer))
        case _:
            return answer


async def contents(store: Store) -> list[Any]:
    """All that can be read from a store, in small pages."""
    tasks = list((page := await store.search(Query(), limit=2)).tasks)
    while page.next is not None:
        page = await store.search(Query(), after=page.next, limit=2)
        tasks += page.tasks
    due = list((due_page := await store.due(HOUR, limit=1)).tasks)
    while due_page.next is not None:
        due_page = await store.due(HOUR, after=due_page.next, limit=1)
        due += due_page.tasks
    histories = [await store.history(task.task_id) for task in tasks]
    plans = [await store.load_plan(version) for version in ("v1", "v2")]
    return [comparable(part) for part in (tasks, due, histories, plans, await store.members())]
