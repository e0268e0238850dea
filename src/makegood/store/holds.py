"""What keeps SQLite's locks true in a process that forks, or that opens the file by other means as well.

They are POSIX locks: for the whole process they end as soon as it closes the file anywhere, and a fork
inherits SQLite's list of them, but not the locks. Whoever has lost his locks so has his log deleted, and what
he commits then is lost. See "File locking problems" in sqlite.org/howtocorrupt.html.
"""

import fcntl
import os
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from makegood.errors import StoreUnavailable

Identity = tuple[int, int]
"""A file's device and number there."""

NO_FILE: Identity = 0, 0

READERS = 0x40000002, 510
"""Where SQLite's readers lock a database, from and how many bytes: who cannot have it all deletes no log."""
INDEX_USERS = 128, 1
"""Where they lock the log's index (`-shm`): who cannot have it does not begin the index anew."""

guard = threading.RLock()
"""Is taken by whoever opens or closes a file."""

_holds: dict[Identity, "Hold"] = {}
_inherited: set[Identity] = set()
_turns: "WeakSet[threading.RLock]" = WeakSet()
_stopped: "list[threading.RLock]" = []


class Hold:
    """What this process has of a file that is open, for all its connections there.

    Its locks are SQLite's own once more, but those of an open file description: they end when that is closed,
    and by nothing else (Linux, fcntl(2)). Elsewhere there is only the look at what the log is.
    """

    def __init__(self, database: str, file: Identity) -> None:
        self._database = database
        self._file = file
        self._log: Identity | None = None
        self._lost = False
        self._locks: list[tuple[int, tuple[int, int]]] = []
        self._connections = 0

    @property
    def replaced(self) -> bool:
        """Whether the file was deleted, or another one put in its place."""
        return identity_of(self._database) != self._file

    @property
    def lost(self) -> bool:
        """Whether the log was. Then, for good: what this process reads in it may be in nobody else's eyes."""
        if self._log is not None and not self._lost:
            self._lost = identity_of(f"{self._database}-wal") != self._log
        return self._lost

    def tighten(self) -> None:
        """Lock what is there once the log is in use, and remember which log that is."""
        with guard:
            if self._log is None:
                self._lock(self._database, READERS)
                self._lock(f"{self._database}-shm", INDEX_USERS)
                self._log = identity_of(f"{self._database}-wal")

    def enter(self) -> None:
        """One more connection."""
        self._connections += 1
        _holds[self._file] = self

    def leave(self, close: Callable[[], None]) -> None:
        """Close a connection. The locks end before the last one, which then may delete the log."""
        with guard:
            self._connections -= 1
            if self._connections:
                return close()
            del _holds[self._file]
            for descriptor, where in self._locks:
                _set_lock(descriptor, fcntl.F_UNLCK, where)
            try:
                close()
            finally:
                self.forget()

    def forget(self) -> None:
        """Close what was locked: not before SQLite has closed the file, as its locks end with that."""
        while self._locks:
            os.close(self._locks.pop()[0])

    def _lock(self, path: str, where: tuple[int, int]) -> None:
        if sys.platform == "linux":
            with suppress(OSError):  # some file systems have no such locks
                self._locks.append((os.open(path, os.O_RDONLY), where))
                _set_lock(self._locks[-1][0], fcntl.F_RDLCK, where)


def identity_of(path: str | os.PathLike[str]) -> Identity:
    """Which file a path leads to; NO_FILE where none can be seen."""
    try:
        found = os.stat(path)
    except OSError:
        return NO_FILE
    return found.st_dev, found.st_ino


def new_turn() -> "threading.RLock":
    """A lock to hold while SQLite works: a fork waits for it, or SQLite's own would stay taken there."""
    turn = threading.RLock()
    with guard:
        _turns.add(turn)
    return turn


def refuse_held(path: Path) -> None:
    """Raise StoreUnavailable for a file that this process cannot open as things are."""
    file = identity_of(path)
    if file in _inherited:
        raise StoreUnavailable(
            f"{path} was open in the process that this one was forked from, and SQLite cannot lock it here; "
            "open it only after the fork, in the parent too, or start a fresh process: "
            'multiprocessing.get_context("spawn"), say'
        )
    if file in _holds and _holds[file].lost:
        raise StoreUnavailable(lost_log(path))


def hold_of(path: Path, database: str) -> Hold:
    """The hold on the file that SQLite has just opened. Raises StoreUnavailable where there is none left."""
    file = identity_of(database)
    if file == NO_FILE:
        raise StoreUnavailable(f"{path} was deleted while it was being opened; start again")
    return _holds.get(file) or Hold(database, file)


def lost_log(path: Path) -> str:
    """What is to be said where a hold is lost."""
    return (
        f"the log of {path} was deleted or replaced while open, and what this process committed last may be "
        "lost; end every process on it and start again"
    )


def _set_lock(descriptor: int, kind: int, where: tuple[int, int]) -> None:
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, *where, 0))


def _before_fork() -> None:
    guard.acquire()
    _stopped.extend(_turns)
    for turn in _stopped:
        turn.acquire()


def _go_on() -> None:
    while _stopped:
        _stopped.pop().release()
    guard.release()


def _after_fork() -> None:
    for file, hold in _holds.items():
        _inherited.add(file)
        hold.forget()
    _holds.clear()
    _go_on()


os.register_at_fork(before=_before_fork, after_in_parent=_go_on, after_in_child=_after_fork)
