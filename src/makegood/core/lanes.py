"""The two lanes: forward plans the next calls, backward undoes in the reverse of the plan's structure.

Handlers settle their own step; only these functions plan and start calls, complete or park a task.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from makegood.core import doubt
from makegood.core.doubt import Course
from makegood.core.draft import Draft
from makegood.core.events import TurnPending
from makegood.core.plan import Part, Series
from makegood.core.record import (
    ASKS_A_PERSON,
    CERTAINLY_NOT,
    FLYING,
    FORWARD_OPEN,
    IN_EFFECT,
    OFFERED,
    PLANNED,
    UNDO_OPEN,
    Direction,
    Head,
    Kind,
    News,
    Open,
    Phase,
    TaskState,
)

WAITS_FIRST = {
    Phase.PLANNED: Phase.WAIT_OUT,
    Phase.UNKNOWN: Phase.WAIT_OUT,
    Phase.UNDO_PLANNED: Phase.UNDO_WAIT_OUT,
}
"""Where a step waits, in a task that is to park, while an earlier call of it may still be on its way."""

Visit: TypeAlias = Callable[[Draft, int], bool]
Order: TypeAlias = Callable[[tuple[Part, ...]], Iterator[Part]]

GOING = frozenset((TaskState.RUNNING, TaskState.COMPENSATING))
FAILED_FOR_GOOD = CERTAINLY_NOT | {Phase.SPOILED}


def advance(draft: Draft) -> None:
    """Go on in the task's direction as far as the record allows: plan what comes next, complete or park."""
    if draft.head.state not in GOING:
        return
    if blocked(draft.head):
        _park(draft)
    elif draft.forward:
        if _walk(draft, draft.plan.body, _forward, iter):
            draft.task(TaskState.COMPLETED)
    else:
        _backward(draft)


def may_start(draft: Draft) -> bool:
    """Whether a call may start at all: not while paused, nor once the task is to park."""
    return draft.head.state in GOING and not draft.head.paused and not blocked(draft.head)


def drive(draft: Draft) -> bool:
    """Hand out every planned call whose moment has come; answers False when there is none."""
    steps = draft.planned_and_due() if may_start(draft) else []
    for step in steps:
        draft.offer(step)
    return bool(steps)


# --- turning

WHY = {
    News.NONE: "",
    News.REFUSED: "refused",
    News.TRANSIENT: "out of tries",
    News.ABSENT: "did not happen, out of tries",
    News.UNKNOWN: "in doubt, out of tries",
    News.CANNOT_TELL: "in doubt, and the service cannot tell",
    News.STILL_THERE: "still there after its undo",
}


def why(opened: Open) -> str:
    """The last word on a step, with what its call said."""
    return f"{WHY[opened.news]}: {opened.error}" if opened.error else WHY[opened.news]


def heeds_deadline(head: Head) -> bool:
    """Whether a passed deadline still means anything to this record."""
    return head.state is TaskState.RUNNING and not head.paused and not head.deadline_heard


def fail(draft: Draft, step: int, phase: Phase, why: str) -> None:
    """Settle a step that failed for good: the task turns, or from the pivot on waits for a person."""
    draft.move(step, phase)
    if not draft.forward:
        return
    reason = draft.head.pending or f"{draft.step(step).name}: {why}"
    if draft.head.pivoted:
        draft.head.reason = reason
    else:
        turn(draft, reason)


def ask_turn(draft: Draft, reason: str) -> bool:
    """Turn, unless the pivot may have happened: then remember the reason and answer False."""
    if pivot_in_doubt(draft):
        if not draft.head.pending:
            draft.head.pending = reason
            draft.facts.append(TurnPending(reason))
        return False
    turn(draft, reason)
    return True


def pivot_in_doubt(draft: Draft) -> bool:
    """Whether a call of the pivot may have happened and nobody knows yet."""
    pivot = draft.plan.pivot
    if pivot is None or pivot not in draft.head.open:
        return False
    phase, opened = draft.phase(pivot), draft.head.open[pivot]
    return opened.doubt or phase not in PLANNED | OFFERED


def turn(draft: Draft, reason: str) -> None:
    """Set the task on its way back. Open calls keep their attempt; no forward call starts any more."""
    head = draft.head
    head.direction = Direction.UNDO
    head.pending, head.reason = "", reason
    draft.task(TaskState.COMPENSATING, reason)
    for step, opened in list(head.open.items()):
        if draft.marks[step] in (Phase.PLANNED, Phase.OFFERED):
            give_up(draft, step)
        elif draft.marks[step] == Phase.DOUBT:
            take(draft, step, doubt.to_be_undone(draft.step(step), opened, draft.now))


def give_up(draft: Draft, step: int) -> None:
    """Settle a step of a task that turned while its next attempt was only planned.

    Called in an earlier round, it is absent and not idle: late evidence may still say otherwise.
    """
    opened = draft.head.open[step]
    if opened.doubt:
        take(draft, step, doubt.to_be_undone(draft.step(step), opened, draft.now))
    elif opened.first_at or draft.round(step, Kind.DO) > 1:
        draft.move(step, Phase.ABSENT)
    else:
        draft.move(step, Phase.IDLE)


def take(draft: Draft, step: int, course: Course) -> None:
    """Take a forward lane's course out of doubt (any but a retry, which needs a delay)."""
    opened = draft.head.open[step]
    match course:
        case Course.WAIT_OUT:
            draft.move(step, Phase.WAIT_OUT, max(draft.now, opened.landing))
        case Course.PROBE:
            draft.move(step, Phase.PROBE_PLANNED, draft.now).asks = 0
        case Course.UNDO_BLIND:
            draft.move(step, Phase.UNKNOWN)
        case Course.ABSENT:
            fail(draft, step, Phase.ABSENT, why(opened))
        case Course.PARK if draft.marks[step] != Phase.DOUBT:
            draft.move(step, Phase.DOUBT, opened.landing)
        case _:
            pass


def fear(draft: Draft, step: int) -> Open:
    """A call of it may have had an effect that the record knows nothing of: no further one on a guess."""
    opened = draft.touch(step)
    opened.doubt = True
    if draft.marks[step] in (Phase.PLANNED, Phase.OFFERED):
        course = doubt.to_be_retried(draft.step(step), opened, draft.now)
        if course is not Course.RETRY:
            take(draft, step, course)
    return opened


def stick(draft: Draft, step: int) -> None:
    """An undo that cannot be finished: a person is asked."""
    draft.move(step, Phase.UNDO_STUCK, draft.head.open[step].landing)


# --- walking the structure


def _walk(draft: Draft, part: Part, visit: Visit, order: Order) -> bool:
    """Visit the parts of a series in an order, one when the former is through; branches side by side."""
    if isinstance(part, int):
        return visit(draft, part)
    if isinstance(part, Series):
        return all(_walk(draft, inner, visit, order) for inner in order(part.parts))
    through = [_walk(draft, branch, visit, order) for branch in part.branches]
    return all(through)


def _forward(draft: Draft, step: int) -> bool:
    phase = draft.marks[step]
    if phase == Phase.IDLE:
        _plan(draft, step)
    return phase in (Phase.DONE, Phase.SKIPPED)


def _plan(draft: Draft, step: int) -> None:
    draft.move(step, Phase.PLANNED, max(draft.now, draft.head.start_at))
    if draft.head.restored_at:
        _planned_after_restore(draft, step)


def _planned_after_restore(draft: Draft, step: int) -> None:
    """It may have been called before the backup was put back, under the key that it gets now."""
    plan, opened = draft.step(step), draft.touch(step)
    opened.unkeyed = plan.keyed_for is not None  # when its key was first used nobody knows
    opened.landing = 0 if plan.reads else draft.head.restored_at + plan.life
    fear(draft, step)


def _backward(draft: Draft) -> None:
    if draft.head.beyond and not _forward_open(draft):
        _walk(draft, draft.plan.body, _may_have_been, iter)
    if _forward_open(draft):
        return  # the first undo starts when no forward call is open
    if blocked(draft.head):
        _park(draft)
        return
    if not _walk(draft, draft.plan.body, _unwind, reversed):
        return
    if Phase.LEFT in draft.marks:
        draft.task(TaskState.FAILED, _standing(draft, frozenset({Phase.LEFT}), "left in effect"))
    else:
        draft.task(TaskState.COMPENSATED)


def _forward_open(draft: Draft) -> bool:
    return any(draft.marks[step] in FORWARD_OPEN for step in draft.head.open)


def _may_have_been(draft: Draft, step: int) -> bool:
    """Find out about a step that may have been called since the backup: answers whether that is known.

    What its calls are made of must be known to ask for it or to undo it; else a person is asked, as they are
    about a pivot. Those after it are looked for even where it is absent: somebody may have skipped it since.
    """
    plan = draft.step(step)
    if draft.marks[step] == Phase.IDLE and not plan.reads:
        _plan(draft, step)
        known = all(draft.marks[n] in (Phase.DONE, Phase.SKIPPED) for n in draft.plan.reads_of(step))
        if plan.pivot or not known:
            draft.move(step, Phase.DOUBT, draft.head.open[step].landing)
        elif draft.marks[step] == Phase.PLANNED:
            give_up(draft, step)
    return draft.marks[step] not in FORWARD_OPEN


def _unwind(draft: Draft, step: int) -> bool:
    phase = draft.marks[step]
    if phase in IN_EFFECT and draft.step(step).undo is not None:
        _plan_undo(draft, step, phase)
        return False
    return phase not in UNDO_OPEN


def _plan_undo(draft: Draft, step: int, fate: int) -> None:
    """Begin the undo lane. What nobody knows to be done may land yet, and its key may be forgotten."""
    known = draft.head.open.get(step, Open())
    opened = draft.move(step, Phase.UNDO_PLANNED, draft.now)
    fresh = Open(since=opened.since, due=opened.due, fate=fate)
    fresh.landing, fresh.late, fresh.key_until = known.landing, known.late, known.key_until
    draft.head.open[step] = fresh
    if draft.head.restored_at:
        _undo_after_restore(draft, step, fresh)


def _undo_after_restore(draft: Draft, step: int, opened: Open) -> None:
    """It may have been undone before the backup was put back: by its key again, or else in doubt."""
    opened.doubt = True
    opened.landing = max(opened.landing, draft.head.restored_at + draft.step(step).life)
    if not doubt.keyed(draft.step(step), opened, draft.now):
        draft.move(step, Phase.UNDO_REPORTED, draft.now).news = News.UNKNOWN


def its_turn(draft: Draft, step: int) -> bool:
    """Whether a step that was left may be undone now: nothing else is, nor is to be before it."""
    reached = False

    def through(draft: Draft, other: int) -> bool:
        nonlocal reached
        reached |= other == step
        mark = draft.marks[other]
        waits = mark in IN_EFFECT and draft.step(other).undo is not None
        return other != step and not waits and mark not in ASKS_A_PERSON

    _walk(draft, draft.plan.body, through, reversed)
    return reached and not any(mark in FORWARD_OPEN | UNDO_OPEN for mark in draft.marks)


# --- parking


def blocked(head: Head) -> bool:
    """Whether the task is to park: only a person can move it on."""
    for step in head.open:
        if head.marks[step] in ASKS_A_PERSON:
            return True
    forward = head.direction is Direction.FORWARD
    return forward and head.pivoted and any(mark in FAILED_FOR_GOOD for mark in head.marks)


def _park(draft: Draft) -> None:
    """Park once no call may still be on its way; until then take back what was offered, and wait."""
    draft.withdraw_offers()
    for step, opened in list(draft.head.open.items()):
        waits = WAITS_FIRST.get(draft.phase(step))
        if waits is not None and opened.landing:
            draft.move(step, waits, opened.landing)
    if not any(_flying(draft.marks[step], opened) for step, opened in draft.head.open.items()):
        stuck = ASKS_A_PERSON | FAILED_FOR_GOOD if draft.forward else ASKS_A_PERSON
        draft.task(TaskState.FAILED, _standing(draft, stuck, "needs a person"))


def _flying(phase: int, opened: Open) -> bool:
    """Whether a call of this step may still be on its way, or its outcome has found no remedy yet."""
    return phase in FLYING or (phase in ASKS_A_PERSON and opened.due > 0)


def _standing(draft: Draft, phases: frozenset[Phase], why: str) -> str:
    names = [draft.step(n).name for n, mark in enumerate(draft.marks) if mark in phases]
    return f"{', '.join(names)}: {why}"
