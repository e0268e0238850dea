"""Submitting many tasks at once, and tasks that start later."""

import asyncio
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from makegood import Agent, Makegood, MakegoodError, plan, step
from makegood.client.submitting import LATEST_START, SUBMITTED_MAX
from makegood.clock import SystemClock
from makegood.errors import PayloadError, StoreUnavailable, SubmissionConflict
from makegood.store.sqlite import SqliteStore
from tests.client.sample import Order, lamps, light, run


def store(folder: Path) -> str:
    return f"sqlite:///{folder}/tasks.db"


def commits(folder: Path) -> int:
    """How many moments of store time the first rows of all tasks were written at."""
    with sqlite3.connect(folder / "tasks.db") as db:
        rows = db.execute("SELECT body FROM history WHERE version = 1").fetchall()
    return len({bytes(body if isinstance(body, bytes) else body.encode())[:15] for (body,) in rows})


def test_many_tasks_are_entered_in_one_commit(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path)) as client:
            tasks = await client.submit_many(light, [Order(f"{n}") for n in range(SUBMITTED_MAX)])
            assert len({task.task_id for task in tasks}) == SUBMITTED_MAX
            assert commits(tmp_path) == 1
            assert len(await client.find()) == SUBMITTED_MAX

    run(work)


def test_they_run_and_the_same_again_is_what_is_there(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path), [lamps]) as makegood:
            orders, names = [Order("ann"), Order("ben")], ["a", "b"]
            for _ in range(2):
                tasks = await makegood.submit_many(light, orders, task_ids=names, tags={"batch": "1"})
                assert [await task.result(20) for task in tasks] == ["lamp for ann", "lamp for ben"]
                assert (await tasks[0].record())["tags"] == {"batch": "1"}

    run(work)


def test_whoever_submits_while_it_closes_is_told_and_told_the_truth(tmp_path: Path) -> None:
    async def closed_after(turns: int) -> None:
        async with Makegood(store(tmp_path)) as client:
            submitting = asyncio.create_task(client.submit(light, Order("ann"), task_id=f"t{turns}"))
            for _ in range(turns):
                await asyncio.sleep(0)
        [said] = await asyncio.gather(asyncio.wait_for(submitting, 5), return_exceptions=True)
        assert not isinstance(said, TimeoutError)
        async with Makegood(store(tmp_path)) as again:
            assert (f"t{turns}" in await again.find()) is not isinstance(said, StoreUnavailable)

    async def work() -> None:
        for turns in range(6):
            await closed_after(turns)

    run(work)


def test_from_another_loop_it_is_refused(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path)) as client:
            task = client.task("a")
            for use in (partial(client.submit, light, Order("ann")), task.cancel, task.wait):
                with pytest.raises(StoreUnavailable, match="opened in another event loop; use it there"):
                    await asyncio.to_thread(asyncio.run, asyncio.wait_for(use(), 5))

    run(work)


def test_it_may_be_closed_and_opened_again_once_its_loop_has_ended(tmp_path: Path) -> None:
    client = Makegood(store(tmp_path), [lamps])

    async def open_it() -> None:
        await client.__aenter__()
        await client.submit(light, Order("ann"), task_id="a")

    async def elsewhere() -> None:
        await client.__aenter__()
        try:
            with pytest.raises(StoreUnavailable, match="opened in another event loop; use it there"):
                await asyncio.to_thread(asyncio.run, client.__aexit__(None, None, None))
        finally:
            await client.__aexit__(None, None, None)

    async def leave_half_closed() -> None:
        await client.__aenter__()
        closing = asyncio.create_task(client.__aexit__(None, None, None))
        await asyncio.sleep(0)
        assert not closing.done()

    for begin in (open_it, leave_half_closed):
        asyncio.run(begin())
        asyncio.run(asyncio.wait_for(client.__aexit__(None, None, None), 5))
        asyncio.run(elsewhere())


def test_a_conflict_harms_no_other(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path)) as client:
            await client.submit(light, Order("ann"), task_id="a")
            with pytest.raises(SubmissionConflict, match=r"'a' is there already.*input\.name") as conflict:
                await client.submit_many(light, [Order("carl"), Order("ben")], task_ids=["a", "b"])
            assert set(await client.find()) == {"a", "b"}
            assert [(task.task_id, task.existed) for task in conflict.value.entered] == [("b", False)]
            again = await client.submit_many(
                light, [Order("ann"), Order("di")], task_ids=["a", "d"], deadline=5
            )
            assert [task.existed for task in again] == [True, False]
            assert "deadline" not in await again[0].record()

    run(work)


@dataclass
class Noted(Order):
    note: str | None = None


tomorrows = Agent("lamps")


@tomorrows.action(reads=True)
async def look_at(order: Noted) -> None: ...


@plan(name="light")
def light_of_tomorrow(order: Noted) -> None:
    step(look_at, order)


def test_a_submission_is_the_same_though_its_type_has_an_optional_field_more_since(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path)) as client:
            await client.submit(light, Order("ann"), task_id="a")
            await client.submit(light_of_tomorrow, Noted("ann"), task_id="a")
            with pytest.raises(SubmissionConflict, match=r"differs at input\.note"):
                await client.submit(light_of_tomorrow, Noted("ann", note="soon"), task_id="a")

    run(work)


def test_nothing_is_entered_when_one_input_cannot_be_written(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path)) as client:
            with pytest.raises(PayloadError, match=r"inputs\[1\]\.name"):
                await client.submit_many(light, [Order("ann"), Order(7)])  # type: ignore[arg-type]  # on purpose
            with pytest.raises(MakegoodError, match="was given the id 'a' twice"):
                await client.submit_many(light, [Order("ann"), Order("ben")], task_ids=["a", "a"])
            with pytest.raises(MakegoodError, match="was given 2 inputs and 1 id; give one each"):
                await client.submit_many(light, [Order("ann"), Order("ben")], task_ids=["a"])
            with pytest.raises(MakegoodError, match="takes 1,000; call it several times"):
                await client.submit_many(light, [Order("ann")] * (SUBMITTED_MAX + 1))
            assert await client.submit_many(light, []) == []
            assert await client.find() == []

    run(work)


def test_who_waits_in_vain_is_told_whether_anybody_is_up(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/tasks.db"

    async def work() -> None:
        async with Makegood(url) as client:
            task = await client.submit(light, Order("ann"), start_at=timedelta(days=1))
            with pytest.raises(
                TimeoutError, match=r"0\.1 s; no process is up on this store to go on with it"
            ):
                await task.result(0.1)
            async with Makegood(url, [lamps]):
                with pytest.raises(TimeoutError, match=r"0\.1 s; it goes on, and why\(\) says what"):
                    await task.result(0.1)

    run(work)


def test_nothing_of_a_task_starts_before_its_time(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path), [lamps]) as makegood:
            start = datetime.now(UTC) + timedelta(seconds=1.5)
            task = await makegood.submit(light, Order("ann"), start_at=start, task_id="later")
            await asyncio.sleep(0.5)
            assert "attempt" not in (await task.record())["steps"][0]
            told = await task.why()
            assert "the task is to start then" in told
            assert "waits for  its start (order_lamp)" in told
            assert start.strftime("%H:%M:%S") in told
            assert await task.result(20) == "lamp for ann"
            assert datetime.now(UTC) >= start
            assert any("startAt" in fact for fact in await task.history())

    run(work)


class DayAhead(SystemClock):
    def wall(self) -> int:
        return super().wall() + 86_400_000


@pytest.mark.parametrize("as_a_moment", [True, False])
def test_a_start_does_not_come_early_where_some_clock_was_ahead(tmp_path: Path, as_a_moment: bool) -> None:
    async def work() -> None:
        ahead = SqliteStore(tmp_path / "tasks.db", clock=DayAhead())
        await ahead.open()
        await ahead.remove_member("nobody")  # writes
        await ahead.close()
        now, hours = datetime.now(UTC), timedelta(hours=2)
        async with Makegood(store(tmp_path), [lamps]) as makegood:
            start = now + hours if as_a_moment else hours
            task = await makegood.submit(light, Order("ann"), start_at=start)
            until = datetime.fromisoformat((await task.record())["waiting"]["until"])
            assert abs(until - now - 13 * hours) < timedelta(minutes=1)
            past = await makegood.submit(light, Order("ben"), start_at=now - 24 * hours)
            assert await past.result(20) == "lamp for ben"

    run(work)


def test_a_person_may_start_it_now_or_cancel_it(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path), [lamps]) as makegood:
            tomorrow = datetime.now(UTC) + timedelta(days=1)
            now = await makegood.submit(light, Order("ann"), start_at=tomorrow, deadline=60)
            never = await makegood.submit(light, Order("ben"), start_at=tomorrow)
            await now.retry()
            await never.cancel()
            assert (await now.wait(20), await never.wait(20)) == ("Completed", "Compensated")

    run(work)


def test_the_deadline_counts_from_the_start(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path)) as client:
            start = datetime.now(UTC) + timedelta(days=1)
            task = await client.submit(light, Order("ann"), start_at=start, deadline=timedelta(hours=1))
            deadline = datetime.fromisoformat((await task.record())["deadline"])
            assert abs(deadline - start - timedelta(hours=1)) < timedelta(milliseconds=1)

    run(work)


@pytest.mark.parametrize("moment", [datetime(2030, 1, 1), "tomorrow", 5])  # noqa: DTZ001 - on purpose
def test_what_is_no_moment_is_refused(tmp_path: Path, moment: datetime) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path)) as client:
            with pytest.raises(MakegoodError, match="datetime with a time zone"):
                await client.submit(light, Order("ann"), start_at=moment)

    run(work)


class Broken(tzinfo):
    def utcoffset(self, moment: datetime | None) -> timedelta:
        raise ValueError("no zone at all")

    tzname = dst = utcoffset  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (datetime.max.replace(tzinfo=UTC), "too far ahead: it can be any moment before 8000-01-01"),
        (datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=12))), "too far ahead"),
        (datetime(2030, 1, 1, tzinfo=Broken()), "datetime with a time zone"),
    ],
    ids=["the last", "later than that", "no zone"],
)
def test_a_start_has_a_date_that_can_be_told(tmp_path: Path, moment: datetime, words: str) -> None:
    async def work() -> None:
        async with Makegood(store(tmp_path)) as client:
            with pytest.raises(MakegoodError, match=words):
                await client.submit(light, Order("ann"), start_at=moment)
            last = LATEST_START - timedelta(seconds=1)
            task = await client.submit(light, Order("ann"), start_at=last, deadline=9e8)
            assert (await task.record())["waiting"]["until"] == "7999-12-31T23:59:59.000Z"

    run(work)


def test_a_dict_is_no_input_where_a_class_is_declared(tmp_path: Path) -> None:
    wrong: Any = {"name": "ann"}
    words = r": plan light takes Order, not dict; give Order\(\.\.\.\), or JSON to submit_json"

    async def work() -> None:
        async with Makegood(store(tmp_path)) as client:
            with pytest.raises(PayloadError, match=f"input{words}"):
                await client.submit(light, wrong)
            with pytest.raises(PayloadError, match=rf"inputs\[1\]{words}"):
                await client.submit_many(light, [Order("ann"), wrong])
            with pytest.raises(PayloadError, match="takes Order, not None"):
                await client.submit(light)
            with pytest.raises(PayloadError, match="takes Order, an object with the fields name, trouble"):
                await client.submit_json(light, b'"ann"')

    run(work)
