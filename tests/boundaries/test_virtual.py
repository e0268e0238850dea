"""Virtual time itself: it leaps, it keeps order, and a process stops in place."""

import asyncio

import pytest

from makegood.testing.virtual import EPOCH, NothingHappens, Process, VirtualClock, halt, run, virtual_loop


def test_time_leaps_to_the_next_timer() -> None:
    async def main() -> list[tuple[str, float]]:
        seen: list[tuple[str, float]] = []

        async def wakes(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            seen.append((name, virtual_loop().seconds))

        await asyncio.gather(wakes("late", 86_400 * 30.0), wakes("soon", 1.0), wakes("also soon", 1.0))
        return seen

    assert run(main()) == [("soon", 1.0), ("also soon", 1.0), ("late", 86_400 * 30.0)]


def test_a_timeout_is_a_virtual_one() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.sleep(7200)
        return virtual_loop().seconds

    assert run(main()) == 3600.0


def test_a_loop_in_which_nothing_can_happen_says_so() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingHappens, match="no timer"):
        run(main())


def test_a_frozen_process_goes_on_where_it_stopped() -> None:
    async def main() -> list[float]:
        ticks: list[float] = []

        async def tick() -> None:
            while True:
                await asyncio.sleep(1)
                ticks.append(virtual_loop().seconds)

        process = Process()
        ticking = process.start(tick())
        await asyncio.sleep(2.5)
        process.freeze()
        await asyncio.sleep(10)
        process.thaw()
        await asyncio.sleep(1.2)
        assert not ticking.done()
        return list(ticks)

    assert run(main()) == [1.0, 2.0, 12.5, 13.5]


def test_not_a_line_of_a_dead_process_runs() -> None:
    async def main() -> list[str]:
        done: list[str] = []
        process = Process()

        async def child() -> None:
            await asyncio.sleep(0.5)
            done.append("child")

        async def parent() -> None:
            asyncio.get_running_loop().call_later(0.5, done.append, "timer")
            task = asyncio.create_task(child())
            try:
                done.append("alive")
                process.freeze()
                await halt()
                done.append("after")
            finally:
                done.append("finally")
                task.cancel()

        dead = process.start(parent())
        await asyncio.sleep(5)
        assert not dead.done()
        return list(done)

    assert run(main()) == ["alive"]


def test_what_was_cancelled_while_its_process_was_frozen_does_not_run() -> None:
    async def main() -> list[str]:
        done: list[str] = []
        process = Process()

        async def sets_a_timer() -> asyncio.TimerHandle:
            return asyncio.get_running_loop().call_later(1, done.append, "rang")

        timer = await process.start(sets_a_timer())
        process.freeze()
        await asyncio.sleep(2)
        timer.cancel()
        process.thaw()
        await asyncio.sleep(1)
        return done

    assert run(main()) == []


def test_what_a_dead_process_was_told_it_does_not_act_on_when_the_world_ends() -> None:
    """Its wake-up lies ready for as long as it is dead; at the end its task is cancelled."""
    done: list[str] = []

    async def main() -> None:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def waits() -> None:
            try:
                done.append(await answer)
            finally:
                done.append("let go")

        process = Process()
        waiting = process.start(waits())
        await asyncio.sleep(1)
        process.freeze()
        answer.set_result("went on")
        await asyncio.sleep(1)
        assert not waiting.done()

    run(main())
    assert done == ["let go"]


def test_clocks_are_those_of_the_loop_and_a_wall_may_jump() -> None:
    async def main() -> list[float]:
        clock = VirtualClock(ahead=5_000)
        await asyncio.sleep(2)
        first = clock.wall() - EPOCH
        clock.ahead -= 60_000
        return [first, clock.wall() - EPOCH, clock.monotonic()]

    assert run(main()) == [7_000, -53_000, 2.0]
