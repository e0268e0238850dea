"""Rules about what cannot be undone, and about what nobody can call."""

from makegood.checking.finding import Broken, Note, Said, Setting
from makegood.core.plan import StepPlan


def nobody_calls(setting: Setting, step: StepPlan) -> Said:
    """A step whose action no agent given has."""
    name = f"{step.agent}/{step.action}"
    if name in setting.actions:
        return None
    return Broken(
        f"no agent here has {name}: where no other process has it, the task waits for an agent, for ever",
        "name the APP that declares that agent as well, here and in `makegood up`",
    )


def stays_in_effect(setting: Setting, step: StepPlan) -> Said:
    """An effect that needs no undo is there for good."""
    if step.undo is not None or step.reads or step.index >= setting.way_back_ends:
        return None
    return Note(
        f"when the task is undone, what {step.action} did stays: undo=None",
        "give the action an undo if that would be half a thing",
    )


def undo_never_called(setting: Setting, step: StepPlan) -> Said:
    """Past the pivot nothing is undone."""
    if step.undo is None or step.index < setting.way_back_ends:
        return None
    return Note(
        f"its undo {step.undo} is never called: it stands after the pivot",
        "set it before the pivot if it must be undone when the pivot fails",
    )


def must_not_fail(setting: Setting, step: StepPlan) -> Said:
    """Past the pivot the task can only go on: a refusal there asks a person."""
    after = [later.name for later in setting.plan.steps[step.index + 1 :]]
    if not step.pivot or not after:
        return None
    return Note(
        f"after this pivot there is no way back: where {_or(after)} is refused, the task is parked; what "
        "fails otherwise is tried without end",
        "set before the pivot whatever a service may refuse",
    )


def _or(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


RULES = (nobody_calls, stays_in_effect, must_not_fail, undo_never_called)
