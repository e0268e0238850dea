"""Reminders and rounds: they come when they are due or called for, never die, and do not pile up."""

import asyncio
from collections.abc import Awaitable, Callable

from makegood.agenda import Agenda, every
from makegood.errors import StoreUnavailable
from makegood.testing.virtual import VirtualClock, run, virtual_loop


def test_a_moment_noted_again_is_one_reminder_until_it_has_come() -> None:
    async def main() -> list[tuple[str, float]]:
        clock, looks = VirtualClock(), list[tuple[str, float]]()
        agenda = Agenda(clock.wall, lambda task_id: looks.append((task_id, round(virtual_loop().seconds, 1))))
        first = clock.wall() + 1000
        for _ in range(1000):
            agenda.note("t", first + 1000)
            agenda.note("t", first)
        await asyncio.sleep(5)
        agenda.note("t", first)
        await asyncio.sleep(5)
        return looks

    assert run(main()) == [("t", 1), ("t", 2), ("t", 5)]


def rounds_made(
    meanwhile: Callable[[asyncio.Event, asyncio.Task[None]], Awaitable[None]],
    *trouble: Exception,
    lasting: float = 0,
) -> list[float]:
    """The seconds at which rounds a second apart were begun; the first of them meet `trouble`."""

    async def main() -> list[float]:
        begun, troubles, sooner = list[float](), list(trouble), asyncio.Event()

        async def rounds() -> None:
            begun.append(round(virtual_loop().seconds, 3))
            await asyncio.sleep(lasting)
            if troubles:
                raise troubles.pop(0)

        task = asyncio.create_task(every(1, rounds, "a room", sooner=sooner))
        await meanwhile(sooner, task)
        task.cancel()
        await asyncio.wait([task], timeout=1)
        assert task.cancelled()
        at_the_end = list(begun)
        await asyncio.sleep(10)
        assert begun == at_the_end, "cancelled, and goes on"
        return begun

    return run(main())


async def nothing(sooner: asyncio.Event, task: asyncio.Task[None]) -> None:
    await asyncio.sleep(3.5)


def test_rounds_come_by_themselves_whatever_they_meet() -> None:
    assert rounds_made(nothing) == [0, 1, 2, 3]
    assert rounds_made(nothing, StoreUnavailable("away"), ZeroDivisionError()) == [0, 1, 2, 3]


def test_rounds_come_at_once_when_they_are_called_for_and_then_a_whole_period_later() -> None:
    async def called(sooner: asyncio.Event, task: asyncio.Task[None]) -> None:
        await asyncio.sleep(0.25)
        sooner.set()
        await asyncio.sleep(1.5)

    assert rounds_made(called) == [0, 0.25, 1.25]


def test_a_call_during_the_rounds_is_not_lost() -> None:
    async def called(sooner: asyncio.Event, task: asyncio.Task[None]) -> None:
        await asyncio.sleep(0.25)
        sooner.set()
        await asyncio.sleep(0.5)

    assert rounds_made(called, lasting=0.5) == [0, 0.5]
