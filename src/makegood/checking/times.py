"""Rules about lengths of time that cannot hold."""

from makegood.checking import courses
from makegood.checking.finding import Broken, Note, Said, Setting
from makegood.checking.spans import path, tries, tries_within
from makegood.core.doubt import Course
from makegood.core.plan import StepPlan, millis
from makegood.reading.words import span


def deadline_too_short(setting: Setting, step: StepPlan) -> Said:
    """A step that must have ended before its first call has."""
    if step.deadline is None or step.index >= setting.way_back_ends or step.timeout <= step.deadline:
        return None
    return Broken(
        f"one call may take {span(step.timeout)}, but the step's deadline is {span(step.deadline)}: a call "
        "that is well in time is undone",
        "make timeout= shorter than deadline=",
    )


def tries_cut_short(setting: Setting, step: StepPlan) -> Said:
    """A deadline that comes before the declared tries have been made."""
    if step.deadline is None or step.index >= setting.way_back_ends or deadline_too_short(setting, step):
        return None
    if tries(step) <= step.deadline:
        return None
    return Note(
        f"where calls take their whole {span(step.timeout)}, only {tries_within(step, step.deadline)} of its "
        f"{step.retry.attempts} tries end before its deadline of {span(step.deadline)}; then the task turns",
        f"allow {span(tries(step))} for all of them, or shorten timeout= or retry=",
    )


def deadline_unheeded(setting: Setting, step: StepPlan) -> Said:
    """From the pivot on a deadline turns nothing."""
    if step.deadline is None or step.index < setting.way_back_ends:
        return None
    return Note(
        "its deadline undoes nothing: from the first call of the pivot on, one that has passed is written "
        "into the history, and the task goes on",
        "leave deadline= out, unless you look for that",
    )


def undo_gives_up(setting: Setting, step: StepPlan) -> Said:
    """An undo whose time is over before a second try could be made."""
    if not setting.undoes(step):
        return None
    within, one = millis(step.undo_retry.within), _one_undo(step)
    if within > one:
        return None
    return Broken(
        f"the undo {step.undo} is never tried a second time: whether the first one worked may show after "
        f"{span(one)} only, and its tries end after {span(within)}; the task is parked",
        f"allow more than {span(one)}: undo_retry=UndoRetry(within=...)",
    )


def _one_undo(step: StepPlan) -> int:
    """How long it may take until an undo in doubt can be called again."""
    asks = courses.of_the_undo(step, step.timeout) is Course.WAIT_OUT
    return step.life + step.timeout if asks else step.timeout


def nothing_settles(setting: Setting, step: StepPlan) -> Said:
    """Waiting out a call is only as good as `settle`."""
    if step.settle or not courses.waits_out(step, undone=setting.undoes(step)):
        return None
    return Note(
        f"settle=0 says that nothing happens at {step.agent}'s service once a call was cut off; what still "
        "lies in a queue there may happen after it was looked for or undone",
        "give settle= the longest that a request can lie at the service before it has its effect",
    )


def task_deadline(setting: Setting) -> Said:
    """The task's own deadline, against the longest way through the plan, up to its pivot."""
    if setting.deadline is None:
        return None
    one, every = path(setting.plan, lambda step: step.timeout), path(setting.plan, tries)
    if every <= setting.deadline:
        return None
    return Note(
        f"its steps may take {span(every)} with all their tries, and {span(one)} with one try each; after "
        f"{span(setting.deadline)} the task is undone",
        "give the task more time, or shorten timeout= and retry= of its steps",
    )


RULES = (deadline_too_short, tries_cut_short, deadline_unheeded, undo_gives_up, nothing_settles)
