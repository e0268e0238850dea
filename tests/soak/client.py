"""A client: submits trips and cancels some. What it was told is noted before it goes on, to be held to it."""

import asyncio
import os
import random
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from makegood import Makegood
from makegood.demo.trips import Trip
from makegood.errors import ActRefused, StoreError
from tests.soak.app import PLANS

CANCEL_AFTER = 1.5
"""Seconds at most after its submission in which a trip is cancelled."""
DEADLINE_SECONDS = (1.0, 8.0)
TRY_AGAIN = 0.2

T = TypeVar("T")


class Notes:
    """A file of lines `what task`; each is there for good, whatever happens to the process after it."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, what: str, task_id: str) -> None:
        os.write(self._file, f"{what} {task_id}\n".encode())


def noted(path: Path, what: str) -> list[str]:
    """The tasks of which this is noted."""
    lines = (line.split() for line in path.read_text().splitlines()) if path.exists() else ()
    return [task_id for kind, task_id in lines if kind == what]


def main(arguments: Sequence[str]) -> int:
    """`URL NOTES TRIPS TRAVELLERS SHARE`: book so many trips, each traveller one after the other.

    SHARE of them are cancelled, and as many are given a deadline. Where an earlier client died, the next goes
    on: what was acknowledged is not submitted again.
    """
    url, notes, trips, travellers, share = arguments
    asyncio.run(_book_all(url, Path(notes), int(trips), int(travellers), float(share)))
    return 0


async def _book_all(url: str, path: Path, trips: int, travellers: int, share: float) -> None:
    notes, known = Notes(path), set(noted(path, "submitted"))
    open_trips = (trip for n in range(trips) if (trip := f"{path.stem}-{n}") not in known)
    async with Makegood(url) as makegood, asyncio.TaskGroup() as group:
        for _ in range(travellers):
            group.create_task(_travel(makegood, notes, open_trips, share))


async def _travel(makegood: Makegood, notes: Notes, task_ids: Iterator[str], share: float) -> None:
    """Book, cancel at times, and wait for how it ends, over and over."""
    for task_id in task_ids:
        chance = random.Random(task_id)
        plan = chance.choice(PLANS)
        trip = Trip("Ann", "LIS", chance.choice(("Oslo", "Rome")), "2027-03-04")
        deadline = chance.uniform(*DEADLINE_SECONDS) if chance.random() < share else None
        submit = partial(makegood.submit, plan, trip, task_id=task_id, deadline=deadline)
        task = await _insist(notes, task_id, submit)
        notes.add("submitted", task_id)
        if chance.random() < share:
            await asyncio.sleep(chance.uniform(0, CANCEL_AFTER))
            await _cancel(makegood, notes, task_id)
        await _insist(notes, task_id, task.wait)


async def _cancel(makegood: Makegood, notes: Notes, task_id: str) -> None:
    try:
        await _insist(notes, task_id, partial(makegood.task(task_id).cancel, by="traveller"))
    except ActRefused:
        notes.add("too-late", task_id)
    else:
        notes.add("cancelled", task_id)


async def _insist(notes: Notes, task_id: str, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask again for as long as the store cannot be reached or leaves open what came of it."""
    while True:
        try:
            return await ask()
        except StoreError as error:
            notes.add(type(error).__name__, task_id)
            await asyncio.sleep(TRY_AGAIN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
