"""Worlds put together by chance: a seed gives a plan, its services, processes, people, and everything that
goes wrong. One seed, on one version of makegood, is one run, however often it is played.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from makegood.core.record import ENDED
from makegood.testing.faulty import WRITES, StoreFault
from makegood.testing.simulation.disks import Disk
from makegood.testing.simulation.faults import (
    TEN_YEARS,
    CallFault,
    DeliveryFault,
    Fault,
    Script,
    Strikes,
    Trouble,
)
from makegood.testing.simulation.happenings import (
    BackUp,
    Blackout,
    Cut,
    Freeze,
    Happening,
    Join,
    Jump,
    Kill,
    Leave,
    Line,
    Misdeploy,
    Order,
    PutBack,
    Way,
)
from makegood.testing.simulation.people import ORDERS
from makegood.testing.simulation.random_plans import random_scenario
from makegood.testing.simulation.scenarios import SCENARIOS, Scenario
from makegood.testing.simulation.world import World

JUMPS = (TEN_YEARS, -TEN_YEARS, 86_400_000, -3_600_000, 60_000, -60_000, 3_000)
TROUBLE_FOR = 9.0
"""Seconds of trouble before a world heals."""
STARTS = *(0.0,) * 6, 1.5, 20.0
"""Seconds from its submission to its start."""
MISDEPLOYED = 0.1
"""In how many worlds a version is deployed that cannot make the calls of the tasks under way."""
BOUNDLESS = 0.08
"""In how many worlds calls may outlive their bound; only a part of the promise holds there."""

Weights = dict[Fault, float]
AT_READS: Weights = {
    StoreFault.ANSWER_LOST: 6,
    StoreFault.DIE_AFTER: 2,
    StoreFault.HANGS: 0.5,
    StoreFault.FREEZES: 1,
    StoreFault.SLOW: 1,
}
AT_WRITES: Weights = {
    StoreFault.ANSWER_LOST: 6,
    StoreFault.REQUEST_LOST: 4,
    StoreFault.UNAVAILABLE: 4,
    StoreFault.DIE_BEFORE: 2,
    StoreFault.DIE_AFTER: 3,
    StoreFault.HANGS: 0.5,
    StoreFault.FREEZES: 1.5,
    StoreFault.SLOW: 1,
}
AT_CALLS: Weights = {
    CallFault.DIE_BEFORE: 1,
    CallFault.DIE_AFTER: 2,
    CallFault.DIE_AND_LATE: 1,
    CallFault.ANSWER_LOST: 4,
    CallFault.NO_ANSWER: 3,
    CallFault.REQUEST_LOST: 3,
    CallFault.LATE: 3,
    CallFault.FREEZES: 1,
    CallFault.BUSY: 3,
    CallFault.LIMITED: 0.3,
    CallFault.REFUSED: 0.7,
    CallFault.FAILS: 3,
    CallFault.GARBLED: 2,
}
AT_REPORTS: Weights = {DeliveryFault.LOST: 2, DeliveryFault.TWICE: 4, DeliveryFault.LATE: 1.5}


class Gale:
    """Strikes operations by chance: of calls, writes, reports and reads so many in a hundred."""

    def __init__(self, chance: Random, force: float, *, bound: bool) -> None:
        self._chance = chance
        calls = AT_CALLS if bound else AT_CALLS | {CallFault.STUCK: 8}
        self._calls = _table(calls, 0.33 * force)
        self._writes = _table(AT_WRITES, 0.25 * force)
        self._reports = _table(AT_REPORTS, 0.15 * force)
        self._reads = _table(AT_READS, 0.05 * force)

    def at(self, member: int, number: int, operation: str) -> Fault | None:
        rate, faults, weights = self._for(operation)
        if self._chance.random() >= rate:
            return None
        return self._chance.choices(faults, cum_weights=weights)[0]

    def _for(self, operation: str) -> "Table":
        if " " in operation:
            return self._calls
        if operation == "report":
            return self._reports
        return self._writes if operation in WRITES else self._reads


Table = tuple[float, Sequence[Fault], Sequence[float]]


def _table(weights: Weights, rate: float) -> Table:
    cumulated, total = [], 0.0
    for weight in weights.values():
        total += weight
        cumulated.append(total)
    return rate, tuple(weights), cumulated


@dataclass(frozen=True, kw_only=True)
class Storm:
    """Everything that a seed says of a world."""

    seed: int
    scenario: Scenario
    tasks: int
    engines: int
    force: float
    happenings: Sequence[Happening]
    lag: float
    spread: float
    bound: bool

    def world(self, disk: Disk | None = None) -> World:
        """The world of this storm, with faults by chance."""
        return self._world(
            Gale(Random(self.seed), self.force, bound=self.bound), self.happenings, self.tasks, disk
        )

    def calmer(self, number: int) -> World:
        """The same world in another, weaker storm, with nothing that happens by itself."""
        gale = Gale(Random(f"{self.seed} {number}"), 0.02 * (1 + number % 8), bound=self.bound)
        return self._world(gale, (), self.tasks, None)

    def again(self, troubles: Iterable[Trouble], happenings: Sequence[Happening], tasks: int) -> World:
        """The same, with these faults and happenings and no others."""
        return self._world(Script(troubles), happenings, tasks, None)

    def _world(
        self, strikes: Strikes, happenings: Sequence[Happening], tasks: int, disk: Disk | None
    ) -> World:
        return World(
            self.scenario,
            tasks=tasks,
            engines=self.engines,
            strikes=strikes,
            happenings=happenings,
            trouble_for=TROUBLE_FOR,
            lag=self.lag,
            spread=self.spread,
            disk=disk,
            bound=self.bound,
            seed=self.seed,
        )


def storm(seed: int) -> Storm:
    """The storm of this seed."""
    chance = Random(seed)
    known = chance.random() < 0.4
    scenario = chance.choice(SCENARIOS) if known else random_scenario(chance)
    return Storm(
        seed=seed,
        scenario=replace(
            scenario,
            ends=scenario.ends | ENDED,  # people may cancel whatever they asked for
            starts_in=Random(f"{seed} start").choice(STARTS),
        ),
        tasks=chance.choice((1, 2, 3, 4, 4, 8)),
        engines=chance.choice((1, 1, 2, 2, 3)),
        force=chance.choice((0.3, 1.0, 1.0, 1.5)),
        happenings=_suitable(happenings(chance) + misdeploys(Random(f"{seed} deploy")), scenario),
        lag=chance.choice((0.0, 0.0, 0.001, 0.03, 0.08)),
        spread=chance.choice((0.0, 0.05, 0.8)),
        bound=chance.random() >= BOUNDLESS,
    )


def _suits(happening: Happening, among: Sequence[Happening], scenario: Scenario) -> bool:
    """Where wall clocks lie, nothing is promised that is told by them: how long a service remembers a key,
    and that the processes of a backup have ended."""
    forgetful = any(step.keyed_for is not None for step in scenario.compiled.steps)
    told_by_clocks = forgetful or any(isinstance(each, PutBack) for each in among)
    return not (told_by_clocks and isinstance(happening, Jump | Join))


def _suitable(happenings: Sequence[Happening], scenario: Scenario) -> Sequence[Happening]:
    suitable = [each for each in happenings if _suits(each, happenings, scenario)]
    return sorted(suitable, key=lambda each: each.at)


def happenings(chance: Random) -> list[Happening]:
    """What happens by itself in a world."""
    makers = chance.choices(list(MAKERS), list(MAKERS.values()), k=chance.choice((0, 1, 2, 4, 6)))
    return [made for make in makers for made in make(chance)]


def misdeploys(chance: Random) -> list[Happening]:
    """What happens of deployments: of a chance of its own, as it came to the others later."""
    if chance.random() >= MISDEPLOYED:
        return []
    return [Misdeploy(_moment(chance), chance.choice((0.5, 2.0, 6.0)), renames=chance.random() < 0.5)]


def _moment(chance: Random) -> float:
    return round(chance.random() * TROUBLE_FOR, 3)


def _jump(chance: Random) -> Sequence[Happening]:
    return [Jump(_moment(chance), chance.choice(JUMPS))]


def _join(chance: Random) -> Sequence[Happening]:
    return [Join(_moment(chance), chance.choice((0, TEN_YEARS, -TEN_YEARS, 5_000)))]


def _kill(chance: Random) -> Sequence[Happening]:
    return [Kill(_moment(chance), chance.randrange(3))]


def _freeze(chance: Random) -> Sequence[Happening]:
    return [Freeze(_moment(chance), chance.randrange(3), chance.choice((2.0, 6.0, 12.0, 40.0)))]


def _leave(chance: Random) -> Sequence[Happening]:
    return [Leave(_moment(chance), chance.randrange(3), chance.choice((0.0, 1.0, 10.0)))]


def _cut(chance: Random) -> Sequence[Happening]:
    member = chance.choice((None, 0, 0, 1))
    line, way = chance.choice(list(Line)), chance.choice(list(Way))
    return [Cut(_moment(chance), chance.choice((0.5, 2.0, 6.0)), line, way, member)]


def _swizzle(chance: Random) -> Sequence[Happening]:
    """Every line is cut, one after the other, and mended in another order (F10)."""
    begin, lines = _moment(chance), [(line, member) for line in Line for member in (0, 1)]
    chance.shuffle(lines)
    way = chance.choice(list(Way))
    return [
        Cut(begin + 0.3 * n, chance.choice((1.0, 2.0, 3.0, 4.0)), line, way, member)
        for n, (line, member) in enumerate(lines)
    ]


def _blackout(chance: Random) -> Sequence[Happening]:
    hours = chance.choice((0.002, 0.02, 1, 3, 8, 24))
    return [Blackout(_moment(chance), 3600.0 * hours)]


def _backup(chance: Random) -> Sequence[Happening]:
    kept, lost = sorted((_moment(chance), _moment(chance)))
    return [BackUp(kept), PutBack(lost)]


def _order(chance: Random) -> Sequence[Happening]:
    return [
        Order(_moment(chance), chance.choice(ORDERS), chance.randrange(8), chance.randrange(8))
        for _ in range(chance.choice((1, 1, 3)))
    ]


MAKERS: dict[Callable[[Random], Sequence[Happening]], float] = {
    _jump: 2,
    _join: 1,
    _kill: 3,
    _freeze: 2,
    _leave: 2,
    _cut: 3,
    _swizzle: 1,
    _blackout: 0.8,
    _backup: 0.8,
    _order: 8,
}
