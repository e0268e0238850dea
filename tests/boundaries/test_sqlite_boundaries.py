"""Some of the same on real SQLite files: what a commit leaves there is what the next process finds."""

import asyncio
from pathlib import Path

import pytest

from makegood.clock import Clock
from makegood.store.protocol import Store
from makegood.store.sqlite import SqliteStore
from makegood.testing.faulty import StoreFault
from tests.boundaries.faults import CallFault, Trouble
from tests.boundaries.scenarios import BY_NAME
from tests.boundaries.simulation import World, play

STORE_FAULTS = (StoreFault.DIE_BEFORE, StoreFault.DIE_AFTER, StoreFault.ANSWER_LOST, StoreFault.FREEZES)
CALL_FAULTS = (CallFault.DIE_BEFORE, CallFault.DIE_AFTER, CallFault.DIE_AND_LATE, CallFault.ANSWER_LOST)


class SqliteDisk:
    """One file; each process has a connection of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def store(self, clock: Clock) -> Store:
        return SqliteStore(self._path, clock=clock, sleep=asyncio.sleep, jitter=lambda: 0.5)


@pytest.mark.parametrize("name", ["straight", "group", "cancelled"])
def test_every_write_and_call_on_a_real_file(name: str, tmp_path: Path) -> None:
    clean = play(World(BY_NAME[name], disk=SqliteDisk(tmp_path / "clean.db")))
    assert not clean.complaints, clean.story()
    for at, operation in enumerate(clean.members[0].operations[: clean.until_rest], 1):
        if operation in ("due", "now"):
            continue
        for fault in CALL_FAULTS if " " in operation else STORE_FAULTS:
            disk = SqliteDisk(tmp_path / f"{at}-{fault.name}.db")
            world = play(World(BY_NAME[name], Trouble(at, fault), disk=disk))
            assert not world.complaints, f"{fault.name} at {operation}\n{world.story()}"
            assert world.struck
