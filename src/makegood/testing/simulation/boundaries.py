"""Every boundary: a plan is struck at each operation of its run, by everything that can strike there; then
again at each operation of the run that comes of that.

    python -m makegood.testing.simulation.boundaries --pairs --plan straight --part 1/8
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from random import Random

from makegood.testing.faulty import WRITES, StoreFault
from makegood.testing.simulation.faults import CallFault, DeliveryFault, Fault, Trouble, faults_for
from makegood.testing.simulation.scenarios import BY_NAME, Scenario
from makegood.testing.simulation.world import World, play

ROUNDS = frozenset({"due", "now", "load", "renew_member"})
IN_A_ROW_MAX = 4
"""After so many of them in a row nothing happens but rounds, and one round is like the next."""


class Wrong(AssertionError):
    """A promise was broken: the world tells how."""


def clean(scenario: Scenario) -> World:
    """A run with no trouble but the scenario's own. Raises Wrong."""
    return struck(scenario)


def struck(scenario: Scenario, *troubles: Trouble) -> World:
    """A run with these troubles. Raises Wrong."""
    world = play(World(scenario, *troubles))
    if world.complaints:
        raise Wrong(f"{scenario.name}, {list(troubles)}\n{world.story()}")
    return world


def singles(world: World, *, idle: bool = False) -> Iterator[Trouble]:
    """Everything that can strike the first process, until the task has ended.

    `idle`: strike every idle round as well.
    """
    for at, operation in _places(world.members[0].operations[: world.until_rest], idle=idle):
        yield from (Trouble(at, fault) for fault in faults_for(operation))


def pairs(scenario: Scenario, chance: Random | None = None) -> Iterator[tuple[Trouble, Trouble]]:
    """Every two boundaries of a run, a fault of each of four kinds at either; in an order by `chance`."""
    firsts = list(_by_kind(clean(scenario), 0))
    if chance is not None:
        chance.shuffle(firsts)
    for first in firsts:
        world = struck(scenario, first)
        for member in world.members:
            after = first.at if member.number == first.member else 0
            for second in _by_kind(world, member.number):
                if second.at > after:
                    yield first, second


def _places(operations: Sequence[str], *, idle: bool = False) -> Iterator[tuple[int, str]]:
    in_a_row = 0
    for at, operation in enumerate(operations, 1):
        in_a_row = in_a_row + 1 if operation in ROUNDS else 0
        if idle or in_a_row <= IN_A_ROW_MAX:
            yield at, operation


def _by_kind(world: World, member: int) -> Iterator[Trouble]:
    operations = world.members[member].operations
    end = world.until_rest if member == 0 else len(operations)
    for at, operation in _places(operations[:end]):
        yield from (Trouble(at, fault, member) for fault in kinds_at(operation))


def kinds_at(operation: str) -> Sequence[Fault]:
    """Death before, death after, done but the answer is lost, no end: what there is of them here."""
    if " " in operation:
        return CallFault.DIE_BEFORE, CallFault.DIE_AFTER, CallFault.ANSWER_LOST, CallFault.LATE
    if operation == "report":
        return (DeliveryFault.LOST,)
    if operation in WRITES:
        return StoreFault.DIE_BEFORE, StoreFault.DIE_AFTER, StoreFault.ANSWER_LOST, StoreFault.HANGS
    return (StoreFault.DIE_AFTER,)


def main() -> int:
    parser = argparse.ArgumentParser(description="Strikes plans at every boundary of their runs.")
    parser.add_argument("--plan", choices=list(BY_NAME), help="one plan (default: all)")
    parser.add_argument("--pairs", action="store_true", help="at every two boundaries, not at one")
    parser.add_argument("--part", default="1/1", help="a part of them, as 3/8 (default: all)")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    runs = wrong = 0
    for name in [given.plan] if given.plan else BY_NAME:
        before = runs
        for number, troubles in enumerate(_all(BY_NAME[name], pairwise=given.pairs)):
            if number % parts == part - 1:
                runs += 1
                wrong += _goes_wrong(BY_NAME[name], troubles)
        print(f"{name}: {runs - before:,} runs", flush=True)
    print(f"{runs:,} runs; {wrong} went wrong")
    return 1 if wrong else 0


def _all(scenario: Scenario, *, pairwise: bool) -> Iterator[Sequence[Trouble]]:
    if pairwise:
        return pairs(scenario)
    return ((trouble,) for trouble in singles(clean(scenario), idle=True))


def _goes_wrong(scenario: Scenario, troubles: Sequence[Trouble]) -> bool:
    try:
        struck(scenario, *troubles)
    except Wrong as wrong:
        print(f"{scenario.name} went wrong: {wrong}"[:2000], file=sys.stderr, flush=True)
        return True
    return False


if __name__ == "__main__":
    sys.exit(main())
