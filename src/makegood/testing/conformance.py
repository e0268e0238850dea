"""The one suite every store passes. It is shipped, so that a store of your own can be held to it:

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def new_data(self, tmp_path_factory: pytest.TempPathFactory) -> NewData:
            return lambda: partial(MyStore, tmp_path_factory.mktemp("data") / "my.store")

Pass `makegood.testing.differential.AgreesWithMemory` as well. Only pytest is needed to run this one.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

import pytest

from makegood.errors import StoreError, StoreUnavailable
from makegood.store.checks import BYTES_MAX
from makegood.store.protocol import (
    Answer,
    Change,
    Committed,
    Member,
    Query,
    Rejected,
    Row,
    Stale,
    Store,
    Stored,
)

T = TypeVar("T")

MakeStore = Callable[[], Store]
"""Gives another store, not yet open, on the same data each time: as another process would have."""

NewData = Callable[[], MakeStore]
"""Gives new, empty data each time, and the means to open stores on it."""

COMMITTED, STALE = Committed(), Stale()


class Run(Protocol):
    """Runs a coroutine to its end, always in the same event loop."""

    def __call__(self, verb: Coroutine[Any, Any, T], /) -> T: ...


def change(
    task_id: str = "task",
    base: int = 0,
    *,
    write_id: int = 7,
    state: int = 0,
    due: int | None = None,
    head: bytes = b"head",
    row: bytes = b"row",
    plan: str = "plan",
) -> Change:
    """A change with something in every field."""
    return Change(
        task_id=task_id,
        base=base,
        write_id=write_id,
        state=state,
        due=due,
        head=head,
        row=row,
        plan=plan,
        plan_version="f00d",
        created_at=1_790_000_000_000,
    )


def member(member_id: str = "m1", **more: Any) -> Member:
    """A living process."""
    return Member(member_id=member_id, roles=("agent",), actions={"flights/book": "c0ffee"}, **more)


def ids(tasks: Sequence[Stored | None]) -> list[str | None]:
    """The tasks' ids, in order."""
    return [task.task_id if task else None for task in tasks]


def in_threads(count: int, work: Callable[[int], Coroutine[Any, Any, T]]) -> list[T]:
    """What `work(n)` returns for each n, each run in a thread and an event loop of its own."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda number: asyncio.run(work(number)), range(count)))


class StoreFixtures:
    """What the suites need of a store: override `new_data`."""

    @pytest.fixture
    def new_data(self) -> NewData:
        pytest.fail("override the fixture new_data: it returns a NewData")

    @pytest.fixture
    def make_store(self, new_data: NewData) -> MakeStore:
        return new_data()

    @pytest.fixture
    def run(self) -> Iterator[Run]:
        with asyncio.Runner() as runner:
            yield runner.run

    @pytest.fixture
    def enter(self, make_store: MakeStore, run: Run) -> Iterator[MakeStore]:
        """Gives another store, open, and closes it in the end."""
        stores: list[Store] = []

        def entered() -> Store:
            stores.append(make_store())
            run(stores[-1].open())
            return stores[-1]

        yield entered
        for store in stores:
            run(store.close())

    @pytest.fixture
    def store(self, enter: MakeStore) -> Store:
        return enter()


class StoreConformance(StoreFixtures):
    """Every verb of Store, alone and from several processes at once."""

    # Writing

    def test_a_new_task_is_kept_whole(self, store: Store, run: Run) -> None:
        new = change(state=3, due=55, head=b"h", row=b"r", write_id=99)
        assert list(run(store.commit([new]))) == [COMMITTED]
        assert list(run(store.load(["task"]))) == [
            Stored(
                task_id="task",
                version=1,
                state=3,
                due=55,
                head=b"h",
                plan="plan",
                plan_version="f00d",
                created_at=1_790_000_000_000,
            )
        ]
        assert list(run(store.history("task"))) == [Row(1, 99, b"r")]

    def test_a_change_replaces_the_head_and_keeps_where_the_task_came_from(
        self, store: Store, run: Run
    ) -> None:
        run(store.commit([change(due=5)]))
        moved = change(base=1, state=2, due=None, head=b"new", plan="another plan")
        assert list(run(store.commit([moved]))) == [COMMITTED]
        [task] = run(store.load(["task"]))
        assert task is not None
        assert (task.version, task.state, task.due, task.head) == (2, 2, None, b"new")
        assert (task.plan, task.plan_version, task.created_at) == ("plan", "f00d", 1_790_000_000_000)

    def test_a_task_is_created_once(self, store: Store, enter: MakeStore, run: Run) -> None:
        run(store.commit([change(head=b"first")]))
        for again in (store, enter()):
            assert list(run(again.commit([change(head=b"second")]))) == [STALE]
        [task] = run(store.load(["task"]))
        assert task is not None
        assert (task.version, task.head) == (1, b"first")

    @pytest.mark.parametrize("base", [1, 3, 4])
    def test_a_change_on_another_version_is_stale(self, store: Store, run: Run, base: int) -> None:
        run(store.commit([change()]))
        run(store.commit([change(base=1)]))
        before = run(store.load(["task"])), run(store.history("task"))
        assert list(run(store.commit([change(base=base, due=9, head=b"late", row=b"late")]))) == [STALE]
        assert (run(store.load(["task"])), run(store.history("task"))) == before

    def test_a_change_of_an_unknown_task_is_stale(self, store: Store, run: Run) -> None:
        assert list(run(store.commit([change(base=1)]))) == [STALE]
        assert list(run(store.load(["task"]))) == [None]

    def test_one_stale_change_fails_no_other(self, store: Store, enter: MakeStore, run: Run) -> None:
        run(store.commit([change(f"t{n}") for n in range(5)]))
        run(enter().commit([change("t2", 1, head=b"theirs")]))
        mine = [change(f"t{n}", 1, head=b"mine") for n in range(5)] + [change("new"), change("gone", 1)]
        assert list(run(store.commit(mine))) == [COMMITTED] * 2 + [STALE] + [COMMITTED] * 3 + [STALE]
        heads = [task.head if task else None for task in run(store.load([each.task_id for each in mine]))]
        assert heads == [b"mine", b"mine", b"theirs", b"mine", b"mine", b"head", None]
        assert [len(run(store.history(each.task_id))) for each in mine] == [2, 2, 2, 2, 2, 1, 0]

    @pytest.mark.parametrize(
        "bad",
        [
            change("bad", head=bytes(BYTES_MAX + 1)),
            change("bad", row=bytes(BYTES_MAX + 1)),
            change("bad", write_id=2**63),
            change("bad", due=2**63),
            change("bad", plan="\ud800"),
        ],
        ids=["head", "row", "write id", "due", "text"],
    )
    def test_what_cannot_be_held_is_rejected_with_a_reason_and_fails_no_other(
        self, store: Store, run: Run, bad: Change
    ) -> None:
        first, answer, last = run(store.commit([change("a"), bad, change("b")]))
        assert (first, last) == (COMMITTED, COMMITTED)
        assert isinstance(answer, Rejected)
        assert answer.reason
        assert ids(run(store.load(["a", "bad", "b"]))) == ["a", None, "b"]
        assert list(run(store.history("bad"))) == []

    def test_a_rejected_change_leaves_the_task_as_it_was(self, store: Store, run: Run) -> None:
        run(store.commit([change()]))
        before = run(store.load(["task"])), run(store.history("task"))
        [answer] = run(store.commit([change(base=1, due=4, row=bytes(BYTES_MAX + 1))]))
        assert isinstance(answer, Rejected)
        assert (run(store.load(["task"])), run(store.history("task"))) == before

    def test_two_changes_for_one_task_are_a_mistake(self, store: Store, run: Run) -> None:
        with pytest.raises(ValueError, match="twice"):
            run(store.commit([change("other"), change("twice"), change("twice", 1)]))
        assert list(run(store.load(["other", "twice"]))) == [None, None]

    def test_an_empty_batch_has_no_answers(self, store: Store, run: Run) -> None:
        assert list(run(store.commit([]))) == []

    @pytest.mark.parametrize("size", [1, 2, 100, 500])
    def test_batches_of_any_size(self, store: Store, run: Run, size: int) -> None:
        names = [f"t{n}" for n in range(size)]
        for base in range(3):
            batch = [change(name, base, row=name.encode()) for name in names]
            assert list(run(store.commit(batch))) == [COMMITTED] * size
        assert [task.version if task else 0 for task in run(store.load(names))] == [3] * size
        assert [row.body for row in run(store.history(names[-1]))] == [names[-1].encode()] * 3

    @pytest.mark.parametrize(
        "blob",
        [b"", b"\0", b"a\0b", bytes(range(256)) * 5, b"\xff\xfe\xed\xa0\x80", b"\0" * 3_000_000],
        ids=["empty", "nul", "nul inside", "all", "no text", "long"],
    )
    def test_bytes_come_back_as_they_went_in(self, store: Store, run: Run, blob: bytes) -> None:
        run(store.commit([change(head=blob, row=blob)]))
        run(store.save_plan("v", "plan", blob))
        [task] = run(store.load(["task"]))
        assert task is not None
        assert task.head == blob
        assert [row.body for row in run(store.history("task"))] == [blob]
        assert run(store.load_plan("v")) == blob

    @pytest.mark.parametrize("task_id", ["T", "a" * 100, "trip-9f3a.1_2", "t%_'\";--", "Übung"])
    def test_ids_are_plain_text(self, store: Store, run: Run, task_id: str) -> None:
        run(store.commit([change(task_id), change(task_id + "x"), change(task_id.swapcase() + "y")]))
        assert ids(run(store.load([task_id]))) == [task_id]
        assert len(run(store.history(task_id))) == 1

    def test_the_write_id_stands_in_the_row_of_its_version(
        self, store: Store, enter: MakeStore, run: Run
    ) -> None:
        largest, least = 2**63 - 1, -(2**63)
        run(store.commit([change(write_id=largest)]))
        run(enter().commit([change(base=1, write_id=least)]))
        run(store.commit([change(base=1, write_id=3)]))
        assert [(row.version, row.write_id) for row in run(store.history("task"))] == [
            (1, largest),
            (2, least),
        ]

    # Reading

    def test_load_answers_in_the_order_asked(self, store: Store, run: Run) -> None:
        run(store.commit([change("a"), change("b"), change("c")]))
        asked = ["c", "nobody", "a", "c"]
        assert ids(run(store.load(asked))) == ["c", None, "a", "c"]
        assert list(run(store.load([]))) == []

    def test_history_begins_after_a_version(self, store: Store, run: Run) -> None:
        for base in range(12):
            run(store.commit([change(base=base, row=b"%d" % base)]))
        run(store.commit([change("neighbour")]))
        rows = run(store.history("task"))
        assert [row.version for row in rows] == list(range(1, 13))
        for after in (0, 1, 9, 11, 12, 40):
            assert list(run(store.history("task", after=after))) == list(rows[after:])
        assert list(run(store.history("nobody"))) == []

    def test_what_is_due_comes_in_order_and_each_task_once(self, store: Store, run: Run) -> None:
        dues = [40, 10, 30, None, 10, 20, 10, 99, 10]
        run(store.commit([change(f"t{n}", due=due) for n, due in enumerate(dues)]))
        expected = ["t1", "t4", "t6", "t8", "t5", "t2", "t0"]
        for limit in (1, 2, 3, 4, 7, 8, 200):
            assert due_in_pages(run, store, 40, limit) == expected
        assert ids(run(store.due(39)).tasks) == expected[:-1]
        assert run(store.due(9)).tasks == ()

    def test_a_page_that_ends_with_the_last_task_has_no_next(self, store: Store, run: Run) -> None:
        run(store.commit([change("a", due=1), change("b", due=1)]))
        assert run(store.due(5, limit=2)).next is None
        assert run(store.due(5, limit=1)).next is not None
        assert run(store.search(Query(), limit=2)).next is None
        assert run(store.search(Query(), limit=1)).next is not None

    def test_due_follows_every_write(self, store: Store, run: Run) -> None:
        run(store.commit([change("a", due=10), change("b", due=20)]))
        run(store.commit([change("a", 1, due=30)]))
        assert ids(run(store.due(50)).tasks) == ["b", "a"]
        run(store.commit([change("b", 1, due=None)]))
        assert ids(run(store.due(50)).tasks) == ["a"]
        run(store.commit([change("b", 2, due=-5)]))
        assert ids(run(store.due(50)).tasks) == ["b", "a"]

    def test_search_shows_the_newest_first_in_pages(self, store: Store, run: Run) -> None:
        names = [f"t{n}" for n in range(7)]
        for name in names:
            run(store.commit([change(name)]))
        run(store.commit([change("t3", 1)]))  # a write makes no task newer
        for limit in (1, 3, 7, 100):
            assert search_in_pages(run, store, Query(), limit) == names[::-1]

    def test_search_goes_on_where_it_was_though_tasks_come_in(self, store: Store, run: Run) -> None:
        run(store.commit([change("a"), change("b"), change("c")]))
        page = run(store.search(Query(), limit=2))
        run(store.commit([change("d")]))
        assert ids(page.tasks) == ["c", "b"]
        assert ids(run(store.search(Query(), after=page.next)).tasks) == ["a"]

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            (Query(), ["d", "c", "b", "a"]),
            (Query(states=(2,)), ["c", "b"]),
            (Query(states=(1, 3)), ["d", "a"]),
            (Query(states=()), []),
            (Query(states=(8,)), []),
            (Query(plan="x"), ["c", "a"]),
            (Query(plan="X"), []),
            (Query(plan="x", states=(2, 3)), ["c"]),
        ],
    )
    def test_search_by_state_and_plan(
        self, store: Store, run: Run, query: Query, expected: list[str]
    ) -> None:
        tasks = [("a", 1, "x"), ("b", 2, "y"), ("c", 2, "x"), ("d", 3, "y")]
        run(store.commit([change(name, state=0, plan=plan) for name, _, plan in tasks]))
        run(store.commit([change(name, 1, state=state) for name, state, _ in tasks]))
        for limit in (1, 100):
            assert search_in_pages(run, store, query, limit) == expected

    def test_a_cursor_that_is_none_is_refused(self, store: Store, run: Run) -> None:
        with pytest.raises(StoreError, match="yesterday"):
            run(store.search(Query(), after="yesterday"))

    # Plans and members

    def test_a_plan_is_kept_for_ever_under_its_version(
        self, store: Store, enter: MakeStore, run: Run
    ) -> None:
        run(store.save_plan("v1", "book", b"one"))
        run(enter().save_plan("v1", "book", b"another"))
        run(store.save_plan("v2", "book", b"two"))
        assert [run(store.load_plan(version)) for version in ("v1", "v2", "v3")] == [b"one", b"two", None]

    def test_a_member_is_listed_until_its_lease_ends(self, store: Store, enter: MakeStore, run: Run) -> None:
        full = member("m2", host="here", pid=12, started_at=5)
        run(store.renew_member(full, 3_600_000))
        ends = store.stamp().at + 3_600_000
        run(enter().renew_member(member("m1"), 1))
        for _ in range(100_000):
            if run(store.now()) > ends - 3_600_000 + 100:
                break
        [left] = run(store.members())
        assert left == member("m2", host="here", pid=12, started_at=5, lease_until=ends)

    def test_a_lease_that_is_no_longer_than_nothing_has_ended(self, store: Store, run: Run) -> None:
        run(store.renew_member(member(), 0))
        assert list(run(store.members())) == []

    def test_renewing_replaces_the_member(self, store: Store, run: Run) -> None:
        run(store.renew_member(member(host="old"), 50_000))
        run(store.renew_member(member("other"), 50_000))
        run(store.renew_member(member(host="new"), 60_000))
        listed = run(store.members())
        assert sorted((each.member_id, each.host) for each in listed) == [("m1", "new"), ("other", "")]

    def test_a_member_is_removed_though_it_was_not_there(self, store: Store, run: Run) -> None:
        run(store.renew_member(member("m1"), 50_000))
        run(store.renew_member(member("m2"), 50_000))
        for _ in range(2):
            run(store.remove_member("m1"))
            assert [each.member_id for each in run(store.members())] == ["m2"]

    # Time

    def test_time_never_falls_and_no_recorded_moment_is_ahead(
        self, store: Store, enter: MakeStore, run: Run
    ) -> None:
        stores, last = [store, enter(), enter()], 0
        for n in range(60):
            writer, reader = stores[n % 3], stores[(n + 1) % 3]
            run(writer.commit([change(f"t{n}")]))
            assert last <= writer.stamp().at <= run(reader.now()) <= run(reader.now())
            assert last <= writer.stamp().mark <= reader.stamp().mark <= reader.stamp().at
            last = writer.stamp().mark

    def test_every_verb_brings_a_stamp(self, store: Store, run: Run) -> None:
        verbs: list[Callable[[], Coroutine[Any, Any, Any]]] = [
            store.now,
            lambda: store.commit([change()]),
            lambda: store.commit([change()]),
            lambda: store.load(["task"]),
            lambda: store.history("task"),
            lambda: store.due(5),
            lambda: store.search(Query()),
            lambda: store.save_plan("v", "plan", b"{}"),
            lambda: store.load_plan("v"),
            lambda: store.renew_member(member(), 5),
            lambda: store.remove_member("m1"),
            store.members,
        ]
        before = store.stamp()
        assert before.at > 0  # from opening it
        for verb in verbs:
            run(verb())
            stamp = store.stamp()
            assert stamp is not before
            assert stamp.at >= before.at
            assert before.seen <= stamp.seen - stamp.round_trip <= stamp.seen
            before = stamp

    # Opening and closing

    def test_what_was_committed_is_there_for_the_next_process(self, make_store: MakeStore, run: Run) -> None:
        first, second = make_store(), make_store()
        run(first.open())
        run(first.commit([change(due=1)]))
        run(first.save_plan("v", "plan", b"{}"))
        run(first.close())
        run(second.open())
        assert ids(run(second.load(["task"]))) == ids(run(second.due(9)).tasks) == ["task"]
        assert len(run(second.history("task"))) == 1
        assert run(second.load_plan("v")) == b"{}"
        run(second.close())

    def test_a_store_that_is_not_open_says_so(self, make_store: MakeStore, run: Run) -> None:
        store = make_store()
        for _ in ("not yet", "no more"):
            with pytest.raises(StoreUnavailable, match="open"):
                run(store.load(["task"]))
            with pytest.raises(StoreUnavailable, match="open"):
                run(store.commit([change()]))
            run(store.open())
            run(store.close())

    def test_it_may_be_opened_again_and_closed_twice(self, make_store: MakeStore, run: Run) -> None:
        store = make_store()
        for _ in range(2):
            run(store.open())
            run(store.open())
            run(store.now())
            run(store.close())
            run(store.close())

    def test_migrating_what_is_current_changes_nothing(self, make_store: MakeStore, run: Run) -> None:
        store = make_store()
        run(store.migrate())
        run(store.open())
        run(store.commit([change()]))
        assert list(run(store.migrate())) == []
        assert ids(run(store.load(["task"]))) == ["task"]
        run(store.close())

    # Several at once

    def test_each_version_has_exactly_one_winner(self, make_store: MakeStore, run: Run, store: Store) -> None:
        names, versions = [f"t{n}" for n in range(6)], 8

        async def race(runner: int) -> list[tuple[str, int, int]]:
            mine = make_store()
            await mine.open()
            won = []
            for _ in range(1000):
                tasks = await mine.load(names)
                bases = [task.version if task else 0 for task in tasks]
                batch = [
                    change(name, base, write_id=runner)
                    for name, base in zip(names, bases, strict=True)
                    if base < versions
                ]
                if not batch:
                    break
                answers = await mine.commit(batch)
                won += [
                    (c.task_id, c.base + 1, runner)
                    for c, a in zip(batch, answers, strict=True)
                    if a == COMMITTED
                ]
            await mine.close()
            return won

        won = [each for wins in in_threads(4, race) for each in wins]
        recorded = [(name, row.version, row.write_id) for name in names for row in run(store.history(name))]
        assert sorted(won) == sorted(recorded)
        assert len(recorded) == len(names) * versions

    def test_a_reader_never_sees_half_a_commit(self, make_store: MakeStore, run: Run, store: Store) -> None:
        names, rounds = ["a", "b", "c"], 40
        run(store.commit([change(name) for name in names]))

        async def work(number: int) -> list[Answer]:
            mine = make_store()
            await mine.open()
            if number == 0:
                answers: list[Answer] = []
                for base in range(1, rounds):
                    answers += await mine.commit([change(name, base) for name in names])
            else:
                answers = await watch(mine)
            await mine.close()
            return answers

        async def watch(mine: Store) -> list[Answer]:
            for _ in range(rounds):
                [task] = await mine.load(["a"])
                assert task is not None
                for name in names:
                    assert len(await mine.history(name)) >= task.version
            return []

        written, *_ = in_threads(3, work)
        assert written == [COMMITTED] * (3 * (rounds - 1))


def due_in_pages(run: Run, store: Store, before: int, limit: int) -> list[str | None]:
    """All that is due, read in pages of at most `limit`."""
    found: list[str | None] = []
    page = run(store.due(before, limit=limit))
    while page.next is not None:
        assert len(page.tasks) == limit
        found += ids(page.tasks)
        page = run(store.due(before, after=page.next, limit=limit))
    return found + ids(page.tasks)


def search_in_pages(run: Run, store: Store, query: Query, limit: int) -> list[str | None]:
    """All that matches, read in pages of at most `limit`."""
    found: list[str | None] = []
    page = run(store.search(query, limit=limit))
    while page.next is not None:
        assert len(page.tasks) <= limit
        found += ids(page.tasks)
        page = run(store.search(query, after=page.next, limit=limit))
    return found + ids(page.tasks)
