"""Some of the same on real SQLite files: what a commit leaves there is what the next process finds."""

from pathlib import Path

import pytest

from makegood.testing.faulty import StoreFault
from makegood.testing.simulation.disks import SqliteDisk
from makegood.testing.simulation.faults import CallFault, Trouble
from makegood.testing.simulation.scenarios import BY_NAME
from makegood.testing.simulation.world import World, play

STORE_FAULTS = (StoreFault.DIE_BEFORE, StoreFault.DIE_AFTER, StoreFault.ANSWER_LOST, StoreFault.FREEZES)
CALL_FAULTS = (CallFault.DIE_BEFORE, CallFault.DIE_AFTER, CallFault.DIE_AND_LATE, CallFault.ANSWER_LOST)


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
