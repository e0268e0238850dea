"""What an honest person says of a step: they look at the service before they speak."""

from random import Random

from makegood.core.events import ResolveAsked, Verdict
from makegood.core.record import Direction, Phase
from makegood.core.resolving import ABOUT_TO_UNDO, STUCK
from makegood.testing.observer import Observer, Run


def verdict_on(
    observer: Observer, run: Run, step: int, chance: Random, *, in_haste: bool = False
) -> ResolveAsked | None:
    """What they would order; None while a call may still change what they see, unless they are `in_haste`.

    At times they undo an effect by hand first, or accept it as standing.
    """
    head, service = run.head, run.services[step]
    phase, opened = Phase(head.marks[step]), head.open.get(step)
    waits_out = opened is not None and opened.due > 0 and phase in STUCK
    if not in_haste and (observer.may_land(run, step) or waits_out):
        return None
    if phase in (Phase.DONE, Phase.SKIPPED) and chance.random() < 0.9:
        return None  # what is right is seldom corrected
    live = service.live(run.task_id)
    undoing = phase in STUCK or phase in ABOUT_TO_UNDO
    if undoing and live and chance.random() < 0.4:
        live[0].live = False
        live = []
    result = live[0].result if live else None
    verdict = Verdict.DONE if live else Verdict.ABSENT
    if undoing:
        verdict = chance.choice((Verdict.KEPT, Verdict.LEFT)) if live else Verdict.UNDONE
    elif live and head.direction is Direction.UNDO and chance.random() < 0.4:
        verdict = chance.choice((Verdict.KEPT, Verdict.LEFT))
    given = (result,) if result is not None and verdict is Verdict.DONE else ()
    return ResolveAsked(step, verdict, "ann", "looked it up", given, head.stands_since(step))
