"""Where a call in doubt leads: the decisive rule of `core.doubt`, asked as the Supervisor asks it."""

from makegood.core import doubt
from makegood.core.doubt import Course
from makegood.core.plan import Millis, StepPlan
from makegood.core.record import Open

BEGAN: Millis = 1


def in_doubt(step: StepPlan) -> Open:
    """An open step whose round began at BEGAN, and of whose call nobody heard again."""
    return Open(first_at=BEGAN, key_until=doubt.key_until(step, BEGAN), doubt=True)


def key_lasts(step: StepPlan) -> Millis | None:
    """How long after its first call a round may be repeated by its key; None: for ever."""
    return None if step.keyed_for is None else doubt.key_until(step, BEGAN) - BEGAN


def when_retried(step: StepPlan, after: Millis) -> Course:
    """The end of the matter in a task that goes forward, so long after the first call."""
    opened, now = in_doubt(step), BEGAN + after
    course = doubt.to_be_retried(step, opened, now)
    return doubt.after_wait(step, opened, now, forward=True) if course is Course.WAIT_OUT else course


def when_tries_end(step: StepPlan, after: Millis) -> Course | None:
    """The end of the matter when the step may not be tried again; None: the task turns."""
    opened, now = in_doubt(step), BEGAN + after
    course = doubt.out_of_tries(step, opened, now, way_back=True)
    return doubt.after_wait(step, opened, now, forward=True) if course is Course.WAIT_OUT else course


def of_the_undo(step: StepPlan, after: Millis) -> Course:
    """The course of an undo in doubt."""
    return doubt.undo_in_doubt(step, in_doubt(step), BEGAN + after)


def probe_decides(step: StepPlan) -> bool:
    """Whether a person is asked when the probe cannot tell."""
    opened, now = in_doubt(step), BEGAN + step.timeout
    asked = when_retried(step, step.timeout) is Course.PROBE
    return asked and doubt.probe_in_vain(step, opened, now, forward=True) is Course.PARK


def waits_out(step: StepPlan, *, undone: bool) -> bool:
    """Whether some doubt about this step is settled by waiting until no call can still arrive."""
    opened, now = in_doubt(step), BEGAN + step.timeout
    if doubt.to_be_retried(step, opened, now) is Course.WAIT_OUT:
        return True
    return undone and doubt.to_be_undone(step, opened, now) is Course.WAIT_OUT
