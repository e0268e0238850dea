"""What agents report: claims, outcomes, probe answers, leases; and evidence that comes too late."""

from makegood.core import doubt, lanes
from makegood.core.doubt import Course
from makegood.core.draft import Draft
from makegood.core.events import (
    Answer,
    Claimed,
    EvidenceFiled,
    HandedBack,
    LeaseRenewed,
    Probed,
    Reply,
    Reported,
    Surfaced,
)
from makegood.core.plan import Millis, StepPlan
from makegood.core.record import (
    CALL_OF,
    CALLED,
    CERTAINLY_NOT,
    ERROR_KEPT,
    FORWARD_OPEN,
    KIND_OF,
    OFFERED,
    PLAN_OF,
    UNDO_OPEN,
    Direction,
    Kind,
    News,
    Open,
    Phase,
    TaskState,
)
from makegood.core.remedy import cannot_tell, undo_expired
from makegood.core.retry import RETRY_AFTER_MAX

LEASE: Millis = 5_000
REPORT_GRACE: Millis = 500
"""How long past its `complete_by` a call's own report is awaited before the Supervisor calls it lost."""

HEARS = {
    Kind.DO: frozenset((Phase.CALLED, Phase.REPORTED, Phase.WAIT_OUT, Phase.PLANNED, Phase.PROBE_PLANNED)),
    Kind.UNDO: frozenset((Phase.UNDO_CALLED, Phase.UNDO_REPORTED, Phase.UNDO_WAIT_OUT, Phase.UNDO_PLANNED)),
}
"""Phases in which the report of the latest call is accepted: until the next one is handed out."""
SURFACES = UNDO_OPEN | {Phase.UNDO_STUCK, Phase.LEFT}
"""Undo lanes that late evidence still reaches."""
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
    if opened.first_at == opened.complete_by - plan.timeout:
        opened.first_at = opened.key_until = 0
    if not opened.doubt:
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
    opened.news, opened.error = News.NONE, event.why[:ERROR_KEPT]
    if phase == Phase.CALLED:
        _never_begun(opened, draft.step(event.step))
        if not draft.forward:
            lanes.give_up(draft, event.step)
    elif phase == Phase.UNDO_CALLED:
        _undo_handed_back(draft, event, opened)
    lanes.advance(draft)
    return True


def _undo_handed_back(draft: Draft, event: HandedBack, opened: Open) -> None:
    """An undo that nobody here can make, for as long as its policy allows, is a person's."""
    if not opened.doubt and opened.fate != Phase.UNKNOWN:
        opened.landing = 0
    if event.wait and undo_expired(draft, event.step, opened):
        lanes.stick(draft, event.step)


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
        return _evidence(draft, event)
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
            spoiled(draft, event.step)
        case _ if not calling:
            draft.facts.append(EvidenceFiled(event.step, event.attempt))  # held lost before: the doubt stays
        case Reply.UNRESOLVED:
            lanes.fail(draft, event.step, Phase.UNRESOLVED, event.error or "its input is not there")
        case _:
            _troubled(draft, event, Phase.REPORTED)
    return True


def _troubled(draft: Draft, event: Reported, to: Phase) -> None:
    """Record a failure: the Supervisor finds the remedy."""
    opened = draft.move(event.step, to, draft.now)
    opened.news, opened.error = NEWS[event.reply], event.error[:ERROR_KEPT]
    opened.unkeyed |= not event.key_read
    opened.doubt |= event.reply is Reply.UNKNOWN
    if not opened.doubt and opened.fate != Phase.UNKNOWN:
        opened.landing = 0
    if event.retry_after:
        opened.not_before = draft.now + min(event.retry_after, RETRY_AFTER_MAX)


def done(draft: Draft, step: int) -> None:
    """The one way a step becomes done: by report, by probe, by a person's word or by late evidence."""
    draft.move(step, Phase.DONE)
    if draft.step(step).pivot:
        draft.head.pivoted, draft.head.pending = True, ""


def spoiled(draft: Draft, step: int) -> None:
    """Done, but the result cannot be used: no retry; the task compensates, or parks from the pivot on."""
    if draft.step(step).pivot:
        draft.head.pivoted, draft.head.pending = True, ""
    lanes.fail(draft, step, Phase.SPOILED, "done, but its result cannot be recorded")


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
        undone(draft, event.step)
    lanes.advance(draft)
    return True


def _probe_settles(draft: Draft, event: Probed) -> None:
    if event.answer is Answer.THERE:
        done(draft, event.step)
    else:
        opened = draft.move(event.step, Phase.REPORTED, draft.now)
        opened.news, opened.doubt = News.ABSENT, False


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
        draft.move(step, Phase.CHECK_PLANNED, draft.now).asks = 0
    else:
        undone(draft, step)


def undone(draft: Draft, step: int) -> None:
    """Settle the undo lane: the effect is gone, or never was."""
    blind = draft.head.open[step].fate == Phase.UNKNOWN
    draft.move(step, Phase.UNDONE_BLIND if blind else Phase.UNDONE)


# --- evidence


def _evidence(draft: Draft, event: Reported) -> bool:
    """A report that came too late changes no plan; what it proves to be live is undone if the task is or was.

    A task that goes forward only files it: the doubt it casts is kept for a retry or an undo to come.
    """
    if event.attempt > draft.head.attempt:
        return False
    draft.facts.append(EvidenceFiled(event.step, event.attempt))
    if event.kind is Kind.DO and not draft.step(event.step).reads:
        if event.reply in (Reply.DONE, Reply.SPOILED):
            _proves_live(draft, event)
        elif event.reply is Reply.UNKNOWN:
            _may_have_landed(draft, event)
    return True


def _proves_live(draft: Draft, event: Reported) -> None:
    step, phase = event.step, draft.phase(event.step)
    if phase in FORWARD_OPEN:
        _casts_doubt(draft, event)
    elif phase in CERTAINLY_NOT or phase == Phase.SKIPPED:
        _surfaced_where_none_was(draft, event)
    elif draft.step(step).tombstone and event.key_read:
        return
    elif phase == Phase.UNDONE_BLIND or (phase == Phase.UNDONE and _may_be_of_another_round(draft, step)):
        _surfaced_after_undo(draft, event)
    elif phase in SURFACES and draft.head.open[step].fate == Phase.UNKNOWN:
        opened = draft.touch(step)
        if phase in (Phase.UNDO_PLANNED, Phase.UNDO_OFFERED) and not opened.first_at:
            opened.fate = Phase.DONE  # the undo to come is called with what is known now
        else:
            opened.surfaced = True
        draft.facts.append(Surfaced(step, event.attempt))


def _may_be_of_another_round(draft: Draft, step: int) -> bool:
    """Whether a done step had an earlier round, held absent, and its service can say what is there now."""
    return draft.round(step, Kind.DO) > 1 and draft.step(step).probe is not None


def _casts_doubt(draft: Draft, event: Reported) -> None:
    """An earlier call had an effect after all: no further call of an unkeyed service on a guess."""
    step = event.step
    opened = draft.touch(step)
    opened.doubt = opened.surfaced = True
    opened.unkeyed |= not event.key_read or draft.round(step, Kind.DO) > 1  # a new round has another key
    if draft.marks[step] in (Phase.PLANNED, Phase.OFFERED):
        course = doubt.to_be_retried(draft.step(step), opened, draft.now)
        if course is not Course.RETRY:
            lanes.take(draft, step, course)
            lanes.advance(draft)


def _surfaced_where_none_was(draft: Draft, event: Reported) -> None:
    if draft.head.state is TaskState.COMPLETED:
        return
    if draft.forward or draft.step(event.step).pivot:
        opened = draft.move(event.step, Phase.DOUBT)
        opened.doubt = opened.surfaced = True
    else:
        draft.facts.append(Surfaced(event.step, event.attempt))
        if event.reply is Reply.SPOILED:
            spoiled(draft, event.step)
        else:
            done(draft, event.step)
    _reopen(draft)


def _surfaced_after_undo(draft: Draft, event: Reported) -> None:
    draft.facts.append(Surfaced(event.step, event.attempt))
    if draft.step(event.step).probe:
        draft.move(event.step, Phase.CHECK_PLANNED, draft.now).fate = Phase.DONE
    else:
        draft.move(event.step, Phase.UNDO_PLANNED, draft.now).fate = Phase.DONE
        draft.new_round(event.step, Kind.UNDO)
    _reopen(draft)


def _may_have_landed(draft: Draft, event: Reported) -> None:
    """A call was cut off when its step was long settled: a frozen process may have sent it that late.

    Where the step was held absent, or undone blind, look once more when it has landed.
    """
    step, phase, plan = event.step, draft.phase(event.step), draft.step(event.step)
    if draft.forward or plan.undo is None or (plan.tombstone and event.key_read):
        return
    guessed = phase in (Phase.ABSENT, Phase.UNDONE_BLIND)
    if not guessed and not (phase == Phase.UNDONE and _may_be_of_another_round(draft, step)):
        return
    landed_by = draft.now + plan.settle
    if plan.probe:
        draft.move(step, Phase.CHECK_PLANNED, landed_by).fate = Phase.UNKNOWN
    elif phase == Phase.UNDONE_BLIND and plan.keyed and event.key_read:
        draft.move(step, Phase.UNDO_PLANNED, landed_by).fate = Phase.UNKNOWN
        draft.new_round(step, Kind.UNDO)
    else:
        return
    _reopen(draft, "a late call may have had an effect")


def _reopen(draft: Draft, reason: str = "evidence of a live effect") -> None:
    """Compensated was final until this evidence; a parked task stays with its person."""
    if draft.head.state is TaskState.COMPENSATED:
        draft.head.direction = Direction.UNDO
        draft.task(TaskState.COMPENSATING, reason)
    lanes.advance(draft)
