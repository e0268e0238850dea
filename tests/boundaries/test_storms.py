"""Worlds put together by chance: several processes, tasks and faults, slow stores, jumping clocks.

MAKEGOOD_STORMS=10000 plays more of them, from MAKEGOOD_STORM_FROM on. `play(storm(seed))` plays one again.
"""

import os
from functools import partial
from random import Random

import pytest

from tests.boundaries.faults import TEN_YEARS, Trouble, WorldFault, faults_for
from tests.boundaries.scenarios import BY_NAME
from tests.boundaries.simulation import World, play

STORMS = int(os.environ.get("MAKEGOOD_STORMS", "300"))
FROM = int(os.environ.get("MAKEGOOD_STORM_FROM", "0"))
CHUNK = 50
JUMPS = (TEN_YEARS, -TEN_YEARS, 60_000, -60_000, 3_000)


def storm(seed: int) -> World:
    """The world of this seed."""
    chance = Random(seed)
    return World(
        BY_NAME[chance.choice(list(BY_NAME))],
        *(trouble(chance) for _ in range(chance.choice((1, 2, 2, 3, 4)))),
        tasks=chance.choice((1, 1, 2, 4)),
        engines=chance.choice((1, 1, 2, 3)),
        lag=chance.choice((0.001, 0.001, 0.03, 0.15)),
        events=[
            (chance.random() * 8, partial(World.jump, millis=chance.choice(JUMPS)))
            for _ in range(chance.choice((0, 0, 0, 1, 2)))
        ],
    )


def trouble(chance: Random) -> Trouble:
    """Some fault for some process, if it comes so far and the fault can strike there."""
    operation = chance.choice(("commit", "commit", "due", "do a"))
    faults = faults_for(operation) if chance.random() < 0.8 else tuple(WorldFault)
    return Trouble(chance.randrange(1, 60), chance.choice(faults), member=chance.choice((0, 0, 1, 1, 2, 3)))


@pytest.mark.parametrize("first", range(FROM, FROM + STORMS, CHUNK))
def test_storms(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(first, min(first + CHUNK, FROM + STORMS)):
        monkeypatch.setattr("makegood.agents.runner.CALLS_MAX", Random(seed).choice((1000, 1000, 2, 3)))
        world = play(storm(seed))
        assert not world.complaints, f"seed {seed}\n{world.story()}"
