"""What is logged names the task, the step and the attempt that it is about, for machines as well."""

import json
import logging
from pathlib import Path

import pytest

from makegood import Makegood
from makegood.logs import JsonLines
from tests.client.sample import Order, lamps, light, run


def test_a_record_about_a_task_or_a_call_says_which(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [lamps]) as makegood:
            await (await makegood.submit(light, Order("ann", "doubt"), task_id="lamp")).wait(20)

    with caplog.at_level(logging.DEBUG, "makegood"):
        run(work)
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    [raised] = [line for line in lines if "it raised Unknown" in line["message"]]
    assert (raised["level"], raised["logger"]) == ("debug", "makegood.agents")
    assert (raised["taskId"], raised["step"], raised["kind"], raised["attempt"]) == (
        "lamp",
        "order_lamp",
        "do",
        1,
    )
    assert raised["exception"].endswith("the line went dead")
    assert raised["at"].endswith("Z")
    [parked] = [line for line in lines if "is parked" in line["message"]]
    assert (parked["taskId"], "step" in parked) == ("lamp", False)


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
