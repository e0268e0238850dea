"""Whether tasks go on: what waits for a process waits for ever where none is up, and people are told so."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from makegood.cli import output
from makegood.client import Makegood
from makegood.errors import StoreError
from makegood.reading.words import WAITED_FOR

Record = dict[str, Any]

NOBODY = "no process is up on this store"
OF_PROCESSES = frozenset(WAITED_FOR) - {"person", "pause"}
"""What only a living process brings on."""
LOOKED_AT_MAX = 200
"""Tasks that are looked at, until one is found that waits for a process."""


async def say_if_nobody_is_up(makegood: Makegood, task_ids: Sequence[str]) -> None:
    """Say, after something was done to these tasks, that one of them waits for a process, and none is up."""
    with suppress(StoreError):  # it is done, whatever can be said of it
        if not await makegood.members() and await _one_waits(makegood, task_ids):
            who = "the task waits" if len(task_ids) == 1 else "tasks wait"
            output.say(f"{NOBODY}, and {who} for one (`makegood up APP`)")


async def say_if_nobody_drives(makegood: Makegood, listed: Iterable[Record]) -> None:
    """Say of tasks that are shown that some wait for a process, and none is up. Raises StoreError."""
    if any(map(_waits, listed)) and not await makegood.members():
        output.say(f"{NOBODY}: what waits for one goes on with `makegood up APP`")


async def goes_on(makegood: Makegood, task_id: str) -> bool:
    """Whether it waits for a process, and one is up; False where nobody can tell."""
    with suppress(StoreError):
        return await _one_waits(makegood, [task_id]) and bool(await makegood.members())
    return False


async def _one_waits(makegood: Makegood, task_ids: Sequence[str]) -> bool:
    for task_id in islice(task_ids, LOOKED_AT_MAX):
        if _waits(await makegood.task(task_id).record()):
            return True
    return False


def _waits(task: Record) -> bool:
    return "waiting" in task and task["waiting"]["for"] in OF_PROCESSES
