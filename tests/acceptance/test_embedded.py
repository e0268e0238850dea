"""The engine inside a program: several in one process, left with tasks open, asked one thing many times."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from makegood import Compensated, Makegood, MakegoodError
from makegood.client import Where
from makegood.errors import SubmissionConflict, UnknownTask
from tests.acceptance import slow, trips
from tests.acceptance.yard import Yard


@pytest.fixture(autouse=True)
def _ledger(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER", str(yard.ledger.path))


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await work()

    asyncio.run(bounded())


AGENTS = [trips.flights, trips.cars, trips.notes]


def test_two_engines_in_one_process_share_a_store(yard: Yard) -> None:
    async def work() -> None:
        async with Makegood(yard.store_url, AGENTS) as one, Makegood(yard.store_url, AGENTS) as other:
            tasks = [
                await mg.submit(trips.book_trip, trips.Trip(after=0.1, car="lossy"), task_id=f"trip-{n}")
                for n in range(20)
                for mg in ((one, other)[n % 2],)
            ]
            for task in tasks:
                assert await task.result(30)
            assert len(await one.members()) == 2
        states = {f"trip-{n}": "Completed" for n in range(20)}
        assert yard.ledger.wrong(states, steps=2) == []

    run(work)


def test_left_with_tasks_open_they_are_there_when_it_is_entered_again(yard: Yard) -> None:
    async def work() -> None:
        async with Makegood(yard.store_url, AGENTS) as makegood:
            await makegood.submit(trips.book_trip, trips.Trip(before=1), task_id="task")
            while not (await makegood.task("task").record())["steps"][0].get("attempt"):
                await asyncio.sleep(0.01)
        async with Makegood(yard.store_url) as client:  # the running call had its grace, and was recorded
            record = await client.task("task").record()
            assert record["steps"][0]["state"] == "Completed"
            assert record["state"] == "Running"
            assert await client.members() == []
        async with Makegood(yard.store_url, AGENTS) as makegood:
            assert await makegood.task("task").wait(30) == "Completed"
        assert yard.ledger.wrong({"task": "Completed"}, steps=2) == []

    run(work)


def test_left_by_an_error_it_does_not_wait_for_calls(yard: Yard) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(ZeroDivisionError):
            async with Makegood(yard.store_url, [slow.long_agent]) as makegood:
                await makegood.submit(slow.lingering, 30, task_id="task")
                while not yard.ledger.visits():
                    await asyncio.sleep(0.02)
                left = loop.time()
                raise ZeroDivisionError
        assert loop.time() - left < 3

    run(work)
    assert yard.states() == {"task": "Running"}


def test_the_same_id_at_once_is_one_task(yard: Yard) -> None:
    async def work() -> None:
        async with Makegood(yard.store_url, AGENTS) as one, Makegood(yard.store_url) as other:
            for round_ in range(5):
                name = f"note-{round_}"
                tasks = await asyncio.gather(
                    *((one, other)[n % 2].submit(trips.note, 7, task_id=name) for n in range(50))
                )
                assert {await task.result(30) for task in tasks} == {f"{name}-take_note: 7"}
            assert len((await one.list()).tasks) == 5

    run(work)


def test_another_input_at_once_is_a_conflict_for_all_but_one(yard: Yard) -> None:
    async def work() -> None:
        async with Makegood(yard.store_url, AGENTS) as makegood:
            answers = await asyncio.gather(
                *(makegood.submit(trips.note, number, task_id="note") for number in range(50)),
                return_exceptions=True,
            )
            conflicts = [answer for answer in answers if isinstance(answer, SubmissionConflict)]
            assert len(conflicts) == 49
            [winner] = [n for n, answer in enumerate(answers) if not isinstance(answer, BaseException)]
            assert await makegood.task("note").result(30) == f"note-take_note: {winner}"
            with pytest.raises(SubmissionConflict, match="with plan 'note', not 'book_trip'"):
                await makegood.submit(trips.book_trip, trips.Trip(), task_id="note")

    run(work)


def test_what_a_caller_waits_for(yard: Yard) -> None:
    async def work() -> None:
        async with Makegood(yard.store_url, AGENTS) as engine, Makegood(yard.store_url) as client:
            task = await client.submit(trips.book_trip, trips.Trip(car="refused"), task_id="task")
            with pytest.raises(Compensated, match="sold out"):
                await task.result(30)
            assert await engine.task("task").wait(1) == "Compensated"
            open_task = await client.submit(trips.book_trip, trips.Trip(before=2), task_id="open")
            with pytest.raises(TimeoutError):
                await open_task.wait(0.3)
            with pytest.raises(UnknownTask):
                await client.task("nobody").wait(1)
            with pytest.raises(MakegoodError, match="'Gone' is no state"):
                await client.list(Where(states=("Gone",)))
            assert await open_task.wait(30) == "Completed"

    run(work)


def test_a_store_in_memory_needs_no_file(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood("memory:", AGENTS) as makegood:
            task = await makegood.submit(trips.note, 1, task_id="note")
            assert await task.result(30) == "note-take_note: 1"

    run(work)
