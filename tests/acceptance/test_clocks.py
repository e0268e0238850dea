"""A wall clock that jumps costs time at most: no call is given up before its time, and none made twice."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest

from makegood import Agent, Makegood, Transient, call, plan, step
from makegood.clock import SystemClock
from makegood.core.plan import Millis
from makegood.runtime.engine import Engine
from makegood.store.url import open_store
from tests.acceptance import trips
from tests.acceptance.yard import Yard

HOUR: Millis = 3_600_000
DAY = 24 * HOUR


class JumpingClock:
    """The machine's monotonic clock, beside a wall clock that is set forward and back while it runs."""

    def __init__(self) -> None:
        self._real = SystemClock()
        self._ahead: Millis = 0

    def wall(self) -> Millis:
        return self._real.wall() + self._ahead

    def monotonic(self) -> float:
        return self._real.monotonic()

    async def jump(self, jumps: Iterable[Millis]) -> None:
        """Set it so far ahead of the true time, a moment later otherwise, and so on for ever."""
        for ahead in itertools.cycle(jumps):
            self._ahead = ahead
            await asyncio.sleep(0.8)


late_agent = Agent("late-agent", timeout=4, settle=1)


async def cancel_late(booked: str | None) -> None:
    trips.ledger().cancel(call(), booked)


async def find_late() -> str | None:
    return trips.ledger().find(call())


@late_agent.action(undo=cancel_late, probe=find_late)
async def book_late(number: int) -> str:
    """Its service books long after it was asked, and knows no keys."""
    if call().attempt == 1:
        await asyncio.sleep(0.1)
        raise Transient("not yet")
    await asyncio.sleep(2.5)
    return trips.ledger().book(call(), keyed=False)


@plan
def lately(number: int) -> str:
    return step(book_late, number)


@asynccontextmanager
async def engine_whose_clock_jumps(url: str, jumps: Iterable[Millis]) -> AsyncIterator[None]:
    clock = JumpingClock()
    jumping = asyncio.create_task(clock.jump(jumps))
    engine = Engine(open_store(url, clock=clock), [late_agent, trips.notes], clock=clock)
    await engine.start()
    try:
        yield
    finally:
        await engine.stop()  # with time for every call that is still under way, rightly or not
        jumping.cancel()


@pytest.mark.parametrize(
    "jumps",
    [(0, HOUR, -HOUR, DAY, -DAY), (-DAY,), tuple(range(0, 1000 * HOUR, HOUR))],
    ids=["to and fro", "a day behind", "always further ahead"],
)
def test_no_call_is_given_up_before_its_time(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, jumps: tuple[Millis, ...]
) -> None:
    monkeypatch.setenv("LEDGER", str(yard.ledger.path))

    async def work() -> None:
        engine = engine_whose_clock_jumps(yard.store_url, jumps)
        async with engine, Makegood(yard.store_url) as client:
            tasks = [await client.submit(lately, n, task_id=f"late-{n}") for n in range(5)]
            tasks += [await client.submit(trips.note, n, task_id=f"note-{n}") for n in range(5)]
            for task in tasks:
                assert await task.wait(40) == "Completed"

    asyncio.run(work())
    states = {f"late-{n}": "Completed" for n in range(5)}
    assert yard.ledger.wrong(states, steps=1) == []
    moments = [row.at for row in yard.rows("late-0")]
    assert moments == sorted(moments)
