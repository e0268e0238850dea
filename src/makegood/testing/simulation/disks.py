"""What outlives the processes of a simulated world."""

import asyncio
from pathlib import Path
from typing import Protocol

from makegood.clock import Clock
from makegood.store.memory import MemoryFile, MemoryStore
from makegood.store.protocol import Store
from makegood.store.sqlite import SqliteStore


class Disk(Protocol):
    """Something that stores can be opened on, again and again."""

    def store(self, clock: Clock) -> Store:
        """This disk, as a process with this clock opens it."""


class MemoryDisk:
    def __init__(self) -> None:
        self._file = MemoryFile()

    def store(self, clock: Clock) -> Store:
        return MemoryStore(self._file, clock=clock)


class SqliteDisk:
    """One real file; each process has a connection of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def store(self, clock: Clock) -> Store:
        return SqliteStore(self._path, clock=clock, sleep=asyncio.sleep, jitter=lambda: 0.5)
