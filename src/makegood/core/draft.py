"""A decision in progress: a private copy of a head, and the moves that may be made on it.

Nothing here decides. A draft is thrown away or committed whole.
"""

from copy import copy

from makegood.core.events import AnyFact, Moved, Offered, TaskMoved
from makegood.core.keys import derive_key
from makegood.core.legal import LEGAL, LEGAL_STATES, IllegalMove
from makegood.core.plan import Millis, Plan, StepPlan
from makegood.core.record import (
    ENDED,
    KIND_OF,
    OFFER_OF,
    OFFERED,
    OPEN,
    PHASE_OF,
    PLAN_OF,
    PLANNED,
    Direction,
    Head,
    Kind,
    Open,
    Phase,
    TaskState,
)


class Draft:
    """The head being decided, the moment it is decided at, and the facts that go into its next row.

    `head` is live: it is the record as decided so far.
    """

    __slots__ = ("facts", "head", "marks", "now", "plan", "task_id", "touched")

    def __init__(self, plan: Plan, task_id: str, head: Head, now: Millis) -> None:
        self.plan = plan
        self.task_id = task_id
        self.now = now
        self.head = copy(head)
        self.head.open = head.open.copy()
        self.head.marks = self.marks = bytearray(head.marks)
        self.touched: set[int] = set()
        self.facts: list[AnyFact] = []

    # --- reading

    def phase(self, step: int) -> Phase:
        return PHASE_OF[self.marks[step]]

    def step(self, step: int) -> StepPlan:
        return self.plan.steps[step]

    def round(self, step: int, kind: Kind) -> int:
        rounds = self.head.undo_rounds if kind is Kind.UNDO else self.head.rounds
        return rounds.get(step, 1)

    @property
    def forward(self) -> bool:
        return self.head.direction is Direction.FORWARD

    # --- moving

    def touch(self, step: int) -> Open:
        """The open step, copied once so that the committed head stays as it is."""
        if step not in self.touched:
            self.touched.add(step)
            self.head.open[step] = copy(self.head.open[step]) if step in self.head.open else Open()
        return self.head.open[step]

    def shift(self, step: int, to: Phase, due: Millis) -> Open:
        """Put a step into a phase if the table allows it; the caller records why. Raises IllegalMove."""
        phase = self.marks[step]
        if (phase, to) not in LEGAL:
            raise IllegalMove(f"step {self.step(step).name}: {Phase(phase).name} -> {to.name}")
        opened = self.touch(step)
        self.marks[step] = to
        opened.since, opened.due, opened.handed_back = self.now, due, False
        if to not in OPEN:
            del self.head.open[step]
            self.touched.discard(step)
        return opened

    def move(self, step: int, to: Phase, due: Millis = 0) -> Open:
        """Move a step and record it; `due` is when it next needs someone. Raises IllegalMove."""
        opened = self.shift(step, to, due)
        self.facts.append(Moved(step, to, due))
        return opened

    def task(self, to: TaskState, reason: str = "") -> None:
        """Move the task. Raises IllegalMove."""
        if (self.head.state, to) not in LEGAL_STATES:
            raise IllegalMove(f"task: {self.head.state.name} -> {to.name}")
        self.head.state, self.head.alerted = to, False
        self.head.paused = self.head.paused and to not in ENDED
        self.facts.append(TaskMoved(to, reason))

    def new_round(self, step: int, kind: Kind) -> None:
        """The next call is a new intended effect with a key of its own; the old one's fate is certain."""
        rounds = self.head.undo_rounds if kind is Kind.UNDO else self.head.rounds
        numbers = dict(rounds)
        numbers[step] = numbers.get(step, 1) + 1
        opened = self.touch(step)
        if kind is Kind.UNDO:
            self.head.undo_rounds = numbers
            opened.attempt = 0  # a doubled report of the undo before must not answer for this one
        else:
            self.head.rounds = numbers
        opened.key, opened.first_at, opened.landing = "", 0, 0
        if opened.fate != Phase.UNKNOWN or self.step(step).probe:
            opened.key_until = 0  # else the do's: that key is all that this undo finds its effect by
        opened.doubt = opened.unkeyed = opened.surfaced = False

    def offer(self, step: int) -> None:
        """Hand out the planned call under a new attempt number."""
        planned = self.phase(step)
        kind = KIND_OF[planned]
        opened = self.shift(step, OFFER_OF[planned], self.now)
        bound = self.step(step).deadline
        if bound and kind is Kind.DO and not opened.deadline:
            opened.deadline = self.now + bound
        key = self._key(step, kind, opened)
        self.head.attempt += 1
        opened.attempt, opened.owner = self.head.attempt, ""
        self.facts.append(Offered(step, kind, opened.attempt, self.round(step, kind), key))

    def _key(self, step: int, kind: Kind, opened: Open) -> str:
        """The key to record with this offer: only a round's first do or undo derives one."""
        if opened.key or kind is Kind.PROBE:
            return ""
        plan = self.step(step)
        opened.key = derive_key(self.task_id, plan.name, kind, self.round(step, kind), plan.key)
        return opened.key

    def withdraw_offers(self) -> None:
        """Take back every unclaimed offer: a claim of it will be refused by its phase."""
        for step in [s for s in self.head.open if self.marks[s] in OFFERED]:
            self.move(step, PLAN_OF[self.phase(step)], self.now)

    def planned_and_due(self) -> list[int]:
        return [s for s, o in self.head.open.items() if self.marks[s] in PLANNED and o.due <= self.now]
