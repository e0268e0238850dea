"""The raw loop: what SQLite alone takes for the rows of a plan's tasks, with no engine around it.

It sends the statements that `SqliteStore.commit` sends, with the same driver, in batches made beforehand.
"""

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from makegood.store.sqlite import SqliteStore
from makegood.store.sqlite_file import CHECKPOINT_PAGES, SQL

_NOW = 1_790_000_000_000
_PLAN = ("book_trip", "0123456789abcdef" * 4)
_DONE = 1


class _Batch(NamedTuple):
    """What one transaction binds."""

    created: list[tuple[Any, ...]]
    updated: list[tuple[Any, ...]]
    appended: list[tuple[Any, ...]]


def raw_tasks_per_second(
    path: Path, *, tasks: int, steps: int, batch: int, head_bytes: int, row_bytes: int
) -> float:
    """Write whole tasks into a new file, durably: each created, then changed once a step.

    `batch` tasks go through their versions together. `head_bytes` and `row_bytes` are the size of one head
    and of one append row, as the engine writes them.
    """
    asyncio.run(_make_file(path))
    batches = list(_batches(tasks, steps, batch, head_bytes, row_bytes))
    db = _connect(path)
    began = time.perf_counter()
    for each in batches:
        _commit(db, each)
    seconds = time.perf_counter() - began
    db.close()
    return tasks / seconds


async def _make_file(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.close()


def _connect(path: Path) -> apsw.Connection:
    db = apsw.Connection(str(path))
    db.pragma("synchronous", "FULL")
    db.wal_autocheckpoint(CHECKPOINT_PAGES)
    return db


def _commit(db: apsw.Connection, batch: _Batch) -> None:
    db.execute("BEGIN IMMEDIATE")
    mark = db.execute(SQL["mark"]).get
    db.executemany(SQL["create"], batch.created)
    db.executemany(SQL["update"], batch.updated)
    db.executemany(SQL["append"], batch.appended)
    db.execute(SQL["move_mark"], (mark + 1,))
    db.execute("COMMIT")


def _batches(tasks: int, steps: int, batch: int, head_bytes: int, row_bytes: int) -> Iterator[_Batch]:
    head, row = b"h" * head_bytes, b"r" * row_bytes
    chance = random.Random(1)
    names = [f"{_NOW + number:x}-{chance.getrandbits(64):016x}" for number in range(tasks)]
    for first in range(0, tasks, batch):
        together = names[first : first + batch]
        for base in range(steps + 1):
            due = None if base == steps else _NOW + first + base * 1000
            state = _DONE if base == steps else 0
            yield _Batch(
                [] if base else [(name, state, due, head, *_PLAN, _NOW) for name in together],
                [(state, due, head, name, base) for name in together] if base else [],
                [(name, base + 1, chance.getrandbits(62), row) for name in together],
            )
