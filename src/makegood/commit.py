"""A commit that learns what became of it, though its answer be lost."""

import asyncio
import logging
from collections.abc import Sequence

from makegood.errors import StoreGone, StoreUnavailable, StoreUncertain
from makegood.store.protocol import Answer, Change, Committed, Store

log = logging.getLogger("makegood.desk")

RETRY_FIRST, RETRY_CAP = 0.05, 2.0
"""Seconds between tries while the store cannot be reached."""


async def commit(store: Store, changes: Sequence[Change]) -> Sequence[Answer | None]:
    """Commit a batch. None: the answer was lost, and this change was not written.

    Never commits twice. After a lost answer it waits for as long as the store cannot be read. Raises
    StoreUnavailable when nothing was written, StoreUncertain where nobody will know.
    """
    try:
        return await store.commit(changes)
    except StoreUncertain as lost:
        log.warning("the answer to a commit was lost, reading again what became of it: %s", lost)
        await asyncio.sleep(RETRY_FIRST)
        return [await _read_again(store, change) for change in changes]


async def _read_again(store: Store, change: Change) -> Committed | None:
    """After a lost answer: mine exactly if my write id stands in the append row of my version."""
    pause = RETRY_FIRST
    while True:
        try:
            rows = await store.history(change.task_id, after=change.base)
        except StoreGone as gone:
            raise StoreUncertain(str(gone)) from gone
        except StoreUnavailable:
            await asyncio.sleep(pause)
            pause = min(RETRY_CAP, pause * 2)
        else:
            first = [(row.version, row.write_id) for row in rows[:1]]
            return Committed() if first == [(change.base + 1, change.write_id)] else None
