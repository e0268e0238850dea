"""The core's door: fold a fact into a record. Pure: time, jitter and names come in with the facts."""

from typing import assert_never

from makegood.core import acts, doubt, lanes, remedy, reports, restoring
from makegood.core.draft import Draft
from makegood.core.events import (
    Alerted,
    CancelAsked,
    Claimed,
    Driven,
    Event,
    HandedBack,
    Hastened,
    Inspected,
    LeaseRenewed,
    PauseAsked,
    Probed,
    Reported,
    ResolveAsked,
    Restored,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
    TaskSubmitted,
    begin,
)
from makegood.core.plan import Millis, Plan
from makegood.core.record import FORWARD_OPEN, OFFERED, PLANNED, REPORTED, WATCHED, Head, Open, TaskState

NEEDS_SOMEONE = PLANNED | OFFERED | REPORTED | WATCHED
"""Phases whose `due` moment wakes someone."""


def submit(plan: Plan, task_id: str, event: TaskSubmitted, now: Millis) -> Draft:
    """The record of a new task, its first steps planned."""
    head = Head(
        marks=bytearray(len(plan.steps)),
        created_at=now,
        deadline=event.deadline,
        digest=begin(task_id, plan.version),
        tags=event.tags,
        start_at=event.start_at,
    )
    draft = Draft(plan, task_id, head, now)
    draft.facts.append(event)
    lanes.advance(draft)
    return draft


def fold(draft: Draft, event: Event) -> bool:
    """Fold one fact into a draft; False: old news, and the draft is as it was.

    Raises ActRefused, with the draft as it was, and IllegalMove, after which the draft must be thrown away.
    """
    at = len(draft.facts)
    draft.facts.append(event)
    try:
        news = _handle(draft, event)
    except BaseException:
        del draft.facts[at:]
        raise
    if not news:
        del draft.facts[at:]
    return news


def _handle(draft: Draft, event: Event) -> bool:  # the one list of what can happen to a task
    match event:
        case Reported():
            return reports.reported(draft, event)
        case Claimed():
            return reports.claimed(draft, event)
        case Driven():
            return lanes.drive(draft)
        case Inspected():
            return remedy.inspected(draft, event)
        case Probed():
            return reports.probed(draft, event)
        case HandedBack():
            return reports.handed_back(draft, event)
        case Hastened():
            return reports.hastened(draft, event)
        case LeaseRenewed():
            return reports.lease_renewed(draft, event)
        case CancelAsked():
            return acts.cancel(draft, event)
        case PauseAsked():
            return acts.pause(draft, event)
        case ResumeAsked():
            return acts.resume(draft, event)
        case RetryAsked():
            return acts.retry(draft, event)
        case SkipAsked():
            return acts.skip(draft, event)
        case ResolveAsked():
            return acts.resolve(draft, event)
        case Alerted():
            return _alerted(draft)
        case Restored():
            return restoring.restored(draft, event)
        case TaskSubmitted():
            return False
        case _:
            assert_never(event)


def _alerted(draft: Draft) -> bool:
    """Remembered as long as it stands parked; old news where somebody moved it on, or told people first."""
    if draft.head.state is not TaskState.FAILED or draft.head.alerted:
        return False
    draft.head.alerted = True
    return True


def wants_driving(draft: Draft) -> bool:
    """Whether a Scheduler would find a call to hand out."""
    return bool(draft.planned_and_due()) and lanes.may_start(draft)


def due(plan: Plan, head: Head) -> Millis | None:
    """When this record next needs someone; never later than the first thing it waits for.

    Raises NothingDue where an unfinished record would wait for nobody: only a parked or a paused one may.
    """
    if head.state not in lanes.GOING:
        return None
    idle = head.paused or lanes.blocked(head)
    steps = [_step_due(head.marks[step], opened, idle=idle) for step, opened in head.open.items()]
    moments = [moment for moment in steps if moment is not None]
    if lanes.heeds_deadline(head):
        moments += [o.deadline for s, o in head.open.items() if o.deadline and head.marks[s] in FORWARD_OPEN]
        if head.deadline:
            moments.append(head.deadline)
    if moments:
        return min(moments)
    if head.paused:
        return None
    raise NothingDue(f"plan {plan.name}: {head.state.name}, marks {list(head.marks)}")


def _step_due(mark: int, opened: Open, *, idle: bool) -> Millis | None:
    """When a step next needs someone; None: it waits for something else. `idle`: no call may start."""
    if mark not in NEEDS_SOMEONE:
        return None
    key_dies = opened.key_until if doubt.counts_on_key(mark, opened) else 0
    moments = (0, 0) if idle and mark in PLANNED else (opened.due, key_dies)
    return min(filter(None, (*moments, remedy.lands_by(mark, opened))), default=None)


class NothingDue(Exception):
    """A record that would wait for nobody: a fault of ours, and nothing of the decision is kept."""
