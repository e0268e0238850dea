"""Store time never falls, whatever the wall clocks of the processes do."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from makegood.clock import Clock, SystemClock
from makegood.store.memory import MemoryFile, MemoryStore
from makegood.store.protocol import Store
from makegood.store.sqlite import SqliteStore
from makegood.testing.conformance import change, member
from tests.store.clocks import TurnedClock

TEN_YEARS = 10 * 365 * 24 * 3600 * 1000
START = TurnedClock().wall()

WithClock = Callable[[Clock], Store]
T = TypeVar("T")


@pytest.fixture(params=["memory", "sqlite"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> WithClock:
    """Gives another process's store on the same data, with the clock of that process's machine."""
    file = MemoryFile()
    if request.param == "memory":
        return lambda clock: MemoryStore(file, clock=clock)
    return lambda clock: SqliteStore(tmp_path / "tasks.db", clock=clock)


async def entered(process: WithClock, clock: Clock) -> Store:
    store = process(clock)
    await store.open()
    return store


def test_after_a_jump_forward_and_back_time_goes_on_from_the_mark(process: WithClock) -> None:
    async def scenario() -> None:
        clock = TurnedClock()
        store = await entered(process, clock)
        assert await store.now() == START
        clock.turn(TEN_YEARS)
        await store.commit([change()])
        assert store.stamp().at == START + TEN_YEARS
        clock.turn(-TEN_YEARS)
        clock.go_on(5)
        assert await store.now() == START + TEN_YEARS + 5000
        await store.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("crashes", [False, True])
def test_the_mark_holds_for_other_processes_and_later_ones(process: WithClock, crashes: bool) -> None:
    async def scenario() -> None:
        wrong, right = TurnedClock(), TurnedClock()
        wrong.turn(TEN_YEARS)
        first = await entered(process, wrong)
        await first.commit([change()])
        if not crashes:
            await first.close()
        second = await entered(process, right)
        assert await second.now() == START + TEN_YEARS
        right.go_on(2)
        assert await second.now() == START + TEN_YEARS + 2000
        await second.commit([change(base=1)])
        third = await entered(process, TurnedClock())
        assert await third.now() == START + TEN_YEARS + 2000
        for store in (first, second, third):
            await store.close()

    asyncio.run(scenario())


def test_a_moment_that_was_only_read_does_not_come_again(process: WithClock) -> None:
    async def scenario() -> None:
        clock = TurnedClock()
        store = await entered(process, clock)
        clock.turn(60_000)
        assert await store.now() == START + 60_000
        clock.turn(-90_000)
        assert await store.now() == START + 60_000
        await store.commit([change()])
        assert store.stamp().at == START + 60_000
        await store.close()

    asyncio.run(scenario())


def test_once_the_wall_clock_is_ahead_again_it_is_followed(process: WithClock) -> None:
    async def scenario() -> None:
        clock = TurnedClock()
        store = await entered(process, clock)
        await store.commit([change()])
        clock.turn(-3000)
        clock.go_on(1)
        assert await store.now() == START + 1000
        clock.turn(10_000)
        assert await store.now() == START - 3000 + 1000 + 10_000
        await store.close()

    asyncio.run(scenario())


def test_asking_often_does_not_hold_time_up(process: WithClock) -> None:
    async def scenario() -> None:
        clock = TurnedClock()
        store = await entered(process, clock)
        await store.commit([change()])
        clock.turn(-TEN_YEARS)
        for _ in range(1000):
            clock.go_on(0.0004)
            await store.now()
        assert abs(await store.now() - (START + 400)) <= 1
        await store.close()

    asyncio.run(scenario())


def test_a_moment_that_was_only_read_is_no_mark_for_others(process: WithClock) -> None:
    """Others may still be given an earlier one; after what was written they are not."""

    async def scenario() -> None:
        ahead = TurnedClock()
        ahead.turn(60_000)
        first, second = await entered(process, ahead), await entered(process, TurnedClock())
        await second.commit([change("a")])
        await first.now()
        assert (first.stamp().at, first.stamp().mark) == (START + 60_000, START)
        await second.commit([change("b")])
        assert (second.stamp().at, second.stamp().mark) == (START, START)
        await first.commit([change("c")])
        assert first.stamp().mark == START + 60_000 == await second.now() == second.stamp().mark
        for store in (first, second):
            await store.close()

    asyncio.run(scenario())


def test_a_lease_lasts_by_store_time(process: WithClock) -> None:
    async def scenario() -> None:
        clock = TurnedClock()
        store = await entered(process, clock)
        await store.renew_member(member(), 5000)
        clock.turn(-TEN_YEARS)
        clock.go_on(4.999)
        [listed] = await store.members()
        assert listed.lease_until == START + 5000
        clock.go_on(0.001)
        assert list(await store.members()) == []
        await store.close()

    asyncio.run(scenario())


def test_the_stamp_says_when_it_was_seen(process: WithClock) -> None:
    async def scenario() -> None:
        clock = TurnedClock()
        store = process(clock)
        assert (store.stamp().at, store.stamp().seen, store.stamp().mark) == (0, 0, 0)
        await store.open()
        clock.go_on(3)
        await store.load(["task"])
        stamp = store.stamp()
        assert (stamp.at, stamp.seen, stamp.round_trip) == (START + 3000, clock.monotonic(), 0)
        await store.close()

    asyncio.run(scenario())


def test_the_machine_s_own_clock() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    assert clock.wall() > START - TEN_YEARS
    assert clock.monotonic() >= before


class FreezingClock(TurnedClock):
    """Its process is frozen for eight seconds after one of its looks at a clock."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks = looks

    def wall(self) -> int:
        return self._looked(super().wall())

    def monotonic(self) -> float:
        return self._looked(super().monotonic())

    def _looked(self, found: T) -> T:
        self._looks -= 1
        if not self._looks:
            self.go_on(8)
        return found


@pytest.mark.parametrize("looks", range(1, 20))
def test_time_that_a_process_is_frozen_for_between_two_clocks_passes_once(
    process: WithClock, looks: int
) -> None:
    async def scenario() -> None:
        clock = FreezingClock(looks)
        store = await entered(process, clock)
        for _ in range(10):
            await store.commit([change()])
            assert store.stamp().at <= clock.wall()
        await store.close()

    asyncio.run(scenario())
