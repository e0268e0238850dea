"""What is logged names the task, the step and the attempt that it is about, for machines as well."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from makegood import Agent, Makegood, call, plan, step
from makegood.logs import JsonLines
from tests.client.sample import Order, lamps, light, run


def test_a_record_about_a_task_or_a_call_says_which(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [lamps]) as makegood:
            task = await makegood.submit(light, Order("ann", "doubt"), task_id="lamp")
            await task.wait(20)
            await task.pause()  # is written, and is no news of its parking

    with caplog.at_level(logging.DEBUG, "makegood"):
        run(work)
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    [raised] = [line for line in lines if "it raised Unknown" in line["message"]]
    assert raised["message"] == "lamp order_lamp (do, call 1): it raised Unknown: the line went dead"
    assert (raised["level"], raised["logger"]) == ("info", "makegood.agents")
    assert (raised["taskId"], raised["step"], raised["kind"], raised["attempt"]) == (
        "lamp",
        "order_lamp",
        "do",
        1,
    )
    assert raised["exception"].endswith("the line went dead")
    assert raised["at"].endswith("Z")
    [parked] = [line for line in lines if "is parked" in line["message"]]
    assert (parked["taskId"], parked["plan"], "step" in parked) == ("lamp", "light", False)


desk = Agent("desk", timeout=1, settle=0.1, keyed=True)
told: list[str] = []


async def forget(result: str | None, wish: str) -> None: ...


@desk.action(undo=forget)
async def book(wish: str) -> str:
    if wish == "sleep":
        await asyncio.sleep(5)
    elif wish == "rubbish":
        return object()  # type: ignore[return-value]
    elif wish != "no key":
        told.append(call().key)
    return wish


@desk.action(reads=True)
async def look(wish: str) -> str:
    return wish


@plan
def looked(wish: str) -> str:
    return step(look, wish)


@plan
def wished(wish: str) -> str:
    return step(book, wish)


@pytest.mark.parametrize(
    ("wish", "level", "words"),
    [
        ("sleep", "INFO", "it raised TimeoutError: no answer within 1 s"),
        ("rubbish", "WARNING", "it is done, but cannot be recorded: the result of book: an object of type"),
        ("no key", "WARNING", "book is declared keyed, but asked for neither call().key nor call().headers"),
    ],
)
def test_what_became_of_a_call_that_did_not_go_well_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, wish: str, level: str, words: str
) -> None:
    async def work() -> None:
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [desk]) as makegood:
            tasks = [await makegood.submit(wished, each) for each in (wish, wish, "fine")]
            await asyncio.gather(*[task.wait(20) for task in tasks[:1] + tasks[2:]])

    with caplog.at_level(logging.INFO, "makegood.agents"):
        run(work)
    lines = [(line.levelname, line.getMessage()) for line in caplog.records if line.name == "makegood.agents"]
    about = [line for line in lines if words in line[1]]
    assert about, lines
    assert about[0][0] == level
    assert len(about) == 1 or wish != "no key", "it is told of each call"
    assert not any("fine" in line for _, line in lines)


@desk.action(undo=None)
def faulty(wish: str) -> str:
    return {"no": "wish"}[wish]


@desk.action(undo=None)
async def faulty_too(wish: str) -> str:
    return {"no": "wish"}[wish]


@plan
def faults(wish: str) -> str:
    return step(faulty, wish)


@plan
def faults_too(wish: str) -> str:
    return step(faulty_too, wish)


@pytest.mark.parametrize("faulty_plan", [faults, faults_too])
def test_a_traceback_begins_in_the_users_own_code(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, faulty_plan: Any
) -> None:
    async def work() -> None:
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [desk]) as makegood:
            await (await makegood.submit(faulty_plan, "yes", deadline=3)).wait(20)

    run(work)
    raised = next(line for line in caplog.records if "it raised KeyError" in line.getMessage())
    told = json.loads(JsonLines().format(raised))["exception"].splitlines()
    assert told[1].startswith(f'  File "{__file__}", line ')
    assert told[-1] == "KeyError: 'yes'"


def test_what_only_reads_needs_no_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [desk]) as makegood:
            assert await (await makegood.submit(looked, "ann")).result(20) == "ann"

    run(work)
    assert "asked for neither" not in caplog.text


def test_what_is_no_json_is_written_as_text() -> None:
    said = {"name": "shop", "msg": "so %s", "args": (Path("x"),), "task_id": Path("odd")}
    record = logging.makeLogRecord(said)
    assert json.loads(JsonLines().format(record)) | {"at": ""} == {
        "at": "",
        "level": record.levelname.lower(),
        "logger": "shop",
        "message": "so x",
        "taskId": "odd",
    }


def test_who_runs_tasks_is_told_what_nobody_has_for_a_plan(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [desk]) as makegood:
            for name in ("ann", "bob"):
                await makegood.submit(light, Order(name))
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [lamps]) as able:
            await able.submit(light, Order("eve"))

    run(work)
    told = [record.getMessage() for record in caplog.records if record.name == "makegood.client"]
    [said] = told
    assert said.startswith(
        "plan light needs lamps/order_lamp, which no living process has: a task waits there"
    )
