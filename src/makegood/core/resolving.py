"""A person's word on a step: what happened at the service, or with which result.

Refused with ActRefused before anything of the draft has changed.
"""

from makegood.core import evidence, lanes
from makegood.core.draft import Draft
from makegood.core.events import ResolveAsked, SkipAsked, Verdict
from makegood.core.plan import Millis
from makegood.core.record import CERTAINLY_NOT, PLAN_OF, PLANNED, News, Open, Phase, TaskState
from makegood.core.settling import done, undone
from makegood.core.words import STANDING, moment
from makegood.errors import ActRefused

STUCK = (Phase.UNDO_STUCK, Phase.LEFT)
IN_VAIN = {
    Phase.PLANNED: Phase.DOUBT,
    Phase.PROBE_PLANNED: Phase.DOUBT,
    Phase.CHECK_PLANNED: Phase.UNDO_STUCK,
}
ABOUT_TO_PROBE = (Phase.PROBE_PLANNED, Phase.PROBE_OFFERED)
ABOUT_TO_CHECK = (Phase.CHECK_PLANNED, Phase.CHECK_OFFERED)
ABOUT_TO_DO = (Phase.PLANNED, Phase.OFFERED)
ABOUT_TO_UNDO = (Phase.UNDO_PLANNED, Phase.UNDO_OFFERED)


def settle(draft: Draft, event: ResolveAsked) -> None:
    """Take the word for it, where nothing better is to be had."""
    step, phase = event.step, draft.phase(event.step)
    says_done = event.verdict is Verdict.DONE
    if event.result is not None and not says_done:
        verdict = event.verdict.value
        raise ActRefused(f"step {draft.step(step).name}: a result is given for done, not for {verdict}")
    opened = draft.head.open.get(step)
    if phase == Phase.DOUBT or phase in ABOUT_TO_PROBE or _about_to_repeat(phase, opened):
        _doubt(draft, event)
    elif says_done and draft.forward and phase in lanes.FAILED_FOR_GOOD:
        require_result(draft, event)
        done(draft, step)
    elif says_done and event.result is not None and _holds_result(draft, step):
        _correct(draft, step)
    elif speaks_of_an_end(draft, event):
        require_result(draft, event)
        evidence.found_live(draft, step)
    elif phase in STUCK or phase in ABOUT_TO_CHECK or phase in ABOUT_TO_UNDO:
        _undo(draft, event)
    else:
        standing = f"step {draft.step(step).name} {STANDING[phase]}"
        raise ActRefused(f"{standing}: it does not wait for a person's word")


def speaks_of_an_end(draft: Draft, event: ResolveAsked) -> bool:
    """Whether the word is heeded though the task has ended: a better result of a completed one, or an effect
    that a compensated one left behind."""
    phase, state = draft.phase(event.step), draft.head.state
    if event.verdict is not Verdict.DONE:
        return False
    if state is TaskState.COMPLETED:
        return event.result is not None and _holds_result(draft, event.step)
    return state is TaskState.COMPENSATED and phase in evidence.HELD_ABSENT


def require_result(draft: Draft, event: SkipAsked | ResolveAsked) -> None:
    """Refuse to go on without a result that is going to be used, or may be."""
    step = draft.step(event.step)
    if event.result is not None:
        return
    if draft.forward and step.name in draft.plan.used_results:
        raise ActRefused(
            f"step {step.name}: a later step, or the plan's output, uses its result; give it "
            "(CLI: --result JSON)"
        )
    by_key = step.keyed and step.keyed_for is None
    if isinstance(event, ResolveAsked) and step.undo is not None and not by_key:
        others = "absent" if draft.forward else "absent, kept or left"
        raise ActRefused(
            f"step {step.name}: its undo may find the effect by its result alone; give that, or null where "
            f"its type admits it (CLI: --result JSON), or resolve it as {others}, if it is"
        )


def _about_to_repeat(phase: int, opened: Open | None) -> bool:
    """Whether a call that may have had its effect waits to be made again: nobody may be there to make it."""
    return phase in ABOUT_TO_DO and opened is not None and opened.doubt


def still_flying(call: str, until: Millis, now: Millis) -> str:
    """Why nothing can be said yet of a call that may still reach its service, and when that is over."""
    if until > now:
        return f"its {call} may still be on its way until {moment(until)}; ask again then"
    return (
        f"its {call} may still be on its way; ask again once a supervisor has waited it out (one that has "
        "just started waits the whole length itself)"
    )


def at_once(draft: Draft, step: int) -> Open:
    """Have a planned call wait for no more than its turn."""
    opened = draft.touch(step)
    opened.due = opened.not_before = draft.now
    return opened


# --- whether it happened


def _doubt(draft: Draft, event: ResolveAsked) -> None:
    step = event.step
    _check_doubt(draft, event)
    _asked_in_vain(draft, step)
    match event.verdict:
        case Verdict.DONE:
            done(draft, step)
        case Verdict.ABSENT:
            opened = draft.move(step, Phase.REPORTED, draft.now)
            opened.news, opened.doubt = News.ABSENT, False
        case Verdict.KEPT:
            draft.move(step, Phase.KEPT)
        case _:
            opened = draft.move(step, Phase.LEFT)
            opened.fate, opened.key, opened.first_at, opened.key_until = Phase.UNKNOWN, "", 0, 0


def _check_doubt(draft: Draft, event: ResolveAsked) -> None:
    where = f"step {draft.step(event.step).name}"
    if event.verdict is Verdict.DONE:
        if draft.step(event.step).pivot and not draft.forward:
            raise ActRefused(f"{where}: the pivot happened though the task turned; resolve it as kept")
        require_result(draft, event)
        return
    opened = draft.head.open[event.step]
    flies = opened.due if draft.phase(event.step) == Phase.DOUBT else opened.landing
    if flies or opened.late > draft.now:
        until = max(flies, opened.late)
        raise ActRefused(f"{where}: {still_flying('last call', until, draft.now)}")
    settles = (Verdict.ABSENT,) if draft.forward else (Verdict.ABSENT, Verdict.KEPT, Verdict.LEFT)
    if event.verdict not in settles:
        raise ActRefused(
            f"{where} is in doubt: resolve it as done or absent (or kept or left, while the task is undone)"
        )


def _asked_in_vain(draft: Draft, step: int) -> None:
    """Where a call is about to tell, a person's word is as good: as if the service could not tell."""
    planned = PLAN_OF.get(draft.phase(step), draft.phase(step))
    if planned in IN_VAIN:
        if draft.phase(step) != planned:
            draft.move(step, planned, draft.now)  # whatever was offered is taken back
        draft.move(step, IN_VAIN[planned])


# --- whether it is undone


def _undo(draft: Draft, event: ResolveAsked) -> None:
    step = event.step
    _check_undo(draft, event)
    _asked_in_vain(draft, step)
    if draft.phase(step) == Phase.UNDO_OFFERED:
        draft.move(step, Phase.UNDO_PLANNED, draft.now)
    match event.verdict:
        case Verdict.KEPT:
            draft.move(step, Phase.KEPT)
        case Verdict.LEFT:
            draft.move(step, Phase.LEFT)
        case _:
            undone(draft, step, draft.now)


def _check_undo(draft: Draft, event: ResolveAsked) -> None:
    where, phase = f"step {draft.step(event.step).name}", draft.phase(event.step)
    opened, stands = draft.head.open[event.step], event.verdict in (Verdict.KEPT, Verdict.LEFT)
    until = opened.due if phase in STUCK else opened.landing
    blind = opened.fate == Phase.UNKNOWN  # then the call that is to be undone may land yet as well
    if (stands or blind) and until > 0:
        raise ActRefused(f"{where}: {still_flying('last call' if blind else 'undo', until, draft.now)}")
    if event.verdict is Verdict.DONE or (event.verdict is Verdict.LEFT and phase == Phase.LEFT):
        why = "is about to be called" if phase in ABOUT_TO_UNDO else "is stuck"
        raise ActRefused(f"{where}: its undo {why}: resolve it as undone, absent, kept or left")


def undo_unsent(phase: int, opened: Open | None) -> bool:
    """Whether an undo is still to be made, and nothing of it can have reached the service."""
    if opened is None or phase not in ABOUT_TO_UNDO:
        return False
    return not (opened.first_at or opened.landing or opened.doubt)


# --- with which result


def _holds_result(draft: Draft, step: int) -> bool:
    """Whether a result of this step is on record that a call yet to come is made of."""
    phase = draft.phase(step)
    if phase == Phase.SKIPPED:
        return draft.forward
    return phase == Phase.DONE or (
        undo_unsent(phase, draft.head.open.get(step)) and draft.head.open[step].fate == Phase.DONE
    )


def _correct(draft: Draft, step: int) -> None:
    """Put another result in the place of the recorded one; the calls that waited for it are made at once.

    Only as long as no call was made of it: all calls of a round are given the same.
    """
    name = draft.step(step).name
    readers = sorted(draft.plan.readers_of.get(name, ()))
    for reader in readers:
        if not _uncalled(draft, reader):
            called = draft.step(reader).name
            raise ActRefused(f"step {name}: {called} has been called with its result, which stays as it is")
    for waiting in (step, *readers):
        if draft.phase(waiting) in PLANNED and draft.head.open[waiting].started_at:
            at_once(draft, waiting)


def _uncalled(draft: Draft, step: int) -> bool:
    """Whether nothing was, or may have been, done by this step, and its next call begins a round."""
    phase, opened = draft.phase(step), draft.head.open.get(step)
    if opened is None:
        idle = phase == Phase.IDLE and not draft.head.beyond
        return idle or phase in (Phase.SKIPPED, *CERTAINLY_NOT)
    return phase in ABOUT_TO_DO and not opened.first_at and not opened.doubt
