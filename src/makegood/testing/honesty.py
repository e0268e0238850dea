"""What an honest person says of a step: they look at the service before they speak."""

from random import Random

from makegood.core.events import ResolveAsked, Verdict
from makegood.core.record import Direction, Phase
from makegood.testing.observer import Observer, Run

STUCK = (Phase.UNDO_STUCK, Phase.LEFT)


def verdict_on(
    observer: Observer, run: Run, step: int, chance: Random, *, in_haste: bool = False
) -> ResolveAsked | None:
    """What they would order; None while a call may still change what they see, unless they are `in_haste`.

    At times they undo an effect by hand first, or accept it as standing.
    """
    head, service = run.head, run.services[step]
    phase, opened = Phase(head.marks[step]), head.open.get(step)
    waits_out = opened is not None and opened.due > 0 and phase != Phase.DOUBT
    if not in_haste and (observer.may_land(run, step) or waits_out):
        return None
    live = service.live(run.task_id)
    if phase in STUCK and live and chance.random() < 0.4:
        live[0].live = False
        live = []
    result = live[0].result if live else None
    verdict = Verdict.DONE if live else Verdict.ABSENT
    if phase in STUCK:
        verdict = chance.choice((Verdict.KEPT, Verdict.LEFT)) if live else Verdict.UNDONE
    elif live and head.direction is Direction.UNDO and chance.random() < 0.4:
        verdict = chance.choice((Verdict.KEPT, Verdict.LEFT))
    given = () if result is None else (result,)
    return ResolveAsked(step, verdict, "ann", "looked it up", given, head.stands_since(step))
