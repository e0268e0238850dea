"""What is tried: a plan, struck at its calls, singly and in pairs, on its way forward and on its way back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Final, TypeAlias

from makegood.core.plan import Plan, StepPlan
from makegood.core.record import Kind
from makegood.errors import PlanError
from makegood.reading.words import span
from makegood.testing.simulation.faults import CallFault

FAULTS: Final = {
    CallFault.REFUSED: "refused",
    CallFault.BUSY: "transient",
    CallFault.NO_ANSWER: "times out, happened",
    CallFault.REQUEST_LOST: "times out, did not happen",
    CallFault.LATE: "times out, happens late",
    CallFault.DIE_BEFORE: "crash before",
    CallFault.DIE_AFTER: "crash after",
}
"""What strikes a call, in words."""
WRITTEN: Final = {
    CallFault.NO_ANSWER: "lost_answer",
    CallFault.REQUEST_LOST: "lost_request",
    CallFault.LATE: "happens_late",
    CallFault.DIE_BEFORE: "crash_before",
    CallFault.DIE_AFTER: "crash_after",
}
"""The functions by which a test says what is to strike."""
UNANSWERED: Final = {CallFault.BUSY: "transient", CallFault.REQUEST_LOST: "times out"}
"""What strikes a probe, in words: it learns nothing, and must not say that nothing is there."""
IN_DOUBT: Final = (CallFault.NO_ANSWER, CallFault.REQUEST_LOST, CallFault.LATE)
"""What also strikes a call during which somebody cancels: nobody knows what is to be undone."""
MONTH: Final = 30 * 86400.0
"""How many seconds nobody is up, where a service is declared to know its keys for ever."""
IN_TIME: Final = 60.0
"""Seconds that are left of a key's declared life when somebody is up again: enough to call once more."""

Calls: TypeAlias = Mapping[tuple[str, Kind], int]
"""How many calls to services one try of each step's do and undo makes, with nothing in the way."""


def place(step: str, kind: Kind, nth: int = 1) -> str:
    """A call in words: `reserve_hotel`, `undo of reserve_hotel`, `reserve_hotel (call 2)`."""
    name = step if kind is Kind.DO else f"{kind.name.lower()} of {step}"
    return name if nth == 1 else f"{name} (call {nth})"


@dataclass(frozen=True)
class Strike:
    """A fault at the `nth` call to a service (from 1) for a step's do, undo or probe, counted in one run.

    `down`: how many seconds nobody is up, if the process dies of it.
    """

    step: str
    fault: CallFault
    kind: Kind = Kind.DO
    nth: int = 1
    down: float = 0.0

    @property
    def call(self) -> tuple[str, Kind, int]:
        """The call it strikes."""
        return self.step, self.kind, self.nth

    @property
    def written(self) -> str:
        """As a test writes it."""
        if self.fault not in WRITTEN:
            return f"{self!r}"
        kinds = ("undo", self.kind is Kind.UNDO, False), ("probe", self.kind is Kind.PROBE, False)
        options = *kinds, ("nth", self.nth, 1), ("down", self.down, 0)
        more = "".join(f", {name}={value}" for name, value, usual in options if value != usual)
        return f"{WRITTEN[self.fault]}({self.step!r}{more})"

    @property
    def what(self) -> str:
        """The fault in words."""
        words = FAULTS | UNANSWERED if self.kind is Kind.PROBE else FAULTS
        return words[self.fault] + (f", down for {span(int(self.down * 1000))}" if self.down else "")

    def __str__(self) -> str:
        return f"{self.what} at {place(*self.call)}"


@dataclass(frozen=True)
class Case:
    """One run: what strikes it, and during which step's call somebody cancels it ("": nobody does)."""

    strikes: tuple[Strike, ...] = ()
    cancel_at: str = ""

    def __str__(self) -> str:
        cancelled = [f"cancelled during {self.cancel_at}"] if self.cancel_at else []
        return "; ".join([*cancelled, *map(str, self.strikes)]) or "with no trouble at all"


def check(case: Case, plan: Plan) -> None:
    """Raises PlanError for a strike or a cancel that can come in no run of the plan."""
    for strike in case.strikes:
        step = _step_for(strike.step, plan, strike.written)
        if strike.kind is Kind.UNDO and step.undo is None:
            undone = ", ".join(step.name for step in plan.steps if step.undo is not None) or "none"
            raise PlanError(f"{strike.written}: this step has no undo; the steps that have one are: {undone}")
        if strike.kind is Kind.PROBE and step.probe is None:
            asked = ", ".join(step.name for step in plan.steps if step.probe is not None) or "none"
            raise PlanError(f"{strike.written}: this step has no probe; the steps that have one are: {asked}")
        if strike.nth < 1:
            raise PlanError(f"{strike.written}: calls are counted from 1; say nth=1 for the first")
    if len({strike.call for strike in case.strikes}) < len(case.strikes):
        raise PlanError("two strikes are at one and the same call; say nth=2 for the one at its second call")
    if case.cancel_at:
        _step_for(case.cancel_at, plan, f"cancel_at={case.cancel_at!r}")


def _step_for(name: str, plan: Plan, said: str) -> StepPlan:
    if name not in plan.index_of:
        steps = ", ".join(step.name for step in plan.steps)
        raise PlanError(f"{said}: plan {plan.name} has no step {name!r}; its steps are: {steps}")
    return plan.steps[plan.index_of[name]]


def crash_before(step: str, *, undo: bool = False, nth: int = 1, down: float = 0.0) -> Strike:
    """The process dies before a call of this step is sent; for `down` seconds nobody is up."""
    return Strike(step, CallFault.DIE_BEFORE, Kind.UNDO if undo else Kind.DO, nth, down)


def crash_after(step: str, *, undo: bool = False, nth: int = 1, down: float = 0.0) -> Strike:
    """The process dies when the service has acted on a call of this step, before it hears so; for `down`
    seconds nobody is up."""
    return Strike(step, CallFault.DIE_AFTER, Kind.UNDO if undo else Kind.DO, nth, down)


def lost_answer(step: str, *, undo: bool = False, nth: int = 1) -> Strike:
    """The service acts on a call of this step, and its answer never arrives."""
    return Strike(step, CallFault.NO_ANSWER, Kind.UNDO if undo else Kind.DO, nth)


def lost_request(step: str, *, undo: bool = False, probe: bool = False, nth: int = 1) -> Strike:
    """A call of this step, or of its undo or its probe, never arrives, and no answer comes."""
    kind = Kind.PROBE if probe else Kind.UNDO if undo else Kind.DO
    return Strike(step, CallFault.REQUEST_LOST, kind, nth)


def happens_late(step: str, *, undo: bool = False, nth: int = 1) -> Strike:
    """A call of this step is acted on as late as it may be, long after its caller gave up."""
    return Strike(step, CallFault.LATE, Kind.UNDO if undo else Kind.DO, nth)


def turning_point(plan: Plan) -> str:
    """The last step during whose call a cancel still turns the task so that there is something to undo."""
    before = plan.steps if plan.pivot is None else plan.steps[: plan.pivot]
    return next((step.name for step in reversed(before) if step.undo is not None), "")


def undisturbed(plan: Plan) -> list[Case]:
    """The runs without a fault."""
    turn = turning_point(plan)
    return [Case(), Case(cancel_at=turn)] if turn else [Case()]


def cases(plan: Plan, calls: Calls, *, pairs: bool) -> Iterator[Case]:
    """Runs with one fault first, then those with two; every call of a try is struck."""
    turn = turning_point(plan)
    undone = _undone(plan, turn)
    forward = [strike for step in plan.steps for strike in _strikes(step.name, Kind.DO, calls)]
    backward = [strike for name in undone for strike in _strikes(name, Kind.UNDO, calls)]
    yield from (Case((strike,)) for strike in forward)
    yield from (Case((strike,)) for strike in _much_later(plan))
    for name in reversed(undone):
        in_doubt = (strike for strike in _strikes(name, Kind.DO, calls) if strike.fault in IN_DOUBT)
        yield from (Case((strike,), name) for strike in in_doubt)
    yield from (Case((strike,), turn) for strike in backward)
    yield from _asked_in_vain(plan, undone, turn)
    if pairs:
        yield from _pairs(forward, "", calls)
        yield from _pairs(backward, turn, calls)
        yield from (Case((one, other), turn) for one in forward for other in backward)


def _strikes(step: str, kind: Kind, calls: Calls) -> list[Strike]:
    """Every fault at every call."""
    times = max(1, calls.get((step, kind), 0))
    return [Strike(step, fault, kind, nth) for nth in range(1, times + 1) for fault in FAULTS]


def _much_later(plan: Plan) -> Iterator[Strike]:
    """A call whose answer is lost, repeated when its key is old, and by its declaration still known."""
    for step in plan.steps:
        if step.keyed and not step.reads:
            known = None if step.keyed_for is None else (step.keyed_for - step.life) / 1000
            down = MONTH if known is None else known - IN_TIME
            if down > 0:
                yield crash_after(step.name, down=down)


def _asked_in_vain(plan: Plan, undone: Sequence[str], turn: str) -> Iterator[Case]:
    """Calls in doubt about which the probe learns nothing."""
    for step in plan.steps:
        for fault in UNANSWERED if step.probe is not None else ():
            happened, asked = Strike(step.name, CallFault.NO_ANSWER), Strike(step.name, fault, Kind.PROBE)
            yield Case((happened, asked))
            if step.name in undone:
                yield Case((happened, asked), step.name)
                yield Case((Strike(step.name, CallFault.REQUEST_LOST, Kind.UNDO), asked), turn)


def _undone(plan: Plan, turn: str) -> list[str]:
    """The steps that are undone where the task turns, last first."""
    called = plan.steps[: plan.index_of[turn] + 1] if turn else ()
    return [step.name for step in reversed(called) if step.undo is not None]


def _pairs(strikes: Sequence[Strike], cancel_at: str, calls: Calls) -> Iterator[Case]:
    """Two calls of different steps; or one and any of the next that are made for the same, try after try."""
    for one, other in combinations(strikes, 2):
        if one.step != other.step:
            yield Case((one, other), cancel_at)
    for one in strikes:
        times = max(1, calls.get((one.step, one.kind), 0))
        for nth, fault in product(range(one.nth + 1, one.nth + times + 1), FAULTS):
            yield Case((one, replace(one, fault=fault, nth=nth)), cancel_at)
