"""What agents report: claims, outcomes, probe answers and leases."""

from makegood.core import doubt, evidence, lanes
from makegood.core.draft import Draft
from makegood.core.events import (
    Answer,
    Claimed,
    EvidenceFiled,
    HandedBack,
    Hastened,
    LeaseRenewed,
    Probed,
    Reply,
    Reported,
)
from makegood.core.plan import Millis, StepPlan
from makegood.core.record import (
    CALL_OF,
    CALLED,
    ERROR_KEPT,
    KIND_OF,
    OFFERED,
    PLAN_OF,
    Kind,
    News,
    Open,
    Phase,
)
from makegood.core.remedy import cannot_tell, undo_expired
from makegood.core.retry import RETRY_AFTER_MAX
from makegood.core.settling import done, spoiled, undone

LEASE: Millis = 5_000
REPORT_GRACE: Millis = 500
"""How long past its `complete_by` a call's own report is awaited before the Supervisor calls it lost."""

HEARS = {
    Kind.DO: frozenset((Phase.CALLED, Phase.REPORTED, Phase.WAIT_OUT, Phase.PLANNED, Phase.PROBE_PLANNED)),
    Kind.UNDO: frozenset((Phase.UNDO_CALLED, Phase.UNDO_REPORTED, Phase.UNDO_WAIT_OUT, Phase.UNDO_PLANNED)),
}
"""Phases in which the report of the latest call is accepted: until the next one is handed out."""
NEWS = {
    Reply.REFUSED: News.REFUSED,
    Reply.TRANSIENT: News.TRANSIENT,
    Reply.UNKNOWN: News.UNKNOWN,
    Reply.UNRESOLVED: News.REFUSED,  # of an undo: no other attempt would find its input either
}


def claimed(draft: Draft, event: Claimed) -> bool:
    """An offer is void unless the step still has that attempt, is unclaimed, and calls may start."""
    offered = draft.phase(event.step)
    if offered not in OFFERED or draft.head.open[event.step].attempt != event.attempt:
        return False
    kind = KIND_OF[offered]
    if not lanes.may_start(draft) or (kind is Kind.DO and not draft.forward):
        return False
    if doubt.key_died(offered, draft.head.open[event.step], draft.now):
        return False
    plan = draft.step(event.step)
    complete_by = draft.now + plan.timeout
    opened = draft.shift(event.step, CALL_OF[offered], min(draft.now + LEASE, complete_by + REPORT_GRACE))
    opened.owner, opened.complete_by = event.owner, complete_by
    if kind is not Kind.PROBE:
        _begun(opened, plan, draft.now)
    return True


def _never_begun(opened: Open, plan: StepPlan) -> None:
    """The call whose life began last was never sent."""
    blind = opened.fate == Phase.UNKNOWN  # then what stands here is of the do that it undoes
    if opened.first_at == opened.complete_by - plan.timeout and not opened.doubt:
        opened.first_at = 0
        opened.key_until = opened.key_until if blind else 0
    if not opened.doubt and not blind:
        opened.landing = 0


def _begun(opened: Open, plan: StepPlan, now: Millis) -> None:
    """A call that may have an effect begins its life."""
    opened.landing = max(opened.landing, 0 if plan.reads else now + plan.life)
    opened.first_at = opened.first_at or now
    opened.started_at = opened.started_at or now
    opened.key_until = opened.key_until or doubt.key_until(plan, now)


def handed_back(draft: Draft, event: HandedBack) -> bool:
    """A claimed call that was never sent: offered again, and no retry is counted."""
    phase = draft.phase(event.step)
    if phase not in CALLED or draft.head.open[event.step].attempt != event.attempt:
        return False
    opened = draft.move(event.step, PLAN_OF[phase], draft.now + event.wait)
    opened.handed_back = True
    if KIND_OF[phase] is not Kind.PROBE:
        opened.news, opened.error = News.NONE, event.why[:ERROR_KEPT]
        _never_begun(opened, draft.step(event.step))
    if phase == Phase.CALLED and not draft.forward:
        lanes.give_up(draft, event.step)
    elif phase == Phase.UNDO_CALLED and event.wait and undo_expired(draft, event.step, opened):
        lanes.stick(draft, event.step)  # nobody here could make it, for as long as its policy allows
    lanes.advance(draft)
    return True


def hastened(draft: Draft, event: Hastened) -> bool:
    """A call that waits to be offered again is offered now: another process has come, which may read it."""
    opened = draft.head.open.get(event.step)
    if opened is None or opened.attempt != event.attempt or opened.due <= draft.now:
        return False
    if not opened.handed_back:
        return False
    draft.touch(event.step).due = draft.now
    lanes.advance(draft)
    return True


def lease_renewed(draft: Draft, event: LeaseRenewed) -> bool:
    """A call that is still open; one past its timeout (a thread cannot be stopped) may land later too."""
    if draft.phase(event.step) not in CALLED or draft.head.open[event.step].attempt != event.attempt:
        return False
    opened, until = draft.touch(event.step), draft.now + event.lease
    if event.overrun:
        opened.landing = max(opened.landing, until + draft.step(event.step).settle)
    else:
        until = min(until, opened.complete_by + REPORT_GRACE)
    opened.due = max(opened.due, until)
    return True


def reported(draft: Draft, event: Reported) -> bool:
    """Accepted exactly when the attempt is the record's and its lane is open; the clock is not asked."""
    opened, phase = draft.head.open.get(event.step), draft.phase(event.step)
    if opened is None or opened.attempt != event.attempt or phase not in HEARS[event.kind]:
        return evidence.filed(draft, event)
    if event.kind is Kind.UNDO:
        accepted = _undo_reported(draft, event, calling=phase == Phase.UNDO_CALLED)
    else:
        accepted = _do_reported(draft, event, calling=phase == Phase.CALLED)
    lanes.advance(draft)
    return accepted


def _do_reported(draft: Draft, event: Reported, *, calling: bool) -> bool:
    match event.reply:
        case Reply.DONE:
            done(draft, event.step)
        case Reply.SPOILED:
            spoiled(draft, event.step, event.error[:ERROR_KEPT])
        case _ if not calling:
            evidence.filed(draft, event)  # held lost before: the doubt stays
        case Reply.UNRESOLVED:
            lanes.fail(draft, event.step, Phase.UNRESOLVED, event.error or "its input is not there")
        case _:
            _troubled(draft, event, Phase.REPORTED)
    return True


def _troubled(draft: Draft, event: Reported, to: Phase) -> None:
    """Record a failure: the Supervisor finds the remedy."""
    opened = draft.move(event.step, to, draft.now)
    opened.news, opened.error = NEWS[event.reply], event.error[:ERROR_KEPT]
    if event.reply is Reply.UNKNOWN:  # of the others it is certain that they had no effect
        opened.unkeyed |= not event.key_read
    opened.doubt |= event.reply is Reply.UNKNOWN
    if not opened.doubt and opened.fate != Phase.UNKNOWN:
        opened.landing = 0
    if event.retry_after:
        opened.not_before = draft.now + min(event.retry_after, RETRY_AFTER_MAX)


def probed(draft: Draft, event: Probed) -> bool:
    """A probe's answer; only the attempt on record is heard."""
    phase = draft.phase(event.step)
    if phase not in (Phase.PROBE_CALLED, Phase.CHECK_CALLED):
        return False
    if draft.head.open[event.step].attempt != event.attempt:
        return False
    surfaced = phase == Phase.PROBE_CALLED and draft.head.open[event.step].surfaced
    if event.answer is Answer.ABSENT and surfaced:
        cannot_tell(draft, event.step, "it says absent, but its call was reported done")
    elif event.answer in (Answer.RUNNING, Answer.CANNOT_TELL):
        cannot_tell(draft, event.step, event.error)
    elif phase == Phase.PROBE_CALLED:
        _probe_settles(draft, event)
    elif event.answer is Answer.THERE:
        draft.move(event.step, Phase.UNDO_REPORTED, draft.now).news = News.STILL_THERE
    else:
        undone(draft, event.step, _called_at(draft, event.step))
    lanes.advance(draft)
    return True


def _probe_settles(draft: Draft, event: Probed) -> None:
    late = draft.head.open[event.step].late
    if event.answer is Answer.THERE:
        done(draft, event.step)
    elif late > _called_at(draft, event.step):
        draft.move(event.step, Phase.PROBE_PLANNED, max(draft.now, late))  # it was asked too early
    else:
        opened = draft.move(event.step, Phase.REPORTED, draft.now)
        opened.news, opened.doubt = News.ABSENT, False


def _called_at(draft: Draft, step: int) -> Millis:
    """When the call that is on record was claimed: what it found out holds for no later moment."""
    return draft.head.open[step].complete_by - draft.step(step).timeout


# --- the undo lane


def _undo_reported(draft: Draft, event: Reported, *, calling: bool) -> bool:
    if event.reply in (Reply.DONE, Reply.SPOILED):
        _undo_done(draft, event.step)
    elif not calling:
        draft.facts.append(EvidenceFiled(event.step, event.attempt))
    else:
        _troubled(draft, event, Phase.UNDO_REPORTED)
    return True


def _undo_done(draft: Draft, step: int) -> None:
    opened = draft.touch(step)
    opened.landing = 0
    if opened.surfaced and not draft.step(step).probe:
        opened = draft.move(step, Phase.UNDO_PLANNED, draft.now)
        opened.surfaced, opened.fate = False, Phase.DONE
        draft.new_round(step, Kind.UNDO)
    elif doubt.to_be_checked(draft.step(step), blind=opened.fate == Phase.UNKNOWN):
        draft.move(step, Phase.CHECK_PLANNED, max(draft.now, opened.late)).asks = 0
    else:
        undone(draft, step, _called_at(draft, step))
