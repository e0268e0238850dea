"""What a number of simulated worlds add up to."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import makegood.errors
from makegood.testing.simulation.faults import Trouble
from makegood.testing.simulation.world import World

YEAR = 365.25 * 86_400
DEATHS = ("DIE_BEFORE", "DIE_AFTER", "DIE_AND_LATE")

ROOMS = ("core", "scheduler", "agents", "supervisor", "store", "runtime", "payload")
BETWEEN = ("desk", "decision", "commit", "tray", "shelf", "rooms", "agenda", "clock", "ids")
"""The parts of the package that runs are counted for: what drives tasks."""
SQLITE = tuple(
    f"store/{name}" for name in ("sqlite", "sqlite_file", "holds", "paths", "migrations", "queries", "url")
)
"""What no world in memory calls: it opens, locks and reads files."""
PROCESS = ("runtime/process", "runtime/ending")
"""What no world calls at all: it begins and ends a real process."""


def engine(store: str) -> str:
    """Which engine this is: a hash of the sources that drive tasks, so that runs of one can be added up.

    Without those that no world runs, or on the store `memory` none of those in memory.
    """
    package, known = Path(makegood.errors.__file__).parent, hashlib.sha256()
    files = [package / f"{name}.py" for name in BETWEEN]
    for room in ROOMS:
        files += (package / room).rglob("*.py")
    not_run = PROCESS + (SQLITE if store == "memory" else ())
    files = [file for file in files if file.relative_to(package).with_suffix("").as_posix() not in not_run]
    if store != "memory":
        files += package.rglob("*.sql")
    for file in sorted(files):
        known.update(file.relative_to(package).as_posix().encode() + file.read_bytes())
    return known.hexdigest()[:12]


@dataclass
class Totals:
    """Counts over worlds; `faults` by name, `ends` by the state a task came to rest in at last."""

    seeds: int = 0
    tasks: int = 0
    happenings: int = 0
    processes: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)

    def count(self, world: World) -> None:
        self.seeds += 1
        self.tasks += len(world.people.users)
        self.happenings += world.happened
        self.processes += len(world.members)
        self.seconds += world.seconds_played
        self.faults.update(map(fault_name, world.struck))
        self.ends.update(world.states())

    def add(self, other: "Totals") -> None:
        self.seeds += other.seeds
        self.tasks += other.tasks
        self.happenings += other.happenings
        self.processes += other.processes
        self.seconds += other.seconds
        self.faults.update(other.faults)
        self.ends.update(other.ends)

    @property
    def injected(self) -> int:
        """Faults at operations, and happenings."""
        return self.faults.total() + self.happenings

    def __str__(self) -> str:
        deaths = sum(self.faults[name] for name in DEATHS)
        ends = ", ".join(f"{count:,} {state.capitalize()}" for state, count in self.ends.most_common())
        return (
            f"{self.seeds:,} seeds, {self.tasks:,} tasks ({ends}), {self.injected:,} faults injected, "
            f"{deaths:,} of them deaths, {self.seconds / YEAR:.2f} virtual years"
        )


def fault_name(trouble: Trouble) -> str:
    return trouble.fault.name
