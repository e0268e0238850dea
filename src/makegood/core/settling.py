"""How a step is settled: done, or done with a result that cannot be used; and its effect gone again."""

from makegood.core import lanes
from makegood.core.draft import Draft
from makegood.core.plan import Millis
from makegood.core.record import Kind, Phase


def done(draft: Draft, step: int) -> None:
    """The one way a step becomes done: by report, by probe, by a person's word or by late evidence."""
    draft.move(step, Phase.DONE)
    _pivoted(draft, step)


def spoiled(draft: Draft, step: int, error: str = "") -> None:
    """Done, but the result cannot be used: no retry; the task compensates, or parks from the pivot on."""
    _pivoted(draft, step)
    why = f"done, but its result cannot be recorded{error and f': {error}'}"
    lanes.fail(draft, step, Phase.SPOILED, why)


def _pivoted(draft: Draft, step: int) -> None:
    if draft.step(step).pivot:
        draft.head.pivoted, draft.head.pending = True, ""


def undone(draft: Draft, step: int, seen_at: Millis) -> None:
    """Settle the undo lane: the effect is gone, or never was, as the service stood at `seen_at`.

    Where a call of the step may have landed later than that, the service is looked at again.
    """
    opened = draft.head.open[step]
    if opened.late > seen_at and look_again(draft, step, opened.late):
        return
    blind = opened.fate == Phase.UNKNOWN
    draft.move(step, Phase.UNDONE_BLIND if blind else Phase.UNDONE)


def look_again(draft: Draft, step: int, landed_by: Millis) -> bool:
    """Have what may have landed since found and undone: by the probe, else by an undo under a new key.

    Answers False where the service offers neither, and nothing has changed.
    """
    plan, at = draft.step(step), max(draft.now, landed_by)
    if plan.probe:
        draft.move(step, Phase.CHECK_PLANNED, at).asks = 0
    elif plan.keyed:
        draft.move(step, Phase.UNDO_PLANNED, at)
        draft.new_round(step, Kind.UNDO)
    else:
        return False
    return True
