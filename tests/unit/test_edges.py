"""What comes in at the edges: odd exceptions, odd texts, damaged records. None of it harms another task."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from makegood import (
    Agent,
    Makegood,
    PlanDefinition,
    Refused,
    Retry,
    Task,
    Transient,
    UndoRetry,
    call,
    plan,
    step,
)
from makegood.authoring.places import place_of
from makegood.errors import ActRefused, PayloadError, StoreError, StoreUnavailable, UnknownTask
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


PLACE = place_of(give_back)


@shop.action(undo=give_back)
def sell(what: str) -> str:
    if what in RAISED:
        raise RAISED[what]
    booked.append(call().task_id)
    return what


@shop.action(undo=give_back)
async def sell_async(what: str) -> str:
    return sell(what)


@plan
def sale(what: str) -> str:
    return step(sell, what)


@plan
def async_sale(what: str) -> str:
    return step(sell_async, what)


def start_giving_back(done: str | None) -> Any:
    return give_back(done)


async def forget_to_await(done: str | None) -> Any:
    return give_back(done)


def engine(folder: Path) -> Makegood:
    return Makegood(f"sqlite:///{folder / 'tasks.db'}", agents=[shop])


@pytest.mark.parametrize("what", RAISED)
@pytest.mark.parametrize("trade", [sale, async_sale], ids=["thread", "async"])
def test_whatever_is_raised_becomes_a_report(
    tmp_path: Path, trade: PlanDefinition[str, str], what: str
) -> None:
    """A certain refusal stays one, and what may have worked parks at once, not when its lease ends."""

    async def main() -> tuple[str, list[dict[str, Any]]]:
        async with engine(tmp_path) as makegood:
            task = await makegood.submit(trade, what)
            state = await task.wait(7)
            return state, await task.history()

    state, history = asyncio.run(main())
    certain = what not in ("stop", "mute", "exit")
    assert state == ("Compensated" if certain else "Failed")
    assert any(fact["fact"] == "Reported" for fact in history)
    assert len(str(history)) < 50_000


@pytest.mark.parametrize("undo", [start_giving_back, forget_to_await])
def test_an_undo_that_only_says_what_is_to_be_awaited_has_undone_nothing(
    tmp_path: Path, undo: Callable[[str | None], Any]
) -> None:
    stall = Agent("stall", timeout=0.5, settle=0.1, keyed=True, undo_retry=UndoRetry(within=0.1))

    @stall.action(undo=undo)
    async def lend(what: str) -> str:
        return call().key

    @stall.action(undo=None)
    async def pay(what: str) -> str:
        raise Refused(f"no credit, {call().key}")

    @plan
    def loan(what: str) -> None:
        step(lend, what)
        step(pay, what)

    async def main() -> None:
        async with Makegood(f"sqlite:///{tmp_path / 'tasks.db'}", agents=[stall]) as makegood:
            task = await makegood.submit(loan, "tent")
            assert await task.wait(7) == "Failed"
            words = f"it returned a call of give_back ({PLACE}) without await, so that nothing of"
            assert words in await task.why()

    asyncio.run(main())


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
            with pytest.raises(StoreError, match="cannot be read here"):
                await makegood.task("damaged").cancel()
            return result, list((await makegood.list()).tasks)

    result, listed = asyncio.run(main())
    assert result == "kettle"
    damaged = next(task for task in listed if task["taskId"] == "damaged")
    assert "cannot be read" in damaged["reason"]


NOBODY: Any = 5
ACTS: dict[str, Callable[[Task[str]], Awaitable[str]]] = {
    "cancel": lambda task: task.cancel(by=NOBODY),
    "pause": lambda task: task.pause(by=NOBODY),
    "resume": lambda task: task.resume(by=NOBODY),
    "retry": lambda task: task.retry("sell", by=NOBODY),
    "skip": lambda task: task.skip("sell", by=NOBODY),
    "resolve": lambda task: task.resolve("sell", "done", by=NOBODY),
    "the reason": lambda task: task.pause(why=NOBODY),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_who_acts_and_why_are_text(tmp_path: Path, act: Callable[[Task[str]], Awaitable[str]]) -> None:
    async def main() -> list[dict[str, Any]]:
        async with Makegood(f"sqlite:///{tmp_path / 'tasks.db'}") as client:
            task = await client.submit(sale, "kettle", task_id="t")
            before = await task.history()
            with pytest.raises(ActRefused, match="are text"):
                await act(task)
            assert await task.history() == before
            return before

    assert asyncio.run(main())


def test_tags_are_text(tmp_path: Path) -> None:
    async def main() -> None:
        async with Makegood(f"sqlite:///{tmp_path / 'tasks.db'}") as client:
            odd: Any = {"customer": 42}
            with pytest.raises(PayloadError, match="tags"):
                await client.submit(sale, "kettle", tags=odd)
            assert (await client.list()).tasks == []

    asyncio.run(main())


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
