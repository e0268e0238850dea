"""The whole examination of a store."""

from collections.abc import Iterator
from pathlib import Path

from makegood.clock import Clock
from makegood.core.plan import Millis
from makegood.errors import MakegoodError, SchemaMismatch, StoreError, StoreUnavailable
from makegood.health.files import lines_of_place
from makegood.health.line import Line, broken, ok, warn
from makegood.health.people import lines_of_people
from makegood.health.place import look_at
from makegood.health.work import work_of
from makegood.reading.words import span
from makegood.store.protocol import Store
from makegood.store.sqlite import SqliteStore
from makegood.store.sqlite_file import refuse_library

AHEAD_MAX: Millis = 5_000
"""How far store time may be ahead of the wall clock before it is worth a word."""


async def examine(store: Store, clock: Clock) -> list[Line]:
    """Look at a store that is not open yet: its file, its schema, its time, its tasks and who works on them.

    It is closed again. What cannot be looked at is a line as well; nothing is raised for it.
    """
    lines = list(_of_sqlite(store.path)) if isinstance(store, SqliteStore) else []
    try:
        await store.open()
        lines.append(ok("schema", "it is this version's"))
        lines += await _of_content(store, clock)
    except StoreError as error:
        lines.append(_unusable(error))
    finally:
        await store.close()
    return lines


def _of_sqlite(path: Path) -> Iterator[Line]:
    yield _library(SqliteStore.library)
    try:
        yield from lines_of_place(look_at(path))
    except OSError as error:
        yield broken("file", f"{path}: {error.strerror}", "name another with --store")


def _library(name: str) -> Line:
    """Of "SQLite 3.53.0 (apsw ...)": whether that library may lose what was committed."""
    try:
        refuse_library(name.split()[1])
    except StoreUnavailable as error:
        what, _, way_out = str(error).partition("; ")
        return broken("library", what, way_out)
    return ok("library", f"{name}, without the WAL-reset bug")


async def _of_content(store: Store, clock: Clock) -> list[Line]:
    now = await store.now()
    work, members = await work_of(store, now), await store.members()
    return [_clock(now, clock.wall()), *lines_of_people(members, work, now)]


def _clock(now: Millis, wall: Millis) -> Line:
    if now - wall <= AHEAD_MAX:
        return ok("clock", "store time is this machine's")
    return warn(
        "clock",
        f"store time is {span(now - wall)} ahead of this machine's clock, which was put back since: store "
        "time never falls, and goes on from there",
        "nothing is at risk, but moments shown are ahead until the clock has caught up; see that it is right",
    )


def _unusable(error: MakegoodError) -> Line:
    what, _, way_out = str(error).rpartition("; ")
    about = "schema" if isinstance(error, SchemaMismatch) else "store"
    return broken(about, what or way_out, way_out if what else "")
