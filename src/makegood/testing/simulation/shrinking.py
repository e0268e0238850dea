"""From a world that went wrong to the least that makes it go wrong.

First calmer storms are tried in the same world: often one goes wrong with far fewer faults. Then what struck
is taken as a list of faults at fixed places, which is the same run again, and parts of the list are left out
as long as the run still goes wrong. What to leave out is Zeller and Hildebrandt's delta debugging
("Simplifying and Isolating Failure-Inducing Input", 2002).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from makegood.testing.simulation.faults import Trouble
from makegood.testing.simulation.happenings import Happening
from makegood.testing.simulation.storms import Storm
from makegood.testing.simulation.world import World, play

T = TypeVar("T")

CALMER = 40
"""Calmer storms that are tried."""


@dataclass(frozen=True)
class Shrunk:
    """The shortest lists found that still go wrong, and the world they make."""

    troubles: Sequence[Trouble]
    happenings: Sequence[Happening]
    tasks: int
    world: World
    runs: int


def shrink(storm: Storm, runs_max: int = 400) -> Shrunk | None:
    """Leave out whatever is not needed for the storm to go wrong; None: it does not go wrong."""
    first = play(storm.world())
    if not first.complaints:
        return None
    calm = min((play(storm.calmer(n)) for n in range(CALMER)), key=_badness)
    if calm.complaints:
        return _Shrinker(storm, calm, runs_max).shrink([])
    return _Shrinker(storm, first, runs_max).shrink(list(storm.happenings))


def _badness(world: World) -> tuple[bool, int]:
    """The least is a world that goes wrong, with few faults."""
    return not world.complaints, len(world.struck)


class _Shrinker:
    """Tries shorter and shorter lists; `world` is the last one that went wrong."""

    def __init__(self, storm: Storm, world: World, runs_max: int) -> None:
        self._storm = storm
        self._runs_max = runs_max
        self.world = world
        self.runs = 0

    def goes_wrong(self, troubles: list[Trouble], happenings: list[Happening], tasks: int) -> bool:
        self.runs += 1
        world = play(self._storm.again(troubles, happenings, tasks))
        if world.complaints:
            self.world = world
        return bool(world.complaints)

    def shrink(self, happenings: list[Happening]) -> Shrunk:
        troubles = list(self.world.struck)
        tasks = self._fewest_tasks(troubles, happenings)
        happenings = self._least(happenings, lambda left: self.goes_wrong(troubles, left, tasks))
        troubles = self._least(troubles, lambda left: self.goes_wrong(left, happenings, tasks))
        tasks = self._fewest_tasks(troubles, happenings, tasks)
        return Shrunk(troubles, happenings, tasks, self.world, self.runs)

    def _fewest_tasks(
        self, troubles: list[Trouble], happenings: list[Happening], most: int | None = None
    ) -> int:
        most = self._storm.tasks if most is None else most
        fewer = (tasks for tasks in range(1, most) if self.goes_wrong(troubles, happenings, tasks))
        return next(fewer, most)

    def _least(self, items: list[T], wrong: Callable[[list[T]], bool]) -> list[T]:
        """Delta debugging: leave out ever smaller parts, as long as it goes on to go wrong."""
        parts = 2
        while items and self.runs < self._runs_max:
            size = max(1, len(items) // parts)
            for begin in range(0, len(items), size):
                rest = items[:begin] + items[begin + size :]
                if wrong(rest):
                    items, parts = rest, max(2, parts - 1)
                    break
            else:
                if size == 1:
                    break
                parts *= 2
        return items
