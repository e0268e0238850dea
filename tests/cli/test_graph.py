"""`makegood graph`, as a person runs it."""

import json
import shutil
from pathlib import Path

import pytest

from makegood.authoring.loading import load_plan
from tests.cli.terminal import APP, Shell

PLAN = "app.py:book_trip"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shutil.copy(APP, tmp_path / "app.py")
    return Shell(tmp_path)


def test_it_is_text_unless_asked_otherwise(shell: Shell) -> None:
    drawn = shell.ok("graph", PLAN)
    assert drawn.splitlines()[4:] == [
        "o  reserve_flight                  |  2  cancel_flight",
        "|  flight-agent, keyed, tombstone  |",
        "o  reserve_car                     |  1  cancel_car",
        "|  car-agent, no keys, no probe    |",
        "v",
    ]
    assert shell.on_a_terminal("graph", PLAN, NO_COLOR="1").replace("\r", "") == drawn


def test_the_format_is_asked_for_or_follows_from_the_files_name(shell: Shell) -> None:
    assert shell.ok("graph", PLAN, "--format", "mermaid").startswith("flowchart TD\n")
    for name, begins in {"trip.svg": "<svg ", "trip.mmd": "flowchart TD", "trip.txt": "book_trip "}.items():
        said = shell.run("graph", PLAN, "--output", name)
        assert (said.code, said.out, said.err) == (0, "", "")
        assert (shell.folder / name).read_text("utf-8").startswith(begins)
    assert shell.ok("graph", PLAN, "--output", "trip.svg", "--format", "text") == ""
    assert (shell.folder / "trip.svg").read_text("utf-8").startswith("book_trip ")


def test_it_may_be_the_plan_document(shell: Shell) -> None:
    printed = shell.ok("graph", PLAN, "--format", "json")
    assert printed.startswith('{\n  "body": {')
    assert json.loads(printed) == json.loads(load_plan(f"{APP}:book_trip").to_json())
    assert shell.ok("graph", PLAN, "--output", "trip.json") == ""
    assert (shell.folder / "trip.json").read_text("utf-8") == printed
    assert shell.ok("graph", "trip.json", "--format", "json") == printed


def test_a_plan_document_is_drawn_as_well(shell: Shell) -> None:
    document = load_plan(f"{APP}:book_trip").document
    (shell.folder / "trip.json").write_bytes(document.canonical())
    assert shell.ok("graph", "trip.json") == shell.ok("graph", PLAN)


BAD = {
    "no such plan": (["app.py:nope"], 2, "app.py has no plan 'nope'; its plans: book_trip, rent_car"),
    "no plan named": (["app.py"], 2, "Write APP:PLAN"),
    "no such document": (["nope.json"], 2, "nope.json: No such file or directory; name a file"),
    "no document": (["bad.json"], 2, "bad.json: plan document: expected an object"),
    "a folder that is not there": ([PLAN, "--output", "no/trip.svg"], 1, "no/trip.svg: No such file"),
    "a format that is none": ([PLAN, "--format", "png"], 2, "'png' is not one of"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_drawn_is_said_in_a_line(case: str, shell: Shell) -> None:
    (shell.folder / "bad.json").write_text("[]")
    arguments, code, words = BAD[case]
    said = shell.run("graph", *arguments)
    assert (said.code, said.out) == (code, "")
    assert words in said.err
    assert len(said.err.splitlines()) == 1
