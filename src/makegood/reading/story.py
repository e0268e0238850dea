"""A task's history in words: one line for each fact that says something new: when, who, what, why."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias, assert_never

import msgspec

from makegood.core.events import (
    Act,
    Answer,
    AnyFact,
    CancelAsked,
    Claimed,
    DeadlineAnnounced,
    Driven,
    EvidenceFiled,
    HandedBack,
    Inspected,
    LeaseRenewed,
    Moved,
    Offered,
    PauseAsked,
    Probed,
    Reply,
    Reported,
    ResolveAsked,
    ResumeAsked,
    RetryAsked,
    Row,
    SkipAsked,
    Surfaced,
    TaskMoved,
    TaskSubmitted,
    TurnPending,
)
from makegood.core.plan import Millis, Plan
from makegood.core.record import PLANNED, Kind, Phase, TaskState
from makegood.reading.facts import author_of
from makegood.reading.words import function_of, moment, one_line, shown, span, state_name

MOVED: Final = {
    Phase.IDLE: "taken back before any call",
    Phase.PLANNED: "to be called",
    Phase.REPORTED: "brought no answer: it may have happened",
    Phase.WAIT_OUT: "left alone until no call can still reach the service",
    Phase.PROBE_PLANNED: "the service is to be asked whether it happened",
    Phase.DOUBT: "only a person can tell whether it happened",
    Phase.DONE: "it counts as done",
    Phase.SPOILED: "done, but its result cannot be used",
    Phase.REFUSED: "failed for good: refused",
    Phase.ABSENT: "failed for good: it certainly did not happen",
    Phase.UNKNOWN: "may have happened, and counts so from here on",
    Phase.UNRESOLVED: "failed for good: its input is not there",
    Phase.SKIPPED: "skipped",
    Phase.UNDO_PLANNED: "to be undone",
    Phase.UNDO_REPORTED: "its undo brought no answer: it may have worked",
    Phase.UNDO_WAIT_OUT: "left alone until no call can still reach the service",
    Phase.CHECK_PLANNED: "the service is to be asked whether anything is left of it",
    Phase.UNDO_STUCK: "its undo cannot be finished: a person is asked",
    Phase.LEFT: "left in effect",
    Phase.UNDONE: "undone",
    Phase.UNDONE_BLIND: "undone, though nobody ever knew whether it had happened",
    Phase.KEPT: "kept as it is",
}
REPLIES: Final = {
    Reply.DONE: "done",
    Reply.SPOILED: "done, but its result cannot be recorded",
    Reply.REFUSED: "refused",
    Reply.TRANSIENT: "certainly no effect",
    Reply.UNKNOWN: "it may have happened",
    Reply.UNRESOLVED: "never sent",
}
ANSWERS: Final = {
    Answer.THERE: "it is there",
    Answer.ABSENT: "it is not there",
    Answer.RUNNING: "the service is still working on it",
    Answer.CANNOT_TELL: "the service cannot tell",
}
ECHOES: Final[Mapping[type, frozenset[Phase]]] = {
    Reported: frozenset(
        (Phase.DONE, Phase.SPOILED, Phase.REPORTED, Phase.UNRESOLVED, Phase.UNDO_REPORTED, Phase.UNDONE)
    ),
    Probed: frozenset((Phase.DONE, Phase.REPORTED, Phase.UNDO_REPORTED, Phase.UNDONE)),
    HandedBack: PLANNED,
    SkipAsked: frozenset((Phase.SKIPPED,)),
    ResolveAsked: frozenset((Phase.DONE, Phase.REPORTED, Phase.UNDONE, Phase.LEFT, Phase.KEPT)),
}
"""Where a step goes by the very word of a fact: the move says nothing new."""


StepFact: TypeAlias = (
    Claimed | Reported | Probed | HandedBack | LeaseRenewed | Offered | Moved | DeadlineAnnounced
) | (EvidenceFiled | Surfaced)


class Line(msgspec.Struct, frozen=True):
    """One line of the story."""

    at: Millis
    who: str
    what: str


def story(plan: Plan, rows: Iterable[tuple[int, Row]]) -> list[Line]:
    """The history in words, oldest first."""
    teller = _Teller(plan)
    return [line for _, row in rows for line in teller.tell(row)]


class _Teller:
    """Tells row after row; remembers what each attempt was for."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._kinds: dict[int, Kind] = {}

    def tell(self, row: Row) -> Iterator[Line]:
        """The lines of one row. What only follows from a fact is told under that fact's author."""
        author, said = "", None
        for n, fact in enumerate(row.facts):
            own = author_of(self._plan, fact)
            author, said = (own, fact) if own else (author, said)
            if isinstance(fact, Moved) and (_echoes(said, fact) or _offered_next(row.facts[n:], fact)):
                continue
            what = self._words(row, fact)
            if what:
                yield Line(row.at, _teller_of(fact, said) or author, one_line(what))

    def _words(self, row: Row, fact: AnyFact) -> str:
        match fact:
            case Driven() | Inspected():
                return ""  # what they led to follows
            case TaskSubmitted():
                return self._submitted(fact)
            case CancelAsked() | PauseAsked() | ResumeAsked() | RetryAsked() | SkipAsked() | ResolveAsked():
                return self._act(fact)
            case TaskMoved():
                return f"the task is {state_name(fact.state)}{_after(fact.reason)}"
            case TurnPending():
                return f"to be undone, unless its point of no return happened{_after(fact.reason)}"
            case DeadlineAnnounced(step=-1):
                return "the task's deadline has passed; past its point of no return it only goes on"
            case _:
                return f"{self._subject(fact)}: {self._of_step(row, fact)}"

    def _subject(self, fact: StepFact) -> str:
        """`reserve_flight`, or `reserve_flight, undo cancel_flight` where the fact is about its undo."""
        if isinstance(fact, Offered):
            self._kinds[fact.attempt] = fact.kind
        step = self._plan.steps[fact.step]
        kind = self._kinds.get(getattr(fact, "attempt", 0), Kind.DO)
        return step.name if kind is Kind.DO else f"{step.name}, {kind.name.lower()} {function_of(step, kind)}"

    def _of_step(self, row: Row, fact: StepFact) -> str:
        match fact:
            case Offered():
                return f"handed out, attempt {fact.attempt}" + (f", key {fact.key}" if fact.key else "")
            case Claimed():
                until = moment(row.at + self._plan.steps[fact.step].timeout)
                return f"called, attempt {fact.attempt}, by process {fact.owner}, until {until}"
            case Reported():
                return _reported(fact)
            case Probed():
                return ANSWERS[fact.answer] + _after(fact.error) + _result(fact)
            case HandedBack():
                return f"handed back unsent, no retry counted{_after(fact.why)}"
            case LeaseRenewed(overrun=True):
                return "past its timeout, and its thread cannot be stopped: its lease is kept"
            case LeaseRenewed():
                return f"still under way, lease until {moment(row.at + fact.lease)}"
            case Moved():
                when = f", not before {moment(fact.until)}" if fact.until > row.at else ""
                return MOVED[fact.phase] + when
            case EvidenceFiled():
                return "that came too late to be accepted: filed as evidence"
            case Surfaced():
                return "evidence that its effect is live: it is undone (again)"
            case DeadlineAnnounced():
                return "its deadline has passed; past the point of no return the task only goes on"
            case _:
                assert_never(fact)

    def _submitted(self, fact: TaskSubmitted) -> str:
        deadline = f", deadline {moment(fact.deadline)}" if fact.deadline else ""
        tags = "".join(f", {name}={value}" for name, value in fact.tags.items())
        return f"submitted: plan {self._plan.name}, input {shown(fact.input)}{deadline}{tags}"

    def _act(self, fact: Act) -> str:
        step = getattr(fact, "step", -1)
        what = [type(fact).__name__.removesuffix("Asked").lower()]
        if step >= 0:
            what.append(self._plan.steps[step].name)
        if isinstance(fact, ResolveAsked):
            what.append(fact.verdict.value)
        if isinstance(fact, SkipAsked | ResolveAsked) and fact.result is not None:
            what.append(f"with the result {shown(fact.result)}")
        return f"orders: {' '.join(what)}{_after(fact.why)}"


def _teller_of(fact: AnyFact, said: AnyFact | None) -> str:
    """The scheduler starts what comes next and ends the task, whichever fact made it possible."""
    if isinstance(fact, TaskMoved) and fact.state in (TaskState.COMPLETED, TaskState.COMPENSATED):
        return "scheduler"
    if isinstance(fact, Moved) and fact.phase in (Phase.PLANNED, Phase.UNDO_PLANNED):
        same = getattr(said, "step", None) == fact.step or isinstance(said, Inspected)
        return "" if same else "scheduler"
    return ""


def _echoes(said: AnyFact | None, move: Moved) -> bool:
    return getattr(said, "step", None) == move.step and move.phase in ECHOES.get(type(said), frozenset())


def _offered_next(rest: list[AnyFact], move: Moved) -> bool:
    """Whether the planned call is handed out in the same row."""
    return move.phase in PLANNED and any(isinstance(f, Offered) and f.step == move.step for f in rest)


def _reported(fact: Reported) -> str:
    words = REPLIES[fact.reply] + _after(fact.error) + _result(fact)
    if fact.retry_after:
        words += f"; not again before {span(fact.retry_after)} have passed"
    return words if fact.key_read else f"{words} (it ran without reading its key)"


def _result(fact: Reported | Probed) -> str:
    """What a do, or a probe that found it, brought."""
    done = isinstance(fact, Reported) and fact.kind is Kind.DO and fact.reply is Reply.DONE
    there = isinstance(fact, Probed) and fact.answer is Answer.THERE
    return f" {shown(fact.result)}" if done or there else ""


def _after(words: str) -> str:
    return f": {words}" if words else ""
