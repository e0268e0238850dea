"""Evidence: reports that come too late to count.

They change no plan, but what they prove to be live is undone, if the task is being undone or was; and where
the call behind one may have landed later than anybody looked, the service is looked at once more.
"""

from makegood.core import doubt, lanes
from makegood.core.draft import Draft
from makegood.core.events import EvidenceFiled, Reply, Reported, Surfaced
from makegood.core.plan import Millis
from makegood.core.record import (
    CERTAINLY_NOT,
    FORWARD_OPEN,
    UNDO_OPEN,
    WAITING_OUT,
    Direction,
    Kind,
    Open,
    Phase,
    TaskState,
)
from makegood.core.settling import done, look_again, spoiled

SURFACES = UNDO_OPEN | {Phase.UNDO_STUCK, Phase.LEFT}
"""Undo lanes that evidence still reaches."""
HELD_ABSENT = CERTAINLY_NOT | {Phase.SKIPPED}


def filed(draft: Draft, event: Reported) -> bool:
    """File a report that came too late, and act on what it says of the service; False: it is of no call."""
    if event.attempt > draft.head.attempt:
        return False
    draft.facts.append(EvidenceFiled(event.step, event.attempt))
    if event.kind is Kind.DO and not draft.step(event.step).reads:
        if event.reply in (Reply.DONE, Reply.SPOILED):
            _proves_live(draft, event)
        elif event.reply is Reply.UNKNOWN:
            _may_have_landed(draft, event)
    return True


def _leaves_nothing_to_undo(draft: Draft, event: Reported) -> bool:
    """Whether an undo that was made keeps this call from having an effect, however late it lands; or none can
    be made, and it was a person who undid the step."""
    plan = draft.step(event.step)
    tombstoned = plan.tombstone and event.key_read and draft.round(event.step, Kind.DO) == 1
    return tombstoned or plan.undo is None


def _may_be_of_another_round(draft: Draft, step: int) -> bool:
    """Whether a done step had an earlier round, held absent, and its service can say what is there now."""
    return draft.round(step, Kind.DO) > 1 and draft.step(step).probe is not None


# --- a call had its effect


def _proves_live(draft: Draft, event: Reported) -> None:
    step, phase = event.step, draft.phase(event.step)
    if phase in FORWARD_OPEN:
        draft.touch(step).surfaced = True
        _casts_doubt(draft, event)
    elif phase in HELD_ABSENT:
        _surfaced_where_none_was(draft, event)
    elif _leaves_nothing_to_undo(draft, event):
        return
    elif phase == Phase.UNDONE_BLIND or (phase == Phase.UNDONE and _may_be_of_another_round(draft, step)):
        _surfaced_after_undo(draft, event)
    elif phase in SURFACES and draft.head.open[step].fate == Phase.UNKNOWN:
        opened = draft.touch(step)
        if phase in (Phase.UNDO_PLANNED, Phase.UNDO_OFFERED) and not opened.first_at:
            _known_before_its_undo(draft, step)
        else:
            opened.surfaced = True
        draft.facts.append(Surfaced(step, event.attempt))


def _known_before_its_undo(draft: Draft, step: int) -> None:
    """The undo to come is called with what is known now; in a round of its own if it was handed out before,
    as all calls of a round are given the same."""
    opened = draft.touch(step)
    opened.fate = Phase.DONE
    if draft.marks[step] == Phase.UNDO_OFFERED:
        draft.move(step, Phase.UNDO_PLANNED, draft.now)
    if opened.key:
        draft.new_round(step, Kind.UNDO)


def _casts_doubt(draft: Draft, event: Reported) -> Open:
    """An earlier call may have had an effect after all: no further call of an unkeyed service on a guess."""
    opened = draft.touch(event.step)
    another_key = event.attempt != opened.attempt and draft.round(event.step, Kind.DO) > 1
    opened.unkeyed |= not event.key_read or another_key
    opened = lanes.fear(draft, event.step)
    lanes.advance(draft)
    return opened


def _surfaced_where_none_was(draft: Draft, event: Reported) -> None:
    if draft.head.state is TaskState.COMPLETED:
        return
    if not _asks_first(draft, event.step):
        draft.facts.append(Surfaced(event.step, event.attempt))
    found_live(draft, event.step, usable=event.reply is not Reply.SPOILED)


def _asks_first(draft: Draft, step: int) -> bool:
    return draft.forward or draft.step(step).pivot


def found_live(draft: Draft, step: int, *, usable: bool = True) -> None:
    """An effect is there where the record holds none: it is undone, or first a person is asked."""
    if _asks_first(draft, step):
        opened = draft.move(step, Phase.DOUBT)
        opened.doubt = opened.surfaced = True
    elif usable:
        done(draft, step)
    else:
        spoiled(draft, step)
    _reopen(draft)


def _surfaced_after_undo(draft: Draft, event: Reported) -> None:
    draft.facts.append(Surfaced(event.step, event.attempt))
    if draft.step(event.step).probe:
        draft.move(event.step, Phase.CHECK_PLANNED, draft.now).fate = Phase.DONE
    else:
        draft.move(event.step, Phase.UNDO_PLANNED, draft.now).fate = Phase.DONE
        draft.new_round(event.step, Kind.UNDO)
    _reopen(draft)


# --- a call was cut off


def _may_have_landed(draft: Draft, event: Reported) -> None:
    """A call was cut off when its step had long gone on: a frozen process may have sent it that late."""
    step, phase, plan = event.step, draft.phase(event.step), draft.step(event.step)
    landed_by = draft.now + plan.settle
    if phase in FORWARD_OPEN or phase == Phase.DOUBT:
        _flies_late(draft, event, landed_by)
    elif draft.forward:
        return
    elif phase in HELD_ABSENT:
        _held_absent_too_early(draft, event, landed_by)
    elif _leaves_nothing_to_undo(draft, event):
        return
    elif phase in SURFACES:
        _undone_too_early(draft, step, landed_by)
    elif phase == Phase.UNDONE_BLIND or (phase == Phase.UNDONE and _may_be_of_another_round(draft, step)):
        _looked_too_early(draft, event, landed_by)


def _flies_late(draft: Draft, event: Reported, landed_by: Millis) -> None:
    """It may land while its step is waited out, asked about or called again: what is absent now may come."""
    opened = _casts_doubt(draft, event)
    opened.landing, opened.late = max(opened.landing, landed_by), max(opened.late, landed_by)
    if draft.phase(event.step) in WAITING_OUT | {Phase.DOUBT} and 0 < opened.due < landed_by:
        opened.since, opened.due = draft.now, landed_by


def _undone_too_early(draft: Draft, step: int, landed_by: Millis) -> None:
    """It may land after the undo that is under way."""
    if draft.head.open[step].fate == Phase.UNKNOWN or _may_be_of_another_round(draft, step):
        opened = draft.touch(step)
        opened.late = max(opened.late, landed_by)


def _held_absent_too_early(draft: Draft, event: Reported, landed_by: Millis) -> None:
    """Its probe found nothing, or a later try was refused. A pivot cannot be undone: a person is asked."""
    if draft.step(event.step).pivot:
        opened = draft.move(event.step, Phase.DOUBT, landed_by)
        opened.doubt, opened.late = True, landed_by
        _reopen(draft, LATE)
    elif draft.step(event.step).probe and draft.step(event.step).undo:
        _looked_too_early(draft, event, landed_by)


def _looked_too_early(draft: Draft, event: Reported, landed_by: Millis) -> None:
    """It was settled as undone or absent by a look at the service that the call may have overtaken."""
    plan = draft.step(event.step)
    if not plan.probe and not event.key_read:
        return
    if look_again(draft, event.step, landed_by):
        opened = draft.touch(event.step)
        opened.fate, opened.late = Phase.UNKNOWN, landed_by
        opened.key_until = doubt.key_until(plan, draft.now - plan.timeout)
        _reopen(draft, LATE)


LATE = "a late call may have had an effect"


def _reopen(draft: Draft, reason: str = "evidence of a live effect") -> None:
    """Compensated was final until this evidence; a parked task stays with its person."""
    if draft.head.state is TaskState.COMPENSATED:
        draft.head.direction = Direction.UNDO
        draft.task(TaskState.COMPENSATING, reason)
    lanes.advance(draft)
