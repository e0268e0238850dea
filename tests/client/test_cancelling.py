"""What a cancel answers where the task moves on while it is recorded."""

from asyncio import create_task, sleep
from collections.abc import Sequence
from random import Random

import pytest

from makegood import Agent, plan, step
from makegood.client.connection import Connection
from makegood.client.task import Task
from makegood.core.events import NULL, TaskSubmitted
from makegood.payload import Envelope
from makegood.runtime.engine import Engine
from makegood.store.memory import MemoryFile, MemoryStore
from makegood.store.protocol import Stored
from makegood.testing.virtual import VirtualClock, run

bank = Agent("bank", timeout=60)


@bank.action(pivot=True, keyed=True)
async def charge() -> str:
    await sleep(6)
    return "charged"


@plan
def buys() -> None:
    step(charge)


class FarStore(MemoryStore):
    """What is read of it is on its way for so many seconds."""

    lag = 0.0

    async def load(self, task_ids: Sequence[str]) -> Sequence[Stored | None]:
        await sleep(self.lag)
        return await super().load(task_ids)


@pytest.mark.parametrize(
    ("lag", "answer"),
    [
        (0.0, "cancel is pending: its pivot is in doubt"),
        (4.0, "cancelled too late: its pivot happened, and it is Completed"),
    ],
)
def test_a_cancel_that_the_pivot_overtakes_says_so(lag: float, answer: str) -> None:
    async def main() -> str:
        file, clock = MemoryFile(), VirtualClock()
        engine = Engine(MemoryStore(file, clock=clock), [bank], clock=clock, chance=Random(1), watched=False)
        store = FarStore(file, clock=clock)
        client = Engine(store, clock=clock, chance=Random(2), watched=False)
        for each in (engine, client):
            await each.start()
        await engine.store.save_plan(buys.version, buys.name, buys.document.canonical())
        await engine.desk.submit(buys.plan, "t", TaskSubmitted(NULL))
        await sleep(1)
        store.lag = lag
        connection = Connection(client.desk, Envelope())
        connection.open()
        said = await create_task(Task(connection, "t", None).cancel(by="ann"))
        await sleep(10)
        for each in (client, engine):
            await each.stop()
        return said

    assert run(main()) == answer
