"""Seeded random walks through the simulated world: many seeds over every plan, in a moment.

MAKEGOOD_WALKS=100000 walks farther; MAKEGOOD_WALK_FROM=2000 begins at another seed. A failing seed is named
by the test, and `walk(seed)` walks it again.
"""

import os
from collections.abc import Callable
from random import Random

import pytest

from makegood.core.events import ResumeAsked
from makegood.core.record import TaskState
from makegood.testing.invariants import check_nothing_silent, check_settled
from tests.core import people
from tests.core.plans import PLANS, REFUSE_UNDO
from tests.core.world import World

WALKS = int(os.environ.get("MAKEGOOD_WALKS", "2000"))
FROM = int(os.environ.get("MAKEGOOD_WALK_FROM", "0"))
CHUNK = 100

Step = Callable[[World], bool]
CALM: dict[Step, int] = {
    World.look: 8,
    World.send: 6,
    World.land: 5,
    World.hear: 5,
    World.deliver: 6,
    World.wait: 5,
    World.renew: 1,
}
TROUBLE: dict[Step, int] = {
    World.drop: 2,
    World.give_up: 2,
    World.die: 2,
    World.hand_back: 1,
    people.act: 2,
    World.hasten: 1,
}


def walk(seed: int, *, frozen: bool = False) -> World:
    """One world: a task or two, some dozens of things that happen, the end, and what must hold then."""
    rng = Random(seed)
    names = list(PLANS)
    world = World(rng, frozen=frozen)
    chosen = [names[seed % len(names)]] + [rng.choice(names) for _ in range(rng.choice((0, 0, 0, 1)))]
    for name in chosen:
        deadline = rng.choice((0, 0, 0, 15_000, 60_000))
        world.submit(PLANS[name], deadline=deadline, refuse_undo=REFUSE_UNDO.get(name, ()))
    trouble = rng.choice((0, 1, 1, 3))
    weights = CALM | {move: weight * trouble for move, weight in TROUBLE.items()}
    for move in rng.choices(list(weights), list(weights.values()), k=rng.choice((30, 80, 200))):
        move(world)
    finish(world)
    return world


def finish(world: World) -> None:
    """Heal the world, let it settle, and check it; then see parked tasks through, and check again."""
    for run in world.runs:
        if run.head.paused:
            people.ordered(world, run, ResumeAsked("ann"))
    world.settle()
    check(world)
    world.deliver_late()
    world.settle()
    check(world)
    for run in world.runs:
        people.see_to(world, run)
        assert run.head.state is not TaskState.FAILED
    check(world)


def check(world: World) -> None:
    for run in world.runs:
        if world.frozen:
            check_nothing_silent(run)
        else:
            check_settled(run, world)


def walk_all(first: int, *, frozen: bool = False) -> None:
    for seed in range(first, min(first + CHUNK, FROM + WALKS)):
        try:
            walk(seed, frozen=frozen)
        except Exception as error:
            raise AssertionError(f"seed {seed} ({list(PLANS)[seed % len(PLANS)]}): {error}") from error


@pytest.mark.parametrize("first", range(FROM, FROM + WALKS, CHUNK))
def test_walks(first: int) -> None:
    walk_all(first)


@pytest.mark.parametrize("first", range(FROM, FROM + WALKS // 4, CHUNK))
def test_walks_with_calls_that_outlive_their_bound(first: int) -> None:
    walk_all(first, frozen=True)
