"""What comes in at the edges: odd exceptions, odd texts, damaged records. None of it harms another task."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from makegood import Agent, Makegood, Refused, Retry, Transient, call, plan, step
from makegood.errors import (
    ActRefused,
    PayloadError,
    StoreUnavailable,
    SubmissionConflict,
    UnknownTask,
)
from makegood.payload import codec_for

shop = Agent("shop", timeout=5, settle=0.2, retry=Retry(attempts=1))
booked: list[str] = []


class Mute(Exception):
    """Cannot even say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


RAISED: dict[str, BaseException] = {
    "stop": StopIteration(),
    "surrogate": Refused("sold out \udcff"),
    "not a number": Transient("later", retry_after=float("nan")),
    "for ever": Transient("later", retry_after=float("inf")),
    "long": Refused("x" * 100_000),
    "mute": Mute(),
    "exit": SystemExit(3),
}


async def give_back(done: str | None) -> None: ...


@shop.action(undo=give_back)
def sell(what: str) -> str:
    if what in RAISED:
        raise RAISED[what]
    booked.append(call().task_id)
    return what


@shop.action(undo=give_back)
async def slowly(what: str) -> str:
    await asyncio.sleep(0.3)
    booked.append(call().task_id)
    return what


@plan
def sale(what: str) -> str:
    return step(sell, what)


@plan
def long_sale(what: str) -> str:
    step.options(name="first")(slowly, what)
    return step(sell, what)


def engine(folder: Path) -> Makegood:
    return Makegood(f"sqlite:///{folder / 'tasks.db'}", agents=[shop])


@pytest.mark.parametrize("what", RAISED)
def test_whatever_is_raised_becomes_a_report(tmp_path: Path, what: str) -> None:
    """A certain refusal stays one, and what may have worked parks at once, not when its lease ends."""

    async def main() -> tuple[str, dict[str, Any]]:
        async with engine(tmp_path) as makegood:
            task = await makegood.submit(sale, what)
            await asyncio.sleep(0)
            state = await task.wait(7)
            return state, await task.record()

    state, record = asyncio.run(main())
    certain = what not in ("stop", "mute", "exit")
    assert state == ("Compensated" if certain else "Failed")
    assert "fell silent" not in str(record)


def test_an_id_that_no_task_can_have_is_unknown_and_stops_nobody(tmp_path: Path) -> None:
    async def main() -> str:
        async with engine(tmp_path) as makegood:
            for odd in ("x\udcff", "", "a b", "x" * 101):
                with pytest.raises(UnknownTask):
                    await makegood.task(odd).cancel()
                with pytest.raises(UnknownTask):
                    await makegood.task(odd).record()
            return await (await makegood.submit(sale, "kettle")).result(10)

    assert asyncio.run(main()) == "kettle"


def test_a_damaged_record_harms_no_other_task_and_is_listed_as_such(tmp_path: Path) -> None:
    async def main() -> tuple[str, list[dict[str, Any]]]:
        async with Makegood(f"sqlite:///{tmp_path / 'tasks.db'}") as client:
            await client.submit(sale, "kettle", task_id="damaged")
            await client.submit(sale, "kettle", task_id="healthy")
        database = apsw.Connection(str(tmp_path / "tasks.db"))
        database.execute("UPDATE tasks SET head = x'c1' WHERE task_id = 'damaged'")
        database.close()
        async with engine(tmp_path) as makegood:
            result = await makegood.task("healthy").result(10)
            return result, list((await makegood.list()).tasks)

    result, listed = asyncio.run(main())
    assert result == "kettle"
    damaged = next(task for task in listed if task["taskId"] == "damaged")
    assert "cannot be read" in damaged["reason"]


def test_what_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    async def main() -> str:
        async with engine(tmp_path) as makegood:
            odd: Any = {"customer": 42}
            with pytest.raises(PayloadError, match="tags"):
                await makegood.submit(sale, "kettle", tags=odd)
            task = await makegood.submit(long_sale, "kettle", task_id="t")
            nobody: Any = 5
            with pytest.raises(ActRefused, match="text"):
                await task.pause(by=nobody)
            return await task.result(10)

    assert asyncio.run(main()) == "kettle"


def test_a_conflicting_submission_drops_no_report(tmp_path: Path) -> None:
    """A shorter plan under the id of a running task, again and again while its reports come in."""
    booked.clear()

    async def main() -> str:
        async with engine(tmp_path) as makegood:
            task = await makegood.submit(long_sale, "kettle", task_id="t")
            until = time.monotonic() + 0.6
            while time.monotonic() < until:
                with pytest.raises(SubmissionConflict):
                    await makegood.submit(sale, "kettle", task_id="t")
            return await task.result(10)

    assert asyncio.run(main()) == "kettle"
    assert booked == ["t", "t"]


def test_trouble_before_the_send_is_no_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The history cannot be read once, on a task taken over: the call was not sent, so nobody is asked."""
    booked.clear()

    async def main() -> str:
        async with Makegood(f"sqlite:///{tmp_path / 'tasks.db'}") as client:
            await client.submit(sale, "kettle", task_id="t")
        async with engine(tmp_path) as makegood:
            store = makegood._store
            history = store.history
            failed: list[str] = []

            async def fails_once(task_id: str, *, after: int = 0) -> Any:
                if not failed:
                    failed.append(task_id)
                    raise StoreUnavailable("the disk sleeps")
                return await history(task_id, after=after)

            monkeypatch.setattr(store, "history", fails_once)
            return await makegood.task("t").wait(15)

    assert asyncio.run(main()) == "Completed"
    assert booked == ["t"]


def test_leaving_waits_for_a_call_that_cannot_be_cut_off(tmp_path: Path) -> None:
    """A thread that is left behind could book after another engine has waited its call out."""
    begun, landed = threading.Event(), threading.Event()
    stubborn = Agent("stubborn", timeout=0.3, settle=0.1)

    @stubborn.action(undo=give_back)
    def hold(what: str) -> str:
        begun.set()
        time.sleep(1.5)
        landed.set()
        return what

    @plan
    def holds(what: str) -> None:
        step(hold, what)

    async def main() -> str:
        with pytest.raises(ZeroDivisionError):
            async with Makegood(f"sqlite:///{tmp_path / 'tasks.db'}", agents=[stubborn]) as makegood:
                task = await makegood.submit(holds, "it", task_id="t")
                while not begun.is_set():
                    await asyncio.sleep(0.01)
                raise ZeroDivisionError
        assert landed.is_set()
        async with Makegood(f"sqlite:///{tmp_path / 'tasks.db'}") as client:
            return await client.task(task.task_id).wait(5)

    assert asyncio.run(main()) == "Completed"


def nested(depth: int) -> Any:
    value: Any = "[{"
    for _ in range(depth):
        value = [value]
    return value


def test_a_result_nested_too_deep_is_refused_before_it_is_written() -> None:
    codec = codec_for(Any)
    assert codec.decode(codec.encode(nested(200))) == nested(200)
    for depth in (201, 600, 980):
        with pytest.raises(PayloadError, match="nested"):
            codec.encode(nested(depth))
    assert codec.encode([["[", "{"]] * 300)  # many brackets, none of them deep
