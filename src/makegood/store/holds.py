"""What keeps SQLite's locks true in a process that forks, or that opens the file by other means as well.

They are POSIX locks: for the whole process they end as soon as it closes the file anywhere, and a fork
inherits SQLite's list of them, but not the locks. Whoever has lost his locks so has his log deleted, and what
he commits then is lost. See "File locking problems" in sqlite.org/howtocorrupt.html.
"""

import errno
import fcntl
import os
import select
import struct
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import apsw

from makegood.errors import StoreUnavailable

Identity = tuple[int, int]
"""A file's device and number there."""
Bytes = tuple[int, int]
"""From which byte on, and how many."""

READERS: Bytes = 0x40000002, 510
"""Where SQLite's readers lock a database: who cannot have it all deletes no log."""
INDEX_USERS: Bytes = 128, 1
"""Where they lock the log's index (`-shm`): who cannot have it does not begin the index anew."""
WRITER: Bytes = 0x40000200, 1
"""Our own place in the database, the first behind those that SQLite locks: who has it writes."""

LOG_HEAD, FRAME_HEAD = 32, 24
"""Bytes before a log's first frame, and before the page in each."""
_INDEX_HEAD = struct.Struct("=14xHI")
"""In the log's index: how large a page is, and how many frames of the log count."""

WAL_MODE = 18, b"\2\2"
"""What stands where in the header of a database that has a log (sqlite.org/fileformat.html)."""
PAUSES = 0.0002, 0.0008, 0.002
"""Seconds between looks for the writer's place: together as long as SQLite looks for its lock in a try."""

guard = threading.RLock()
"""Is taken by whoever opens or closes a file; before a turn, where both are."""

_holds: dict[Identity, "Hold"] = {}
_inherited: dict[Identity, list[apsw.Connection]] = {}
_turns: "WeakSet[threading.RLock]" = WeakSet()


class Hold:
    """What this process has of a file that is open, for all its connections there. Raises OSError when made.

    Its locks are SQLite's own once more, but those of an open file description: they end when that is closed,
    and by nothing else (Linux, fcntl(2)). Elsewhere there is only the look at what the log is.
    """

    def __init__(self, database: str, file: Identity) -> None:
        self._database = database
        self._file = file
        self._log: dict[str, Identity] = {}
        self._lost = False
        self._writers: dict[apsw.Connection, int] = {}
        self._spare: list[int] = []
        self._descriptors = [os.open(database, os.O_RDWR)]

    @property
    def has_log(self) -> bool:
        """Whether the file is one that has a log."""
        at, mark = WAL_MODE
        return os.pread(self._descriptors[0], len(mark), at) == mark

    def replaced(self, path: Path) -> bool:
        """Whether the file was deleted, or another one put in its place, or in that of a link to it."""
        return not all(_leads_to(each, self._file) for each in {self._database, f"{path}"})

    @property
    def lost(self) -> bool:
        """Whether the log was, or its index, or it was cut short. Then, for good: what this process reads
        there may be in nobody else's eyes."""
        self._lost = self._lost or not self._is_whole()
        return self._lost

    def _is_whole(self) -> bool:
        if not all(_leads_to(path, file) for path, file in self._log.items()):
            return False
        return not self._log or self._holds_all() or self._holds_all()

    def _holds_all(self) -> bool:
        """Whether the log is as long as its index says (sqlite.org/walformat.html). A second look decides:
        SQLite may begin the log anew between the two, index first."""
        head = os.pread(self._descriptors[1], _INDEX_HEAD.size, 0)
        if len(head) < _INDEX_HEAD.size:
            return False
        page, frames = _INDEX_HEAD.unpack(head)
        needed: int = LOG_HEAD + frames * (FRAME_HEAD + page) if frames else 0
        return _size_of(f"{self._database}-wal") >= needed

    def enter(self, connection: apsw.Connection) -> None:
        """One more connection, before it reads anything. Raises BusyError while somebody deletes the log."""
        if not self._writers:
            _lock(self._descriptors[0], fcntl.F_RDLCK, READERS)
        self._writers[connection] = self._spare.pop() if self._spare else os.open(self._database, os.O_RDWR)
        _holds[self._file] = self

    def tighten(self) -> None:
        """Lock the index once it is in use, and remember which log it is of. Raises OSError."""
        with guard:
            if not self._log:
                log, index = f"{self._database}-wal", f"{self._database}-shm"
                self._descriptors.append(os.open(index, os.O_RDONLY))
                _lock(self._descriptors[1], fcntl.F_RDLCK, INDEX_USERS)
                self._log = {path: _identity_of(path) or (0, 0) for path in (log, index)}

    @contextmanager
    def writing(self, connection: apsw.Connection) -> Iterator[None]:
        """Be the only one who writes, even if SQLite's lock ends under way. Raises BusyError.

        It is taken before SQLite's transaction begins, which goes by the log as it was then. Each connection
        locks by a description of its own, so that those of one process keep each other out as well; one that
        a signal kept from unlocking does so after its next write.
        """
        mine = self._writers[connection]
        try:
            _lock(mine, fcntl.F_WRLCK, WRITER, PAUSES)
            yield
        finally:
            _unlock(mine, WRITER)

    def leave(self, connection: apsw.Connection) -> None:
        """Close a connection. The locks end before the last one, which then may delete the log."""
        with guard:
            self._spare.append(self._writers.pop(connection))
            if self._writers:
                return connection.close()
            del _holds[self._file]
            for descriptor, where in zip(self._descriptors, (READERS, INDEX_USERS), strict=False):
                _unlock(descriptor, where)
            try:
                connection.close()
            finally:
                self.let_go()

    def let_go(self) -> None:
        """Close what was locked, unless it is in use: SQLite's locks end with that."""
        if not self._writers:
            for descriptors in (self._spare, self._descriptors):
                while descriptors:
                    os.close(descriptors.pop())

    def abandon(self) -> None:
        """In a fork: leave the file alone; SQLite would delete the parent's log as it closes it."""
        for connection in self._writers:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        _inherited[self._file] = list(self._writers)
        self._spare += self._writers.values()
        self._writers.clear()
        self.let_go()


def new_turn() -> "threading.RLock":
    """A lock to hold while SQLite works: a fork waits for it, or SQLite's own would stay taken there."""
    turn = threading.RLock()
    with guard:
        _turns.add(turn)
    return turn


def refuse_held(path: Path) -> None:
    """Raise StoreUnavailable for a file that this process cannot open as things are."""
    file = _identity_of(path)
    if file in _inherited:
        raise StoreUnavailable(
            f"{path} was open in the process that this one was forked from, and SQLite cannot lock it here; "
            "open it only after the fork, in the parent too, or start a fresh process: "
            'multiprocessing.get_context("spawn"), say'
        )
    if file in _holds and _holds[file].lost:
        raise StoreUnavailable(lost_log(path))


def hold_of(path: Path, database: str) -> Hold:
    """The hold on the file that SQLite has just opened. Raises StoreUnavailable where there can be none."""
    file = _identity_of(database)
    if file is None:
        raise StoreUnavailable(f"{path} was deleted while it was being opened; start again")
    return _holds.get(file) or Hold(database, file)


def lost_log(path: Path) -> str:
    """What is to be said where a log is lost."""
    return (
        f"the log of {path} was deleted, replaced or cut short while open, and what this process committed "
        "last may be lost; end every process on it and start again"
    )


def _identity_of(path: str | os.PathLike[str]) -> Identity | None:
    """Which file a path leads to; None where none can be seen."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _size_of(path: str) -> int:
    """In bytes; -1 where none can be seen."""
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _leads_to(path: str, file: Identity) -> bool:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    except OSError:  # who may not look cannot tell
        return True
    return (found.st_dev, found.st_ino) == file


def _lock(descriptor: int, kind: int, where: Bytes, pauses: Iterable[float] = ()) -> None:
    """Raises BusyError where another process has it, and keeps it for these seconds."""
    for pause in (*pauses, None):
        try:
            return _set_lock(descriptor, kind, where)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                return None  # some file systems have no such locks
        if pause is not None:
            select.select((), (), (), pause)  # not time.sleep, which fails under libfaketime's clocks
    raise apsw.BusyError("another process has the lock")


def _unlock(descriptor: int, where: Bytes) -> None:
    with suppress(OSError):
        _set_lock(descriptor, fcntl.F_UNLCK, where)


def _set_lock(descriptor: int, kind: int, where: Bytes) -> None:
    if sys.platform == "linux":
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, *where, 0))


# --- forks


class _Forks(threading.local):
    """What a thread has taken for its forks: several threads may fork at once, and a signal's handler too."""

    def __init__(self) -> None:
        self.taken: list[list[threading.RLock | None]] = []


_forks = _Forks()


def _let_handlers_run() -> None:
    """A handler that raises does so in here, where nothing is lost by it."""


def _before_fork() -> None:
    """Wait until SQLite is not at work. A signal's handler may raise meanwhile, or fork itself: what is taken
    is noted in the same step of the interpreter."""
    taken: list[threading.RLock | None] = [None]
    _forks.taken.append(taken)
    taken.extend(filter(_ACQUIRE, (guard,)))
    taken.extend(filter(_ACQUIRE, tuple(_turns)))


def _release() -> None:
    """Release what is taken, down to the None with which it begins, in one step of the interpreter."""
    if taken := _forks.taken[-1]:
        deque(map(_RELEASE, iter(taken.pop, None)), maxlen=0)


def _go_on() -> None:
    _release()  # where a handler raised as it was to be done before
    _forks.taken.pop()


def _after_fork() -> None:
    try:
        for hold in _holds.values():
            hold.abandon()
        _holds.clear()
    finally:
        _go_on()


_ACQUIRE: Any = type(guard).acquire  # a method of C: no handler runs between what it does and its answer
_RELEASE = type(guard).release
for hook in (_let_handlers_run, _release):
    os.register_at_fork(after_in_parent=hook)
os.register_at_fork(before=_before_fork, after_in_parent=_go_on, after_in_child=_after_fork)
