"""What a task that has not ended waits for: read off the head alone, so that lists can say it too."""

from collections.abc import Mapping
from typing import Final

import msgspec

from makegood.core import doubt, lanes
from makegood.core.doubt import Course
from makegood.core.plan import Millis, Plan, StepPlan
from makegood.core.record import (
    ASKS_A_PERSON,
    CALLED,
    ENDED,
    FORWARD_OPEN,
    KIND_OF,
    OFFERED,
    PLANNED,
    REPORTED,
    UNDO_OPEN,
    WAITING_OUT,
    Direction,
    Head,
    Kind,
    News,
    Open,
    Phase,
    TaskState,
)
from makegood.core.reports import REPORT_GRACE
from makegood.core.words import moment
from makegood.reading.standing import blocking
from makegood.reading.words import WAITED_FOR, call_of, news_of, span

TELLING: Final = tuple(WAITED_FOR)
"""What can be waited for, the most telling first."""


MOMENTS: Final = {"scheduler": "its start", "agent": "an agent that can make its call"}
"""The same where there is a moment before which nobody looks: the call was handed back, say."""

WAITS: Final = FORWARD_OPEN | UNDO_OPEN | ASKS_A_PERSON | {Phase.LEFT}
"""Phases in which a step waits for something of its own."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """What something waits `on` (one of TELLING), since when, until when, and what happens next.

    `since` and `until` are moments, 0 where there is none; `step` is the step that waits, None for the task.
    """

    on: str
    next: str
    since: Millis = 0
    until: Millis = 0
    step: int | None = None


def waiting_document(plan: Plan, waiting: Waiting) -> dict[str, str]:
    """The exported form: {for, since, until, next}, and the step."""
    fields = {
        "for": waiting.on,
        "step": "" if waiting.step is None else plan.steps[waiting.step].name,
        "since": moment(waiting.since) if waiting.since else "",
        "until": moment(waiting.until) if waiting.until else "",
        "next": waiting.next,
    }
    return {name: value for name, value in fields.items() if value}


def waited_for(document: Mapping[str, str]) -> str:
    """An exported waiting in short: `a call under way (reserve_car)`."""
    until = document.get("until", "")
    at = f" at {until}" if until and document["for"] in MOMENTS else ""
    return _in_words(document["for"], until, document.get("step", "")) + at


def waiting_sentence(document: Mapping[str, str]) -> str:
    """An exported waiting in full: what is waited for, since when, until when, what happens next."""
    times = [f"{name} {document[name]}" for name in ("since", "until") if name in document]
    what = _in_words(document["for"], document.get("until", ""), document.get("step", ""))
    return f"{', '.join([what, *times])}: {document['next']}"


def awaited(plan: Plan, waiting: Waiting) -> str:
    """What is waited for, and the step that waits."""
    return _in_words(waiting.on, waiting.until, "" if waiting.step is None else plan.steps[waiting.step].name)


def _in_words(on: str, until: object, step: str) -> str:
    what = MOMENTS.get(on, WAITED_FOR[on]) if until else WAITED_FOR[on]
    return what + (f" ({step})" if step else "")


def task_waiting(plan: Plan, head: Head, now: Millis) -> Waiting | None:
    """What the task waits for: the most telling of its steps. None once it has ended."""
    if head.state in ENDED:
        return None
    if head.paused and head.state is not TaskState.FAILED:
        return Waiting(on="pause", next="a person resumes it; open calls end and are recorded meanwhile")
    asks = blocking(head)

    def telling(waiting: Waiting) -> tuple[int, bool, bool, Millis]:
        """What a person is asked about comes before what that holds back, and before what was left."""
        left = waiting.step is not None and head.marks[waiting.step] == Phase.LEFT
        return TELLING.index(waiting.on), waiting.step not in asks, left, waiting.until or waiting.since

    found = [w for step in range(len(head.marks)) if (w := waiting_of(plan, head, step, now))]
    told = min(found, key=telling, default=Waiting(on="scheduler", next="a scheduler goes on with it"))
    others = [plan.steps[w.step].name for w in found if w.on == "person" and w.step in asks and w != told]
    if head.state is TaskState.FAILED and others:
        wait = "waits" if len(others) == 1 else "wait"
        told = msgspec.structs.replace(told, next=f"{told.next}; {', '.join(others)} {wait} for a person too")
    if head.paused:
        return msgspec.structs.replace(told, next=f"{told.next}; it is paused as well, and must be resumed")
    return told


def waiting_of(plan: Plan, head: Head, step: int, now: Millis) -> Waiting | None:
    """What a step waits for; None when it is not open and asks nobody."""
    phase, node, opened = Phase(head.marks[step]), plan.steps[step], head.open.get(step)
    if head.state in ENDED:
        return None
    if opened is not None and phase in WAITS:
        on, until, after = _open(head, node, phase, opened, now)
        return Waiting(on=on, next=after, since=moved_at(head, step), until=until, step=step)
    if step in blocking(head):
        return Waiting(on="person", next=f"a person says how {node.name} goes on", step=step)
    return None


def _open(head: Head, step: StepPlan, phase: Phase, opened: Open, now: Millis) -> tuple[str, Millis, str]:
    """(what is waited for, until when, what happens next) of an open step."""
    if phase in CALLED:
        return _called(step, phase, opened, now)
    if phase in OFFERED:
        call = call_of(step, KIND_OF[phase])
        return "agent", 0, f"an agent that has {step.agent}/{step.action} claims {call}"
    if phase in PLANNED:
        return _planned(head, step, phase, opened, now)
    if phase in REPORTED:
        return "supervisor", 0, _remedied(opened)
    if phase in WAITING_OUT:
        after = _after_undo_wait if phase is Phase.UNDO_WAIT_OUT else _after_wait
        return _waits_out(step, opened.due, now, after(head, step, opened, now))
    if phase in ASKS_A_PERSON and (opened.due or opened.late > now):
        until = max(opened.due, opened.late)
        return _waits_out(step, until, now, f"a person is asked {_question(step, phase)}")
    return "person", 0, f"a person says {_question(step, phase)}"


def _remedied(opened: Open) -> str:
    """Once it is known to be absent, by a person's word say, what its call said before is old news."""
    if opened.news is News.ABSENT:
        return "it did not happen: a supervisor goes on from there"
    return f"a supervisor finds the remedy ({news_of(opened)})"


def _waits_out(step: StepPlan, until: Millis, now: Millis, after: str) -> tuple[str, Millis, str]:
    """Until no call can still arrive; then it is the turn of a supervisor that saw the time pass itself."""
    if until > now:
        return "waitOut", until, f"no call can still arrive then; {after}"
    itself = f"one that has just started waits the whole {span(step.life)} itself"
    return "waitOut", 0, f"a supervisor sees that no call can still arrive ({itself}); {after}"


def _called(step: StepPlan, phase: Phase, opened: Open, now: Millis) -> tuple[str, Millis, str]:
    kind = KIND_OF[phase]
    call = call_of(step, kind)
    if opened.due <= now:
        return "supervisor", 0, f"a supervisor finds that {step.agent} fell silent over {call}"
    if overrun(opened):
        return "lease", opened.due, f"{step.agent} keeps its lease until {call} ends; it is past its timeout"
    if kind is Kind.PROBE:
        return "probe", opened.complete_by, f"{call} answers (ask {opened.asks + 1} of {step.asks})"
    return "lease", opened.complete_by, f"{step.agent} reports how {call} ended"


def overrun(opened: Open) -> bool:
    """Whether a call is past its timeout and cannot be stopped: its agent renews its lease on."""
    return opened.due > opened.complete_by + REPORT_GRACE


def _planned(head: Head, step: StepPlan, phase: Phase, opened: Open, now: Millis) -> tuple[str, Millis, str]:
    kind = KIND_OF[phase]
    call = call_of(step, kind)
    if head.paused:
        return "pause", 0, f"{call} starts once a person resumes the task"
    if lanes.blocked(head):
        return _held_back(head, now)
    if opened.due <= now:
        return "scheduler", 0, f"a scheduler hands out {call}"
    if opened.handed_back:
        return "agent", opened.due, f"{call} was handed back by its agent and is offered again"
    if kind is Kind.PROBE:
        return "probe", opened.due, f"{call} asks the service (ask {opened.asks + 1} of {step.asks})"
    if not opened.attempt and opened.due == head.start_at:
        return "scheduler", opened.due, f"the task is to start then; a scheduler hands out {call}"
    return "backoff", opened.due, f"{call} is tried again (retry {opened.retries})"


def moved_at(head: Head, step: int) -> Millis:
    """Since when an open step stands as it does: since its first call, where that is handed back again and
    again, which moves nothing."""
    opened = head.open[step]
    return (opened.started_at if opened.handed_back else 0) or opened.since


def _held_back(head: Head, now: Millis) -> tuple[str, Millis, str]:
    """Nothing more starts in a task that is to park."""
    asking = [opened.due for n, opened in head.open.items() if head.marks[n] in ASKS_A_PERSON]
    until = max(asking, default=0)
    after = "nothing more starts before a person has settled what is in doubt"
    return ("waitOut", until if until > now else 0, after) if until else ("person", 0, after)


def _after_wait(head: Head, step: StepPlan, opened: Open, now: Millis) -> str:
    match doubt.after_wait(step, opened, now, forward=head.direction is Direction.FORWARD):
        case Course.PROBE:
            return f"{call_of(step, Kind.PROBE)} asks whether it happened"
        case Course.RETRY:
            return f"{step.action} is called again with the same key"
        case Course.UNDO_BLIND if step.undo is not None:
            return f"{step.undo} undoes it, happened or not"
        case Course.UNDO_BLIND:
            return "it stays as it is"
        case _:
            return "a person is asked"


def _after_undo_wait(head: Head, step: StepPlan, opened: Open, now: Millis) -> str:
    if opened.doubt and step.probe:
        return f"{call_of(step, Kind.PROBE)} asks whether the effect is still there"
    return f"{call_of(step, Kind.UNDO)} goes on"


def _question(step: StepPlan, phase: Phase) -> str:
    if phase is Phase.DOUBT:
        return f"whether {step.name} happened"
    if phase is Phase.UNDO_STUCK:
        return f"what became of {step.name}: {call_of(step, Kind.UNDO)} cannot be finished"
    return f"whether {step.name}, left in effect, is undone or kept"
