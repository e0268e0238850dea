"""What a process does beside makegood loses nothing: closing the file, forking. Nor does deleting it."""

import asyncio
import errno
import fcntl
import gc
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from makegood.commit import commit
from makegood.errors import StoreGone, StoreUnavailable, StoreUncertain
from makegood.store import holds
from makegood.store.migrations import load_migrations
from makegood.store.paths import mounted
from makegood.store.sqlite import SqliteStore
from makegood.store.sqlite_file import SqliteFile
from makegood.testing.conformance import COMMITTED, Run, change
from tests.soak.clocks import AHEAD, RIGHT, WrongClock

PROGRAMS = Path(__file__).with_name("programs.py")
LOST = r"the log of .*tasks\.db was deleted, replaced or cut short while open"


def sqlite_file(path: Path) -> SqliteFile:
    migrations = load_migrations("sqlite")
    return SqliteFile(path, migrations=migrations, wall=lambda: 0, sleep=asyncio.sleep, jitter=lambda: 0.0)


def look_in_this_process(path: Path) -> None:
    """With another copy of SQLite, which takes itself for the last one as it closes the file."""
    with closing(sqlite3.connect(path)) as looked:
        looked.execute("SELECT task_id FROM tasks").fetchall()


def commit_in_another(path: Path, name: str) -> None:
    subprocess.run([sys.executable, PROGRAMS, "commit_for", path, name, "3"], check=True, capture_output=True)


def seen_by_another(path: Path) -> list[str]:
    said = subprocess.run([sys.executable, PROGRAMS, "say_tasks", path], capture_output=True, text=True)
    return said.stdout.split()


def tasks_in(path: Path) -> set[str]:
    with closing(apsw.Connection(str(path))) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {task_id for [task_id] in db.execute("SELECT task_id FROM tasks")}


# Closing the file by other means


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_that_the_process_closes_elsewhere_keeps_its_log(path: Path, run: Run, linked: bool) -> None:
    name = path
    if linked:
        name = path.with_name("link.db")
        name.symlink_to(path)
    store = SqliteStore(name)
    run(store.open())
    look_in_this_process(path)
    path.read_bytes()  # a copy does it as well
    commit_in_another(path, "other")
    assert list(run(store.commit([change("ours")]))) == [COMMITTED]
    assert "ours" in seen_by_another(path)
    run(store.close())
    assert tasks_in(path) == {"ours", "other-0", "other-1", "other-2"}
    assert not path.with_name("tasks.db-wal").exists(), "the last one tidies up"


LOOKS_MEANWHILE = """
import asyncio, os, sqlite3, sys, threading
from tests.store.programs import change, say
from makegood.store.sqlite import SqliteStore

async def main():
    store, number = SqliteStore(sys.argv[1]), 0
    await store.open()
    await store.commit([change(f"big-{n}", row=bytes(100_000)) for n in range(100)])  # slow to move
    looks = threading.Thread(target=look)
    looks.start()
    while looks.is_alive() or number < 20:
        await store.commit([change(f"t-{number}")])
        say(f"t-{number}")
        number += 1
    os.kill(os.getpid(), 9)

def look():
    db = sqlite3.connect(sys.argv[1])
    db.execute("SELECT task_id FROM tasks").fetchall()
    db.close()

asyncio.run(main())
"""


def test_what_is_committed_while_a_thread_closes_the_file_is_durable(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LOOKS_MEANWHILE, path], capture_output=True, text=True)
    told = set(done.stdout.split())
    assert done.returncode == -9, done.stderr
    assert len(told) >= 20
    assert told - tasks_in(path) == set()


@pytest.mark.parametrize("clock", [RIGHT, AHEAD])
def test_nobody_writes_while_another_does_though_sqlites_own_lock_is_gone(
    path: Path, run: Run, clock: str
) -> None:
    others: list[subprocess.Popen[bytes]] = []
    wrong = WrongClock(path.with_name("clock"))
    wrong.set(clock)

    def work(db: apsw.Connection) -> None:
        db.execute("DELETE FROM plans")
        look_in_this_process(path)  # the lock that SQLite has for this transaction ends with it
        other: list[str | Path] = [sys.executable, PROGRAMS, "commit_for", path, "other", "3"]
        others.append(subprocess.Popen(other, env={**os.environ, **wrong.given}))
        with pytest.raises(subprocess.TimeoutExpired):
            others[0].wait(1)

    store, file = SqliteStore(path), sqlite_file(path)
    run(store.open())
    run(file.open())
    run(file.write(work))
    assert others[0].wait(20) == 0
    assert list(run(store.commit([change("ours")]))) == [COMMITTED]
    file.close()
    run(store.close())
    assert tasks_in(path) == {"ours", "other-0", "other-1", "other-2"}


def test_a_signal_handler_that_raises_leaves_nobody_locked_out(
    path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Alarm(Exception):
        pass

    def interrupted(descriptor: int, kind: int, where: holds.Bytes) -> None:
        set_lock(descriptor, kind, where)
        if kind == fcntl.F_WRLCK:
            raise Alarm

    set_lock, store, second = holds._set_lock, SqliteStore(path), SqliteStore(path)
    run(store.open())
    run(second.open())
    with monkeypatch.context() as meanwhile, pytest.raises(Alarm):
        meanwhile.setattr(holds, "_set_lock", interrupted)
        run(store.commit([change("lost")]))
    commit_in_another(path, "other")
    assert list(run(second.commit([change("ours")]))) == [COMMITTED]
    run(second.close())
    run(store.close())


@pytest.mark.parametrize("verb", ["_is_new", "_configure", "_check"])
def test_nobody_deletes_the_log_of_a_file_that_is_being_opened(
    path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Between any two steps of it."""
    step = getattr(SqliteFile, verb)

    def with_a_look(file: SqliteFile, db: apsw.Connection) -> object:
        done = step(file, db)
        look_in_this_process(path)
        commit_in_another(path, f"other-{len(told)}")
        told.append(verb)
        return done

    told: list[str] = []
    commit_in_another(path, "before")
    store = SqliteStore(path)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(SqliteFile, verb, with_a_look)
        run(store.open())
    assert told == [verb]
    assert list(run(store.commit([change("ours")]))) == [COMMITTED]
    assert "ours" in seen_by_another(path)
    run(store.close())
    everything = {f"{name}-{n}" for name in ("before", "other-0") for n in range(3)}
    assert tasks_in(path) == everything | {"ours"}


def test_where_there_are_no_such_locks_a_file_is_used_without(
    path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(holds, "_set_lock", none)
    before = len(os.listdir("/proc/self/fd"))
    for n in range(3):
        store = SqliteStore(path)
        run(store.open())
        assert list(run(store.commit([change(f"t{n}")]))) == [COMMITTED]
        run(store.close())
        assert len(os.listdir("/proc/self/fd")) == before


# A file or a log that is taken away


def take_away(path: Path, *endings: str) -> None:
    for ending in endings:
        path.with_name(path.name + ending).unlink()


def test_a_file_that_was_deleted_is_not_written_on(path: Path, run: Run) -> None:
    store = SqliteStore(path)
    run(store.open())
    take_away(path, "")
    with pytest.raises(StoreUnavailable, match="deleted or replaced"):
        run(store.commit([change()]))
    with pytest.raises(StoreUnavailable, match="deleted or cut while a process had it open: end every"):
        run(SqliteStore(path).open())  # beside the log of the other one
    run(store.close())


def test_who_had_a_file_that_was_replaced_leaves_the_new_one_alone(path: Path, run: Run) -> None:
    old, new = SqliteStore(path), SqliteStore(path)
    run(old.open())
    take_away(path, "", "-wal", "-shm")
    run(new.open())
    run(new.commit([change("before")]))
    with pytest.raises(StoreUnavailable, match="deleted or replaced"):
        run(old.commit([change()]))
    run(old.close())
    assert list(run(new.commit([change("after")]))) == [COMMITTED]
    assert tasks_in(path) == {"before", "after"}
    run(new.close())


def test_a_link_that_was_turned_to_another_file_is_not_followed_in_silence(path: Path, run: Run) -> None:
    link, twin = path.with_name("link.db"), path.with_name("twin.db")
    link.symlink_to(path)
    store = SqliteStore(link)
    run(store.open())
    link.unlink()
    link.symlink_to(twin)
    commit_in_another(link, "new")
    with pytest.raises(StoreGone, match=r"link\.db was deleted or replaced while open"):
        run(store.commit([change()]))
    run(store.close())
    assert (tasks_in(path), tasks_in(twin)) == (set(), {"new-0", "new-1", "new-2"})


@pytest.mark.parametrize("endings", [("-wal", "-shm"), ("-shm",)])
def test_who_had_a_log_that_was_deleted_neither_goes_on_nor_writes_it_over_others(
    path: Path, run: Run, endings: tuple[str, ...]
) -> None:
    """Nor where it was the log's index alone: who comes then makes another one."""
    store, second = SqliteStore(path), SqliteStore(path)
    run(store.open())
    old = [f"old-{n}" for n in range(20)]
    run(store.commit([change(name, row=bytes(3000)) for name in old]))
    take_away(path, *endings)
    with pytest.raises(StoreUnavailable, match=LOST):
        run(second.open())  # it would have the index of the log that is gone
    with pytest.raises(StoreUnavailable, match=LOST):
        run(store.commit([change()]))
    commit_in_another(path, "new")
    run(store.close())
    assert tasks_in(path) == {"new-0", "new-1", "new-2", *(() if "-wal" in endings else old)}
    run(second.open())  # all is closed that had the old one
    assert list(run(second.commit([change("ours")]))) == [COMMITTED]
    run(second.close())


def test_a_log_that_is_cut_short_ends_who_has_it_and_harms_no_page(path: Path, run: Run) -> None:
    """A cleaner of logs empties it (`copytruncate`, `> FILE`). Pages would be gone of what was moved over."""
    store, second = SqliteStore(path), SqliteStore(path)
    run(store.open())
    old = [f"old-{n}" for n in range(300)]
    run(store.commit([change(name, row=bytes(3000)) for name in old]))
    run(store.close())  # moves all into the file
    run(store.open())
    run(second.open())
    run(store.commit([change("late")]))
    os.truncate(path.with_name("tasks.db-wal"), 0)
    for each in (second, store):
        with pytest.raises(StoreGone, match=LOST):
            run(each.commit([change()]))
    assert seen_by_another(path) == []
    run(store.close())
    run(second.close())
    assert tasks_in(path) == set(old)
    run(second.open())
    assert list(run(second.commit([change("ours")]))) == [COMMITTED]
    run(second.close())


def test_a_log_that_sqlite_itself_cuts_is_none_that_is_lost(path: Path, run: Run) -> None:
    """As a process does that has found the disk full; and it may come between our look at index and log."""
    store, file = SqliteStore(path), sqlite_file(path)
    run(store.open())
    run(file.open())
    for n in range(20):
        run(store.commit([change(f"t-{n}", row=bytes(3000))]))
        assert file._connection is not None
        file._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        assert path.with_name("tasks.db-wal").stat().st_size == 0
        assert list(run(store.commit([change(f"u-{n}")]))) == [COMMITTED]
    file.close()
    run(store.close())
    assert len(tasks_in(path)) == 40


def test_a_commit_into_a_log_that_is_gone_by_then_is_uncertain(path: Path, run: Run) -> None:
    file = sqlite_file(path)
    run(file.open())
    with pytest.raises(StoreUncertain, match=LOST):
        run(file.write(lambda db: take_away(path, "-wal")))
    with pytest.raises(StoreUnavailable, match=LOST):
        run(file.read(lambda db: None))  # it would find its own commit there, and take it for durable
    file.close()


def test_who_waits_for_a_commit_into_a_log_that_is_gone_is_told(
    path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(file: SqliteFile, db: apsw.Connection) -> None:
        take_away(path, "-wal")
        commits(file, db)

    commits, store = SqliteFile._commit, SqliteStore(path)
    run(store.open())
    monkeypatch.setattr(SqliteFile, "_commit", late)
    with pytest.raises(StoreUncertain, match=LOST):
        run(asyncio.wait_for(commit(store, [change()]), 10))
    run(store.close())


def test_a_file_that_is_deleted_while_it_is_opened_is_not_used(
    path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(path)
    with (
        monkeypatch.context() as meanwhile,
        pytest.raises(StoreUnavailable, match="while it was being opened"),
    ):
        meanwhile.setattr(apsw, "connection_hooks", [lambda db: path.unlink()])
        run(store.open())
    assert not path.exists()
    run(store.open())
    run(store.commit([change()]))
    run(store.close())


# A file whose log is elsewhere for others


def test_a_file_of_two_names_is_refused(path: Path, run: Run) -> None:
    run(SqliteStore(path).open())
    path.with_name("twin.db").hardlink_to(path)
    with pytest.raises(StoreUnavailable, match=r"2 names \(hard links\), .*; delete the others"):
        run(SqliteStore(path).open())


def test_a_file_that_is_a_mount_point_is_known(tmp_path: Path) -> None:
    path, table = tmp_path / "a \\ file.db", tmp_path / "mountinfo"
    path.touch()
    spelled = str(path).replace("\\", "\\134").replace(" ", "\\040")
    assert "\\040" in spelled
    table.write_text(f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 8:1 /x {spelled} rw - ext4 /dev/sda1 rw\n")
    assert mounted(path, table)
    assert not mounted(tmp_path, table)
    assert not mounted(path, tmp_path / "no such table")
    assert mounted(Path("/"))


# Forks


def test_a_fork_waits_until_sqlite_is_not_at_work(path: Path, run: Run) -> None:
    """Its locks would stay taken in the child, for whatever other file that opens."""
    began, ended = threading.Event(), threading.Event()

    def work(db: apsw.Connection) -> None:
        began.set()
        time.sleep(0.3)
        ended.set()

    async def use() -> None:
        file = sqlite_file(path)
        await file.open()
        await file.read(work)
        file.close()

    user = threading.Thread(target=asyncio.run, args=(use(),))
    user.start()
    assert began.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if ended.is_set() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    user.join()


@pytest.mark.parametrize("way", ["close", "drop", "exit"])
def test_a_fork_that_lets_go_of_a_file_leaves_its_log_alone(path: Path, run: Run, way: str) -> None:
    store = SqliteStore(path)
    run(store.open())
    mine, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.read(mine, 1)
            if way == "close":
                run(store.close())
            if way == "drop":
                del store
                gc.collect()
        finally:
            if way == "exit":
                holds._inherited.clear()  # as the interpreter does at its end
            os._exit(0)
    run(store.close())
    killed = subprocess.run([sys.executable, "-c", COMMITS_AND_DIES, path], capture_output=True)
    assert killed.returncode == -9
    os.write(told, b"!")
    assert os.waitpid(child, 0)[1] == 0
    assert tasks_in(path) == {"acknowledged"}


COMMITS_AND_DIES = """
import asyncio, os, sys
from tests.store.programs import change
from makegood.store.sqlite import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1])
    await store.open()
    await store.commit([change("acknowledged")])
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""

FORKS_INTERRUPTED = """
import asyncio, os, signal, sys, threading, time
from makegood.store.sqlite import SqliteStore
from tests.store.test_holds import sqlite_file

def work(db):
    began.set()
    time.sleep(0.5)

async def use():
    file = sqlite_file(sys.argv[1])
    await file.open()
    await file.read(work)
    file.close()

async def use_another():
    store = SqliteStore(sys.argv[1] + ".other")
    await store.open()
    await store.close()

def interrupt(*_):
    if sys.argv[2] == "fork":
        fork()
    else:
        raise TimeoutError

def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

began = threading.Event()
users = [threading.Thread(target=asyncio.run, args=(each,), daemon=True) for each in (use(), use_another())]
users[0].start()
began.wait()
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.1)
fork()
users[1].start()
for user in users:
    user.join(5)
    assert not user.is_alive()
"""


@pytest.mark.parametrize("handler", ["fork", "raise"])
def test_a_signal_while_a_fork_waits_leaves_nothing_locked(path: Path, handler: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS_INTERRUPTED, path, handler], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


FORKS_IN_A_STORM = """
import os, random, signal, sys, threading, time
from makegood.store import holds

class Late(Exception):
    pass

def late(*_):
    raise Late

sys.unraisablehook = lambda _: None
signal.signal(signal.SIGALRM, late)
turn = holds.new_turn()
began = time.monotonic()
while time.monotonic() < began + 4:
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 2e-3))
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(3e-3)  # it has struck by now, inside of this
    except Late:
        pass
free = []
other = threading.Thread(target=lambda: free.extend(lock.acquire(timeout=5) for lock in (holds.guard, turn)))
other.start()
other.join()
assert free == [True, True], free
"""


def test_handlers_that_raise_at_any_moment_of_a_fork_leave_nothing_locked() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS_IN_A_STORM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


FORKS_AT_ONCE = """
import faulthandler, os, threading, time
from makegood.store.holds import new_turn

faulthandler.dump_traceback_later(20, exit=True)

def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

threads = [threading.Thread(target=fork) for _ in range(3)]
with new_turn():
    for thread in threads:
        thread.start()
    time.sleep(0.3)
for thread in threads:
    thread.join()
fork()
"""


def test_threads_that_fork_at_once_wait_for_each_other() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS_AT_ONCE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
