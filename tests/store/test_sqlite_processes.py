"""Several real processes on one file: all of them get through, and a kill loses nothing acknowledged."""

import asyncio
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from makegood.store.protocol import Query
from makegood.store.sqlite import SqliteStore

PROGRAMS = Path(__file__).with_name("programs.py")


def start(*words: object) -> "subprocess.Popen[str]":
    command = [sys.executable, str(PROGRAMS), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told_until_killed(process: "subprocess.Popen[str]") -> str:
    """Kill it, and what it said and we had not read yet."""
    process.kill()
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        said, errors = process.stdout.read(), process.stderr.read()
    process.wait()
    assert errors == ""
    return said


def acknowledged(output: str) -> dict[str, int]:
    """The newest version of each task that a program was told is durable."""
    lines = [line for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return {task_id: int(version) for task_id, version in map(str.split, lines)}


def versions(path: Path) -> dict[str, int]:
    """The version of every task in the file, which must be whole."""

    async def read() -> dict[str, int]:
        store = SqliteStore(path)
        await store.open()
        tasks = (await store.search(Query(), limit=100_000)).tasks
        for task in tasks:
            rows = [(row.version, row.write_id) for row in await store.history(task.task_id)]
            assert rows == [(n, n) for n in range(1, task.version + 1)]
        await store.close()
        return {task.task_id: task.version for task in tasks}

    found = asyncio.run(read())
    checked = apsw.Connection(str(path))
    assert checked.pragma("integrity_check") == "ok"
    checked.close()
    return found


def test_twenty_processes_commit_at_once(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    processes = [start("commit_for", path, f"p{n}", 25) for n in range(20)]
    ends = [(*process.communicate(), process.returncode) for process in processes]
    assert [(errors, code) for _, errors, code in ends] == [("", 0)] * 20
    told = [acknowledged(output) for output, _, _ in ends]
    assert [len(tasks) for tasks in told] == [25] * 20
    assert versions(path) == {task_id: 2 for tasks in told for task_id in tasks}


@pytest.mark.parametrize("lines", [1, 20, 150])
def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "tasks.db"
    writers = [start("commit_for", path, f"p{n}", 1_000_000) for n in range(2)]
    told: dict[str, int] = {}
    for writer in writers:
        assert writer.stdout is not None
        told |= acknowledged("".join(writer.stdout.readline() for _ in range(lines)))
    for writer in writers:
        told |= acknowledged(told_until_killed(writer))
    assert len(told) >= lines
    found = versions(path)
    assert {task_id: found[task_id] for task_id in told if found[task_id] < told[task_id]} == {}


def test_a_full_disk_halves_nothing_and_ends_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    output, errors = (process := start("fill_up", path, 1_000_000)).communicate()
    assert (errors, process.returncode) == ("", 0)
    failures = [line for line in output.splitlines() if line.startswith("failed")]
    told = acknowledged("".join(line for line in output.splitlines(keepends=True) if line[:6] != "failed"))
    assert len(failures) == 1
    assert failures[0].startswith(("failed StoreUnavailable", "failed StoreUncertain"))
    assert str(path) in failures[0]
    assert len(told) > 20
    assert versions(path) == told
