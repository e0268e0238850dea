"""A task's history in words: one line for each fact that says something new: when, who, what, why."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, TypeGuard, assert_never

import msgspec

from makegood.core.events import (
    NULL,
    Act,
    Alerted,
    Answer,
    AnyFact,
    CancelAsked,
    Claimed,
    DeadlineAnnounced,
    Driven,
    EvidenceFiled,
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
    Surfaced,
    TaskMoved,
    TaskSubmitted,
    TurnPending,
    Verdict,
    WaitedOut,
)
from makegood.core.plan import Millis, Plan
from makegood.core.record import ASKS_A_PERSON, PLANNED, WAITING_OUT, Kind, Phase
from makegood.reading.facts import author_of, by_scheduler, starts
from makegood.reading.payloads import text_of
from makegood.reading.phrases import AGAIN, ANSWERS, MOVED, REPLIES
from makegood.reading.prolonged import Waits
from makegood.reading.words import CORRECTED, VERDICTS, because, one_line, reason_said, span, state_name

ECHOES: Final[Mapping[type, frozenset[Phase]]] = {
    Reported: frozenset(
        (Phase.DONE, Phase.SPOILED, Phase.REPORTED, Phase.UNRESOLVED, Phase.UNDO_REPORTED, Phase.UNDONE)
    ),
    Probed: frozenset((Phase.DONE, Phase.REPORTED, Phase.UNDO_REPORTED, Phase.UNDONE)),
    HandedBack: PLANNED,
    SkipAsked: frozenset((Phase.SKIPPED,)),
    ResolveAsked: frozenset(
        (Phase.DONE, Phase.REPORTED, Phase.UNDONE, Phase.LEFT, Phase.KEPT, *ASKS_A_PERSON)
    ),
}
"""Where a step goes by the very word of a fact: the move says nothing new."""


StepFact: TypeAlias = (
    Claimed | Reported | Probed | HandedBack | Hastened | LeaseRenewed | Offered | Moved | DeadlineAnnounced
) | (WaitedOut | EvidenceFiled | Surfaced)


class Line(msgspec.Struct, frozen=True):
    """One line of the story."""

    at: Millis
    who: str
    what: str


def story(plan: Plan, rows: Iterable[tuple[int, Row]]) -> list[Line]:
    """The history in words, oldest first."""
    return Teller(plan).tell(list(rows))


class Teller:
    """Tells a task's rows as they come, and nothing but orders twice in a row; remembers what was told."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._kinds: dict[int, Kind] = {}
        self._keys: dict[tuple[int, Kind], str] = {}
        self._calls: Counter[tuple[int, Kind]] = Counter()
        self._unsent: set[int] = set()
        self._renewed: set[tuple[int, bool]] = set()
        self._phases: dict[int, Phase] = {}
        self._waits = Waits(plan)
        self._process = ""
        self._last = ("", "")

    def tell(self, rows: Sequence[tuple[int, Row]]) -> list[Line]:
        """The lines of the next rows. A call of which these rows say that it was never sent is not told as
        made."""
        facts = [fact for _, row in rows for fact in row.facts]
        self._unsent |= {fact.attempt for fact in facts if _never_sent(fact)}
        return [line for _, row in rows for line in self._tell_row(row)]

    def _tell_row(self, row: Row) -> Iterator[Line]:
        """What only follows from a fact is told under that fact's author."""
        author, said = "", None
        for n, fact in enumerate(row.facts):
            own = author_of(self._plan, fact)
            author, said = (own, fact) if own else (author, said)
            who = "scheduler" if by_scheduler(fact, said) else author
            what = "" if self._goes_without_saying(row, n, said) else one_line(self._words(row, fact))
            self._remember(fact, told=bool(what))
            if what and (isinstance(fact, Act) or (who, what) != self._last):
                self._last = (who, what)
                yield Line(row.at, who, what)
        for step, until in self._waits.prolonged(row):
            yield Line(row.at, author, self._longer(row, step, until))

    def _goes_without_saying(self, row: Row, n: int, said: AnyFact | None) -> bool:
        """Whether another fact of the history says it already, or better."""
        fact, rest = row.facts[n], row.facts[n:]
        match fact:
            case Moved():
                back = isinstance(said, ResolveAsked) and self._taken_back(fact)
                return back or _echoes(said, fact) or _offered_next(rest, fact) or _is_next(row, fact, said)
            case Offered():
                claimed = any(isinstance(f, Claimed) and f.attempt == fact.attempt for f in rest)
                return claimed or fact.attempt in self._unsent
            case Claimed():
                return fact.attempt in self._unsent
            case LeaseRenewed():
                return fact.attempt in self._unsent or (fact.attempt, fact.overrun) in self._renewed
            case _:
                return False

    def _taken_back(self, move: Moved) -> bool:
        """Whether a call that was handed out, which is no phase here, is taken back: a person has spoken."""
        return move.phase in PLANNED and self._phases.get(move.step) is move.phase

    def _remember(self, fact: AnyFact, *, told: bool) -> None:
        match fact:
            case Offered():
                self._kinds[fact.attempt] = fact.kind
                if fact.key and not told:
                    self._keys[fact.step, fact.kind] = fact.key
            case Claimed() if fact.attempt not in self._unsent:
                self._calls[fact.step, self._kind(fact)] += 1
                self._process = fact.owner
            case LeaseRenewed():
                self._renewed.add((fact.attempt, fact.overrun))
            case Moved():
                self._phases[fact.step] = fact.phase
            case _:
                pass

    # --- words

    def _words(self, row: Row, fact: AnyFact) -> str:
        match fact:
            case Driven() | Inspected():
                return ""  # what they led to follows
            case TaskSubmitted():
                return self._submitted(row, fact)
            case CancelAsked() | PauseAsked() | ResumeAsked() | RetryAsked() | SkipAsked():
                return self._order(fact)
            case ResolveAsked():
                return self._verdict(fact)
            case TaskMoved():
                return f"the task is {state_name(fact.state)}{because(reason_said(fact.reason))}"
            case Restored():
                return f"a backup was put back; what had been done since is not on record{because(fact.why)}"
            case Alerted():
                return f"people were told that it is parked ({fact.hook})"
            case TurnPending():
                return (
                    f"to be undone, unless its point of no return happened{because(reason_said(fact.reason))}"
                )
            case DeadlineAnnounced(step=-1):
                return "the task's deadline has passed; past its point of no return it only goes on"
            case _:
                return f"{self._subject(fact)}: {self._of_step(row, fact)}"

    def _kind(self, fact: StepFact) -> Kind:
        if isinstance(fact, Offered | Reported):
            return fact.kind
        return self._kinds.get(getattr(fact, "attempt", 0), Kind.DO)

    def _subject(self, fact: StepFact) -> str:
        """`reserve_flight`, `undo of reserve_flight` or `probe of reserve_flight`."""
        name, kind = self._plan.steps[fact.step].name, self._kind(fact)
        return name if kind is Kind.DO else f"{kind.name.lower()} of {name}"

    def _of_step(self, row: Row, fact: StepFact) -> str:
        match fact:
            case Offered():
                return f"handed out{self._key(fact)}"
            case Claimed():
                return self._called(fact)
            case Reported():
                return _reported(self._plan, fact)
            case Probed():
                return ANSWERS[fact.answer] + because(fact.error) + _result(self._plan, fact)
            case HandedBack():
                return f"claimed, then handed back unsent, no retry counted{because(fact.why)}"
            case Hastened():
                return f"tried again at once: process {row.process} has come since"
            case LeaseRenewed(overrun=True):
                return "past its timeout, and its thread cannot be stopped: nobody else acts while it runs"
            case LeaseRenewed():
                return "still under way"
            case Moved():
                return self._moved(row, fact)
            case WaitedOut():
                return "no call of it can still reach the service"
            case EvidenceFiled():
                return "that came too late to be accepted: filed as evidence"
            case Surfaced():
                return "evidence that its effect is live: it is undone (again)"
            case DeadlineAnnounced():
                return "its deadline has passed; past the point of no return the task only goes on"
            case _:
                assert_never(fact)

    def _called(self, fact: Claimed) -> str:
        """The process is told where it is another than before."""
        lane = fact.step, self._kind(fact)
        again = f" again, try {self._calls[lane] + 1}" if self._calls[lane] else ""
        process = f", by process {fact.owner}" if fact.owner != self._process else ""
        return f"called{again}{self._key(fact)}{process}"

    def _key(self, fact: Offered | Claimed) -> str:
        """The key of a round, told with its first call that is told."""
        known = self._keys.pop((fact.step, self._kind(fact)), "")
        key = known if isinstance(fact, Claimed) else fact.key or known
        return f", key {key}" if key else ""

    def _moved(self, row: Row, fact: Moved) -> str:
        step, phase, wait = fact.step, fact.phase, fact.until - row.at
        if phase in ASKS_A_PERSON and self._phases.get(step) is phase:
            return "no call can still reach the service: a person is asked"
        again = {Phase.PLANNED: Kind.DO, Phase.UNDO_PLANNED: Kind.UNDO}.get(phase)
        words = AGAIN[phase] if again is not None and self._calls[step, again] else MOVED[phase]
        if wait <= 0:
            return words
        if phase in ASKS_A_PERSON:
            return f"{words}; a call may still arrive for at least {span(wait)}"
        return f"{words}, {'for at least' if phase in WAITING_OUT else 'in'} {span(wait)}"

    def _longer(self, row: Row, step: int, until: Millis) -> str:
        name = self._plan.steps[step].name
        return f"{name}: waited out for longer, for at least {span(until - row.at)} from here"

    def _submitted(self, row: Row, fact: TaskSubmitted) -> str:
        deadline = f", deadline in {span(fact.deadline - row.at)}" if fact.deadline else ""
        start = f", starts in {span(fact.start_at - row.at)}" if fact.start_at > row.at else ""
        tags = "".join(f", {name}={value}" for name, value in fact.tags.items())
        given = text_of(self._plan, "input", fact.input)
        return f"submitted: plan {self._plan.name}, input {given}{start}{deadline}{tags}"

    def _order(self, fact: Act) -> str:
        step = getattr(fact, "step", -1)
        name = f" {self._plan.steps[step].name}" if step >= 0 else ""
        given = _given(self._plan, fact) if isinstance(fact, SkipAsked) else ""
        return f"orders: {type(fact).__name__.removesuffix('Asked').lower()}{name}{given}{because(fact.why)}"

    def _verdict(self, fact: ResolveAsked) -> str:
        name, verdict = self._plan.steps[fact.step].name, fact.verdict.value
        given = _given(self._plan, fact)
        if fact.verdict is Verdict.DONE and self._phases.get(fact.step) in CORRECTED:
            return f"corrects {name}{given}{because(fact.why)}"
        return f"resolves {name} as {verdict}: {VERDICTS[verdict]}{given}{because(fact.why)}"


def _given(plan: Plan, fact: SkipAsked | ResolveAsked) -> str:
    if fact.result is None:
        return ""
    return f", with the result {text_of(plan, plan.steps[fact.step].name, fact.result)}"


def _never_sent(fact: AnyFact) -> TypeGuard[HandedBack | Reported]:
    return isinstance(fact, HandedBack) or (isinstance(fact, Reported) and fact.reply is Reply.UNRESOLVED)


def _is_next(row: Row, move: Moved, said: AnyFact | None) -> bool:
    return starts(move, said) and move.until <= row.at


def _echoes(said: AnyFact | None, move: Moved) -> bool:
    return getattr(said, "step", None) == move.step and move.phase in ECHOES.get(type(said), frozenset())


def _offered_next(rest: list[AnyFact], move: Moved) -> bool:
    """Whether the planned call is handed out in the same row."""
    return move.phase in PLANNED and any(isinstance(f, Offered) and f.step == move.step for f in rest)


def _reported(plan: Plan, fact: Reported) -> str:
    words = REPLIES[fact.reply] + because(fact.error) + _result(plan, fact)
    if fact.retry_after:
        words += f"; not again before {span(fact.retry_after)} have passed"
    return words if fact.key_read else f"{words} (it ran without reading its key)"


def _result(plan: Plan, fact: Reported | Probed) -> str:
    """What a do, or a probe that found it, brought; null says no more than the words before."""
    done = isinstance(fact, Reported) and fact.kind is Kind.DO and fact.reply is Reply.DONE
    there = isinstance(fact, Probed) and fact.answer is Answer.THERE
    if not (done or there) or fact.result == NULL:
        return ""
    return f" {text_of(plan, plan.steps[fact.step].name, fact.result)}"
