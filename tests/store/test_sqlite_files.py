"""Which files the SQLite store takes, and what it says of those it does not."""

import asyncio
import ctypes
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path

import apsw
import apsw.ext
import pytest

from makegood.errors import SchemaMismatch, StoreUnavailable
from makegood.store.migrations import Migration, load_migrations
from makegood.store.paths import NAME_BYTES_MAX, PATH_BYTES_MAX
from makegood.store.sqlite import SqliteStore
from makegood.store.sqlite_file import SQL, SqliteFile, refuse_library
from makegood.testing.conformance import change, in_threads
from tests.store.clocks import TurnedClock
from tests.store.test_sqlite_processes import PROGRAMS

FIRST = load_migrations("sqlite")
SECOND = Migration(
    2, "0002_notes", "CREATE TABLE notes (text TEXT) STRICT; INSERT INTO notes VALUES ('kept')"
)
BROKEN = Migration(2, "0002_broken", "CREATE TABLE notes (text TEXT) STRICT; INSERT INTO nowhere VALUES (1)")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


def sqlite_file(path: Path, *migrations: Migration) -> SqliteFile:
    clock = TurnedClock()
    return SqliteFile(path, migrations=migrations, wall=clock.wall, sleep=clock.sleep, jitter=lambda: 0.0)


async def use(path: Path) -> None:
    store = SqliteStore(path)
    try:
        await store.open()
        await store.commit([change()])
    finally:
        await store.close()


def run_sql(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


# Files that are not makegood's


def make_text(path: Path) -> None:
    path.write_text("Dear diary,\n" * 100)


def make_foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE tasks (task_id TEXT)")
    connection.close()


def make_claimed(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA application_id = 1234")
    connection.close()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (make_text, "is not a SQLite file; name another"),
        (make_foreign, "is a SQLite file, but not makegood's; name another"),
        (make_claimed, "is a SQLite file, but not makegood's; name another"),
    ],
)
def test_somebody_else_s_file_is_left_as_it_is(path: Path, make: Callable[[Path], None], words: str) -> None:
    make(path)
    before = path.read_bytes()
    for verb in (SqliteStore.open, SqliteStore.migrate):
        with pytest.raises(SchemaMismatch, match=words) as refused:
            asyncio.run(verb(SqliteStore(path)))
        assert str(path) in str(refused.value)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    asyncio.run(use(path))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=f"{tmp_path}: this is a folder; name a file"):
        asyncio.run(use(tmp_path))


def test_the_folder_must_be_there(path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"x\.db: there is no folder .*none; create it first"):
        asyncio.run(use(path.parent / "none" / "x.db"))


def test_a_file_is_no_folder(path: Path) -> None:
    path.touch()
    for below in (path / "x.db", path / "none" / "x.db"):
        with pytest.raises(StoreUnavailable, match=rf"x\.db: {path} is a file, not a folder; name another"):
            asyncio.run(use(below))


def test_a_pipe_is_no_file(path: Path) -> None:
    os.mkfifo(path)
    for special in (path, "/dev/null"):
        with pytest.raises(StoreUnavailable, match=f"^{special}: this is no plain file; name another one$"):
            asyncio.run(use(Path(special)))


@pytest.mark.parametrize(
    ("name", "named", "words"),
    [
        ("x\ud800.db", r"'{}/x\\ud800\.db'", "its name is not valid Unicode"),
        ("x\udcff.db", r"'{}/x\\udcff\.db'", "its name is not valid Unicode"),
        ("x\0.db", r"'{}/x\\x00\.db'", "a file's name cannot hold a NUL character"),
        ("x" * 248, "{}/x{{248}}", "the path is too long: a name may have 247 bytes, and 504"),
        ("é" * 124, "{}/é{{124}}", "the path is too long"),
        ("folder/" * 80 + "x.db", r"{}/folder/[folder/]+\.\.\.", "the path is too long"),
        ("x" * 100_000, r"{}/x+\.\.\.", "the path is too long"),
    ],
    ids=lambda text: ascii(text)[:20],
)
def test_a_name_that_no_file_can_have(tmp_path: Path, name: str, named: str, words: str) -> None:
    with pytest.raises(StoreUnavailable, match=f"^{named.format(tmp_path)}: {words}.*; name another file$"):
        asyncio.run(use(tmp_path / name))
    assert list(tmp_path.iterdir()) == []


def test_the_longest_names_are_opened(tmp_path: Path) -> None:
    asyncio.run(use(tmp_path / ("x" * NAME_BYTES_MAX)))
    folder = tmp_path / ("a" * 200) / "b"
    folder.mkdir(parents=True)
    left = PATH_BYTES_MAX - len(str(folder)) - len("/")
    asyncio.run(use(folder / ("x" * min(left, NAME_BYTES_MAX))))


# What may not be written


def as_a_plain_user() -> None:
    """Let permissions bind this process after its exec, even if it is root's."""
    drop_from_bounding_set, may_write_anything = 24, 1
    if os.geteuid() == 0:
        assert ctypes.CDLL(None).prctl(drop_from_bounding_set, may_write_anything, 0, 0, 0) == 0


def try_to_use(path: Path) -> str:
    command = [sys.executable, str(PROGRAMS), "try_to_use", str(path)]
    done = subprocess.run(
        command, preexec_fn=as_a_plain_user, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_a_file_that_may_not_be_written(path: Path) -> None:
    assert try_to_use(path) == "done\n"
    path.chmod(0o444)
    assert f"StoreUnavailable {path} is read-only for this user; let this user write" in try_to_use(path)


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_may_not_be_written(path: Path, there: bool) -> None:
    if there:
        asyncio.run(use(path))
    path.parent.chmod(0o555)
    said = try_to_use(path)
    path.parent.chmod(0o755)
    assert f"StoreUnavailable {path}: " in said
    assert "let this user write the file and its folder" in said


# Schemas


def test_a_new_file_is_given_the_schema_once(path: Path) -> None:
    async def scenario() -> None:
        store = SqliteStore(path)
        assert list(await store.migrate()) == ["0001_tasks"]
        assert list(await store.migrate()) == []
        await store.close()
        await use(path)

    asyncio.run(scenario())


def test_of_several_that_migrate_at_once_one_does_it(path: Path) -> None:
    async def migrate(_: int) -> list[str]:
        store = SqliteStore(path)
        applied = list(await store.migrate())
        await store.commit([])
        await store.close()
        return applied

    applied = in_threads(8, migrate)
    assert sorted(applied) == [[]] * 7 + [["0001_tasks"]]


def test_an_older_file_is_opened_after_migrating_only(path: Path) -> None:
    async def scenario() -> None:
        await use(path)
        newer = sqlite_file(path, *FIRST, SECOND)
        with pytest.raises(
            SchemaMismatch, match=f"lacks 0002_notes; run `makegood migrate .*sqlite:///{path}"
        ):
            await newer.open()
        assert await newer.migrate() == ("0002_notes",)
        assert await newer.read(lambda db: db.execute("SELECT text FROM notes").get) == "kept"
        newer.close()
        await newer.open()
        newer.close()

    asyncio.run(scenario())


def test_a_newer_file_is_refused_and_left(path: Path) -> None:
    async def scenario() -> None:
        newer = sqlite_file(path, *FIRST, SECOND)
        await newer.open()
        newer.close()
        for verb in (SqliteStore.open, SqliteStore.migrate):
            with pytest.raises(SchemaMismatch, match=r"tasks\.db .*newer makegood.*0002_notes.*upgrade"):
                await verb(SqliteStore(path))
        await newer.open()
        newer.close()

    asyncio.run(scenario())


def test_a_file_of_another_build_is_refused(path: Path) -> None:
    asyncio.run(use(path))
    run_sql(path, "UPDATE migrations SET checksum = 'f00'")
    for verb in (SqliteStore.open, SqliteStore.migrate):
        with pytest.raises(SchemaMismatch, match=r"tasks\.db .*0001_tasks in another form.*another build"):
            asyncio.run(verb(SqliteStore(path)))


def test_a_migration_is_applied_whole_or_not_at_all(path: Path) -> None:
    async def scenario() -> None:
        await use(path)
        with pytest.raises(StoreUnavailable, match="nowhere"):
            await sqlite_file(path, *FIRST, BROKEN).migrate()
        repaired = sqlite_file(path, *FIRST, SECOND)
        assert await repaired.migrate() == ("0002_notes",)
        repaired.close()

    asyncio.run(scenario())


def test_migrations_are_numbered_without_gaps() -> None:
    assert [each.number for each in FIRST] == list(range(1, len(FIRST) + 1))
    assert [each.name[:5] for each in FIRST] == [f"{each.number:04}_" for each in FIRST]


# How it is kept


def test_every_commit_is_flushed_and_pages_are_small(path: Path) -> None:
    async def scenario() -> None:
        file = sqlite_file(path, *FIRST)
        await file.open()
        for name, value in (("synchronous", 2), ("journal_mode", "wal"), ("page_size", 4096)):
            assert await file.read(methodcaller("pragma", name)) == value
        file.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("query", "plan"),
    [
        ("update", "SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (task_id=?)"),
        ("append", "SEARCH tasks USING COVERING INDEX sqlite_autoindex_tasks_1 (task_id=?)"),
        ("load", "SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (task_id=?)"),
        ("due", "SEARCH tasks USING INDEX tasks_due"),
        ("search", "SEARCH tasks USING INTEGER PRIMARY KEY (rowid<?)"),
        ("history", "SEARCH history USING PRIMARY KEY (id=? AND version>?)"),
    ],
)
def test_nothing_is_scanned_or_sorted(path: Path, query: str, plan: str) -> None:
    asyncio.run(use(path))
    connection = apsw.Connection(str(path))
    steps = str(apsw.ext.query_info(connection, SQL[query], explain_query_plan=True).query_plan)
    connection.close()
    assert plan in steps
    assert "SCAN tasks" not in steps
    assert "TEMP B-TREE" not in steps


def test_the_library_in_use_is_named(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "makegood.store.sqlite"):
        asyncio.run(use(path))
    assert apsw.sqlite_lib_version() in SqliteStore.library
    assert f"{path} is open with {SqliteStore.library}" in caplog.text


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2"])
def test_a_library_that_can_lose_commits_is_refused(version: str) -> None:
    with pytest.raises(StoreUnavailable, match=rf"{version} can lose commits; install .*3\.51\.3"):
        refuse_library(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "4.0.0"])
def test_a_library_that_loses_none_is_taken(version: str) -> None:
    refuse_library(version)
