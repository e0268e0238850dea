"""The command line, in real processes: what it prints, how it ends, and what it says of bad input."""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from makegood.cli.watch import PERIOD
from tests.cli.terminal import APP, COMMAND, Said, Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """An empty folder with the app in it."""
    shutil.copy(APP, tmp_path / "app.py")
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A folder whose store has all roles up, for all tests of this module."""
    folder = tmp_path_factory.mktemp("up")
    shutil.copy(APP, folder / "app.py")
    shell = Shell(folder)
    with shell.started("up", "app.py") as everybody:
        everybody.wait_for_talk(" up as ")
        yield shell


def submit(shell: Shell, task_id: str, *options: str, plan: str = "book_trip", **trip: str) -> Said:
    return shell.run("submit", f"app.py:{plan}", json.dumps({"who": "ann"} | trip), "--id", task_id, *options)


def record(shell: Shell, task_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shell.ok("show", task_id, "--json"))
    return found


# --- waiting


def test_a_task_that_completes_exits_0_and_prints_its_output(up: Shell) -> None:
    said = submit(up, "trip-1", "--wait")
    assert (said.code, said.out) == (0, 'trip-1\n"trip-1-reserve_flight:ann"\n')
    assert said.err == "trip-1: Completed\n"
    assert up.run("watch", "trip-1").code == 0


def test_a_task_that_is_undone_exits_10(up: Shell) -> None:
    said = submit(up, "trip-2", "--wait", car="refused")
    assert (said.code, said.out) == (10, "trip-2\n")
    assert "trip-2: Compensated: reserve_car: refused: sold out" in said.err
    assert up.run("watch", "trip-2").code == 10


def test_a_task_that_is_parked_exits_20_and_a_person_moves_it_on(up: Shell) -> None:
    said = submit(up, "trip-3", "--wait", car="lost", plan="rent_car")
    assert (said.code, said.out) == (20, "trip-3\n")
    assert "`makegood why trip-3` says what a person can do" in said.err
    why = up.ok("why", "trip-3")
    assert (
        "  makegood resolve trip-3 reserve_car done --result JSON --app APP  it happened; its result is used"
        in why
    )

    up.ok("pause", "trip-3", "--by", "bob")
    assert "  a person (reserve_car), then somebody to resume it\n" in up.ok("list", "--state", "Failed")
    shown = up.ok("show", "trip-3")
    assert "whether reserve_car happened; it is paused as well, and must be resumed" in shown
    up.ok("resume", "trip-3")

    refused = up.run("resolve", "trip-3", "reserve_car", "done")
    assert refused.code == 1
    assert "give it (CLI: --result JSON)" in refused.err
    resolve = ["resolve", "trip-3", "reserve_car", "done", "--result", '"C-9"', "--by=bob", "--why=seen"]
    (up.folder / "bikes.py").write_text("from makegood import Agent\nbikes = Agent('bikes')")
    unchecked = up.run(*resolve, "--app", "bikes.py")
    assert unchecked.code == 2
    assert "bikes.py has no car-agent/reserve_car, by which the result is to be checked" in unchecked.err
    resolved = up.run(*resolve)
    assert (resolved.code, resolved.out) == (0, "trip-3: resolved reserve_car as done\n")
    assert (
        "not checked by its type, as no agent here has car-agent/reserve_car; it is with --app"
        in resolved.err
    )
    watched = up.run("watch", "trip-3")
    assert watched.code == 0
    words = 'bob +resolves reserve_car as done: it happened, with the result "C-9": seen'
    assert re.search(words, watched.out)
    assert re.search(
        r'reserve_car +Completed +0 +NotStarted +"C-9" \(bob says: it happened\)', up.ok("show", "trip-3")
    )
    assert record(up, "trip-3")["output"] == "C-9"
    assert record(up, "trip-3")["steps"][0]["settledBy"] == "bob"


def test_a_task_that_has_not_ended_in_time_exits_30_and_goes_on(up: Shell) -> None:
    said = submit(up, "trip-4", "--wait", "--timeout", "0.2", car="slow")
    assert said.code == 30
    assert "goes on" in said.err
    assert up.run("watch", "trip-4").code == 0


def test_submitting_without_anyone_up_is_said(shell: Shell) -> None:
    said = submit(shell, "trip-1", "--wait", "--timeout", "0.1")
    assert said.code == 30
    assert "no process is up on this store" in said.err
    assert shell.run("watch", "trip-1", "--timeout", "0").code == 30
    assert shell.ok("cancel", "trip-1")
    assert shell.run("watch", "trip-1").code == 10
    ended = submit(shell, "trip-1", "--wait")
    assert (ended.code, "no process is up" in ended.err) == (10, False)


def test_submitting_for_programs_prints_one_document(up: Shell) -> None:
    assert json.loads(submit(up, "trip-21", "--json", car="refused").out) == {
        "taskId": "trip-21",
        "existed": False,
    }
    said = submit(up, "trip-21", "--json", "--wait", car="refused")
    document = json.loads(said.out)
    assert (said.code, list(document)) == (10, ["taskId", "existed", "state", "reason"])
    assert document["existed"] is True
    done = json.loads(submit(up, "trip-22", "--json", "--wait").out)
    assert done == {
        "taskId": "trip-22",
        "existed": False,
        "state": "Completed",
        "output": "trip-22-reserve_flight:ann",
    }
    said = submit(up, "trip-23", "--json", "--wait", "--timeout", "0.1", car="slow")
    document = {"taskId": "trip-23", "existed": False, "state": "Running"}
    assert (said.code, json.loads(said.out)) == (30, document)


NOTED = """
from makegood import Agent, plan, step
shop = Agent("shop")
@shop.action(reads=True)
async def note(what: str) -> None: ...
@plan
def take_note(what: str) -> None:
    step(note, what)
"""


def test_a_plan_that_returns_nothing_says_so_in_words(shell: Shell) -> None:
    (shell.folder / "noted.py").write_text(NOTED)
    noted = ["submit", "noted.py:take_note", '"x"', "--id", "n", "--wait"]
    with shell.started("up", "noted.py") as everybody:
        everybody.wait_for_talk(" up as ")
        said = shell.run(*noted)
    assert (said.code, said.out, said.err) == (0, "n\nnull\n", "n: Completed\n")
    shown = shell.on_a_terminal(*noted).replace("\r", "")
    assert shown.endswith("\nit returns nothing\nn: Completed\n")
    assert json.loads(shell.ok(*noted, "--json"))["output"] is None
    assert re.search(r"^note +Completed +0 +- +nothing$", shell.ok("show", "n"), re.MULTILINE)


# --- looking


def test_show_json_is_the_document(up: Shell) -> None:
    submit(up, "trip-5", "--wait", "--tag", "customer=7")
    document = record(up, "trip-5")
    assert list(document)[:3] == ["taskId", "state", "createdAt"]
    assert document["tags"] == {"customer": "7"}
    assert [step["name"] for step in document["steps"]] == ["reserve_flight", "reserve_car"]
    assert document["steps"][0]["result"] == "trip-5-reserve_flight:ann"
    shown = up.ok("show", "trip-5")
    assert "state        Completed" in shown
    assert "tags         customer=7" in shown
    assert re.search(r'reserve_car +Completed +0 +NotStarted +"C-1"', shown)


def test_list_shows_and_filters(up: Shell) -> None:
    submit(up, "trip-6", "--wait", car="refused")
    rows = up.ok("list").splitlines()
    assert rows[0].split() == ["ID", "STATE", "PLAN", "CREATED", "WAITS", "FOR", "OR", "BECAUSE"]
    row = next(row for row in rows if row.startswith("trip-6 "))
    assert "Compensated" in row
    assert "reserve_car: refused: sold out" in row
    compensated = json.loads(up.ok("list", "--json", "--state", "compensated"))
    assert "trip-6" in [task["taskId"] for task in compensated]
    assert {task["state"] for task in compensated} == {"Compensated"}
    assert json.loads(up.ok("list", "--json", "--plan", "nope")) == []
    misspelt = "no task with plan=book_tripp; there are some of plan book_trip\n"
    assert up.run("list", "--plan", "book_tripp").err == misspelt
    limited = up.run("list", "--json", "--limit", "1")
    assert len(json.loads(limited.out)) == 1
    assert "--after" in limited.err


def test_history_in_words_and_as_facts(up: Shell) -> None:
    submit(up, "trip-7", "--wait", car="refused")
    words = up.ok("history", "trip-7").splitlines()
    assert words[0].split() == ["WHEN", "WHO", "WHAT"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", words[1])
    submitted = r'\d\d:\d\d:\d\dZ   client +submitted: plan book_trip, input {"who":"ann","car":"refused"'
    assert re.match(submitted, words[2])
    assert up.run("history", "trip-7", TZ="Asia/Tokyo").out.splitlines() == words
    assert words[-1].endswith("scheduler     the task is Compensated")
    assert up.ok("history", "trip-7", "--limit", "2").splitlines()[2:] == words[-2:]
    facts = json.loads(up.ok("history", "trip-7", "--json"))
    assert json.loads(up.ok("history", "trip-7", "--json", "--limit", "2")) == facts[-2:]
    assert facts[0]["fact"] == "TaskSubmitted"
    assert facts[-1]["state"] == "Compensated"


def test_what_a_service_says_reaches_the_terminal_as_text(up: Shell) -> None:
    assert submit(up, "trip-8", "--wait", car="refused", undo="refused").code == 20
    for command in ("why", "history", "show"):
        said = up.ok(command, "trip-8")
        assert "\x1b" not in said
        assert r"\x1b[31mdeparted\x1b[0m\nsorry" in said


def test_why_json(up: Shell) -> None:
    submit(up, "trip-9", "--wait", car="lost")
    short = json.loads(up.ok("why", "trip-9", "--json"))
    assert short["waiting"]["for"] == "person"
    assert short["acts"] == ["resolve reserve_car done|absent", "cancel"]
    car = short["steps"][-1]
    assert (car["name"], car["outcome"], car["idempotencyKey"]) == (
        "reserve_car",
        "unknown",
        "trip-9-reserve_car",
    )
    assert "error" in car
    assert not {"arguments", "result"} & car.keys()


def test_show_tells_all_of_one_step(up: Shell) -> None:
    submit(up, "trip-20", "--wait", car="lost")
    assert "`makegood show trip-20 --step reserve_car` tells with what it was called" in up.ok(
        "why", "trip-20"
    )
    shown = dict(
        line.split(maxsplit=1) for line in up.ok("show", "trip-20", "--step", "reserve_car").splitlines()
    )
    assert shown["idempotencyKey"] == "trip-20-reserve_car"
    told = json.loads(up.ok("show", "trip-20", "--step", "reserve_car", "--json"))
    assert json.loads(shown["arguments"]) == told["arguments"]
    assert told in json.loads(up.ok("show", "trip-20", "--json"))["steps"]
    nobody = up.run("show", "trip-20", "--step", "reserve_cart")
    assert nobody.code == 1
    assert "has no step 'reserve_cart'; it has " in nobody.err


def test_watch_all_prints_changes_until_it_is_interrupted(up: Shell) -> None:
    submit(up, "trip-10", "--wait", car="lost")
    with up.started("watch") as watching:
        head = watching.line("CHANGED")
        assert head.split() == ["CHANGED", "ID", "STATE", "PLAN", "WAITS", "FOR", "OR", "BECAUSE"]
        failed = watching.line("trip-10  Failed")
        assert re.match(r"\d\d-\d\d \d\d:\d\d:\d\dZ  trip-10 ", failed)
        assert failed.index("a person (reserve_car)") == head.index("WAITS")
        up.ok("resolve", "trip-10", "reserve_car", "done", "--result", '"C-1"')
        assert watching.line("trip-10  Completed")
        assert watching.end(signal.SIGINT) == 0
    said = up.run("watch", "--timeout", "0.1", "--json")
    assert (said.code, said.err) == (0, "")


def test_watch_says_nothing_twice(up: Shell) -> None:
    with up.started("watch") as watching:
        submit(up, "trip-12", car="busy", plan="rent_car")
        rows = [watching.line("the next try (reserve_car)")]
        up.ok("retry", "trip-12", "reserve_car")
        sleep(2 * PERIOD)
        up.ok("cancel", "trip-12")
        while "Compensated" not in rows[-1]:
            rows.append(watching.line("trip-12 "))
    said = [row.partition("Z ")[2] for row in rows]
    assert all(one != other for one, other in pairwise(said))


def test_watch_follows_however_many_are_under_way(shell: Shell) -> None:
    def submit_some(*ids: int) -> None:
        lines = [json.dumps({"input": {"who": "ann"}, "id": f"t-{n}"}) for n in ids]
        assert shell.run("submit", "app.py:book_trip", "--many", "-", stdin="\n".join(lines)).code == 0

    submit_some(*range(200))
    with shell.started("watch", "--json", "--timeout", "10") as watching:
        watching.line('"t-0"')
        submit_some(200)
        assert '"t-200"' in watching.line("")
        shell.ok("cancel", "t-0")
        assert '"state":"Compensated"' in watching.line('"t-0"')


def test_what_is_parked_reads_well_on_80_columns(up: Shell) -> None:
    submit(up, "trip-11", "--wait", car="lost")
    for command in ("show", "history", "why"):
        shown = up.on_a_terminal(command, "trip-11", COLUMNS="80", NO_COLOR="1")
        plain = re.sub(r"\x1b\[\d*m", "", shown).replace("\r", "").splitlines()
        assert max(map(len, plain)) <= 80
    shown = up.ok("show", "trip-11")
    assert re.search(r"^reserve_car +in doubt ", shown, re.MULTILINE)
    assert re.search(r"waiting +a person \(reserve_car\), since \S+Z: a person says whether", shown)
    up.ok("pause", "trip-11", "--by", "\u0141ukasz")
    assert "\\u0141ukasz" in up.on_a_terminal("history", "trip-11", PYTHONIOENCODING="latin-1")
    assert "acts         resolve reserve_car done|absent, cancel" in shown


def test_watch_of_one_task_ends_with_130_when_interrupted(shell: Shell) -> None:
    submit(shell, "trip-1")
    with shell.started("watch", "trip-1") as watching:
        first = watching.line("submitted: plan book_trip")
        assert first.index("submitted") == len("2026-11-30  flight-agent  ")  # there is room for all to come
        assert watching.end(signal.SIGINT) == 130


def test_waiting_that_is_interrupted_says_that_the_task_is_not_cancelled(shell: Shell) -> None:
    with shell.started(*SUBMIT_IT, "--id", "trip-1", "--wait", "--timeout", "1m") as waiting:
        waiting.wait_for_talk("no process is up")
        assert waiting.end(signal.SIGINT) == 130
        assert "\ntrip-1 is not cancelled; `makegood watch trip-1` follows it\n" in waiting.talk.read_text()
    assert record(shell, "trip-1")["state"] == "Running"


def test_what_is_interrupted_while_it_is_imported_ends_like_the_rest(shell: Shell) -> None:
    (shell.folder / "click.py").write_text("raise KeyboardInterrupt")
    assert shell.run("list") == Said(130, "", "")


# --- acting


def test_acts_are_recorded_with_who_and_why(shell: Shell) -> None:
    submit(shell, "trip-1")
    assert shell.ok("pause", "trip-1", "--by", "ann", "--why", "storm") == "trip-1: paused\n"
    assert shell.ok("pause", "trip-1") == "trip-1: already paused\n"
    assert "Paused by ann" in shell.ok("why", "trip-1")
    assert shell.ok("resume", "trip-1") == "trip-1: resumed\n"
    assert shell.ok("cancel", "trip-1", "--why", "no holiday") == "trip-1: cancelled: it is Compensated\n"
    assert re.fullmatch(r"trip-1: already compensat(ing|ed)\n", shell.ok("cancel", "trip-1"))
    assert shell.run("watch", "trip-1").code == 10
    history = shell.ok("history", "trip-1")
    assert re.search(r"ann +orders: pause: storm", history)
    assert "orders: cancel: no holiday" in history


def test_the_os_user_acts_where_nobody_is_named(shell: Shell) -> None:
    submit(shell, "trip-1")
    assert shell.run("pause", "trip-1", LOGNAME="carla").code == 0
    assert "Paused by carla" in shell.ok("why", "trip-1")


def test_skip_and_retry(shell: Shell) -> None:
    submit(shell, "trip-1")
    assert shell.ok("retry", "trip-1") == "trip-1: starting\n"
    needed = shell.run("skip", "trip-1", "reserve_flight")
    assert needed.code == 1
    assert "a later step, or the plan's output, uses its result" in needed.err
    assert (
        shell.ok("skip", "trip-1", "reserve_flight", "--result", '"FL-9"')
        == "trip-1: skipped reserve_flight\n"
    )
    assert record(shell, "trip-1")["steps"][0]["result"] == "FL-9"


# --- where the store is, where the input is


def test_the_store_may_be_named_before_and_after_and_in_the_environment(shell: Shell) -> None:
    assert shell.run("--store", "sqlite:///a.db", *SUBMIT_IT, "--id", "a").code == 0
    assert shell.run(*SUBMIT_IT, "--id", "b", "--store", "sqlite:///b.db").code == 0
    assert shell.run(*SUBMIT_IT, "--id", "c", MAKEGOOD_STORE="sqlite:///c.db").code == 0
    assert shell.run(*SUBMIT_IT, "--id", "d").code == 0
    stores = {"a": "a.db", "b": "b.db", "c": "c.db", "d": "makegood.db"}
    for task_id, file in stores.items():
        [task] = json.loads(shell.run("list", "--json", MAKEGOOD_STORE=f"sqlite:///{file}").out)
        assert task["taskId"] == task_id
    nearest = shell.run("--store", "sqlite:///a.db", "list", "--json", "--store", "sqlite:///b.db")
    assert json.loads(nearest.out)[0]["taskId"] == "b"


def test_input_from_a_file_and_from_stdin(shell: Shell) -> None:
    (shell.folder / "trip.json").write_text('{"who":"file"}')
    assert shell.run("submit", "app.py:book_trip", "@trip.json", "--id", "a").code == 0
    assert shell.run("submit", "app.py:book_trip", "-", "--id", "b", stdin='{"who":"stdin"}').code == 0
    assert record(shell, "a")["input"]["who"] == "file"
    assert record(shell, "b")["input"]["who"] == "stdin"


SHOP = """
from makegood import Agent, plan, step
shop = Agent("shop")
@shop.action(reads=True)
async def look(what: str) -> str: ...
@plan
def look_up(what: str) -> str:
    return step(look, what)
@plan
def look_around() -> str:
    return step(look, "all")
"""


def test_an_empty_input_is_told_with_what_its_plan_takes(shell: Shell) -> None:
    (shell.folder / "shop.py").write_text(SHOP)
    empty = "error: INPUT: it is empty; give JSON"
    fits = {
        "app.py:book_trip": ", such as {...}",
        "shop.py:look_up": "",
        "shop.py:look_around": ", such as null",
    }
    for plan, example in fits.items():
        for given in ("", "-"):
            assert shell.run("submit", plan, given) == Said(2, "", f"{empty}{example}\n")


def test_submitting_again_is_the_same_task(shell: Shell) -> None:
    first = submit(shell, "trip-1")
    assert (first.code, "no process is up on this store, and the task waits" in first.err) == (0, True)
    again = submit(shell, "trip-1", "--deadline", "1h")
    assert again.out == "trip-1\n"
    assert "trip-1 was there already and is Running: its deadline, start and tags stay" in again.err
    assert json.loads(submit(shell, "trip-1", "--json").out) == {"taskId": "trip-1", "existed": True}
    assert "deadline" not in record(shell, "trip-1")
    assert "no process is up on this store: what waits for one" in shell.run("list").err
    other = submit(shell, "trip-1", car="slow")
    assert other.code == 1
    assert "input.car" in other.err


def test_a_start_that_has_passed_is_said(shell: Shell) -> None:
    past = submit(shell, "trip-1", "--start-at", "2026-01-31T08:00:00Z")
    assert (past.code, past.out) == (0, "trip-1\n")
    assert "--start-at 2026-01-31T08:00:00Z has passed: it starts at once" in past.err
    assert "has passed" not in submit(shell, "trip-2", "--start-at", "2h").err


def test_a_made_id_is_all_that_is_printed(shell: Shell) -> None:
    said = shell.run("submit", "app.py:book_trip", '{"who":"ann"}')
    assert re.fullmatch(r"book_trip-\S+\n", said.out)
    assert said.out.strip() in shell.ok("list")


def test_migrate(shell: Shell) -> None:
    first = shell.run("migrate")
    made = f"there was no store, so a new one was made: {shell.folder / 'makegood.db'}\n"
    assert (first.code, first.err) == (0, made)
    assert first.out
    again = shell.run("migrate")
    assert (again.code, again.out, again.err) == (0, "", "the schema is up to date\n")


# --- bad input

SUBMIT = ["submit", "app.py:book_trip"]
SUBMIT_IT = [*SUBMIT, '{"who":"ann"}']

BAD: dict[str, tuple[list[str], int, str]] = {
    "no command": ([], 2, "Usage:"),
    "unknown command": (["frob"], 2, "error: No such command 'frob'; see `makegood --help`"),
    "unknown option": (["list", "--frob"], 2, "see `makegood list --help`"),
    "a slip in an option": (
        ["list", "--lmit", "3"],
        2,
        "Did you mean '--limit'?; see `makegood list --help`",
    ),
    "an option of other commands": (
        ["resolve", "--where", "state=Failed"],
        2,
        "error: No such option '--where'; see `makegood resolve --help`",
    ),
    "an option without its value": ([*SUBMIT, "--deadline"], 2, "an argument; see `makegood submit --help`"),
    "a number that is none": (["list", "--limit", "x"], 2, "'x' is not a valid whole number; see"),
    "a rate that is none": (["cancel", "--where", "x", "--rate", "x"], 2, "'x' is not a valid number; see"),
    "Python in place of JSON": (
        [*SUBMIT, "{'who': 'ann'}"],
        2,
        """texts stand in double quotes, not in single ones; in a shell write '{"key": "text"}'\n""",
    ),
    "a set in place of JSON": ([*SUBMIT, "{'a'}"], 2, "texts stand in double quotes, not in single ones"),
    "a file in place of JSON": ([*SUBMIT, "app.py"], 2, "byte 0); a file is given as @app.py\n"),
    "too large a number": ([*SUBMIT, '{"who":1e400}'], 2, "can hold it; write it as a text\n"),
    "half of a surrogate pair": ([*SUBMIT, r'{"who":"\ud800"}'], 2, "; give both halves, or neither\n"),
    "what is not UTF-8": ([*SUBMIT, '{"who":"\udcff"}'], 2, "it is not valid UTF-8; save it as that\n"),
    "a comma too many": ([*SUBMIT, '{"who":"ann",}'], 2, "trailing comma in object (byte 13)\n"),
    "a start too far ahead": (
        [*SUBMIT_IT, "--start-at", "9999999d"],
        2,
        "error: start_at is too far ahead: it can be any moment before 8000-01-01T00:00Z\n",
    ),
    "a plan document": (["submit", "plan.json"], 2, "; here its plan is named APP:PLAN, as in app.py:book\n"),
    "a plan document to rehearse": (
        ["rehearse", "plan.json"],
        2,
        "plan.json: a plan document is for `graph`",
    ),
    "a plan document to run": (["up", "plan.json"], 2, "a plan document has no agents; name an APP"),
    "unknown state": (["list", "--state", "odd"], 2, "'odd' is no state of a task; the states are Running"),
    "another word for a state": (
        ["list", "--state", "Parked"],
        2,
        "a task that is parked is Failed; the states",
    ),
    "unknown task: show": (["show", "nope"], 1, "error: no task 'nope' in this store; `makegood list`"),
    "unknown task: history": (["history", "nope"], 1, "no task 'nope'"),
    "unknown task: why": (["why", "nope"], 1, "no task 'nope'"),
    "unknown task: watch": (["watch", "nope"], 1, "no task 'nope'"),
    "unknown task: cancel": (["cancel", "nope"], 1, "no task 'nope'"),
    "unknown task: retry": (["retry", "nope", "x"], 1, "no task 'nope'"),
    "malformed JSON": ([*SUBMIT, "{who: ann}"], 2, "error: INPUT: JSON is malformed"),
    "JSON of another type": ([*SUBMIT, '{"who":7}'], 2, "error: input.who: "),
    "no input": (SUBMIT, 2, "error: plan book_trip takes an input"),
    "no such file": ([*SUBMIT, "@no.json"], 2, "error: INPUT: 'no.json': No such file"),
    "bad id": ([*SUBMIT_IT, "--id", "a b"], 2, "error: task id 'a b'"),
    "bad deadline": ([*SUBMIT_IT, "--deadline", "0"], 2, "error: Invalid value for '--deadline': 0.0 is not"),
    "bad tag": ([*SUBMIT_IT, "--tag", "x"], 2, "error: --tag 'x' is not K=V"),
    "timeout alone": ([*SUBMIT_IT, "--timeout", "1"], 2, "error: --timeout is for --wait"),
    "unknown plan": (["submit", "app.py:nope", "{}"], 2, "error: app.py has no plan 'nope'; its plans:"),
    "no plan named": (
        ["submit", "app.py", "{}"],
        2,
        "error: app.py: which plan? Write APP:PLAN, as in app.py:book; its plans: book_trip, rent_car",
    ),
    "no app named": (["up"], 2, "error: Missing argument 'APP...'"),
    "no such app": (["up", "none.py"], 2, "error: none.py: there is no such file"),
    "no such module": (["submit", "none:plan", "{}"], 2, "error: none: there is no module 'none'"),
    "app that fails": (["up", "broken.py"], 2, "error: broken.py cannot be imported: ZeroDivisionError"),
    "app with nothing in it": (["up", "empty.py"], 2, "error: empty.py: no agent and no plan is found"),
    "app without agents": (["up", "app.py:book_trip"], 2, "no Agent is found there"),
    "unknown verdict": (["resolve", "trip-1", "reserve_car", "odd"], 2, "'odd' is not one of 'done'"),
    "refused act": (["resolve", "trip-1", "reserve_car", "done"], 1, "error: task trip-1: step"),
    "unknown step": (["skip", "trip-1", "nope"], 1, "has no step 'nope'; it has reserve_flight"),
    "malformed result": (["skip", "trip-1", "reserve_car", "--result", "{"], 2, "error: --result: "),
    "nobody's act": (["cancel", "trip-1", "--by", " "], 2, "recorded with who ordered it: give a name"),
    "no store there": (["list", "--store", "sqlite:///none.db"], 1, "error: there is no store none.db"),
    "no such folder to look at": (
        ["list", "--store", "sqlite:///none/x.db"],
        1,
        "no store none/x.db, nor its folder; name another with --store, or make the folder first\n",
    ),
    "no such folder": ([*SUBMIT_IT, "--store", "sqlite:///none/x.db"], 1, "there is no folder"),
    "cannot be written": ([*SUBMIT_IT, "--store", "sqlite:////proc/x.db"], 1, "let this user write the file"),
    "a folder": (["list", "--store", "sqlite:///."], 1, "this is a folder"),
    "not a database": (["list", "--store", "sqlite:///app.py"], 1, "app.py is not a SQLite file"),
    "not a store": (["list", "--store", "redis://x"], 2, "error: redis: names no store"),
}


@pytest.fixture(scope="module")
def bad_place(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("bad")
    shutil.copy(APP, folder / "app.py")
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "empty.py").write_text("")
    shell = Shell(folder)
    submit(shell, "trip-1")
    return shell


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_the_right_exit_code(case: str, bad_place: Shell) -> None:
    arguments, code, words = BAD[case]
    said = bad_place.run(*arguments)
    assert (said.code, said.out) == (code, "")
    assert words in said.err
    if case not in ("no command", "app that fails"):
        assert said.err.count("\n") == 1


# --- the terminal and the pipe


def test_on_a_terminal_it_is_coloured_and_ids_stay_whole(shell: Shell) -> None:
    task_id = "a-task-with-an-id-that-is-longer-than-this-terminal-is-wide"
    submit(shell, task_id)
    shown = shell.on_a_terminal("list", COLUMNS="50")
    assert task_id in shown
    assert "\n    a scheduler (reserve_flight)" in shown  # below the others, where it has room
    assert "\x1b[34mRunning" in shell.on_a_terminal("list", COLUMNS="150")
    assert "\x1b[34m" not in shell.on_a_terminal("list", COLUMNS="150", NO_COLOR="1")
    assert "\x1b" not in shell.on_a_terminal("list", TERM="dumb")
    assert "\x1b" not in shell.ok("list")


def test_without_rich_it_is_plain_text(shell: Shell) -> None:
    submit(shell, "trip-1")
    (shell.folder / "sitecustomize.py").write_text("import sys\nsys.modules['rich'] = None\n")
    path = f"{shell.folder}:{shell.environment()['PYTHONPATH']}"
    assert "\x1b" not in shell.on_a_terminal("list", PYTHONPATH=path)


def test_a_reader_that_went_away_is_no_error(shell: Shell) -> None:
    submit(shell, "trip-1")
    piped = subprocess.run(
        f"{' '.join(COMMAND)} history trip-1 | true",
        shell=True,
        cwd=shell.folder,
        env=shell.environment(),
        capture_output=True,
        text=True,
    )
    assert piped.stderr == ""


ASKS = """
import logging, httpx
logging.getLogger("shop").info("asking")
httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200))).get("http://bank/?card=CARD-777")
"""


def test_up_logs_no_requests_of_libraries_and_ends_on_sigterm_with_0(shell: Shell) -> None:
    with (shell.folder / "app.py").open("a") as app:
        app.write(ASKS)
    with shell.started("up", "app.py") as everybody:
        everybody.wait_for_talk(" up as ")
        assert everybody.end(signal.SIGTERM) == 0
        logged = everybody.talk.read_text()
        assert ("INFO asking" in logged, "CARD-777" in logged) == (True, False)
        assert re.search(r"^\d{4}-\d\d-\d\dT[\d:.]+Z INFO ", logged), "it is in UTC, as all that people see"


FAILS = """
import logging
from app import cars

try:
    raise ValueError("\\x1b[31mred\\x00")
except ValueError:
    logging.exception("it said \\x1b[2J")
"""


def test_up_logs_no_control_characters(shell: Shell) -> None:
    (shell.folder / "fails.py").write_text(FAILS)
    with shell.started("up", "app.py", "fails.py") as everybody:
        everybody.wait_for_talk(" up as ")
        assert submit(shell, "trip-1", "--wait", car="refused", undo="refused").code == 20
        logged = everybody.talk.read_text()
    assert not {*logged} & {"\x1b", "\x00"}
    lines = logged.splitlines()
    assert r"ValueError: \x1b[31mred\x00" in lines, "a traceback has its own lines"
    assert any(line.endswith(r"ERROR it said \x1b[2J") for line in lines)
    assert any(line.endswith(r"it raised Refused: \x1b[31mdeparted\x1b[0m") for line in lines)


def test_up_says_what_its_plans_need_of_others(shell: Shell) -> None:
    (shell.folder / "half.py").write_text("from app import *\ndel cars\n")
    with shell.started("up", "half.py") as everybody:
        everybody.wait_for_talk("plan book_trip needs car-agent/")
        everybody.wait_for_talk(" of another process: no app here has it")


def test_up_says_which_agent_has_nothing_to_do(shell: Shell) -> None:
    (shell.folder / "idle.py").write_text("from makegood import Agent\n\nidle = Agent('idle')\n")
    with shell.started("up", "idle.py") as up:
        up.wait_for_talk("agent idle has no action, so that nothing is ever called by it")
        up.wait_for_talk(" up as ")
        assert up.end(signal.SIGTERM) == 0


def test_version_and_help(shell: Shell) -> None:
    assert re.fullmatch(r"makegood \S.*\n", shell.ok("--version"))
    listed = shell.ok("--help")
    for command in ("up", "submit", "list", "show", "history", "why", "watch", "cancel", "pause", "resume",
                    "retry", "skip", "resolve", "migrate", "demo"):  # fmt: skip
        assert f"  {command} " in listed
        assert "..." not in listed.split("Commands:")[1]
    assert "--no-keys" in shell.ok("demo", "--help")
