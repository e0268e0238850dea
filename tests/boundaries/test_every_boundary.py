"""Every plan, struck at every operation by everything that can strike there, one fault at a time; some pairs.

MAKEGOOD_BOUNDARIES=all strikes every idle read as well, and MAKEGOOD_PAIRS=1000 so many pairs a plan. All
pairs: python -m makegood.testing.simulation.boundaries --pairs
"""

import os
from random import Random

import pytest

from makegood.testing.simulation.boundaries import clean, pairs, singles, struck
from makegood.testing.simulation.scenarios import BY_NAME

ALL = os.environ.get("MAKEGOOD_BOUNDARIES") == "all"
PAIRS = int(os.environ.get("MAKEGOOD_PAIRS", "6"))
PARTS = 3
"""Each plan's faults are spread over so many tests."""


def test_there_are_plans_enough() -> None:
    assert len(BY_NAME) >= 20


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", BY_NAME)
def test_every_single_fault(name: str, part: int) -> None:
    troubles = list(singles(clean(BY_NAME[name]), idle=ALL))
    assert len(troubles) >= 80
    for trouble in troubles[part::PARTS]:
        struck(BY_NAME[name], trouble)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_second_fault_while_the_first_is_made_good(name: str) -> None:
    """Some of the pairs, each plan's by a first fault of its own."""
    chance, played = Random(name), 0
    for first, second in pairs(BY_NAME[name], Random(name)):
        if chance.random() < 0.1:
            assert len(struck(BY_NAME[name], first, second).struck) == 2
            played += 1
            if played == PAIRS:
                break


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
