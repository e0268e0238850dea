"""Locks, disks and forks that fail: what is certain is said as certain, and the store works on afterwards."""

import asyncio
import errno
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest

from makegood.errors import StoreError, StoreUnavailable, StoreUncertain
from makegood.store.migrations import load_migrations
from makegood.store.protocol import Store
from makegood.store.sqlite import SqliteStore
from makegood.store.sqlite_file import LOCK_SECONDS_MAX, SqliteFile, pauses
from makegood.testing.conformance import COMMITTED, Run, change
from tests.store.broken_disk import broken_disk
from tests.store.clocks import TurnedClock


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path)
    await store.open()
    yield store
    await store.close()


async def assert_works_on(store: Store) -> None:
    assert list(await store.commit([change("afterwards")])) == [COMMITTED]
    assert len(await store.history("afterwards")) == 1


async def assert_nothing_of_it_in(path: Path, task_id: str) -> None:
    """Neither in this process's eyes nor in another's."""
    async with opened(path) as other:
        assert list(await other.load([task_id])) == [None]
        assert list(await other.history(task_id)) == []


# The lock


def test_a_lock_that_is_let_go_costs_a_pause_only(path: Path) -> None:
    async def scenario() -> None:
        clock, holder = TurnedClock(), apsw.Connection(str(path))
        pauses_taken: list[float] = []

        async def sleep(seconds: float) -> None:
            pauses_taken.append(seconds)
            clock.go_on(seconds)
            if len(pauses_taken) == 4:
                holder.execute("COMMIT")

        store = SqliteStore(path, clock=clock, sleep=sleep, jitter=lambda: 0.0)
        await store.open()
        holder.execute("BEGIN IMMEDIATE")
        assert list(await store.commit([change()])) == [COMMITTED]
        assert pauses_taken == [0.001, 0.002, 0.004, 0.008]
        assert store.stamp().round_trip == pytest.approx(0.015)
        await store.close()

    asyncio.run(scenario())


def test_a_lock_that_is_kept_ends_the_waiting_in_words(path: Path) -> None:
    async def scenario() -> None:
        clock = TurnedClock()
        store = SqliteStore(path, clock=clock, sleep=clock.sleep)
        await store.open()
        holder = apsw.Connection(str(path))
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match=r"tasks\.db: .*locked.*another process"):
            await store.commit([change()])
        assert list(await store.load(["task"])) == [None]  # reading needs no lock
        holder.execute("ROLLBACK")
        await assert_works_on(store)
        await store.close()

    asyncio.run(scenario())


def test_work_that_writes_begins_with_the_lock_in_hand(path: Path, run: Run) -> None:
    holder = apsw.Connection(str(path))
    held_by_another: list[bool] = []

    def work(db: apsw.Connection) -> None:
        held_by_another.append(holder.in_transaction)
        db.execute("DELETE FROM plans")

    async def sleep(_: float) -> None:
        holder.execute("COMMIT")

    file = SqliteFile(
        path, migrations=load_migrations("sqlite"), wall=lambda: 0, sleep=sleep, jitter=lambda: 0.0
    )
    run(file.open())
    holder.execute("BEGIN IMMEDIATE")
    run(file.write(work))
    assert held_by_another == [False]
    file.close()


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_the_pauses_are_short_never_nothing_and_bounded_in_their_sum(chance: float) -> None:
    taken = list(pauses(lambda: chance))
    assert min(taken) > 0
    assert max(taken) <= 0.05
    assert LOCK_SECONDS_MAX / 2 < sum(taken) <= LOCK_SECONDS_MAX + 0.05


# The disk


@pytest.mark.parametrize("good_writes", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("code", "raised", "words"),
    [
        (errno.ENOSPC, StoreUnavailable, r"tasks\.db: database or disk is full; make room"),
        (errno.EIO, StoreUncertain, r"tasks\.db: .*disk I/O error \(SQLITE_IOERR_WRITE\)"),
    ],
)
def test_a_disk_that_fails_in_commit(
    path: Path, code: int, raised: type[StoreError], words: str, good_writes: int
) -> None:
    async def scenario() -> None:
        async with opened(path) as store:
            await store.commit([change("before")])
            with broken_disk(code, good_writes=good_writes), pytest.raises(raised, match=words):
                await store.commit([change("lost"), change("before", 1)])
            [before, lost] = await store.load(["before", "lost"])
            assert before is not None
            assert (before.version, lost) == (1, None)
            await assert_nothing_of_it_in(path, "lost")
            await assert_works_on(store)

    asyncio.run(scenario())


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_before_commit_leaves_no_doubt(path: Path, code: int) -> None:
    async def scenario() -> None:
        large = [change(f"t{n}", row=bytes(1_000_000)) for n in range(8)]  # more than stays in the cache
        async with opened(path) as store:
            with broken_disk(code, good_writes=100), pytest.raises(StoreUnavailable, match="disk"):
                await store.commit(large)
            await assert_nothing_of_it_in(path, "t0")
            await assert_works_on(store)

    asyncio.run(scenario())


def test_a_disk_that_was_full_gets_back_what_the_log_took(path: Path) -> None:
    def log_pages() -> int:
        return path.with_name("tasks.db-wal").stat().st_size // 4096

    async def scenario() -> None:
        async with opened(path) as store:
            for version in range(100):
                await store.commit([change(base=version)])
            assert log_pages() > 200
            for _ in range(2):
                with broken_disk(errno.ENOSPC), pytest.raises(StoreUnavailable, match="make room"):
                    await store.commit([change("lost")])
                assert log_pages() > 200

            reader = apsw.Connection(str(path))
            reader.execute("BEGIN").execute("SELECT * FROM tasks").fetchall()
            assert list(await store.commit([change("beside a reader")])) == [COMMITTED]
            assert log_pages() > 200
            reader.execute("COMMIT")
            await assert_works_on(store)
            assert log_pages() < 20
            [task] = await store.load(["task"])
            assert task is not None
            assert task.version == 100
            await assert_nothing_of_it_in(path, "lost")
            reader.close()

    asyncio.run(scenario())


def test_a_damaged_file_is_named(path: Path, run: Run) -> None:
    store = SqliteStore(path)
    run(store.open())
    run(store.commit([change(f"t{n}", row=bytes(3000)) for n in range(50)]))
    run(store.close())
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xee" * (len(whole) - 4096))
    with pytest.raises(StoreUnavailable, match=r"tasks\.db: .*malformed.*restore a backup"):
        run(store.open())


def replace_by_another_database(path: Path) -> None:
    other = apsw.Connection(str(path.with_name("other.db")))
    other.execute("CREATE TABLE diary (entry TEXT)")
    other.close()
    with apsw.Connection(str(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    path.write_bytes(path.with_name("other.db").read_bytes())


def drop_the_clock(path: Path) -> None:
    with apsw.Connection(str(path)) as db:
        db.execute("DROP TABLE clock")
    db.close()


@pytest.mark.parametrize("harm", [replace_by_another_database, drop_the_clock])
def test_tables_that_went_under_an_open_store_are_named_with_the_way_out(
    path: Path, run: Run, harm: Callable[[Path], None]
) -> None:
    store = SqliteStore(path)
    run(store.open())
    run(store.commit([change()]))
    harm(path)
    words = (
        r"tasks\.db: no such table: clock; its tables were .*; end every process on it and restore a backup$"
    )
    for verb in (
        store.now(),
        store.load(["task"]),
        store.history("task"),
        store.members(),
        store.commit([change("t")]),
    ):
        with pytest.raises(StoreUnavailable, match=words):
            run(verb)
    run(store.close())


# Forks

FORKED = """
import asyncio, os, sys
from makegood.errors import StoreUnavailable
from makegood.store.sqlite import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1])
    await store.open()
    if os.fork() == 0:
        try:
            await store.now()
        except StoreUnavailable as error:
            print(error, flush=True)
        await store.close()
        os._exit(0)
    os.wait()
    await store.commit([])
    print("parent at", await store.now())
    await store.close()

asyncio.run(main())
"""


def test_a_forked_child_is_told(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FORKED, path], capture_output=True, text=True, check=True)
    child, parent = done.stdout.splitlines()
    assert "was opened before a fork; open it only after the fork" in child
    assert parent.startswith("parent at 1")
