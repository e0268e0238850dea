"""Rules about what is written down of a call: its input and its result."""

from makegood.checking.finding import Note, Said, Setting
from makegood.core.plan import StepPlan


def untyped_action(setting: Setting, step: StepPlan) -> Said:
    """Without types nothing tells what to make of the JSON that the store has."""
    untyped = setting.untyped.get(f"{step.agent}/{step.action}", ())
    if not untyped:
        return None
    named = ["its result" if name == "return" else name for name in untyped]
    return Note(
        f"{step.action} does not say the type of {_and(named)}: only plain JSON (dict, list, str, numbers, "
        "bool, None) passes there; an object of a class comes as a dict, and cannot be recorded as a result",
        f"write the types, as in def {step.action}(guest: str) -> Booking; -> None where nothing is returned",
    )


def _and(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


RULES = (untyped_action,)
