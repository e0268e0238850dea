"""The raw loop of the bench writes what the store writes."""

import asyncio
from pathlib import Path

from bench.raw_loop import raw_tasks_per_second
from makegood.store.protocol import Query
from makegood.store.sqlite import SqliteStore


def test_the_raw_loop_writes_whole_tasks(tmp_path: Path) -> None:
    path = tmp_path / "raw.db"
    assert raw_tasks_per_second(path, tasks=25, steps=3, batch=10, head_bytes=90, row_bytes=200) > 0

    async def check() -> None:
        store = SqliteStore(path)
        await store.open()
        tasks = (await store.search(Query())).tasks
        assert [(task.version, task.state, task.due, len(task.head)) for task in tasks] == [
            (4, 1, None, 90)
        ] * 25
        for task in tasks:
            rows = await store.history(task.task_id)
            assert [(row.version, len(row.body)) for row in rows] == [(n, 200) for n in range(1, 5)]
        await store.close()

    asyncio.run(check())
