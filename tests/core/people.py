"""People who act on tasks: at random, in every state, and honestly: they look at the ledger first."""

from collections.abc import Callable
from functools import partial

from makegood.core.events import (
    CancelAsked,
    Event,
    PauseAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
)
from makegood.core.record import Direction, TaskState
from makegood.errors import ActRefused
from makegood.testing.honesty import verdict_on
from makegood.testing.observer import Run
from tests.core.world import World

A_MINUTE = 60_000


def act(world: World) -> bool:
    """Somebody does something to some task; refusals are part of it."""
    if not world.runs:
        return False
    run = world.rng.choice(world.runs)
    step = world.rng.randrange(len(run.plan.steps))
    acts: list[Callable[[], object]] = [
        lambda: ordered(world, run, PauseAsked("ann")),
        lambda: ordered(world, run, ResumeAsked("ann")),
        lambda: ordered(world, run, ResumeAsked("ann")),
        lambda: ordered(world, run, RetryAsked(world.rng.choice((-1, step)), "ann")),
        lambda: ordered(world, run, SkipAsked(step, "ann")),
        lambda: cancel(world, run),
        lambda: resolve(world, run, step),
        lambda: resolve(world, run, step),
    ]
    world.rng.choice(acts)()
    return True


def ordered(world: World, run: Run, event: Event) -> bool:
    """Give an order; answers whether it was news. A refused one changes nothing."""
    known = run.stored
    try:
        return world.commit(run, event, rooms=world.rng.choice(("", "vs")))[0]
    except ActRefused:
        assert run.stored == known
        return False


def cancel(world: World, run: Run) -> None:
    if ordered(world, run, CancelAsked("ann", "no longer wanted")) and not run.head.pending:
        run.cancelled = run.head.direction is Direction.UNDO


def resolve(world: World, run: Run, step: int) -> bool:
    """Say what became of a step, once nothing of it can land any more."""
    verdict = verdict_on(world, run, step, world.rng)
    return verdict is not None and ordered(world, run, verdict)


def see_to(world: World, run: Run) -> None:
    """A person sees a parked task through to its end."""
    for service in run.services:
        service.refuses_undo = False
    for _ in range(30):
        if run.head.state is not TaskState.FAILED:
            return
        world.pass_time(A_MINUTE)
        for step in range(len(run.plan.steps)):
            ways = [
                partial(resolve, world, run, step),
                partial(ordered, world, run, RetryAsked(step, "ann")),
                partial(ordered, world, run, SkipAsked(step, "ann")),
            ]
            world.rng.shuffle(ways)
            any(way() for way in ways)  # until one is taken
            world.settle()
    raise AssertionError(f"nobody can help it: {run.head}")
