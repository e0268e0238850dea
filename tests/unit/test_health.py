"""What the doctor makes of a file, of the living, and of the tasks that wait."""

import asyncio
import os
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from makegood import Makegood
from makegood.health import Level, Line, examine
from makegood.health.files import lines_of_place
from makegood.health.people import lines_of_people
from makegood.health.place import Place, file_system_of, look_at
from makegood.health.work import Due, Work, work_of
from makegood.store.memory import MemoryFile, MemoryStore
from makegood.store.protocol import Member
from makegood.store.sqlite import SqliteStore
from tests.cli.app import Trip, book_trip
from tests.store.clocks import TurnedClock

NOW = 1_800_000_000_000
GB = 1 << 30
HEADER = b"SQLite format 3\0\x10\x00\x02\x02" + bytes(80)

WELL = Place(
    path="/srv/makegood.db",
    size=40_960,
    log_size=0,
    header=HEADER,
    free=80 * GB,
    mode=0o644,
    writable=True,
    folder_writable=True,
    file_system="ext4",
)


def told(lines: list[Line], about: str) -> list[tuple[Level, str]]:
    return [(line.level, line.what) for line in lines if line.about == about]


def levels(lines: list[Line]) -> dict[str, str]:
    return {line.about: line.level.value for line in lines}


# --- the file


def test_a_file_that_is_well() -> None:
    lines = list(lines_of_place(WELL))
    assert set(levels(lines).values()) == {"ok"}
    assert [line.about for line in lines] == ["file", "journal", "disk", "file system", "permissions"]
    assert not any(line.way_out for line in lines)


ILL: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "not a database": ({"header": b"From: ann"}, "file", "broken", "is not a SQLite file"),
    "a rollback journal": (
        {"header": HEADER.replace(b"\x02\x02", b"\x01\x01")},
        "journal",
        "warn",
        "not in WAL mode",
    ),
    "a log that grows": ({"log_size": 300 << 20}, "journal", "warn", "log has 315 MB"),
    "little room": ({"free": GB - 1}, "disk", "warn", "1.074 GB free"),
    "no room": ({"free": 1 << 20}, "disk", "broken", "1.05 MB free"),
    "a network": ({"file_system": "nfs4"}, "file system", "warn", "nfs4: locks"),
    "a network through fuse": ({"file_system": "fuse.sshfs"}, "file system", "warn", "fuse.sshfs: locks"),
    "memory": ({"file_system": "tmpfs"}, "file system", "warn", "gone when the machine stops"),
    "read-only": ({"writable": False}, "permissions", "broken", "may not write /srv/makegood.db"),
    "a folder read-only": ({"folder_writable": False}, "permissions", "broken", "may not write its folder"),
    "everybody's": ({"mode": 0o666}, "permissions", "warn", "666: any user may change"),
}


@pytest.mark.parametrize("case", ILL)
def test_a_file_that_is_not(case: str) -> None:
    changed, about, level, words = ILL[case]
    lines = list(lines_of_place(msgspec.structs.replace(WELL, **changed)))
    [line] = [line for line in lines if line.level is not Level.OK]
    assert (line.about, line.level.value) == (about, level)
    assert words in line.what
    assert line.way_out


def test_a_file_system_that_is_not_known_is_no_fault() -> None:
    lines = list(lines_of_place(msgspec.structs.replace(WELL, file_system="")))
    assert told(lines, "file system") == [(Level.OK, "the system does not tell")]


MOUNTS = """\
27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 27 0:40 / /srv rw - xfs /dev/sdb rw
31 30 0:41 / /srv/a\\040b rw - nfs4 host:/x rw
32 30 0:42 / /srv/twice rw - ext4 /dev/sdc rw
33 30 0:42 / /srv/twice rw - tmpfs none rw
nonsense
""".splitlines()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/x.db", "ext4"),
        ("/srv/x.db", "xfs"),
        ("/srv/a b/x.db", "nfs4"),
        ("/srvx/x.db", "ext4"),
        ("/srv/twice/x.db", "tmpfs"),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(path: str, kind: str) -> None:
    assert file_system_of(Path(path), MOUNTS) == kind
    assert file_system_of(Path(path), []) == ""


def test_a_real_file_is_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    file.write_bytes(HEADER * 2)
    file.chmod(0o640)
    (tmp_path / "a.db-wal").write_bytes(b"x" * 7)
    place = look_at(file)
    assert (place.size, place.log_size, place.header, place.mode) == (200, 7, HEADER, 0o640)
    assert place.free > 0
    assert place.writable
    with pytest.raises(FileNotFoundError):
        look_at(tmp_path / "none.db")


# --- the living, and what waits for them


def member(*roles: str, host: str = "a", **actions: str) -> Member:
    named = {f"cars/{name}": signature for name, signature in actions.items()}
    return Member(member_id=host, roles=roles, actions=named, host=host, pid=7)


ALL = member("scheduler", "supervisor", "agent", rent="1")


def due(waits_for: str, *, seconds: int = 1, action: str = "", task_id: str = "t") -> Due:
    return Due(task_id=task_id, waits_for=waits_for, action=action, since=NOW - seconds * 1000)


def people(members: list[Member], *waiting: Due, **work: Any) -> list[Line]:
    return list(lines_of_people(members, Work(under_way=len(waiting), due=list(waiting), **work), NOW))


def test_nobody_is_needed_where_nothing_is_under_way() -> None:
    assert levels(people([])) == {"processes": "ok", "tasks": "ok"}


def test_those_who_live_and_see_to_what_is_due_are_well() -> None:
    lines = people([ALL], due("scheduler"), due("supervisor"), due("agent", action="cars/rent"))
    assert levels(lines) == {"processes": "ok", "tasks": "ok"}
    assert told(lines, "processes") == [(Level.OK, "1 alive: agent, scheduler, supervisor")]


@pytest.mark.parametrize(
    ("waiting", "members", "who"),
    [
        (due("scheduler"), [], "a scheduler"),
        (due("supervisor"), [member("scheduler")], "a supervisor"),
        (due("waitOut"), [member("scheduler")], "a supervisor"),
        (due("agent", action="cars/rent"), [], "an agent that has cars/rent"),
        (
            due("agent", action="cars/rent"),
            [member("agent", sell="1")],
            "an agent that has cars/rent (cars is alive without it)",
        ),
    ],
)
def test_what_waits_for_somebody_who_is_not_there_is_broken(
    waiting: Due, members: list[Member], who: str
) -> None:
    assert told(people(members, waiting), "due") == [
        (Level.BROKEN, f"t waits for {who}, and none is alive"),
    ]


def test_many_that_wait_are_one_line() -> None:
    waiting = [due("scheduler", task_id=f"t{n}") for n in range(7)]
    assert told(people([], *waiting), "due") == [
        (Level.BROKEN, "t0, t1, t2, t3, t4 and 2 more wait for a scheduler, and none is alive")
    ]


def test_what_is_long_overdue_though_they_live_is_stuck() -> None:
    late = due("supervisor", seconds=90)
    [(level, what)] = told(people([ALL], late, due("scheduler", seconds=59)), "stuck")
    assert level is Level.BROKEN
    assert what == "t waits for a supervisor, due for up to 90 s, though processes are alive"
    assert told(people([], late), "stuck") == []
    busy = due("agent", seconds=90, action="cars/rent")
    assert told(people([ALL], busy), "stuck")[0][0] is Level.WARN


def test_two_forms_of_one_action_are_named() -> None:
    lines = people([member("agent", rent="1f", sell="3"), member("agent", host="b", rent="2e", sell="3")])
    [(level, what)] = told(lines, "versions")
    assert level is Level.WARN
    assert what == "cars/rent is alive in 2 forms: 1f at a (pid 7); 2e at b (pid 7)"
    assert told(people([ALL, ALL]), "versions") == []


def test_the_parked_and_the_damaged_are_told() -> None:
    lines = people([ALL], parked=2, illegible={"t9": "truncated"}, more=True)
    assert told(lines, "parked") == [(Level.WARN, "2 wait for a person")]
    [(level, what)] = told(lines, "tasks")
    assert level is Level.BROKEN
    assert "2 parked; only the newest were looked at; 1 cannot be read: t9: truncated" in what


# --- a store


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def submitted(store: MemoryStore | SqliteStore, *names: str) -> None:
    async with Makegood(store) as makegood:
        for name in names:
            await makegood.submit(book_trip, Trip("ann"), task_id=name)


def test_a_task_that_starts_later_is_not_due() -> None:
    file = MemoryFile()

    async def work() -> Work:
        async with Makegood(MemoryStore(file)) as makegood:
            await makegood.submit(book_trip, Trip("ann"), start_at=datetime.now(UTC) + timedelta(hours=1))
        return await look_again(file)

    found = run(work())
    assert (found.under_way, found.due) == (1, [])


def test_the_work_of_a_store() -> None:
    file = MemoryFile()

    async def look() -> Work:
        await submitted(MemoryStore(file), "t1", "t2", "t3")
        file.tasks["t2"].stored = msgspec.structs.replace(file.tasks["t2"].stored, head=b"\x93\x01")
        store = MemoryStore(file)
        await store.open()
        return await work_of(store, await store.now())

    work = run(look())
    assert (work.under_way, work.parked, work.more) == (3, 0, False)
    assert [(each.task_id, each.waits_for) for each in work.due] == [("t3", "scheduler"), ("t1", "scheduler")]
    assert list(work.illegible) == ["t2"]
    file.plans.clear()
    assert set(run(look_again(file)).illegible) == {"t1", "t2", "t3"}


async def look_again(file: MemoryFile) -> Work:
    store = MemoryStore(file)
    await store.open()
    return await work_of(store, await store.now())


def test_a_clock_that_was_put_back(tmp_path: Path) -> None:
    clock = TurnedClock()
    path = tmp_path / "a.db"
    run(submitted(SqliteStore(path, clock=clock), "t1"))
    assert levels(run(examine(SqliteStore(path, clock=clock), clock)))["clock"] == "ok"
    clock.turn(-3_600_000)
    [(level, what)] = told(run(examine(SqliteStore(path, clock=clock), clock)), "clock")
    assert level is Level.WARN
    assert "store time is 60 min ahead of this machine's clock" in what


def test_a_file_that_cannot_be_opened_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"From: ann")
    lines = run(examine(SqliteStore(tmp_path / "a.db"), TurnedClock()))
    assert levels(lines)["file"] == "broken"
    assert told(lines, "schema")[0][1].endswith("is not a SQLite file")
    assert os.listdir(tmp_path) == ["a.db"]


def test_the_library_is_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert told(run(examine(SqliteStore(tmp_path / "a.db"), TurnedClock())), "library")[0][0] is Level.OK
    monkeypatch.setattr(SqliteStore, "library", "SQLite 3.51.2 (apsw 3.51.2.0)")
    [(level, what)] = told(run(examine(SqliteStore(tmp_path / "a.db"), TurnedClock())), "library")
    assert (level, what) == (Level.BROKEN, "SQLite 3.51.2 can lose commits")


def test_a_file_that_others_may_read_is_said_to_be_so() -> None:
    lines = list(lines_of_place(msgspec.structs.replace(WELL, mode=0o644)))
    [(level, words)] = told(lines, "permissions")
    assert level is Level.OK
    assert words.startswith("644: any user may read what is recorded")
