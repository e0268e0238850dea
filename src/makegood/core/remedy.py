"""What the Supervisor orders for what failed or is overdue: retry, probe, wait out, compensate, park."""

from collections.abc import Collection

from makegood.core import doubt, lanes
from makegood.core.doubt import Course
from makegood.core.draft import Draft
from makegood.core.events import DeadlineAnnounced, Inspected, WaitedOut
from makegood.core.plan import Millis, millis
from makegood.core.record import (
    ASKS_A_PERSON,
    BY_KEY,
    CALLED,
    ERROR_KEPT,
    FORWARD_OPEN,
    REPORTED,
    UNDO_OPEN,
    WAITING_OUT,
    Head,
    Kind,
    News,
    Open,
    Phase,
)
from makegood.core.retry import AFTER_PIVOT_CAP, backoff

WAITS = WAITING_OUT | ASKS_A_PERSON
"""Phases in which nothing is decided before the last call has landed."""


def lands_by(mark: int, opened: Open) -> Millis:
    """Until when calls of this step may still arrive, where somebody has to see that pass; 0: nobody has.

    A step that is about to be called waits for an agent, and its agent may be gone: a person is believed
    only once nothing of it can arrive any more.
    """
    if mark in WAITS:
        return opened.due
    return opened.landing if mark in BY_KEY else 0


def wants_inspection(head: Head, now: Millis) -> bool:
    """Whether a Supervisor would find something to decide in this record now."""
    if head.state not in lanes.GOING:
        return False
    heeds = lanes.heeds_deadline(head)
    if heeds and 0 < head.deadline <= now:
        return True
    for step, opened in head.open.items():
        mark = head.marks[step]
        if mark in REPORTED or (mark in CALLED and opened.due <= now):
            return True
        if 0 < lands_by(mark, opened) <= now:
            return True
        if doubt.key_died(mark, opened, now):
            return True
        if heeds and 0 < opened.deadline <= now and mark in FORWARD_OPEN:
            return True
    return False


def inspected(draft: Draft, event: Inspected) -> bool:
    """Decide every remedy that is due; answers False when there was none."""
    facts = len(draft.facts)
    _deadlines(draft)
    for step in list(draft.head.open):
        if step in draft.head.open:
            _look(draft, step, event.jitter, event.waited)
    lanes.advance(draft)
    return len(draft.facts) > facts


def _look(draft: Draft, step: int, jitter: int, waited: Collection[int]) -> None:
    opened, overdue = draft.head.open[step], draft.head.open[step].due <= draft.now
    match draft.phase(step):
        case Phase.CALLED | Phase.UNDO_CALLED if overdue:
            _unknown(draft, step, "its agent fell silent")
            _remedy(draft, step, jitter)
        case Phase.PROBE_CALLED | Phase.CHECK_CALLED if overdue:
            cannot_tell(draft, step, "the probe brought no answer")
            _look(draft, step, jitter, waited)
        case Phase.REPORTED | Phase.UNDO_REPORTED:
            _remedy(draft, step, jitter)
        case phase if doubt.key_died(phase, opened, draft.now):
            _unknown(draft, step, "its service may have forgotten its key")
            _remedy(draft, step, jitter)
        case phase if 0 < lands_by(phase, opened) <= draft.now and step in waited:
            _waited_out(draft, step)
        case _:
            pass


def _unknown(draft: Draft, step: int, error: str) -> None:
    """A call that may have had its effect, and nobody heard of it."""
    undo = draft.marks[step] in UNDO_OPEN
    opened = draft.move(step, Phase.UNDO_REPORTED if undo else Phase.REPORTED, draft.now)
    opened.news, opened.doubt, opened.error = News.UNKNOWN, True, error


def _waited_out(draft: Draft, step: int) -> None:
    """No call of this step can arrive any more."""
    opened, plan = draft.touch(step), draft.step(step)
    opened.landing = 0
    phase = draft.phase(step)
    if phase == Phase.UNDO_WAIT_OUT:
        _undo_waited_out(draft, step)
    elif phase == Phase.WAIT_OUT:
        course = doubt.after_wait(plan, opened, draft.now, forward=draft.forward)
        if course is Course.RETRY:
            draft.move(step, Phase.PLANNED, draft.now)
        else:
            lanes.take(draft, step, course)
    elif phase in BY_KEY:
        draft.facts.append(WaitedOut(step))
    else:
        draft.move(step, phase)


def _undo_waited_out(draft: Draft, step: int) -> None:
    opened, plan = draft.head.open[step], draft.step(step)
    if opened.doubt and plan.probe:
        draft.move(step, Phase.CHECK_PLANNED, draft.now).asks = 0
    elif not opened.doubt or doubt.keyed(plan, opened, draft.now):
        draft.move(step, Phase.UNDO_PLANNED, draft.now)
    else:
        lanes.stick(draft, step)


def cannot_tell(draft: Draft, step: int, why: str) -> None:
    """A probe that could not tell is asked again, up to its limit."""
    check = draft.marks[step] == Phase.CHECK_CALLED
    opened = draft.touch(step)
    opened.asks, opened.error = opened.asks + 1, why[:ERROR_KEPT]
    if opened.asks < draft.step(step).asks:
        pause = backoff(draft.step(step).retry, opened.asks, 0)
        draft.move(step, Phase.CHECK_PLANNED if check else Phase.PROBE_PLANNED, draft.now + pause)
    else:
        draft.move(step, Phase.UNDO_REPORTED if check else Phase.REPORTED, draft.now)
        opened.news = News.CANNOT_TELL


def _remedy(draft: Draft, step: int, jitter: int) -> None:
    if draft.marks[step] == Phase.UNDO_REPORTED:
        _undo_remedy(draft, step, jitter)
    elif draft.head.open[step].doubt:
        _remedy_in_doubt(draft, step, jitter)
    else:
        _remedy_certain(draft, step, jitter)


# --- the forward lane


def _remedy_certain(draft: Draft, step: int, jitter: int) -> None:
    """Certainly nothing happened: try again, or fail for good."""
    opened = draft.head.open[step]
    if opened.news is News.REFUSED:
        lanes.fail(draft, step, Phase.REFUSED, lanes.why(opened))
    elif _tries_left(draft, step, opened) and not draft.head.pending:
        _retry(draft, step, jitter)
        if opened.news is News.ABSENT:
            draft.new_round(step, Kind.DO)
    else:
        lanes.fail(draft, step, Phase.ABSENT, lanes.why(opened))


def _remedy_in_doubt(draft: Draft, step: int, jitter: int) -> None:
    """It may have happened: what `core.doubt` says."""
    opened, plan = draft.head.open[step], draft.step(step)
    course: Course | None
    if opened.news is News.CANNOT_TELL:
        course = doubt.probe_in_vain(plan, opened, draft.now, forward=draft.forward)
    elif not draft.forward:
        course = doubt.to_be_undone(plan, opened, draft.now)
    elif _tries_left(draft, step, opened) and opened.news is not News.REFUSED:
        course = doubt.to_be_retried(plan, opened, draft.now)
    else:
        course = doubt.out_of_tries(plan, opened, draft.now, way_back=not draft.head.pivoted)
    if course is Course.RETRY:
        _retry(draft, step, jitter)
    elif course is not None:
        lanes.take(draft, step, course)
    else:
        lanes.turn(draft, f"{plan.name}: {lanes.why(opened)}")
        lanes.take(draft, step, doubt.to_be_undone(plan, opened, draft.now))


def _tries_left(draft: Draft, step: int, opened: Open) -> bool:
    """Whether the policy grants the forward lane another attempt; from the pivot on there is no end."""
    if not draft.forward:
        return False
    called = opened.started_at > 0  # else it was only feared to be, as a backup was put back
    return draft.head.pivoted or not called or opened.retries + 1 < draft.step(step).retry.attempts


def _retry(draft: Draft, step: int, jitter: int) -> None:
    """Plan another attempt; the first after an outcome in doubt needs no delay, the key makes it safe."""
    opened = draft.touch(step)
    opened.retries += opened.started_at > 0
    cap = AFTER_PIVOT_CAP if draft.head.pivoted else None
    delay = backoff(draft.step(step).retry, max(1, opened.retries), jitter, cap=cap)
    if opened.news is News.UNKNOWN and opened.retries == 1:
        delay = 0
    draft.move(step, Phase.PLANNED, max(draft.now + delay, opened.not_before))


# --- the undo lane


def _undo_remedy(draft: Draft, step: int, jitter: int) -> None:
    opened, plan = draft.head.open[step], draft.step(step)
    if opened.news in (News.REFUSED, News.CANNOT_TELL) or undo_expired(draft, step, opened):
        lanes.stick(draft, step)
    elif opened.news is News.STILL_THERE:
        _retry_undo(draft, step, jitter)
        draft.new_round(step, Kind.UNDO)
    elif not opened.doubt:
        _retry_undo(draft, step, jitter)
    else:
        match doubt.undo_in_doubt(plan, opened, draft.now):
            case Course.RETRY:
                _retry_undo(draft, step, jitter)
            case Course.WAIT_OUT:
                draft.move(step, Phase.UNDO_WAIT_OUT, max(draft.now, opened.landing))
            case _:
                lanes.stick(draft, step)


def undo_expired(draft: Draft, step: int, opened: Open) -> bool:
    """Whether the undo policy's time is over."""
    within = millis(draft.step(step).undo_retry.within)
    return opened.started_at > 0 and draft.now >= opened.started_at + within


def _retry_undo(draft: Draft, step: int, jitter: int) -> None:
    opened = draft.touch(step)
    opened.retries += 1
    delay = backoff(draft.step(step).undo_retry, opened.retries, jitter)
    if opened.news is News.UNKNOWN and opened.retries == 1:
        delay = 0
    draft.move(step, Phase.UNDO_PLANNED, max(draft.now + delay, opened.not_before))


# --- deadlines


def _deadlines(draft: Draft) -> None:
    """A passed deadline turns the task; where it cannot, or another reason came first, it is announced."""
    head = draft.head
    if not lanes.heeds_deadline(head):
        return
    if 0 < head.deadline <= draft.now:
        head.deadline_heard = True
        _passed(draft, -1, "deadline passed")
    for step, opened in list(head.open.items()):
        if 0 < opened.deadline <= draft.now and draft.marks[step] in FORWARD_OPEN:
            draft.touch(step).deadline = 0
            _passed(draft, step, f"{draft.step(step).name}: deadline passed")


def _passed(draft: Draft, step: int, reason: str) -> None:
    if draft.head.pivoted or draft.head.pending:
        draft.facts.append(DeadlineAnnounced(step))
    elif draft.forward:
        lanes.ask_turn(draft, reason)
