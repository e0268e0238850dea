"""After a backup was put back: the record is older than the world.

What was recorded since the backup is lost, not what was done. So every open step of a task that has not ended
may have been called, every undo may have been made, and whatever comes next may have been there before: where
the service knows the key it is called again, where it can be asked it is asked, and else a person is.
"""

from makegood.core import doubt, lanes
from makegood.core.draft import Draft
from makegood.core.events import Restored
from makegood.core.record import (
    ASKS_A_PERSON,
    BY_KEY,
    ENDED,
    FORWARD_OPEN,
    UNDO_OPEN,
    WAITING_OUT,
    News,
    Phase,
)
from makegood.core.resolving import STUCK

ATTEMPTS_LOST = 1_000
"""Numbers that are left out: those of calls whose record is lost must not be handed out again."""


def restored(draft: Draft, event: Restored) -> bool:
    """Cast doubt on everything that is open; an ended task keeps its end, as far as anybody can know."""
    head = draft.head
    if head.state in ENDED:
        return False
    head.restored_at, head.beyond = draft.now, head.beyond or draft.forward
    head.attempt += ATTEMPTS_LOST
    draft.withdraw_offers()  # they would be claimed under numbers whose calls may be lost
    for step in list(head.open):
        if not draft.step(step).reads:
            _reopen(draft, step)
    lanes.advance(draft)
    return True


def _reopen(draft: Draft, step: int) -> None:
    plan, opened, phase = draft.step(step), draft.touch(step), draft.phase(step)
    opened.unkeyed |= plan.keyed_for is not None  # when its key was first used nobody knows
    opened.landing = opened.late = draft.now + plan.life
    if phase in WAITING_OUT or (phase in ASKS_A_PERSON and opened.due):
        opened.since, opened.due = draft.now, opened.landing
    if phase in FORWARD_OPEN:
        lanes.fear(draft, step)
    elif phase in UNDO_OPEN or phase in STUCK:
        opened.doubt = True  # one that is stuck may have been tried again since
        if phase in BY_KEY and not doubt.keyed(plan, opened, draft.now):
            draft.move(step, Phase.UNDO_REPORTED, draft.now).news = News.UNKNOWN
