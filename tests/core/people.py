"""People who act on tasks: at random, in every state, and honestly: they look at the ledger first."""

from collections.abc import Callable
from functools import partial

from makegood.core.events import (
    CancelAsked,
    Event,
    PauseAsked,
    ResolveAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
    Verdict,
)
from makegood.core.record import Direction, Phase, TaskState
from makegood.errors import ActRefused
from tests.core.world import Run, World

STUCK = (Phase.UNDO_STUCK, Phase.LEFT)


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
    head, service = run.head, run.services[step]
    phase, opened = Phase(head.marks[step]), head.open.get(step)
    if world.may_land(run, step) or (opened is not None and opened.due > 0 and phase != Phase.DOUBT):
        return False
    live = service.live(run.task_id)
    if phase in STUCK and live and world.rng.random() < 0.4:
        live[0].live = False  # undone by hand
        live = []
    result = live[0].result if live else None
    verdict = Verdict.DONE if live else Verdict.ABSENT
    if phase in STUCK:
        verdict = world.rng.choice((Verdict.KEPT, Verdict.LEFT)) if live else Verdict.UNDONE
    elif live and head.direction is Direction.UNDO and world.rng.random() < 0.4:
        verdict = world.rng.choice((Verdict.KEPT, Verdict.LEFT))
    return ordered(
        world, run, ResolveAsked(step, verdict, "ann", "looked it up", () if result is None else (result,))
    )


def see_to(world: World, run: Run) -> None:
    """A person sees a parked task through to its end."""
    for service in run.services:
        service.refuses_undo = False
    for _ in range(30):
        if run.head.state is not TaskState.FAILED:
            return
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
