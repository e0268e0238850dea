"""Threads in virtual time: never two things at once, and nobody is left waiting."""

import asyncio

import pytest

from makegood import Agent, call
from makegood.testing import FakeService, Ledger, lost_answer, rehearse
from makegood.testing.rehearsal.performance import Performance, TurnedClock
from makegood.testing.rehearsal.promises import Promise
from makegood.testing.virtual import Abandoned, Process, run, strand, virtual_loop
from tests.rehearsal import shops


async def after(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return virtual_loop().seconds


def wait(seconds: float) -> float:
    thread = strand()
    assert thread is not None
    return thread.wait(after(seconds))


def test_a_thread_and_the_loop_take_turns() -> None:
    told: list[str] = []

    def work(name: str) -> float:
        told.append(f"{name} begins")
        now = wait(1.0)
        told.append(f"{name} ends")
        return now

    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(None, work, name) for name in "ab"))

    assert run(main()) == [1.0, 1.0]
    assert told == ["a begins", "b begins", "a ends", "b ends"]


def test_what_a_thread_raises_is_raised() -> None:
    def work() -> None:
        wait(0.5)
        raise ValueError("by the thread")

    async def main() -> None:
        await asyncio.get_running_loop().run_in_executor(None, work)

    with pytest.raises(ValueError, match="by the thread"):
        run(main())


def test_a_thread_of_a_dead_process_goes_no_further_and_ends_with_its_world() -> None:
    told: list[str] = []

    def work() -> None:
        try:
            wait(2.0)
            told.append("goes on")
        except Exception:
            told.append("swallows")
        finally:
            told.append("leaves")

    async def main() -> None:
        async def calls() -> None:
            await asyncio.get_running_loop().run_in_executor(None, work)

        process = Process()
        calling = process.start(calls())
        await asyncio.sleep(1)
        process.freeze()
        await asyncio.sleep(10)
        assert told == []
        assert not calling.done()

    run(main())
    assert told == ["leaves"]
    assert issubclass(Abandoned, BaseException)
    assert not issubclass(Abandoned, Exception)


def test_what_a_service_raises_for_a_dead_process_is_nobodys_fault() -> None:
    hotels = FakeService("hotels")
    agent = Agent("hotel", timeout=10, keyed=True)

    def cannot(ledger: Ledger) -> None:
        raise ValueError("raised inside the service")

    @agent.action(undo=None)
    def book(guest: str) -> None:
        call().key  # noqa: B018  # read, as its agent declares
        hotels.sync.call(cannot)

    report = rehearse(shops.shop(agent, book).plan, agents=[agent])
    assert Promise.ENGINE not in {found.broken.promise for found in report.broken}, f"{report}"


def test_out_of_a_thread_there_is_no_strand() -> None:
    assert strand() is None


def test_tasks_on_one_clock_have_services_of_their_own() -> None:
    shop = shops.keyed(FakeService("hotels", keyed=True))
    with TurnedClock() as clock:
        both = [Performance(clock, shop.plan, lost_answer("book"), agents=[shop.agent]) for _ in range(2)]
        clock.advance(60)
        assert [task.state for task in both] == ["Completed", "Completed"]
        assert [task.record["steps"][0]["result"] for task in both] == ["hotels-1", "hotels-1"]
        assert [task.broken for task in both] == [[], []]
