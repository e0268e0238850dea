"""What happens in a world at a moment of its own, whatever the processes are doing then."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from makegood.core.plan import Millis
from makegood.testing.faulty import StoreFault
from makegood.testing.simulation.backups import Backup
from makegood.testing.simulation.faults import CallFault, Fault

if TYPE_CHECKING:
    from makegood.testing.simulation.world import World


class Happening(Protocol):
    """`at` is in seconds since the world began."""

    @property
    def at(self) -> float: ...

    def happen(self, world: "World") -> None: ...


@dataclass(frozen=True)
class Jump:
    """Every wall clock jumps, for good (F9)."""

    at: float
    millis: Millis

    def happen(self, world: "World") -> None:
        world.jump(self.millis)


@dataclass(frozen=True)
class Kill:
    """A process dies; `which` counts among those that run (F1)."""

    at: float
    which: int

    def happen(self, world: "World") -> None:
        if member := world.running(self.which):
            world.kill(member.process)


@dataclass(frozen=True)
class Freeze:
    """A process stands still for so many seconds, and goes on (F7)."""

    at: float
    which: int
    seconds: float

    def happen(self, world: "World") -> None:
        if member := world.running(self.which):
            world.freeze(member.process, self.seconds)


@dataclass(frozen=True)
class Leave:
    """A process is told to end, as SIGTERM tells it; another takes its place (L4)."""

    at: float
    which: int
    grace: float

    def happen(self, world: "World") -> None:
        if member := world.running(self.which):
            member.leave(self.grace)
            world.later(1.0, world.launch)


@dataclass(frozen=True)
class Join:
    """One more process, whose wall clock is off by so many ms (F8, F9)."""

    at: float
    ahead: Millis = 0

    def happen(self, world: "World") -> None:
        world.launch(self.ahead)


@dataclass(frozen=True)
class Misdeploy:
    """A version is deployed that can read no input, or `renames` all undos and probes, and after so many
    seconds the one that was (F19)."""

    at: float
    seconds: float
    renames: bool = False

    def happen(self, world: "World") -> None:
        world.misdeploy(renames=self.renames)
        world.later(self.seconds, world.redeploy)


@dataclass(frozen=True)
class Blackout:
    """Every process dies at once, and for so many seconds nobody starts one."""

    at: float
    seconds: float

    def happen(self, world: "World") -> None:
        world.black_out(self.seconds)


@dataclass(frozen=True)
class BackUp:
    """The store is backed up."""

    at: float

    def happen(self, world: "World") -> None:
        if not world.is_dark:
            world.backup = Backup(world)


@dataclass(frozen=True)
class PutBack:
    """The store is lost, and the backup put back in its place (F5)."""

    at: float

    def happen(self, world: "World") -> None:
        if world.backup is not None and not world.is_dark:
            world.backup.put_back()


class Line(StrEnum):
    """What a process is connected to."""

    STORE = "store"
    SERVICES = "services"


class Way(StrEnum):
    """How a line is cut."""

    REFUSED = "refused"
    NO_WAY_THERE = "no way there"
    NO_WAY_BACK = "no way back"


CUT: dict[tuple[Line, Way], Fault] = {
    (Line.STORE, Way.REFUSED): StoreFault.UNAVAILABLE,
    (Line.STORE, Way.NO_WAY_THERE): StoreFault.REQUEST_LOST,
    (Line.STORE, Way.NO_WAY_BACK): StoreFault.ANSWER_LOST,
    (Line.SERVICES, Way.REFUSED): CallFault.BUSY,
    (Line.SERVICES, Way.NO_WAY_THERE): CallFault.REQUEST_LOST,
    (Line.SERVICES, Way.NO_WAY_BACK): CallFault.NO_ANSWER,
}


@dataclass(frozen=True)
class Cut:
    """A line of a process (by number; None: of every process) is cut for so many seconds (F10)."""

    at: float
    seconds: float
    line: Line
    way: Way
    member: int | None = None

    def happen(self, world: "World") -> None:
        world.cuts.append(self)
        world.later(self.seconds, lambda: world.cuts.remove(self))


@dataclass(frozen=True)
class Order:
    """A person gives an order about a task's step, or tries to (F18)."""

    at: float
    order: str
    task: int
    step: int

    def happen(self, world: "World") -> None:
        if member := world.running(self.task):
            member.begin(world.people.order(member, self.order, self.task, self.step))
