"""What is said of tasks of every end: by the command, by the client, and of each effect."""

import asyncio
import re

import pytest

from makegood import Makegood
from tests.audit.conftest import ENDS, Place

STANDS = {
    "completed": {"reserve": "kept", "charge": "kept", "send_letter": "kept"},
    "skipped": {"reserve": "kept", "charge": "kept", "send_letter": "skipped"},
    "refused": {"reserve": "undone", "charge": "neverHappened", "send_letter": "neverHappened"},
    "accepted": {"reserve": "accepted", "charge": "neverHappened", "send_letter": "neverHappened"},
    "left": {"reserve": "left", "charge": "neverHappened", "send_letter": "neverHappened"},
    "stuck": {"reserve": "kept", "charge": "neverHappened", "send_letter": "neverHappened"},
    "doubt": {"reserve": "kept", "charge": "inDoubt", "send_letter": "neverHappened"},
    "new": {"reserve": "neverHappened", "charge": "neverHappened", "send_letter": "neverHappened"},
}


def test_every_effect_of_every_end_is_stated(place: Place) -> None:
    code, report = place.json(*STANDS)
    assert code == 0
    stated = {
        task["taskId"]: {effect["step"]: effect["stands"] for effect in task["effects"]}
        for task in report["tasks"]
    }
    assert stated == STANDS
    assert {task["taskId"]: task["end"] for task in report["tasks"]} == ENDS


def test_a_task_that_is_named_twice_is_audited_once(place: Place) -> None:
    code, report = place.json("completed", "refused", "completed", "--with", "shop.py")
    assert (code, report["audited"], report["findings"]) == (0, 2, [])
    assert [task["taskId"] for task in report["tasks"]] == ["completed", "refused"]


def test_a_store_is_counted_and_what_waits_for_a_person_is_listed(place: Place) -> None:
    code, report = place.json()
    assert code == 0
    counted = {name: list(ENDS.values()).count(name) for name in set(ENDS.values())}
    assert report["ends"] == {"unreadable": 0} | counted
    assert (report["audited"], report["halfDone"], report["findings"]) == (len(ENDS), 0, [])
    assert {parked["taskId"] for parked in report["parked"]} == {"left", "doubt", "stuck"}
    assert "tasks" not in report


def test_the_command_says_it_in_words(place: Place) -> None:
    said = place.run()
    assert said.code == 0
    assert re.search(r"^audited +8 tasks\ncompleted +2\nundone +1\naccepted +1 +undone, save", said.out)
    assert re.search(r"^doubt +charge: only a person can tell whether it happened", said.out, re.MULTILINE)
    assert said.out.endswith("\nhalf done: 0\n")


def test_a_task_is_stated_in_words(place: Place) -> None:
    said = place.run("accepted", "doubt")
    assert re.search(r"reserve +accepted +\S+Z +accepted-reserve +ann says: .* \(a gift\)", said.out)
    assert re.search(r"charge +in doubt +\S+Z +doubt-charge +.*connection reset", said.out)
    assert re.search(r"digest +[0-9a-f]{64}\n", said.out)
    assert "look_up" not in said.out


def test_who_accepted_it_when_and_why(place: Place) -> None:
    [task] = place.json("accepted")[1]["tasks"]
    effect = task["effects"][0]
    said = {"settledBy": "ann", "settledAs": "kept", "settledWhy": "a gift"}
    assert effect.items() >= (said | {"idempotencyKey": "accepted-reserve", "resultKnown": True}).items()
    assert effect["since"] == task["changedAt"]


def test_a_program_may_ask(place: Place) -> None:
    async def ask() -> None:
        async with Makegood(place.url) as mg:
            statement = await mg.task("refused").audit()
            assert (statement.end, statement.findings) == ("undone", ())
            report = await mg.audit("refused", "doubt")
            assert report.clean
            assert report.tasks[0] == statement

    asyncio.run(ask())


@pytest.mark.parametrize("arguments", [("nobody",), ("completed", "no-such"), ("a b",)])
def test_an_unknown_task_cannot_be_audited(place: Place, arguments: tuple[str, ...]) -> None:
    said = place.run(*arguments)
    assert (said.code, said.out) == (1, "")
    assert "no task" in said.err


def test_there_must_be_a_store(place: Place) -> None:
    said = place.run("--store", "sqlite:///nowhere.db")
    assert said.code == 1
    assert "there is no store nowhere.db" in said.err
    assert not (place.folder / "nowhere.db").exists()
