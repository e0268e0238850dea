"""What people may order: cancel, pause, resume, retry, skip, resolve. Each is recorded with who and why.

An act that would break a promise raises ActRefused before anything of the draft has changed.
"""

from makegood.core import doubt, lanes, resolving
from makegood.core.draft import Draft
from makegood.core.events import (
    CancelAsked,
    PauseAsked,
    ResolveAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
)
from makegood.core.record import (
    CERTAINLY_NOT,
    ENDED,
    PLANNED,
    Direction,
    Kind,
    News,
    Phase,
    TaskState,
)
from makegood.core.resolving import STUCK, at_once, require_result, still_flying
from makegood.core.words import STANDING
from makegood.errors import ActRefused


def cancel(draft: Draft, event: CancelAsked) -> bool:
    """Turn the task. A second cancel is old news; a completed or pivoted task refuses."""
    head = draft.head
    if head.state is TaskState.COMPLETED:
        raise ActRefused("it is Completed; nothing was cancelled")
    if head.direction is Direction.UNDO or head.pending:
        return False
    if head.pivoted:
        name = draft.step(draft.plan.pivot or 0).name
        raise ActRefused(f"it is past its point of no return ({name}); it can only go on")
    lanes.ask_turn(draft, _words("cancelled", event.by, event.why))
    lanes.advance(draft)
    return True


def pause(draft: Draft, event: PauseAsked) -> bool:
    """Start no call of any kind until resumed; open calls finish and are recorded."""
    _refuse_ended(draft, "paused")
    if draft.head.paused:
        return False
    draft.head.paused = True
    draft.withdraw_offers()
    return True


def resume(draft: Draft, event: ResumeAsked) -> bool:
    """Take effect of what fell due meanwhile, and go on."""
    _refuse_ended(draft, "resumed")
    if not draft.head.paused:
        return False
    draft.head.paused = False
    _offer_anew(draft)
    lanes.advance(draft)
    return True


def retry(draft: Draft, event: RetryAsked) -> bool:
    """Try again now, with retries counted from 0."""
    _refuse_ended(draft, "retried")
    if event.step >= 0:
        why_not = _why_not_retried(draft, event.step)
        if why_not:
            raise ActRefused(f"step {draft.step(event.step).name}: {why_not}")
        _retry_step(draft, event.step)
    elif not _retry_all(draft):
        raise ActRefused("no step of it waits for another try; `makegood why` says what it waits for")
    _start(draft)
    _move_on(draft)
    return True


def skip(draft: Draft, event: SkipAsked) -> bool:
    """Go on as if the step were done by hand, with the result given, if any."""
    _refuse_ended(draft, "skipped")
    step, phase = draft.step(event.step), draft.phase(event.step)
    where = f"step {step.name}"
    if not draft.forward:
        raise ActRefused(f"{where}: the task is being undone; there is nothing to skip on the way back")
    if step.pivot:
        raise ActRefused(f"{where}: it is the pivot; resolve it instead, with evidence")
    opened = draft.head.open.get(event.step)
    unharmed = phase in (Phase.PLANNED, Phase.OFFERED) and opened is not None and not opened.doubt
    if phase == Phase.IDLE and draft.head.beyond and not step.reads:
        raise ActRefused(f"{where} may have been done since the backup that was put back; wait for its turn")
    if not (phase == Phase.IDLE or unharmed or phase in CERTAINLY_NOT):
        raise ActRefused(f"{where} {STANDING[phase]}: only what certainly had no effect may be skipped")
    require_result(draft, event)
    draft.move(event.step, Phase.SKIPPED)
    _move_on(draft)
    return True


def resolve(draft: Draft, event: ResolveAsked) -> bool:
    """Settle what only a person can: what happened at the service, with evidence."""
    if not resolving.speaks_of_an_end(draft, event):
        _refuse_ended(draft, "resolved")
    step = draft.step(event.step)
    if event.seen not in (-1, draft.head.stands_since(event.step)):
        raise ActRefused(f"step {step.name} has moved on since you looked; look at the service again")
    resolving.settle(draft, event)
    _move_on(draft)
    return True


# --- retry


def _why_not_retried(draft: Draft, step: int) -> str:
    """Why another try of this step would break a promise or mean nothing; empty if it may."""
    phase, plan = draft.phase(step), draft.step(step)
    opened = draft.head.open.get(step)
    if phase in PLANNED:
        return ""
    if opened is not None and phase in (Phase.DOUBT, *STUCK):
        if opened.due > 0 or opened.late > draft.now:
            return still_flying("last call", max(opened.due, opened.late), draft.now)
        if phase == Phase.LEFT and plan.undo is None:
            return "it was left and has no undo; resolve it as undone or kept"
        if phase == Phase.LEFT and not lanes.its_turn(draft, step):
            return "it was left; what is under way, or was done after it, is to be undone first"
        if plan.pivot and not draft.forward:
            return "it is the pivot and the task turned; resolve it instead, as kept or absent"
        if doubt.key_died(Phase.UNDO_PLANNED, opened, draft.now) and not plan.probe:
            return "its service may have forgotten the key that its undo would find it by; resolve it instead"
        again = doubt.keyed(plan, opened, draft.now) and (draft.forward or phase != Phase.DOUBT)
        safe = not opened.doubt or plan.probe or again
        return "" if safe else "it may have happened and the service cannot be asked; resolve it instead"
    if phase in CERTAINLY_NOT and draft.forward:
        return ""
    return f"it {STANDING[phase]}: there is nothing to try again"


def _retry_all(draft: Draft) -> bool:
    """Each step that may be tried again as it comes to it, the last of the plan first; whether one may."""
    found = False
    for step in reversed(range(len(draft.marks))):
        if not _why_not_retried(draft, step):
            _retry_step(draft, step)
            found = True
    return found


def _retry_step(draft: Draft, step: int) -> None:
    phase, plan, now = draft.phase(step), draft.step(step), draft.now
    if phase in PLANNED:
        opened = at_once(draft, step)
    elif phase == Phase.DOUBT:
        ask = plan.probe is not None and not doubt.keyed(plan, draft.head.open[step], now)
        opened = draft.move(step, Phase.PROBE_PLANNED if ask or not draft.forward else Phase.PLANNED, now)
    elif phase in STUCK:
        opened = draft.head.open[step]
        refused = opened.news is News.REFUSED and not opened.doubt
        unheard = opened.doubt and not doubt.keyed(plan, opened, now)
        ask = unheard or opened.news is News.CANNOT_TELL
        opened = draft.move(step, Phase.CHECK_PLANNED if ask else Phase.UNDO_PLANNED, now)
        opened.started_at = now
        if refused:
            draft.new_round(step, Kind.UNDO)
    else:
        opened = draft.move(step, Phase.PLANNED, now)
        draft.new_round(step, Kind.DO)
    opened.retries = opened.asks = 0


def _start(draft: Draft) -> None:
    """A retry of any step before the moment when the task is to start has all of it start now."""
    planned = draft.head.start_at
    if planned > draft.now:
        draft.head.start_at = draft.now
        draft.head.deadline -= min(draft.head.deadline, planned - draft.now)
        for step, opened in draft.head.open.items():
            if draft.phase(step) in PLANNED and opened.due == planned:
                at_once(draft, step)


# --- all


def _move_on(draft: Draft) -> None:
    """A parked task goes on in the direction it remembers; it may park again at once."""
    if draft.head.state is TaskState.FAILED:
        draft.task(TaskState.RUNNING if draft.forward else TaskState.COMPENSATING)
        _offer_anew(draft)
    lanes.advance(draft)


def _offer_anew(draft: Draft) -> None:
    """Who could not make a call before the task stood still may be another by now."""
    for step, opened in list(draft.head.open.items()):
        if opened.handed_back and draft.phase(step) in PLANNED:
            at_once(draft, step)


def _refuse_ended(draft: Draft, done_to_it: str) -> None:
    if draft.head.state in ENDED:
        raise ActRefused(f"it has ended; it cannot be {done_to_it}")


def _words(what: str, by: str, why: str) -> str:
    return f"{what} by {by}: {why}" if why else f"{what} by {by}"
