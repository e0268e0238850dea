"""docs/record.md tells of every field that a record has, and of no other."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from makegood import Agent, plan, step
from makegood.cli.look import IN_SHORT
from makegood.reading.words import WAITED_FOR
from makegood.testing import Strike, happens_late, lost_answer, lost_request
from makegood.testing.rehearsal.performance import Performance, TurnedClock
from tests.schemas import faults
from tools.site import ROOT

PAGE = (ROOT / "docs" / "record.md").read_text("utf-8")
Records = list[dict[str, Any]]
READING = ROOT / "src" / "makegood" / "reading"

keyed = Agent("keyed", timeout=5, keyed=True)
asked = Agent("asked", timeout=5)
blind = Agent("blind", timeout=5)


async def undo(done: str | None) -> None: ...


async def probe(guest: str) -> str | None:
    return None


@keyed.action(undo=undo)
async def first(guest: str) -> str:
    return "first"


@asked.action(undo=undo, probe=probe)
async def second(guest: str) -> str:
    return "second"


@blind.action(undo=undo)
async def third(guest: str) -> str:
    return "third"


@plan
def stay(guest: str) -> str:
    step(first, guest)
    step(second, guest)
    return step(third, guest)


def told(heading: str) -> set[str]:
    """The fields in the first column of the tables below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def told_of(field: str) -> set[str]:
    """The fields that the cell of a field of a step lists after a colon."""
    [cell] = re.findall(rf"^\| `{field}` \| .*?: (.*) \|$", PAGE, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", cell)) - {"NotStarted", "Running", "Completed", "Failed"}


def records() -> Iterator[dict[str, Any]]:
    """Records of one plan at many moments, however its calls end and whoever cancels it."""
    steps, strikes = ("first", "second", "third"), (lost_answer, lost_request, happens_late)
    for name, strike, undone in product(steps, strikes, (False, True)):
        hits: tuple[Strike, ...] = (strike(name, undo=undone),)
        if undone:
            hits += (lost_request("third"),)
        with TurnedClock() as clock:
            task = Performance(clock, stay, *hits, cancel_at="third" if undone else "")
            for _ in range(12):
                clock.advance(2.6)
                if task.state:
                    yield task.record


@pytest.fixture(scope="module")
def seen() -> Records:
    return list(records())


def test_every_record_is_of_its_schema(seen: Records) -> None:
    assert [fault for record in seen for fault in faults("show", record)] == []


def test_every_field_of_a_task_is_told(seen: Records) -> None:
    assert {name for record in seen for name in record} <= told("The task")


def test_every_field_of_a_step_is_told(seen: Records) -> None:
    steps = [each for record in seen for each in record["steps"]]
    assert {name for each in steps for name in each} <= told("A step")
    assert {name for each in steps for name in each.get("compensation", {})} <= told_of("compensation")
    assert {name for each in steps for late in each.get("evidence", []) for name in late} <= told_of(
        "evidence"
    )


def test_every_field_of_a_waiting_is_told(seen: Records) -> None:
    waits = [each["waiting"] for record in seen for each in (record, *record["steps"]) if "waiting" in each]
    assert {name for waiting in waits for name in waiting} <= told("Waiting")
    assert {waiting["for"] for waiting in waits} >= {"waitOut", "lease", "person"}


@pytest.mark.parametrize("heading", ["The task", "A step", "Waiting"])
def test_every_field_told_is_one(heading: str) -> None:
    code = "".join(file.read_text("utf-8") for file in READING.glob("*.py"))
    assert [name for name in told(heading) if f'"{name}"' not in code] == []


def test_the_short_form_is_told() -> None:
    section = PAGE.partition("\n## In short\n")[2].partition("\n## ")[0]
    assert [name for name in IN_SHORT if f"`{name}`" not in section] == []


def test_all_that_is_waited_for_is_told() -> None:
    section = PAGE.partition("\n## Waiting\n")[2].partition("\n## ")[0]
    assert [name for name in WAITED_FOR if f"`{name}`" not in section] == []


def test_the_records_are_of_many_kinds(seen: Records) -> None:
    assert {record["state"] for record in seen} >= {"Running", "Compensating", "Failed"}
    assert any("result" in each for record in seen for each in record["steps"])
