"""`makegood submit --many`: a task for each line, none before all are found good, and none twice."""

import json
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from makegood.cli.output import INTERRUPTED
from tests.cli.terminal import APP, SECONDS_MAX, Shell

SUBMIT = ("submit", "app.py:book_trip", "--many")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A folder without a store."""
    shutil.copy(APP, tmp_path / "app.py")
    return Shell(tmp_path)


def lines(*each: Any) -> str:
    return "\n".join(json.dumps(line) for line in each) + "\n"


def trip(who: str, **more: Any) -> dict[str, Any]:
    return {"input": {"who": who}, **more}


def tasks(shell: Shell) -> dict[str, dict[str, Any]]:
    return {task["taskId"]: task for task in json.loads(shell.ok("list", "--json"))}


def test_each_line_is_a_task_and_said_again_it_is_the_same(shell: Shell) -> None:
    later = trip("bob", id="b", start_at="2h", deadline="1h", tags={"day": "tuesday"})
    given = lines(trip("ann", id="a"), later, trip("ann", id="a")) + "\n" + lines(trip("cleo", id="c"))
    (shell.folder / "trips.jsonl").write_text(given)
    said = shell.run(*SUBMIT, "trips.jsonl", "--tag", "day=monday", "--tag", "by=ann")
    assert (said.code, said.out.split()) == (0, ["a", "b", "a", "c"])
    assert "submit: 3 of 4 lines entered, 0 refused, 1 there already: " in said.err
    assert "no process is up" in said.err
    found = tasks(shell)
    assert found.keys() == {"a", "b", "c"}
    assert found["a"]["tags"] == {"by": "ann", "day": "monday"}
    assert found["b"]["tags"] == {"by": "ann", "day": "tuesday"}
    assert "starts in" in shell.ok("history", "b")
    again = shell.run(*SUBMIT, "-", "--json", stdin=given)
    told = [json.loads(line) for line in again.out.splitlines()]
    twice = [
        {"line": n, "taskId": name, "existed": True} for n, name in enumerate(("a", "b", "a", "", "c"), 1)
    ]
    assert told == [line for line in twice if line["taskId"]]
    assert "submit: 0 of 4 lines entered, 0 refused, 4 there already: their deadlines" in again.err
    assert tasks(shell) == found


def test_the_mark_with_which_some_editors_begin_a_file_is_no_part_of_it(shell: Shell) -> None:
    (shell.folder / "trips.jsonl").write_text(lines(trip("ann", id="a")), "utf-8-sig")
    (shell.folder / "trip.json").write_text('{"who": "bob"}', "utf-8-sig")
    assert shell.run(*SUBMIT, "trips.jsonl").out == "a\n"
    assert shell.ok("submit", "app.py:book_trip", "@trip.json", "--id", "b") == "b\n"
    said = shell.run("submit", "app.py:book_trip", "-", "--id", "c", stdin='\ufeff{"who": "cleo"}')
    assert (said.code, said.out) == (0, "c\n")


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_told_as_that_once(shell: Shell, code: str) -> None:
    (shell.folder / "trips.jsonl").write_text(lines(trip("ann"), trip("bob")), code)
    said = shell.run(*SUBMIT, "trips.jsonl")
    assert said.err == "error: trips.jsonl: it is UTF-16, and JSON is UTF-8; save it as that\n"
    said = shell.run("submit", "app.py:book_trip", "@trips.jsonl")
    assert said.err == "error: INPUT: it is UTF-16, and JSON is UTF-8; save it as that\n"


MADE = """
from dataclasses import dataclass, field
from uuid import uuid4
from makegood import Agent, plan, step

@dataclass
class Query:
    ref: str = field(default_factory=lambda: uuid4().hex)

desk = Agent("desk")

@desk.action(reads=True)
async def look(query: Query) -> None: ...

@plan
def look_up(query: Query) -> None:
    step(look, query)
"""

BAD = [
    (trip("x", id="a b"), "task id 'a b': an id has 1 to 100 letters"),
    (trip("other", id="a"), "line 1 has its id, 'a', and another input; change one"),
    ({"input": {"who": 3}}, "input.who: Expected `str`, got `int`"),
    ({"input": {"who": "x", "whom": "y"}}, "input.whom: plan book_trip takes no such field"),
    ({"imput": {"who": "x"}}, 'unknown field `imput`; a line is {"input": ..., "id": "...", '),
    ({"id": "b"}, "plan book_trip takes an input: `input` is missing; a line is {"),
    (trip("x", start_at="noon"), "start_at: 'noon' is no moment; write 2027-01-31T08:00:00Z"),
    (trip("x", deadline="noon"), "deadline: 'noon' is no length of time; write 90s"),
    (trip("x", deadline=-1), "a deadline is a length of time in seconds, above 0"),
    (trip("x", tags={"a": 1}), "tags[...]: Expected `str`, got `int`; a line is {"),
    ([], "Expected `object`, got `array`; a line is {"),
]


def test_every_bad_line_is_named_before_anything_is_submitted(shell: Shell) -> None:
    given = lines(trip("ann", id="a"), *[line for line, _ in BAD]) + '{"input": {"who": "x"}'
    said = shell.run(*SUBMIT, "-", stdin=given)
    assert (said.code, said.out) == (2, "")
    lead, *told = f"\n{said.err}".rstrip("\n").split("\nerror: ")
    assert lead == ""
    for number, (_, words) in enumerate(BAD, 2):
        assert told[number - 2].startswith(f"stdin, line {number}: ")
        assert words in told[number - 2]
    assert "line 13: JSON is malformed: it ends in the middle" in told[-2]
    assert told[-1] == "12 lines are wrong; nothing was submitted"
    assert not (shell.folder / "makegood.db").exists()
    many = shell.run(*SUBMIT, "-", stdin=lines(*[{}] * 25)).err.splitlines()
    assert (len(many), many[-1]) == (
        21,
        "error: 25 lines are wrong (5 more are not shown); nothing was submitted",
    )


def test_an_id_that_is_another_tasks_is_told_and_keeps_no_other(shell: Shell) -> None:
    shell.ok("submit", "app.py:book_trip", '{"who": "ann"}', "--id", "a")
    shell.ok("submit", "app.py:book_trip", '{"who": "bob"}', "--id", "b")
    given = lines(trip("x", id="a"), trip("y", id="b"), trip("cleo", id="c"))
    said = shell.run(*SUBMIT, "-", stdin=given)
    assert (said.code, said.out) == (1, "c\n")
    for number, name in ((1, "a"), (2, "b")):
        assert f"error: stdin, line {number}: task '{name}' is there already, with another input" in said.err
    assert "submit: 1 of 3 lines entered, 2 refused\n" in said.err
    assert tasks(shell).keys() == {"a", "b", "c"}
    first, *_ = shell.run(*SUBMIT, "-", "--json", stdin=given).out.splitlines()
    assert json.loads(first)["error"].startswith("task 'a' is there already")


def test_a_conflict_does_not_have_others_told_as_refused_whose_type_makes_a_default(shell: Shell) -> None:
    (shell.folder / "made.py").write_text(MADE)
    shell.ok("submit", "made.py:look_up", "{}", "--id", "b")
    given = lines(*[{"input": {}, "id": task_id} for task_id in "abc"])
    said = shell.run("submit", "made.py:look_up", "--many", "-", stdin=given)
    assert (said.code, said.out.split()) == (1, ["a", "c"])
    assert "submit: 2 of 3 lines entered, 1 refused\n" in said.err


def test_what_is_interrupted_says_of_how_many_it_does_not_know(shell: Shell) -> None:
    """Somebody else is writing for long, and Ctrl-C comes while the tasks wait for that."""
    shell.ok("migrate")
    (shell.folder / "trips.jsonl").write_text(lines(trip("ann"), trip("bob")))
    with closing(sqlite3.connect(shell.folder / "makegood.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with shell.started(*SUBMIT, "trips.jsonl") as waiting:
            opened = Path(f"/proc/{waiting.process.pid}/maps")
            until = monotonic() + SECONDS_MAX
            while "makegood.db-shm" not in opened.read_text():
                assert monotonic() < until
            sleep(1)
            assert waiting.end(signal.SIGINT) == INTERRUPTED
            told = waiting.talk.read_text()
    assert "submit: 0 of 2 lines entered, 0 refused; of 2 more some may be: `makegood list` shows" in told


def test_the_same_task_twice_is_entered_once_and_with_other_tags_refused(shell: Shell) -> None:
    same = trip("ann", id="a", tags={"who": "1"})
    assert shell.run(*SUBMIT, "-", stdin=lines(same, same)).code == 0
    other = shell.run(*SUBMIT, "-", stdin=lines(same, trip("ann", id="a", tags={"who": "2"})))
    assert other.code == 2
    assert "line 2: line 1 has its id, 'a', and another deadline, start or tags; change one" in other.err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["-", "--wait"], "--many takes no INPUT, --id or --wait: each line has its own"),
        (["-", "--id", "a"], "--many takes no INPUT, --id or --wait: each line has its own"),
        (["nowhere.jsonl"], "nowhere.jsonl: No such file or directory; name a file of JSON lines, or - for"),
    ],
)
def test_what_is_wrong_with_it_is_said(shell: Shell, given: list[str], words: str) -> None:
    said = shell.run(*SUBMIT, *given)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
