"""`makegood doctor` and `makegood agents`, as an operator runs them."""

import json
import re
import signal
import sqlite3

from tests.cli.terminal import Shell

TRIP = '{"who": "ann"}'


def examined(shell: Shell) -> dict[str, str]:
    lines = re.findall(r"^(ok|warn|broken) +([\w ]+?)  +\S", shell.run("doctor").out, re.MULTILINE)
    return {about: level for level, about in lines}


def test_an_empty_store_is_well(shell: Shell) -> None:
    said = shell.run("doctor")
    assert (said.code, said.err) == (0, "")
    assert re.match(
        r"ok      library      SQLite [\d.]+ \(apsw [\d.]+\), without the WAL-reset bug\n", said.out
    )
    assert {
        "library",
        "file",
        "journal",
        "disk",
        "file system",
        "permissions",
        "schema",
        "clock",
        "processes",
        "tasks",
    } == examined(shell).keys()


def test_work_that_nobody_sees_to_is_broken_until_somebody_is_up(shell: Shell) -> None:
    shell.ok("submit", "app.py:book_trip", TRIP, "--id", "t1")
    said = shell.run("doctor")
    assert said.code == 1
    assert "broken  due          t1 waits for a scheduler, and none is alive\n" in said.out
    assert "way out: start one: `makegood up APP`" in said.out
    with shell.started("up", "app.py") as everybody:
        everybody.wait_for_talk(" up as ")
        assert shell.run("watch", "t1").code == 0
        assert shell.run("doctor").code == 0
        assert "1 alive: agent, scheduler, supervisor" in shell.ok("doctor")


def test_json(shell: Shell) -> None:
    shell.ok("submit", "app.py:book_trip", TRIP)
    said = shell.run("doctor", "--json")
    assert said.code == 1
    lines = json.loads(said.out)
    assert {line["level"] for line in lines} == {"ok", "warn", "broken"}
    assert list(lines[0]) == ["level", "about", "what"]
    assert [line["about"] for line in lines if "wayOut" in line] == ["processes", "due"]


def test_a_store_that_cannot_be_used_is_examined_all_the_same(shell: Shell) -> None:
    with sqlite3.connect(shell.folder / "makegood.db") as db:
        db.execute("INSERT INTO migrations VALUES (9999, '9999_of_tomorrow', '', 0)")
    said = shell.run("doctor")
    assert said.code == 1
    assert re.search(r"broken  schema .* was written by a newer makegood", said.out)
    assert "way out: upgrade makegood" in said.out.replace("\n", " ")


def test_no_store_is_no_store(shell: Shell) -> None:
    said = shell.run("doctor", "--store", "sqlite:///none.db")
    assert (said.code, said.out) == (1, "")
    assert "there is no store none.db" in said.err
    assert not (shell.folder / "none.db").exists()


def test_a_damaged_task_is_named(shell: Shell) -> None:
    shell.ok("submit", "app.py:book_trip", TRIP, "--id", "t1")
    with sqlite3.connect(shell.folder / "makegood.db") as db:
        db.execute("UPDATE tasks SET head = x'00'")
    said = shell.run("doctor")
    assert said.code == 1
    assert "1 cannot be read: t1: " in said.out


def test_agents_are_those_who_live(shell: Shell) -> None:
    said = shell.run("agents")
    assert (said.code, said.out) == (0, "")
    assert "no process is alive" in said.err
    with shell.started("up", "app.py") as everybody:
        everybody.wait_for_talk(" up as ")
        pid = everybody.process.pid
        head, row = shell.ok("agents").splitlines()
        assert head.split() == ["ID", "HOST", "PID", "SINCE", "LEASE", "UNTIL", "WHAT"]
        moment = r"\d\d-\d\d \d\d:\d\d:\d\dZ"
        assert re.search(rf"  {pid}  {moment}  {moment}  ", row)
        assert "scheduler, agent, supervisor: car-agent/reserve_car, flight-agent/reserve_flight" in row
        [member] = json.loads(shell.ok("agents", "--json"))
        assert member["pid"] == pid
        assert re.fullmatch(r"\d{4}-.*\.\d{3}Z", member["leaseUntil"])
        assert set(member["actions"]) == {"car-agent/reserve_car", "flight-agent/reserve_flight"}
        assert everybody.end(signal.SIGTERM) == 0
    assert json.loads(shell.ok("agents", "--json")) == []
