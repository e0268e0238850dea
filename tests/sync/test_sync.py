"""The synchronous twin, from threads, from loops and at its end."""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from makegood import Agent, Compensated, MakegoodError, Refused, client, plan, step
from makegood.errors import ActRefused, PlanError, StoreError, SubmissionConflict, UnknownTask
from makegood.sync import Makegood, Task
from tests.sync.app import desk, stay


def ours() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("makegood")}


@pytest.fixture
def threads() -> Callable[[], list[str]]:
    """The threads left of what a test opened, as a process that ended before in this one keeps its own."""
    before = ours()
    return lambda: [thread.name for thread in ours() - before]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'stays.db'}"


def test_a_task_from_its_beginning_to_its_end(store: str, threads: Callable[[], list[str]]) -> None:
    with Makegood(store, [desk]) as makegood:
        task = makegood.submit(stay, "ann", task_id="stay-1")
        assert task.result(5) == "a room for ann"
        assert (task.wait(5), task.record()["state"]) == ("Completed", "Completed")
        assert task.history()[0]["fact"] == "TaskSubmitted"
        assert "Completed" in task.why()
        assert task.audit().task_id == "stay-1"
        assert makegood.task("stay-1").result() == "a room for ann"
        assert makegood.submit_json(stay, b'"bob"').result(5) == "a room for bob"
        assert [each.result(5) for each in makegood.submit_many(stay, ["eve", "joe"])][1] == "a room for joe"
        assert [each["taskId"] for each in makegood.list()] == makegood.find()
        assert len(makegood.list(limit=3)) == 3
        assert makegood.snapshot("stay-1").record["taskId"] == "stay-1"
        assert len(makegood.members()) == 1
        assert makegood.audit().findings == []
        assert repr(task) == "<task stay-1>"
        assert (task.existed, makegood.submit(stay, "ann", task_id="stay-1").existed) == (False, True)
        with pytest.raises(SubmissionConflict) as conflict:
            makegood.submit_many(stay, ["bob", "flo"], task_ids=["stay-1", "stay-9"])
        assert [entered.result(5) for entered in conflict.value.entered] == ["a room for flo"]
    assert threads() == []


def test_what_is_raised_is_raised_here(store: str) -> None:
    with Makegood(store, [desk]) as makegood:
        with pytest.raises(Compensated, match="a guest has a name"):
            makegood.submit(stay, "nobody").result(5)
        task = makegood.submit(stay, "ann")
        task.wait(5)
        with pytest.raises(ActRefused):
            task.cancel(by="ann")
        with pytest.raises(UnknownTask):
            makegood.task("nothing").record()
        acted = list(makegood.act_on([task.task_id, "nothing"], lambda task: task.pause(by="ann")))
    assert [each.refused for each in acted] == [True, True]


def test_eight_threads_submit_and_wait(store: str) -> None:
    with Makegood(store, [desk]) as makegood:

        def work(number: int) -> list[str]:
            return [makegood.submit(stay, f"{number}.{each}").result(20) for each in range(10)]

        with ThreadPoolExecutor(8) as pool:
            rooms = [room for each in pool.map(work, range(8)) for room in each]
    assert sorted(rooms) == sorted(f"a room for {number}.{each}" for number in range(8) for each in range(10))


def test_an_action_in_a_thread_may_submit(store: str) -> None:
    front = Agent("front", timeout=5)

    @front.action(undo=None)
    def send_on(guest: str) -> str:
        return makegood.submit(stay, guest).result(5)

    @front.action(undo=None)
    async def send_on_from_the_loop(guest: str) -> str:
        try:
            return makegood.submit(stay, guest).result(5)
        except MakegoodError as error:
            raise Refused(str(error)) from None

    @plan
    def sending(guest: str) -> str:
        return step(send_on, guest)

    @plan
    def sending_from_the_loop(guest: str) -> str:
        return step(send_on_from_the_loop, guest)

    with Makegood(store, [desk, front]) as makegood:
        assert makegood.submit(sending, "ann").result(5) == "a room for ann"
        with pytest.raises(Compensated, match="this thread runs an event loop"):
            makegood.submit(sending_from_the_loop, "ann").result(5)


def test_it_is_not_for_a_thread_with_a_loop(store: str, threads: Callable[[], list[str]]) -> None:
    async def inside() -> None:
        with pytest.raises(MakegoodError, match=r"use makegood.Makegood and await, or asyncio.to_thread"):
            Makegood(store).open()
        with pytest.raises(MakegoodError, match=r"use makegood.Makegood and await"):
            makegood.list()
        assert len((await asyncio.to_thread(makegood.list)).tasks) == 0

    with Makegood(store) as makegood:
        asyncio.run(inside())
    assert threads() == []


def test_it_is_used_while_it_is_open(store: str, threads: Callable[[], list[str]]) -> None:
    makegood = Makegood(store, [desk])
    with pytest.raises(MakegoodError, match="not open, or not any more; use it in a `with` block"):
        makegood.list()
    with makegood:
        task = makegood.submit(stay, "ann")
        with pytest.raises(MakegoodError, match="open already"):
            makegood.open()
    with pytest.raises(MakegoodError, match="not open, or not any more; use it in a `with` block"):
        task.result(5)
    makegood.open()
    assert task.result(5) == makegood.task(task.task_id).result(5) == "a room for ann"
    makegood.close()
    makegood.close()
    assert threads() == []


def test_who_waits_or_asks_while_it_is_closed_is_told(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    makegood, said = Makegood(store).open(), []
    task = makegood.submit(stay, "ann")  # nobody is there to do it

    def wait() -> None:
        with pytest.raises(MakegoodError, match="is not open, or not any more"):
            task.wait()
        said.append(True)

    async def leave_slowly(twin: client.Makegood, *error: Any) -> None:
        await leave(twin, *error)
        await asyncio.to_thread(waiting.join, 5)
        await asyncio.to_thread(wait)

    leave = client.Makegood.__aexit__
    monkeypatch.setattr(client.Makegood, "__aexit__", leave_slowly)
    waiting = threading.Thread(target=wait)
    waiting.start()
    with pytest.raises(TimeoutError, match=r"has not ended within 0\.2 s"):
        task.wait(0.2)
    makegood.close()
    assert said == [True, True]


def test_of_no_task_that_was_entered_it_is_said_that_nothing_was_open(store: str) -> None:
    makegood, refused = Makegood(store).open(), list[str]()

    def submit_until_closed(name: str) -> None:
        for number in count():
            try:
                makegood.submit(stay, "ann", task_id=f"{name}-{number}")
            except MakegoodError:
                refused.append(f"{name}-{number}")
                return

    with ThreadPoolExecutor(8) as threads:
        submitting = threads.map(submit_until_closed, "abcdefgh")
        time.sleep(0.1)
        makegood.close()
        list(submitting)
    with makegood:
        assert len(refused) == 8
        assert not {*refused} & {*makegood.find()}


def test_one_whose_closing_was_cut_off_may_be_opened_again(
    store: str, monkeypatch: pytest.MonkeyPatch, threads: Callable[[], list[str]]
) -> None:
    async def cut_off(*_: object) -> None:
        raise RuntimeError("enough")

    makegood = Makegood(store, [desk]).open()
    with monkeypatch.context() as meanwhile, pytest.raises(RuntimeError, match="enough"):
        meanwhile.setattr(client.Makegood, "__aexit__", cut_off)
        makegood.close()
    assert threads() == []
    with makegood:
        assert makegood.submit(stay, "ann").result(5) == "a room for ann"


def test_its_file_is_where_it_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    makegood = Makegood("sqlite:///stays.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    with makegood:
        assert [*tmp_path.glob("**/*.db")] == [tmp_path / "stays.db"]


def test_what_cannot_be_opened_leaves_no_thread(tmp_path: Path, threads: Callable[[], list[str]]) -> None:
    with pytest.raises(StoreError):
        Makegood(f"sqlite:///{tmp_path}").open()
    assert threads() == []
    with pytest.raises(PlanError, match="is no agent"):
        Makegood("memory:", ["desk"])  # type: ignore[list-item]  # what a user may get wrong
    with pytest.raises(StoreError, match="names no store"):
        Makegood("nothing:")


@pytest.mark.parametrize(("twin", "original"), [(Makegood, client.Makegood), (Task, client.Task)])
def test_nothing_of_the_client_is_missing(twin: type[Any], original: type[Any]) -> None:
    def public(kind: type[Any]) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(original) <= public(twin)
    for name in public(original):
        assert inspect.getdoc(getattr(twin, name)), name
