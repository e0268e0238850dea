"""Every plan, struck at every operation by everything that can strike there, one fault at a time; some pairs.

MAKEGOOD_BOUNDARIES=all strikes every idle read as well, and MAKEGOOD_PAIRS=1000 so many pairs a plan.
"""

import os
from collections.abc import Iterator
from random import Random

import pytest

from tests.boundaries.faults import Trouble, faults_for
from tests.boundaries.scenarios import BY_NAME, Scenario
from tests.boundaries.simulation import World, play, play_all

ALL = os.environ.get("MAKEGOOD_BOUNDARIES") == "all"
PAIRS = int(os.environ.get("MAKEGOOD_PAIRS", "10"))
ROUNDS = frozenset({"due", "now", "load", "renew_member"})
IN_A_ROW_MAX = 4
"""After so many of them in a row nothing happens but rounds, and one round is like the next."""
PARTS = 3
"""Each plan's faults are spread over so many tests."""


def clean(scenario: Scenario) -> World:
    """A run with no trouble but the scenario's own."""
    world = play(World(scenario))
    assert not world.complaints, world.story()
    return world


def boundaries(world: World) -> Iterator[Trouble]:
    """Everything that can strike the first process, until the task has ended."""
    in_a_row = 0
    for at, operation in enumerate(world.members[0].operations[: world.until_rest], 1):
        in_a_row = in_a_row + 1 if operation in ROUNDS else 0
        if ALL or in_a_row <= IN_A_ROW_MAX:
            yield from (Trouble(at, fault) for fault in faults_for(operation))


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", BY_NAME)
def test_every_single_fault(name: str, part: int) -> None:
    troubles = list(boundaries(clean(BY_NAME[name])))
    assert len(troubles) >= 80
    play_all(BY_NAME[name], [[trouble] for trouble in troubles[part::PARTS]])


@pytest.mark.parametrize("name", BY_NAME)
def test_a_second_fault_while_the_first_is_made_good(name: str) -> None:
    chance, troubles = Random(name), list(boundaries(clean(BY_NAME[name])))
    play_all(BY_NAME[name], [[first, _then(first, chance)] for first in chance.choices(troubles, k=PAIRS)])


def _then(first: Trouble, chance: Random) -> Trouble:
    """Something that strikes the same process later, or the one that takes its place."""
    operation = chance.choice(("commit", "due", "do a"))
    at = chance.randrange(1, 30) + (first.at if (member := chance.choice((0, 1, 1))) == 0 else 0)
    return Trouble(at, chance.choice(faults_for(operation)), member)


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("straight", ["COMPLETED"]),
        ("refused", ["COMPENSATED"]),
        ("pivot_middle", ["COMPLETED"]),
        ("undo_fails", ["FAILED"]),
        ("cancelled", ["COMPENSATED"]),
        ("deadline", ["COMPENSATED"]),
    ],
)
def test_with_no_trouble_a_plan_ends_as_it_must(name: str, states: list[str]) -> None:
    assert clean(BY_NAME[name]).states() == states


def test_a_world_is_the_same_world_each_time() -> None:
    first, second = (clean(BY_NAME["doubted"]) for _ in range(2))
    assert first.members[0].operations == second.members[0].operations
    assert [run.stored for run in first.watch.runs] == [run.stored for run in second.watch.runs]
