"""`makegood check`, as a person or a build runs it."""

import json
import re
import shutil
from pathlib import Path

import pytest

from makegood.authoring.loading import load_plan
from tests.cli.terminal import APP, Shell

SHORT = """\
from makegood import Agent, UndoRetry, plan, step

hotels = Agent("hotel-agent", timeout=20, keyed=30, undo_retry=UndoRetry(within=5))

def cancel(room: str | None) -> None: ...

@hotels.action(undo=cancel)
def book(guest: str) -> str: return guest

@plan
def stay(guest: str) -> None:
    step(book, guest)
    step.options(name="again")(book, guest)
"""
QUIET = """\
from makegood import Agent, plan, step

shop = Agent("shop", keyed=True)

@shop.action(reads=True)
def look(what: str) -> str: return what

@plan
def look_up(what: str) -> str:
    return step(look, what)
"""
BY_HAND = '{"plan": "by_hand", "body": {"step": "a", "agent": "car-agent", "action": "reserve_car", '


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shutil.copy(APP, tmp_path / "app.py")
    (tmp_path / "short.py").write_text(SHORT)
    return Shell(tmp_path)


def test_notes_exit_0(shell: Shell) -> None:
    said = shell.run("check", "app.py")
    assert (said.code, said.err) == (0, "")
    assert re.match(r"book_trip \w{12}: 2 steps\n  note    reserve_car: where the answer to", said.out)
    assert "\nrent_car " in said.out
    assert "          way out: declare keyed=True if its service" in said.out
    assert said.out.endswith("\nbroken: 0\n")


def test_one_plan_of_an_app_is_held_against_the_agents_beside_it(shell: Shell) -> None:
    said = shell.ok("check", "app.py:book_trip")
    assert said.endswith("\nbroken: 0\n")
    assert "no agent here has" not in said


def test_what_is_broken_comes_first_and_exits_1_and_is_said_once(shell: Shell) -> None:
    said = shell.run("check", "short.py")
    assert (said.code, said.err) == (1, "")
    assert re.findall(r"^  (\w+) +([\w, ]+):", said.out, re.MULTILINE) == [
        ("broken", "book, again"),
        ("broken", "book, again"),
    ]
    assert said.out.endswith("\nbroken: 4\n")


def test_a_call_in_the_place_of_a_function_is_refused_in_one_voice(shell: Shell) -> None:
    (shell.folder / "called.py").write_text(
        APP.read_text().replace("step(reserve_car, trip)", "step(reserve_car(trip))")
    )
    said = shell.run("check", "called.py")
    assert said.code == 2
    assert "plan book_trip calls reserve_car(...), which would run it here and now" in said.err
    assert "never awaited" not in said.err


def test_types_that_are_not_written_are_noted(shell: Shell) -> None:
    untyped = SHORT.replace("(guest: str) -> str: return", "(guest): return").replace(
        "keyed=30", "keyed=True"
    )
    (shell.folder / "short.py").write_text(untyped.replace("UndoRetry(within=5)", "UndoRetry()"))
    said = shell.ok("check", "short.py")
    assert "note    book, again: book does not say the type of guest and its result: only plain JSON" in said
    assert "does not say the type" not in shell.ok("check", "app.py")


def test_json(shell: Shell) -> None:
    said = shell.run("check", "short.py", "app.py", "--json")
    assert said.code == 1
    found = json.loads(said.out)
    assert [plan["plan"] for plan in found["plans"]] == ["stay", "book_trip", "rent_car"]
    assert found["broken"] == 4
    assert list(found["findings"][0]) == ["severity", "plan", "step", "rule", "what", "wayOut"]
    assert {each["rule"] for each in found["findings"] if each["severity"] == "broken"} == {
        "keyTooShort",
        "undoGivesUp",
    }


def test_a_task_deadline(shell: Shell) -> None:
    assert "the task: its steps may take" not in shell.ok("check", "app.py", "--deadline", "3600")
    assert "the task: its steps may take" in shell.ok("check", "app.py", "--deadline", "20")


def test_agents_may_stand_in_several_apps(shell: Shell) -> None:
    (shell.folder / "plans.py").write_text("from app import book_trip\n")
    alone = shell.run("check", "plans.py")
    assert alone.code == 1
    assert "no agent here has flight-agent/reserve_flight" in alone.out
    both = shell.ok("check", "plans.py", "app.py")
    assert both.count("book_trip ") == 1


def test_a_plan_document_is_held_against_the_agents(shell: Shell) -> None:
    document = load_plan(f"{APP}:rent_car").document
    (shell.folder / "rent.json").write_bytes(document.canonical())
    (shell.folder / "wrong.json").write_text(BY_HAND + '"undo": "nope"}}')
    assert "rent_car " in shell.ok("check", "app.py:cars", "rent.json")
    assert shell.ok("check", "app.py", "rent.json").count("rent_car ") == 1
    said = shell.run("check", "app.py:cars", "wrong.json")
    assert said.code == 2
    assert "wrong.json: plan by_hand: step 'a': the undo 'nope' is unknown" in said.err


def test_a_document_that_forgets_what_its_agent_promises_is_told_so(shell: Shell) -> None:
    body = '{"step": "look", "agent": "shop", "action": "buy", "args": {"what": "a cup"}, "undo": null}'
    (shell.folder / "shop.py").write_text(QUIET.replace("reads=True", 'name="buy", undo=None'))
    (shell.folder / "by_hand.json").write_text(f'{{"plan": "by_hand", "body": {body}}}')
    said = shell.ok("check", "shop.py", "by_hand.json")
    assert "happened: the plan document says nothing" in said
    assert 'write "class":{"keyed":true,"tombstone":false} there, as its agent declares' in said


def test_a_plan_without_findings_is_a_line(shell: Shell) -> None:
    (shell.folder / "quiet.py").write_text(QUIET)
    assert re.fullmatch(r"look_up \w{12}: 1 step\nbroken: 0\n", shell.ok("check", "quiet.py"))


def test_on_a_terminal_it_is_folded(shell: Shell) -> None:
    shown = shell.on_a_terminal("check", "app.py", COLUMNS="80").replace("\r", "")
    assert max(map(len, shown.splitlines())) <= 80


BAD = {
    "an app without plans": (["app.py:cars"], "app.py:cars: no plan is found there"),
    "no app": ([], "Missing argument 'APP...'"),
    "no file": (["nope.py"], "nope.py: there is no such file"),
    "a deadline that is none": (["app.py", "--deadline", "0"], "0.0 is not in the range"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_checked_is_said_in_a_line(case: str, shell: Shell) -> None:
    arguments, words = BAD[case]
    said = shell.run("check", *arguments)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert len(said.err.splitlines()) == 1
