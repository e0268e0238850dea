"""Rules about calls in doubt: what is parked, what rests on a probe, what outlives its key."""

from makegood.checking import courses
from makegood.checking.finding import Broken, Note, Said, Setting
from makegood.checking.spans import tries
from makegood.core import doubt
from makegood.core.doubt import Course
from makegood.core.plan import StepPlan, millis
from makegood.reading.words import span

DECLARE = "declare keyed=True if its service does a thing once per call().key"
BOTH = f"{DECLARE}; else give the action a probe= that asks whether it happened"


def parks_on_doubt(setting: Setting, step: StepPlan) -> Said:
    """Neither keys nor a probe: nobody can repeat the call, undo it, or ask."""
    if step.keyed or courses.when_retried(step, step.timeout) is not Course.PARK:
        return None
    undo = f", and so it is with its undo {step.undo}" if setting.undoes(step) else ""
    promised = setting.promised.get(f"{step.agent}/{step.action}", "")
    why = "the plan document says nothing" if promised else "its service has neither keys nor a probe"
    return Note(
        f"where the answer to {step.action} is lost, the task is parked and a person must find out what "
        f"happened: {why}{undo}",
        f"write {promised} there, as its agent declares" if promised else BOTH,
    )


def cut_at_shutdown(setting: Setting, step: StepPlan) -> Said:
    """The same, of a call that a process does not wait for when it is told to end."""
    if parks_on_doubt(setting, step) is None or step.timeout <= setting.grace:
        return None
    return Note(
        f"a call may take {span(step.timeout)}, and a process that is told to end (by a deploy, say) gives "
        f"it {span(setting.grace)}: it is cut off then, in doubt, and the task is parked",
        f"make timeout= {span(setting.grace)} or less; or {BOTH}",
    )


def key_too_short(setting: Setting, step: StepPlan) -> Said:
    """A key that is forgotten before it can settle a single call that timed out."""
    lasts, needed = courses.key_lasts(step), step.timeout if step.tombstone else step.life
    if lasts is None or lasts > needed or step.reads:
        return None
    return Broken(
        f"its key is remembered for {span(step.keyed_for or 0)}, too short a time to settle a call that "
        f"timed out, which may take {span(needed + step.life)}; in doubt, {_when_forgotten(step)}",
        "make timeout= and settle= shorter, until that is less than keyed=; or leave keyed= out, and give "
        "the action a probe=",
    )


def key_outlived(setting: Setting, step: StepPlan) -> Said:
    """Tries that go on for longer than the service is known to remember the key."""
    lasts = courses.key_lasts(step)
    if lasts is None or key_too_short(setting, step) or step.reads:
        return None
    endless = step.index > setting.way_back_ends
    if not endless and tries(step) - step.timeout < lasts:
        return None
    how_long = "without end (past the pivot)" if endless else f"for {span(tries(step))}"
    fewer = "" if endless else ", or fewer or quicker tries (retry=)"
    return Note(
        f"{step.action} is tried {how_long}, but its key counts for {span(lasts)} after the first call only; "
        f"in doubt after that, {_when_forgotten(step)}",
        f"declare a longer keyed= if that is true{fewer}",
    )


def outage_outlives_key(setting: Setting, step: StepPlan) -> Said:
    """The tries are quick enough, but nobody may be up to make them, and there is no probe to ask later."""
    lasts = courses.key_lasts(step)
    if lasts is None or step.probe or step.reads:
        return None
    if key_too_short(setting, step) or key_outlived(setting, step):
        return None
    return Note(
        f"where no process is up for {span(lasts)} while {step.action} is in doubt, its key counts no more, "
        "and the task is parked",
        "give the action a probe= that asks whether it happened; or keep a second process up",
    )


def undo_outlives_key(setting: Setting, step: StepPlan) -> Said:
    """The same of an undo, which is tried until `undo_retry.within` has passed."""
    lasts = courses.key_lasts(step)
    if lasts is None or key_too_short(setting, step) or not setting.undoes(step):
        return None
    within = millis(step.undo_retry.within)
    if within <= lasts:
        return None
    return Note(
        f"the undo {step.undo} is tried for {span(within)}, but its key counts for {span(lasts)} after the "
        f"first call only; in doubt after that, {_when_forgotten(step)}",
        f"let the undo's tries end before: undo_retry=UndoRetry(within={lasts // 1000}); or give a probe=",
    )


def rests_on_probe(setting: Setting, step: StepPlan) -> Said:
    """Not keyed: whatever is in doubt is settled by what the probe says, and by nothing else."""
    if not courses.probe_decides(step):
        return None
    undo = f" The same holds for its undo {step.undo}." if setting.undoes(step) else ""
    return Note(
        f"in doubt, {step.action} can only be asked for: where its probe {step.probe} cannot tell in "
        f"{step.asks} asks, the task is parked.{undo}",
        f"see to it that {step.probe} finds what was done however late it is asked; or {DECLARE}",
    )


def undo_is_checked(setting: Setting, step: StepPlan) -> Said:
    """After an undo of what may never have happened the probe has the last word."""
    checked = doubt.to_be_checked(step, blind=True) and setting.undoes(step)
    if not checked or courses.probe_decides(step):
        return None
    return Note(
        f"where {step.undo} was called though nobody knew whether {step.action} had happened, its probe "
        f"{step.probe} must say that nothing is there; where it cannot tell in {step.asks} asks, the task is "
        "parked",
        f"see to it that {step.probe} can tell after an undo as well; or declare tombstone=True if an undo "
        "by key makes the service refuse a later do",
    )


def pivot_in_doubt(setting: Setting, step: StepPlan) -> Said:
    """A keyed pivot without a probe: repeated by its key, and a person is asked when the tries end."""
    if not step.pivot or courses.when_retried(step, step.timeout) is not Course.RETRY:
        return None
    if courses.when_tries_end(step, step.timeout) is not Course.PARK:
        return None
    return Note(
        f"where no answer has come after {step.retry.attempts} tries, the task is parked: it may be past its "
        "point of no return, and only a person can tell",
        "give the pivot a probe= that asks whether it happened, or more tries (retry=)",
    )


def _when_forgotten(step: StepPlan) -> str:
    """What becomes of a doubt once the key does not count any more."""
    course = courses.when_retried(step, courses.key_lasts(step) or 0)
    return "its probe is asked" if course is Course.PROBE else "the task is parked"


RULES = (
    parks_on_doubt,
    cut_at_shutdown,
    key_too_short,
    key_outlived,
    outage_outlives_key,
    undo_outlives_key,
    rests_on_probe,
    undo_is_checked,
    pivot_in_doubt,
)
