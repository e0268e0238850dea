"""A call in doubt: what to do about a call that may have reached the service but brought no answer.

This is the decisive rule. Fencing and a key are not enough: the first call can still be on its way when an
undo finds nothing, and land afterwards. So the course depends on what the service promises (its class) and
on whether the step is to be retried or undone.
"""

from enum import Enum, auto

from makegood.core.plan import Millis, StepPlan
from makegood.core.record import BY_KEY, Open, Phase


class Course(Enum):
    """What to do next about a step in doubt."""

    RETRY = auto()
    """Call again with the same key."""
    WAIT_OUT = auto()
    """Let every call die first; then `after_wait`."""
    PROBE = auto()
    """Ask the service."""
    UNDO_BLIND = auto()
    """Settle it as unknown: it is undone without its result, if it has an undo."""
    ABSENT = auto()
    """Nothing to undo, whatever happened."""
    PARK = auto()
    """Only a person can tell."""


def keyed(step: StepPlan, opened: Open, now: Millis) -> bool:
    """Whether the service will still tell a repeated call of this round from a new one."""
    if not step.keyed or opened.unkeyed:
        return False
    return step.keyed_for is None or now < opened.key_until


def key_until(step: StepPlan, first_at: Millis) -> Millis:
    """Until when a round may be called again and still arrive while its key is known; 0: for ever."""
    return 0 if step.keyed_for is None else max(1, first_at + step.keyed_for - step.life)


def counts_on_key(mark: int, opened: Open) -> bool:
    """Whether a planned call is safe only while its service remembers a key, and it does not for ever."""
    in_doubt = opened.doubt or opened.fate == Phase.UNKNOWN
    return mark in BY_KEY and in_doubt and opened.key_until > 0


def key_died(mark: int, opened: Open, now: Millis) -> bool:
    """Whether a planned call would count on a key that its service may have forgotten."""
    return counts_on_key(mark, opened) and opened.key_until <= now


def to_be_retried(step: StepPlan, opened: Open, now: Millis) -> Course:
    """The course of a step in doubt whose task goes forward and which has tries left."""
    if step.reads or keyed(step, opened, now):
        return Course.RETRY
    return Course.WAIT_OUT if step.probe else Course.PARK


def out_of_tries(step: StepPlan, opened: Open, now: Millis, *, way_back: bool) -> Course | None:
    """The course of a step in doubt that may not be called again; None: the task turns, as it still can."""
    if step.reads:
        return Course.ABSENT
    if keyed(step, opened, now) and way_back and not step.pivot:
        return None
    return Course.WAIT_OUT if step.probe else Course.PARK


def to_be_undone(step: StepPlan, opened: Open, now: Millis) -> Course:
    """The course of a step in doubt whose task turned."""
    if step.reads:
        return Course.ABSENT
    if step.tombstone and keyed(step, opened, now):
        return Course.UNDO_BLIND
    if keyed(step, opened, now) or step.probe or step.undo is None:
        return Course.WAIT_OUT
    return Course.PARK


def after_wait(step: StepPlan, opened: Open, now: Millis, *, forward: bool) -> Course:
    """The course once no call can still arrive."""
    if step.probe and (forward or step.undo is not None):
        return Course.PROBE
    if step.undo is None and not forward:
        return Course.UNDO_BLIND
    if not keyed(step, opened, now):
        return Course.PARK
    return Course.RETRY if forward else Course.UNDO_BLIND


def probe_in_vain(step: StepPlan, opened: Open, now: Millis, *, forward: bool) -> Course:
    """The course when the probe could not tell, to its last ask."""
    blind = step.undo is None or keyed(step, opened, now)
    return Course.UNDO_BLIND if blind and not forward else Course.PARK


def undo_in_doubt(step: StepPlan, opened: Open, now: Millis) -> Course:
    """The course of an undo that may have worked: the same rule, with its own key."""
    if keyed(step, opened, now):
        return Course.RETRY
    return Course.WAIT_OUT if step.probe else Course.PARK


def to_be_checked(step: StepPlan, *, blind: bool) -> bool:
    """Whether an undo that was reported done must be checked by the probe: it may have found nothing to undo
    because the call it undoes had not arrived yet."""
    return blind and step.probe is not None and not step.tombstone
