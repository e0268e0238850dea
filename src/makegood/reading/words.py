"""How the record is said to people: what is waited for, lengths of time, calls, fields that have a value."""

from typing import Any, Final

from makegood.core.plan import Millis, StepPlan
from makegood.core.record import ERROR_KEPT, Kind, News, Open, Phase, TaskState

NEWS: Final = {
    News.NONE: "",
    News.REFUSED: "refused",
    News.TRANSIENT: "certainly no effect",
    News.ABSENT: "it did not happen",
    News.UNKNOWN: "it may have happened",
    News.CANNOT_TELL: "it may have happened, and the service cannot tell",
    News.STILL_THERE: "it is still there after its undo",
}
"""The last word on a call that brought no result."""

WAITED_FOR: Final = {
    "person": "a person",
    "pause": "somebody to resume it",
    "supervisor": "a supervisor",
    "scheduler": "a scheduler",
    "agent": "an agent",
    "waitOut": "a lost call's time to run out",
    "probe": "the service's word",
    "backoff": "the next try",
    "lease": "a call under way",
}
"""What can be waited for, the most telling first, in words."""

VERDICTS: Final = {
    "done": "it happened",
    "absent": "it never happened",
    "undone": "its effect is gone",
    "kept": "its effect may stand",
    "left": "it is left in effect",
}
"""What a named person says of a step."""

CORRECTED: Final = (Phase.DONE, Phase.UNDO_PLANNED, Phase.UNDO_OFFERED)
"""Phases of a step in which "done" can only bring another result."""
BACK: Final = "handed back: "
"""What stands before an agent's word on a call that it could not make."""


def span(length: Millis) -> str:
    """A length of time as a person says it: 250 ms, 1.5 s, 90 s, 12 min, 3 h."""
    if length < 1_000:
        return f"{length} ms"
    for unit, size, up_to in (("s", 1_000, 120_000), ("min", 60_000, 7_200_000)):
        if length < up_to:
            return f"{length / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{length / 3_600_000:.1f}".removesuffix(".0") + " h"


def counted(number: int, what: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def state_name(state: TaskState) -> str:
    """The exported name: Running, Completed, Compensating, Compensated, Failed."""
    return state.name.capitalize()


def function_of(step: StepPlan, kind: Kind) -> str:
    """The name of the user's function that a call of this kind runs."""
    return {Kind.DO: step.action, Kind.UNDO: step.undo, Kind.PROBE: step.probe}[kind] or step.action


def call_of(step: StepPlan, kind: Kind) -> str:
    """A call as a sentence names it: `reserve_flight`, `its undo cancel_flight`, `its probe find_flight`."""
    name = function_of(step, kind)
    return {Kind.DO: name, Kind.UNDO: f"its undo {name}", Kind.PROBE: f"its probe {name}"}[kind]


def news_of(opened: Open) -> str:
    """The last word on an open step, with what its call said: `refused: sold out`."""
    return ": ".join(filter(None, (NEWS[opened.news], dotted(opened.error))))


def reason_said(reason: str) -> str:
    """Why a task moved, as it is recorded, `car: refused: sold out`; what its error was cut to has dots."""
    *lead, said = reason.split(": ", 2)
    return ": ".join([*lead, dotted(said)])


def dotted(error: str) -> str:
    """An error as the record keeps it, with dots where it is as long as may be: there was more of it."""
    return f"{error}..." if len(error) == ERROR_KEPT else error


def because(words: str) -> str:
    """What follows a statement as its reason, where one is given."""
    return f": {words}" if words else ""


def one_line(text: str) -> str:
    """The text in one line; control characters (a service may send any) are shown, not obeyed."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def is_text(value: object) -> bool:
    """Whether it is text that can be kept; half of a surrogate pair is none."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def valued(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that have a value: no empty text, list or object, and no None."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], {})}
