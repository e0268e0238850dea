"""A payload that is too large is refused by its size, whichever way it comes in."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from makegood import Agent, Makegood, plan, step
from makegood.errors import PayloadError, PlanError
from makegood.payload import PAYLOAD_MAX
from tests.cli.terminal import Shell

LARGE = "x" * PAYLOAD_MAX
TOO_LARGE = r"takes 1,048,578 bytes as JSON; a payload may take 1,048,576: keep the data where it is"
APP = """
from makegood import Agent, plan, step

printer = Agent("printer", timeout=0.3, settle=0)

@printer.action(undo=None)
def echo(text: str) -> str:
    raise RuntimeError("out of ink")

@plan
def printing(text: str) -> str:
    return step(echo, text)
"""

printer = Agent("printer", timeout=0.5, settle=0)
called: list[str] = []


async def take_back(text: str | None) -> None:
    called.append("undo")


async def find(text: str) -> str | None:
    called.append("probe")
    return LARGE


@printer.action(undo=take_back)
async def grow(text: str) -> str:
    called.append("grow")
    return LARGE


@printer.action(undo=take_back, probe=find, asks=1)
async def lose(text: str) -> str:
    raise RuntimeError(text)


@plan
def growing(text: str) -> str:
    return step(grow, text)


@plan
def losing(text: str) -> str:
    return step(lose, text)


def test_an_input() -> None:
    async def main() -> None:
        async with Makegood("memory:") as mg:
            with pytest.raises(PayloadError, match=f"^input {TOO_LARGE}"):
                await mg.submit(growing, LARGE)
            with pytest.raises(PayloadError, match=f"^input {TOO_LARGE}"):
                await mg.submit_json(growing, json.dumps(LARGE).encode())
            with pytest.raises(PayloadError, match=rf"^inputs\[1\] {TOO_LARGE}"):
                await mg.submit_many(growing, ["x", LARGE])
            assert not (await mg.list()).tasks

    asyncio.run(main())


def test_a_result_is_undone_and_a_probes_answer_tells_nothing() -> None:
    async def main() -> list[dict[str, Any]]:
        async with Makegood("memory:", agents=[printer]) as mg:
            tasks = [await mg.submit(growing, "x"), await mg.submit(losing, "x")]
            assert [await task.wait(20) for task in tasks] == ["Compensated", "Failed"]
            return [await task.record() for task in tasks]

    called.clear()
    grown, lost = asyncio.run(main())
    assert called == ["grow", "undo", "probe"]
    assert "the result of grow takes 1,048,578 bytes" in grown["steps"][0]["error"]
    assert "the answer of the probe of lose takes 1,048,578 bytes" in lost["steps"][0]["probeError"]


def test_what_stands_in_the_plan_itself() -> None:
    with pytest.raises(PlanError, match=rf"step grow: text {TOO_LARGE}"):

        @plan
        def written() -> str:
            return step(grow, LARGE)


def test_what_the_command_line_is_given(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "large.json").write_text(json.dumps(LARGE))
    said = shell.run("submit", "app.py:printing", "@large.json")
    assert (said.code, "input takes 1,048,578 bytes" in said.err) == (2, True)
    shell.ok("submit", "app.py:printing", '"x"', "--id", "t")
    for act in (["skip", "t", "echo"], ["resolve", "t", "echo", "done"]):
        said = shell.run(*act, "--result", "@large.json")
        assert (said.code, "result takes 1,048,578 bytes" in said.err) == (2, True)
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(20 * PAYLOAD_MAX)
    said = shell.run("submit", "app.py:printing", "@huge.json")
    assert (said.code, "has more than 16,777,216 bytes" in said.err) == (2, True)
