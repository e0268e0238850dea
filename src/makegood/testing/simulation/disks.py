"""What outlives the processes of a simulated world."""

import asyncio
from copy import deepcopy
from pathlib import Path
from shutil import copy
from typing import Protocol

from makegood.clock import Clock
from makegood.store.memory import MemoryFile, MemoryStore
from makegood.store.protocol import Store
from makegood.store.sqlite import SqliteStore


class Disk(Protocol):
    """Something that stores can be opened on, again and again."""

    def store(self, clock: Clock) -> Store:
        """This disk, as a process with this clock opens it."""

    def back_up(self) -> None:
        """Keep what it holds."""

    def put_back(self) -> None:
        """Have it hold what was kept; who has it open sees nothing of that."""


class MemoryDisk:
    def __init__(self) -> None:
        self._file = self._backup = MemoryFile()

    def store(self, clock: Clock) -> Store:
        return MemoryStore(self._file, clock=clock)

    def back_up(self) -> None:
        self._backup = _copied(self._file)

    def put_back(self) -> None:
        self._file = _copied(self._backup)


def _copied(file: MemoryFile) -> MemoryFile:
    copied = MemoryFile()
    copied.tasks, copied.plans, copied.mark = deepcopy(file.tasks), dict(file.plans), file.mark
    copied.members = dict(file.members)
    return copied


class SqliteDisk:
    """One real file; each process has a connection of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def store(self, clock: Clock) -> Store:
        return SqliteStore(self._path, clock=clock, sleep=asyncio.sleep, jitter=lambda: 0.5)

    def back_up(self) -> None:
        for part in PARTS:
            copy(f"{self._path}{part}", f"{self._path}.backup{part}")

    def put_back(self) -> None:
        for part in PARTS:
            Path(f"{self._path}{part}").unlink()
            copy(f"{self._path}.backup{part}", f"{self._path}{part}")
        Path(f"{self._path}-shm").unlink()


PARTS = ("", "-wal")
"""The files that hold what is durable."""
