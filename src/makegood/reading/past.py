"""What a task's history tells of its steps: keys, calls, errors, who settled what.

What is open lies in the head. Every fact is a simple assignment here; nothing is decided again.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from makegood.core.events import (
    Answer,
    AnyFact,
    Claimed,
    DeadlineAnnounced,
    EvidenceFiled,
    HandedBack,
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
    Verdict,
)
from makegood.core.plan import Millis, Plan, StepPlan
from makegood.core.record import (
    BY_KEY,
    CALL_OF,
    CALLED,
    FORWARD_OPEN,
    KIND_OF,
    OFFER_OF,
    PLANNED,
    REPORTED,
    UNDO_OPEN,
    Kind,
    Phase,
)
from makegood.core.values import Values
from makegood.reading.words import BACK

Heard: TypeAlias = Reported | Probed | HandedBack
"""An agent's word about its call."""

SILENT = "its agent fell silent"
NO_ANSWER = "the probe brought no answer"
KEY_DIED = "its service may have forgotten its key"

FATES = frozenset(
    (Phase.DONE, Phase.SPOILED, Phase.REFUSED, Phase.ABSENT, Phase.UNKNOWN, Phase.UNRESOLVED, Phase.DOUBT)
)
"""How a forward lane can end, for good or for now."""
UNDO_LANE = UNDO_OPEN | {Phase.UNDO_STUCK, Phase.LEFT, Phase.UNDONE, Phase.UNDONE_BLIND}
CERTAINLY_NONE = frozenset((Reply.REFUSED, Reply.TRANSIENT, Reply.UNRESOLVED))
"""An agent's word that its call had no effect."""
DEFINITE = frozenset((Reply.DONE, Reply.SPOILED, Reply.REFUSED, Answer.THERE, Answer.ABSENT))
"""An agent's word that replaces the one a person gave before."""
LEFT = Verdict.LEFT.value


class Lane(msgspec.Struct):
    """One way of one step: doing it (with the probes about that) or undoing it (with the checks).

    `complete_by` is the end of the lane's last call, `error` what the last that failed said, `asked` what the
    last probe about it said, `key` that of `round` and `keys` those of all rounds; `unread` why its agent
    handed the last call back, to be offered again after a while. `called`: a call of it was sent, or may have
    been; `called_before` whether one before the last was.
    """

    key: str = ""
    keys: list[str] = msgspec.field(default_factory=list)
    round: int = 1
    attempt: int = 0
    called: bool = False
    called_before: bool = False
    complete_by: Millis = 0
    retries: int = 0
    error: str = ""
    asked: str = ""
    unread: str = ""


class Word(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What a person said of a step: as what it is settled (empty: skip it), by whom, and why."""

    settled_by: str
    settled_as: str = ""
    settled_why: str = ""


class StepPast(msgspec.Struct):
    """One step. `phase` follows the head's, `since` is when it went into it.

    `fate` is how the forward lane last ended (UNKNOWN while in doubt), `settled_as` what `settled_by` said of
    it (empty: skip it) and `settled_why` the reason given; `earlier_words` are those that another call, or an
    agent's word, came after; `evidence` the reports that came too late, with
    their moments.

    `surfaced` is the attempt whose effect came to light last (0: none, or it is undone since), `undone_late`
    are those that were undone after they came to light, one by one.

    `calls` are the rounds of the do-calls that were claimed and not handed back, by attempt; `accepted` is
    the attempt whose report made the step done (0: a probe or a person did); `unkeyed`: one ran without its
    key.
    """

    plan: StepPlan
    phase: Phase = Phase.IDLE
    since: Millis = 0
    fate: Phase = Phase.IDLE
    do: Lane = msgspec.field(default_factory=Lane)
    undo: Lane = msgspec.field(default_factory=Lane)
    settled_by: str = ""
    settled_as: str = ""
    settled_why: str = ""
    earlier_words: list[Word] = msgspec.field(default_factory=list)
    evidence: list[tuple[Millis, Reported]] = msgspec.field(default_factory=list)
    surfaced: int = 0
    undone_late: set[int] = msgspec.field(default_factory=set)
    calls: dict[int, int] = msgspec.field(default_factory=dict)
    accepted: int = 0
    unkeyed: bool = False

    @property
    def lane(self) -> Lane:
        """The lane the step is in."""
        return self.undo if self.phase in UNDO_LANE else self.do

    @property
    def attempt(self) -> int:
        """The last number any of its calls got."""
        return max(self.do.attempt, self.undo.attempt)

    def offered(self, at: Millis, fact: Offered) -> None:
        lane = self.lane
        lane.attempt = fact.attempt
        if fact.key:
            lane.key, lane.round = fact.key, fact.round
            lane.keys.append(fact.key)
        self.phase, self.since = OFFER_OF[self.phase], at

    def claimed(self, at: Millis) -> None:
        lane = self.lane
        lane.called_before, lane.called, lane.complete_by = lane.called, True, at + self.plan.timeout
        self.phase, self.since = CALL_OF[self.phase], at
        if self.phase is Phase.CALLED:
            self.calls[self.do.attempt] = self.do.round
        if self.phase is Phase.CALLED or (self.phase is Phase.UNDO_CALLED and self.settled_as == LEFT):
            self.outdate_word()

    def outdate_word(self) -> None:
        """What a person said of it holds no longer."""
        if self.settled_by:
            self.earlier_words.append(Word(self.settled_by, self.settled_as, self.settled_why))
            self.settled_by = self.settled_as = self.settled_why = ""

    def moved(self, to: Phase, at: Millis, heard: Heard | None) -> None:
        """`heard`: the agent's word from which the move followed."""
        before, self.phase, self.since = self.phase, to, at
        self._hear(before, to, heard)
        if to in FATES:
            self.fate = Phase.UNKNOWN if to is Phase.DOUBT else to
        if to in (Phase.UNDONE, Phase.UNDONE_BLIND) and self.surfaced:
            self.undone_late.add(self.surfaced)
            self.surfaced = 0
        if to in (Phase.DONE, Phase.SPOILED):
            self.accepted = heard.attempt if isinstance(heard, Reported) else 0
        if before in (Phase.REPORTED, Phase.UNDO_REPORTED) and to in (Phase.PLANNED, Phase.UNDO_PLANNED):
            self.lane.retries += 1
        elif to in PLANNED and before not in FORWARD_OPEN and before not in UNDO_OPEN:
            self.lane.retries = 0

    def _hear(self, before: Phase, to: Phase, heard: Heard | None) -> None:
        lane = self.undo if before in UNDO_LANE else self.do
        if before in CALLED:
            lane.unread = heard.why if isinstance(heard, HandedBack) and heard.wait else ""
        if isinstance(heard, HandedBack):
            self._back(lane, before, f"{BACK}{heard.why}")
            self.calls.pop(heard.attempt, None)
        elif isinstance(heard, Probed):
            lane.asked = heard.error
        elif heard is not None:
            lane.error = heard.error or lane.error
        elif before in (Phase.CALLED, Phase.UNDO_CALLED):
            lane.error = SILENT
        elif before in CALLED:
            lane.asked = NO_ANSWER
        elif to in REPORTED and before in BY_KEY:
            lane.error = KEY_DIED

    def _back(self, lane: Lane, before: Phase, why: str) -> None:
        """What the call itself said stays, where it was its probe that was handed back."""
        if KIND_OF[before] is Kind.PROBE:
            lane.asked = why
        else:
            lane.error, lane.called = why, lane.called_before


class Past:
    """The rows of a task, taken in one after the other.

    `moved_at` and `reason` are those of the task's last move; `paused` the order it stands paused by.
    """

    def __init__(self, plan: Plan, rows: Iterable[tuple[int, Row]] = ()) -> None:
        self.steps = [StepPast(step) for step in plan.steps]
        self.values = Values()
        self.tags: dict[str, str] = {}
        self.moved_at: Millis = 0
        self.reason = ""
        self.paused: tuple[Millis, PauseAsked] | None = None
        self.announced: list[tuple[Millis, int]] = []
        self._heard: Heard | None = None
        for _, row in rows:
            self.absorb(row.at, row.facts)

    def absorb(self, at: Millis, facts: Sequence[AnyFact]) -> None:
        """Take in the facts of the next row."""
        self.values.absorb(facts)
        for fact in facts:
            self._absorb_fact(at, fact)
        self._heard = None

    def _absorb_fact(self, at: Millis, fact: AnyFact) -> None:
        match fact:
            case Moved(step=step, phase=phase):
                self.steps[step].moved(phase, at, self._take_heard(step))
            case Offered(step=step):
                self.steps[step].offered(at, fact)
            case Claimed(step=step):
                self.steps[step].claimed(at)
            case Reported() | Probed() | HandedBack():
                self._hear(fact)
            case EvidenceFiled() | Surfaced():
                self._evidence(at, fact)
            case TaskMoved(reason=reason):
                self.moved_at, self.reason = at, reason
            case TaskSubmitted(tags=tags):
                self.moved_at, self.tags = at, tags
            case SkipAsked() | ResolveAsked():
                self._settled(fact)
            case RetryAsked():
                self._retry_asked(fact)
            case PauseAsked():
                self.paused = (at, fact)
            case ResumeAsked():
                self.paused = None
            case DeadlineAnnounced(step=step):
                self.announced.append((at, step))
            case _:
                pass

    def _hear(self, fact: Heard) -> None:
        self._heard, step = fact, self.steps[fact.step]
        word = getattr(fact, "reply", None) or getattr(fact, "answer", None)
        if word in DEFINITE:
            step.outdate_word()
        if isinstance(fact, Reported) and fact.kind is Kind.DO and fact.reply not in CERTAINLY_NONE:
            step.unkeyed |= not fact.key_read

    def _take_heard(self, step: int) -> Heard | None:
        heard, self._heard = self._heard, None
        return heard if heard is not None and heard.step == step else None

    def _evidence(self, at: Millis, fact: EvidenceFiled | Surfaced) -> None:
        step = self.steps[fact.step]
        if isinstance(fact, Surfaced):
            step.fate, step.surfaced = Phase.DONE, fact.attempt
        elif isinstance(self._heard, Reported):
            step.evidence.append((at, self._heard))
            self._heard = None

    def _retry_asked(self, fact: RetryAsked) -> None:
        for step in self.steps if fact.step < 0 else [self.steps[fact.step]]:
            if step.phase in PLANNED:
                step.lane.retries = 0

    def _settled(self, fact: SkipAsked | ResolveAsked) -> None:
        step = self.steps[fact.step]
        step.settled_by, step.settled_why = fact.by, fact.why
        step.settled_as = fact.verdict.value if isinstance(fact, ResolveAsked) else ""
        if step.phase is Phase.DOUBT and isinstance(fact, ResolveAsked) and fact.verdict is Verdict.ABSENT:
            step.fate = Phase.ABSENT
