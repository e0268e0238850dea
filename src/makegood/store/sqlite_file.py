"""One connection to a SQLite file: opened, recognised, migrated, and lent to work that reads or writes.

Everything runs in the caller's thread, the event loop's as a rule. A transaction never spans an `await`.
"""

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import apsw

from makegood.errors import SchemaMismatch, StoreGone, StoreUnavailable, StoreUncertain
from makegood.store import holds
from makegood.store.migrations import Applied, Migration, pending
from makegood.store.paths import absolute, refuse_path
from makegood.store.queries import load_queries

SQL = load_queries("sqlite.sql")

APPLICATION_ID = 0x6D676F64
"""Stands in the header of every makegood file ("mgod")."""

LIBRARY_MIN = (3, 51, 3)
"""Older libraries can lose commits when several connections restart the write-ahead log."""

LOCK_MILLIS_MAX = 3
"""How long one try may hold up the event loop for the lock."""

LOCK_SECONDS_MAX = 30.0
"""How long all the tries together wait for it."""

CHECKPOINT_PAGES = 4000
"""How long the write-ahead log grows before a commit moves it into the file: 16 MB, some 30 ms of work."""

_PAUSE_SECONDS = 0.001, 0.05

T = TypeVar("T")
Work = Callable[[apsw.Connection], T]

_WAYS_OUT: dict[type[apsw.Error], str] = {
    apsw.BusyError: "another process keeps it locked; find it and end it",
    apsw.FullError: "make room on the disk",
    apsw.ReadOnlyError: "let this user write the file and its folder",
    apsw.CantOpenError: "let this user write the file and its folder, and open more files (ulimit -n)",
    apsw.CorruptError: "the file is damaged; restore a backup",
    apsw.NotADBError: "the file is damaged; restore a backup",
    apsw.SQLError: "its tables were replaced or damaged; end every process on it and restore a backup",
    apsw.IOError: "look into the system's log for what is wrong with the disk",
}


class SqliteFile:
    """A makegood file and this process's connection to it; not open until `open` or `migrate`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        migrations: Sequence[Migration],
        wall: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]],
        jitter: Callable[[], float],
    ) -> None:
        self.path = absolute(path)
        self._migrations = migrations
        self._wall = wall
        self._sleep = sleep
        self._jitter = jitter
        self._connection: apsw.Connection | None = None
        self._hold: holds.Hold | None = None
        self._turn = holds.new_turn()
        self._process = 0
        self._was_full = False

    async def open(self) -> None:
        """Connect, and give an empty or new file its schema; see Store.open."""
        await self._enter(migrate=False)

    async def migrate(self) -> tuple[str, ...]:
        """Connect and apply what is missing; see Store.migrate."""
        return await self._enter(migrate=True)

    def close(self) -> None:
        """Let go of the file; safe to call twice."""
        connection, self._connection = self._connection, None
        if connection is None or self._hold is None or self._process != os.getpid():
            return
        with holds.guard, self._turn:
            if self._hold.lost:  # it is not to be moved over what others have committed since
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._hold.leave(connection)

    async def read(self, work: Work[T]) -> T:
        """What `work` returns. It is called again when the file was locked."""
        return await self._patiently(lambda: self._in_turn(work))

    async def write(self, work: Work[T]) -> T:
        """What `work` returns, once all it wrote is durable; if it raises, nothing was written.

        It is called again when the file was locked. Raises StoreUncertain when COMMIT itself failed in a way
        that leaves open whether it will be found after a crash.
        """
        return await self._patiently(lambda: self._in_turn(lambda db: self._transaction(db, work)))

    async def _enter(self, *, migrate: bool) -> tuple[str, ...]:
        if self._connection is None:
            await self._patiently(self._connect)
        assert self._hold is not None
        try:
            new = await self.read(self._is_new)  # before anything is written: it may be somebody else's file
            await self.read(self._configure)
            await self._patiently(self._hold.tighten)
            applied = await self.write(self._apply) if new or migrate else ()
            await self.read(self._check)
        except BaseException:
            self.close()
            raise
        return applied

    def _connect(self) -> None:
        refuse_library(apsw.sqlite_lib_version())
        refuse_path(self.path)
        with holds.guard:
            holds.refuse_held(self.path)
            connection, hold = self._open_sqlite(), None
            try:
                hold = holds.hold_of(self.path, connection.filename)
                if not hold.has_log:
                    connection = self._with_log(connection)
                hold.enter(connection)
            except BaseException:
                connection.close()
                if hold is not None:
                    hold.let_go()
                raise
            self._connection, self._hold, self._process = connection, hold, os.getpid()

    def _with_log(self, connection: apsw.Connection) -> apsw.Connection:
        """Give the file a log, and open it anew, so that its readers are locked before it is read."""
        self._is_new(connection)
        self._configure(connection)
        connection.close()
        return self._open_sqlite()

    def _open_sqlite(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path))
        if connection.readonly("main"):
            connection.close()
            raise StoreUnavailable(f"{self.path} is read-only for this user; {_WAYS_OUT[apsw.ReadOnlyError]}")
        return connection

    def _is_new(self, db: apsw.Connection) -> bool:
        """Whether the file is empty; raises SchemaMismatch if something other than makegood made it."""
        try:
            [(owner, tables)] = db.execute(SQL["owner"])  # at one moment: another process may be migrating
        except apsw.NotADBError as error:
            raise SchemaMismatch(f"{self.path} is not a SQLite file; name another one") from error
        if owner != APPLICATION_ID and (owner or tables):
            raise SchemaMismatch(f"{self.path} is a SQLite file, but not makegood's; name another one")
        return not tables

    def _configure(self, db: apsw.Connection) -> None:
        db.set_busy_timeout(LOCK_MILLIS_MAX)
        db.pragma("page_size", 4096)
        if db.pragma("journal_mode", "WAL") != "wal":
            raise StoreUnavailable(f"{self.path}: no write-ahead log here; put it on a local disk")
        db.pragma("synchronous", "FULL")
        db.wal_autocheckpoint(CHECKPOINT_PAGES)

    def _apply(self, db: apsw.Connection) -> tuple[str, ...]:
        self._is_new(db)
        db.execute(SQL["create_migrations"])
        missing = self._pending(db)
        for each in missing:
            db.execute(each.sql)
            db.execute(SQL["record_migration"], (each.number, each.name, each.checksum, self._wall()))
        db.pragma("application_id", APPLICATION_ID)
        return tuple(each.name for each in missing)

    def _check(self, db: apsw.Connection) -> None:
        if missing := self._pending(db):
            names = ", ".join(each.name for each in missing)
            raise SchemaMismatch(
                f"{self.path} lacks {names}; run `makegood migrate --store sqlite:///{self.path}`"
            )

    def _pending(self, db: apsw.Connection) -> tuple[Migration, ...]:
        applied = [Applied(*row) for row in db.execute(SQL["applied"])]
        return pending(str(self.path), self._migrations, applied)

    def _connected(self) -> apsw.Connection:
        if self._connection is None or self._hold is None:
            raise StoreUnavailable(
                f"{self.path} is not open; use it inside `async with`, as in `async with Makegood(...)`"
            )
        if self._process != os.getpid():
            raise StoreUnavailable(f"{self.path} was opened before a fork; open it only after the fork")
        if self._hold.replaced(self.path):
            raise StoreGone(f"{self.path} was deleted or replaced while open; start the process again")
        if self._hold.lost:
            raise StoreGone(holds.lost_log(self.path))
        return self._connection

    def _in_turn(self, work: Work[T]) -> T:
        with self._turn:
            return work(self._connected())

    def _transaction(self, db: apsw.Connection, work: Work[T]) -> T:
        assert self._hold is not None
        with self._hold.writing(db):
            if self._was_full:
                self._give_back_log(db)
            try:
                db.execute("BEGIN IMMEDIATE")
                result = work(db)
                self._commit(db)
            except BaseException as error:
                _roll_back(db)
                self._was_full = self._was_full or isinstance(error, apsw.FullError)
                raise
        return result

    def _give_back_log(self, db: apsw.Connection) -> None:
        """Move the log into the file and cut it to nothing, if the disk has the room for that by now.

        Nothing else makes a log smaller: it would take all the room that is made, and the disk be full again.
        """
        with suppress(apsw.Error):  # still no room, or somebody reads in the log: the next write tries again
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._was_full = False

    def _commit(self, db: apsw.Connection) -> None:
        try:
            db.execute("COMMIT")
        except (apsw.BusyError, apsw.FullError):
            raise  # certainly not written: the lock was missing, or the log's last page did not fit
        except apsw.Error as error:
            raise StoreUncertain(f"{self.path}: a commit may have failed: {_explained(error)}") from error
        if self._hold is not None and self._hold.lost:
            raise StoreUncertain(holds.lost_log(self.path))

    async def _patiently(self, attempt: Callable[[], T]) -> T:
        busy: apsw.BusyError
        for pause in pauses(self._jitter):
            try:
                return attempt()
            except apsw.BusyError as error:
                busy = error
            except apsw.Error as error:
                raise StoreUnavailable(f"{self.path}: {_explained(error)}") from error
            except OSError as error:
                raise StoreUnavailable(
                    f"{self.path} cannot be locked: {error.strerror}; try again"
                ) from error
            await self._sleep(pause)
        raise StoreUnavailable(f"{self.path}: {_explained(busy)}") from busy


def refuse_library(version: str) -> None:
    """Raise StoreUnavailable for a SQLite library that can lose what it committed."""
    if tuple(map(int, version.split("."))) < LIBRARY_MIN:
        needed = ".".join(map(str, LIBRARY_MIN))
        raise StoreUnavailable(f"SQLite {version} can lose commits; install an apsw with {needed} or later")


def pauses(jitter: Callable[[], float]) -> Iterator[float]:
    """Seconds to sleep between tries: growing, each cut by up to half at random, bounded in their sum."""
    pause, longest = _PAUSE_SECONDS
    left = LOCK_SECONDS_MAX
    while left > 0:
        shortened = pause * (1 - jitter() / 2)
        yield shortened
        left -= shortened + LOCK_MILLIS_MAX / 1000
        pause = min(pause * 2, longest)


def _explained(error: apsw.Error) -> str:
    code = apsw.mapping_extended_result_codes.get(getattr(error, "extendedresult", 0))
    way_out = next((text for kind, text in _WAYS_OUT.items() if isinstance(error, kind)), "try again")
    if code == "SQLITE_IOERR_WRITE":
        way_out = f"let this user write the file and its log (-wal), and {way_out}"
    if code == "SQLITE_IOERR_SHMSIZE":  # the index of the log could not be made as large as it must be
        way_out = _WAYS_OUT[apsw.FullError]
    if code == "SQLITE_IOERR_SHORT_READ":  # of a log that is new, by the index of an older one
        way_out = "it or its log was deleted or cut while a process had it open: end every process on it"
    return f"{error}{f' ({code})' if code else ''}; {way_out}"


def _roll_back(db: apsw.Connection) -> None:
    """Leave no transaction open; most errors have ended it already."""
    if db.in_transaction:
        db.execute("ROLLBACK")
