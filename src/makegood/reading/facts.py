"""A task's history as typed facts: all of them, as JSON values, for programs to read."""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, Final

import msgspec

from makegood.core.events import (
    Alerted,
    Answer,
    AnyFact,
    CancelAsked,
    Claimed,
    Driven,
    HandedBack,
    Hastened,
    Inspected,
    LeaseRenewed,
    Moved,
    Offered,
    PauseAsked,
    Probed,
    Reply,
    Reported,
    ResolveAsked,
    Restored,
    ResumeAsked,
    RetryAsked,
    Row,
    SkipAsked,
    TaskMoved,
    TaskSubmitted,
)
from makegood.core.plan import Plan
from makegood.core.record import Kind, Phase, TaskState
from makegood.core.words import moment
from makegood.reading.payloads import value_of
from makegood.reading.words import state_name

OF_AGENTS: Final = (Claimed, Reported, Probed, HandedBack, Hastened, LeaseRenewed)
"""What an agent states."""
MOMENTS: Final = frozenset({"deadline", "until", "seen", "start_at"})
NAMES: Final = {
    "start_at": "startAt",
    "retry_after": "retryAfterMs",
    "wait": "waitMs",
    "lease": "leaseMs",
    "key_read": "keyRead",
    "given": "result",
}


def facts_of(plan: Plan, rows: Iterable[tuple[int, Row]]) -> list[dict[str, Any]]:
    """Every fact with its moment and who stated it; lengths of time in milliseconds."""
    found: list[dict[str, Any]] = []
    for version, row in rows:
        for fact, author in zip(row.facts, authors_of(plan, row.facts), strict=True):
            found.append(
                {"version": version, "at": moment(row.at), "who": author, "process": row.process}
                | {"fact": type(fact).__name__}
                | _fields(plan, fact)
            )
    return found


def authors_of(plan: Plan, facts: Iterable[AnyFact]) -> Iterator[str]:
    """Who stated each fact of a row; what only follows from one before is of that one's author."""
    author, said = "", None
    for fact in facts:
        own = author_of(plan, fact)
        author, said = (own, fact) if own else (author, said)
        yield "scheduler" if by_scheduler(fact, said) else author


def by_scheduler(fact: AnyFact, said: AnyFact | None) -> bool:
    """It starts what comes next, and ends, turns or parks the task, whatever an agent `said` of a call."""
    match fact:
        case TaskMoved(state=state):
            return state in (TaskState.COMPLETED, TaskState.COMPENSATED) or isinstance(said, OF_AGENTS)
        case Offered():
            return True
        case Moved():
            return starts(fact, said)
        case _:
            return False


def starts(move: Moved, said: AnyFact | None) -> bool:
    """Whether a step is planned because another made way for it, and not by a remedy or an order."""
    same = getattr(said, "step", None) == move.step or isinstance(said, Inspected)
    return move.phase in (Phase.PLANNED, Phase.UNDO_PLANNED) and not same


def author_of(plan: Plan, fact: AnyFact) -> str:
    """Who stated this fact; empty when it only follows from the one before."""
    match fact:
        case TaskSubmitted():
            return "client"
        case Driven():
            return "scheduler"
        case Inspected():
            return "supervisor"
        case Alerted():
            return "alerts"
        case _ if isinstance(fact, OF_AGENTS):
            return plan.steps[fact.step].agent
        case CancelAsked() | PauseAsked() | ResumeAsked() | RetryAsked() | SkipAsked() | ResolveAsked():
            return fact.by
        case Restored():
            return fact.by
        case _:
            return ""


def _fields(plan: Plan, fact: AnyFact) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in msgspec.structs.asdict(fact).items():
        if name == "step" and value >= 0:
            fields[name] = plan.steps[value].name
        elif name in MOMENTS and value > 0:
            fields[NAMES.get(name, name)] = moment(value)
        elif name not in {"step", *MOMENTS} and _says_something(fact, name, value):
            fields[NAMES.get(name, name)] = _plain(plan, fact, value)
    return fields


def _says_something(fact: AnyFact, name: str, value: Any) -> bool:
    """Only what is done, or found there, brings a result; it may be null."""
    if name == "result" and isinstance(fact, Reported | Probed):
        return fact.reply is Reply.DONE if isinstance(fact, Reported) else fact.answer is Answer.THERE
    return value not in (None, "", ())


def _plain(plan: Plan, fact: AnyFact, value: Any) -> Any:
    match value:
        case msgspec.Raw():
            step = getattr(fact, "step", None)
            return value_of(plan, "input" if step is None else plan.steps[step].name, value)
        case TaskState():
            return state_name(value)
        case Kind() | Phase():
            first, *rest = value.name.lower().split("_")
            return first + "".join(word.capitalize() for word in rest)
        case Enum():
            return value.value
        case (msgspec.Raw() as raw,):
            return _plain(plan, fact, raw)
        case tuple():
            return [plan.steps[step].name for step in value]
        case _:
            return value
