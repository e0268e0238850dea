"""A call whose input its agent cannot read waits for a deploy, ever longer, and fills no history."""

from asyncio import sleep, wait_for
from itertools import pairwise
from random import Random
from typing import Any

import msgspec

from makegood import Agent, plan, step
from makegood.core.events import HandedBack, TaskSubmitted, decode_row
from makegood.core.plan import Millis
from makegood.core.record import TaskState
from makegood.runtime.engine import Engine
from makegood.store.memory import MemoryFile, MemoryStore
from makegood.testing.virtual import VirtualClock, run, virtual_loop

anything, numbers = Agent("shop"), Agent("shop")


@anything.action(name="look", reads=True)
async def look(what: Any) -> str:
    return f"seen {what}"


@numbers.action(name="look", reads=True)
async def look_up(what: int) -> str:
    return f"seen {what}"


@plan
def looks(what: Any) -> None:
    step(look, what)


def engine_with(file: MemoryFile, agent: Agent) -> Engine:
    clock = VirtualClock()
    return Engine(MemoryStore(file, clock=clock), [agent], clock=clock, chance=Random(1), watched=False)


def test_its_waits_double_up_to_ten_minutes_and_a_deploy_is_noticed() -> None:
    async def main() -> tuple[list[Millis], float]:
        file = MemoryFile()
        newer = engine_with(file, numbers)
        await newer.start()
        await newer.store.save_plan(looks.version, looks.name, looks.document.canonical())
        await newer.desk.submit(looks.plan, "t", TaskSubmitted(msgspec.Raw(b'"kettle"')))
        await sleep(3 * 3600)
        rows = [decode_row(row.body) for row in await newer.store.history("t")]
        await newer.stop()

        older = engine_with(file, anything)
        await older.start()
        since = virtual_loop().seconds
        assert await wait_for(older.desk.ended("t"), 700) is TaskState.COMPLETED
        took = virtual_loop().seconds - since
        await older.stop()
        return [row.at for row in rows for fact in row.facts if isinstance(fact, HandedBack)], took

    handed_back, took = run(main())
    waits = [(later - earlier) / 1000 for earlier, later in pairwise(handed_back)]
    assert [round(wait) for wait in waits[:8]] == [15, 15, 30, 60, 120, 240, 480, 600]
    assert all(600 <= wait < 602 for wait in waits[8:])
    assert took <= 602
