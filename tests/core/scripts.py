"""A task on the bench: tests tell it facts one after the other and look at what the core makes of them."""

from typing import Any

import msgspec

from makegood.core import machine, remedy
from makegood.core.draft import Draft
from makegood.core.events import (
    NULL,
    Answer,
    AnyFact,
    CancelAsked,
    Claimed,
    Driven,
    Event,
    Inspected,
    Moved,
    Offered,
    Probed,
    Reply,
    Reported,
    TaskSubmitted,
)
from makegood.core.plan import Millis
from makegood.core.record import (
    CALL_OF,
    KIND_OF,
    OFFER_OF,
    OFFERED,
    PLANNED,
    Head,
    Kind,
    Open,
    Phase,
    TaskState,
    decode_head,
    encode_head,
)
from makegood.testing.shorthand import step
from tests.core.plans import plan_of

START: Millis = 1_000_000_000
SEVEN = msgspec.Raw(b"7")
MOVES: set[tuple[int, int]] = set()
"""Every move that a task on any bench has made."""


class Bench:
    """One task. Steps are named; a call is handed out and claimed in one go; every change is stored."""

    def __init__(
        self, body: dict[str, Any], *, deadline: Millis = 0, start_at: Millis = 0, output: Any = None
    ) -> None:
        self.plan = plan_of(body, output=output)
        self.now = START
        given = TaskSubmitted(NULL, deadline and START + deadline, start_at=start_at and START + start_at)
        draft = machine.submit(self.plan, "t", given, START)
        self.facts: list[AnyFact] = []
        self._stored = b""
        self._marks = bytearray(len(self.plan.steps))
        self._keep(draft)

    # --- reading

    @property
    def head(self) -> Head:
        return decode_head(self._stored)

    @property
    def state(self) -> TaskState:
        return self.head.state

    @property
    def due(self) -> Millis | None:
        """From now; None if nobody is waited for."""
        moment = machine.due(self.plan, self.head)
        return None if moment is None else moment - self.now

    def phase(self, name: str) -> Phase:
        return Phase(self.head.marks[self.plan.index_of[name]])

    def opened(self, name: str) -> Open:
        return self.head.open[self.plan.index_of[name]]

    def offers(self) -> list[Offered]:
        """What the last change handed out."""
        return [fact for fact in self.facts if isinstance(fact, Offered)]

    # --- telling

    def tell(self, *events: Event) -> list[bool]:
        """Fold facts in one change, and store it. Raises what the core raises, with nothing stored."""
        draft = Draft(self.plan, "t", self.head, self.now)
        news = [machine.fold(draft, event) for event in events]
        self._keep(draft)
        return news

    def _keep(self, draft: Draft) -> None:
        machine.due(self.plan, draft.head)
        self._stored, self.facts = encode_head(draft.head), draft.facts
        for fact in draft.facts:
            phase = None
            if isinstance(fact, Moved):
                phase = fact.phase
            elif isinstance(fact, Offered):
                phase = OFFER_OF[Phase(self._marks[fact.step])]
            elif isinstance(fact, Claimed):
                phase = CALL_OF[Phase(self._marks[fact.step])]
            if phase is not None and isinstance(fact, Moved | Offered | Claimed):
                MOVES.add((self._marks[fact.step], int(phase)))
                self._marks[fact.step] = phase

    def wait(self, millis: Millis) -> "Bench":
        self.now += millis
        return self

    def look(self, *, waited: bool = True, jitter: int = 0) -> bool:
        """A Supervisor looks; `waited`: it has itself seen every wait-out pass."""
        seen = tuple(self.head.open) if waited else ()
        return self.tell(Inspected(jitter, seen))[0]

    def wants_look(self) -> bool:
        return remedy.wants_inspection(self.head, self.now)

    def wait_out(self) -> "Bench":
        """Wait until the next moment that is due, and have the Supervisor look."""
        assert self.due is not None
        self.wait(max(0, self.due)).look()
        return self

    def call(self, *names: str) -> "Bench":
        """Hand out what is planned, when it is due, and claim these steps' calls."""
        while any(self.phase(name) in PLANNED for name in names):
            ahead = [self.opened(name).due for name in names if self.phase(name) in PLANNED]
            self.now = max(self.now, *ahead)
            assert self.tell(Driven()) == [True]
        for name in names:
            assert self.phase(name) in OFFERED, self.phase(name).name
            assert self.tell(Claimed(self.plan.index_of[name], self.opened(name).attempt, "an agent")) == [
                True
            ]
        return self

    def report(self, name: str, reply: Reply, attempt: int = 0, **more: Any) -> bool:
        """The running do or undo of a step reports (or an earlier one does, by its number)."""
        kind = KIND_OF[self.phase(name)]
        number = attempt or self.opened(name).attempt
        return self.tell(Reported(self.plan.index_of[name], number, kind, reply, **more))[0]

    def answer(self, name: str, answer: Answer, result: msgspec.Raw = NULL) -> bool:
        """The running probe of a step answers."""
        return self.tell(Probed(self.plan.index_of[name], self.opened(name).attempt, answer, result))[0]

    # --- whole ways

    def done(self, *names: str) -> "Bench":
        """Call each step, or its undo, and have it reported done."""
        for name in names:
            self.call(name).report(name, Reply.DONE, result=SEVEN)
        return self

    def ends(self, name: str, reply: Reply, **more: Any) -> "Bench":
        """Call a step, or its undo, have it end so, and the Supervisor look at it."""
        self.call(name).report(name, reply, **more)
        self.look()
        return self

    def probed(self, name: str, answer: Answer) -> "Bench":
        """Call a step's probe, have it answer so, and the Supervisor look at it."""
        self.call(name).answer(name, answer, SEVEN if answer is Answer.THERE else NULL)
        self.look()
        return self

    def late(self, name: str, attempt: int, reply: Reply = Reply.DONE, **more: Any) -> bool:
        """The report of a do comes too late."""
        step = self.plan.index_of[name]
        return self.tell(Reported(step, attempt, Kind.DO, reply, SEVEN, **more))[0]


def undone_in_doubt(*given: dict[str, Any]) -> Bench:
    """The undo of a step is planned, and nobody knows whether there is anything to undo."""
    bench = Bench(step("a", *given)).call("a")
    bench.tell(CancelAsked("ann"))
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait_out()
    if bench.phase("a") is Phase.PROBE_PLANNED:
        bench.probed("a", Answer.CANNOT_TELL).probed("a", Answer.CANNOT_TELL)
    return bench
