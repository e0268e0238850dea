"""What is tried: a plan, struck at its calls, singly and in pairs, on its way forward and on its way back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Final

from makegood.core.plan import Plan, StepPlan
from makegood.core.record import Kind
from makegood.errors import PlanError
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
IN_DOUBT: Final = (CallFault.NO_ANSWER, CallFault.REQUEST_LOST, CallFault.LATE)
"""What also strikes a call during which somebody cancels: nobody knows what is to be undone."""


def place(step: str, kind: Kind, nth: int = 1) -> str:
    """A call in words: `reserve_hotel`, `undo of reserve_hotel`, `reserve_hotel (call 2)`."""
    name = step if kind is Kind.DO else f"{kind.name.lower()} of {step}"
    return name if nth == 1 else f"{name} (call {nth})"


@dataclass(frozen=True)
class Strike:
    """A fault at the `nth` call (from 1) of a step's do or undo, counted in one run."""

    step: str
    fault: CallFault
    kind: Kind = Kind.DO
    nth: int = 1

    def __str__(self) -> str:
        return f"{FAULTS[self.fault]} at {place(self.step, self.kind, self.nth)}"


@dataclass(frozen=True)
class Case:
    """One run: what strikes it, and during which step's call somebody cancels it ("": nobody does)."""

    strikes: tuple[Strike, ...] = ()
    cancel_at: str = ""


def check(case: Case, plan: Plan) -> None:
    """Raises PlanError for a strike or a cancel that can come in no run of the plan."""
    for strike in case.strikes:
        step = _step_for(strike.step, plan, f"{strike}")
        if strike.kind is Kind.UNDO and step.undo is None:
            undone = ", ".join(step.name for step in plan.steps if step.undo is not None) or "none"
            raise PlanError(f"{strike}: this step has no undo; the steps that have one are: {undone}")
        if strike.nth < 1:
            raise PlanError(f"{strike}: calls are counted from 1; say nth=1 for the first")
    if len({(strike.step, strike.kind, strike.nth) for strike in case.strikes}) < len(case.strikes):
        raise PlanError("two strikes are at one and the same call; say nth=2 for the one at its second call")
    if case.cancel_at:
        _step_for(case.cancel_at, plan, f"cancel_at={case.cancel_at!r}")


def _step_for(name: str, plan: Plan, said: str) -> StepPlan:
    if name not in plan.index_of:
        steps = ", ".join(step.name for step in plan.steps)
        raise PlanError(f"{said}: plan {plan.name} has no step {name!r}; its steps are: {steps}")
    return plan.steps[plan.index_of[name]]


def crash_before(step: str, *, undo: bool = False, nth: int = 1) -> Strike:
    """The process dies before a call of this step is sent."""
    return Strike(step, CallFault.DIE_BEFORE, Kind.UNDO if undo else Kind.DO, nth)


def crash_after(step: str, *, undo: bool = False, nth: int = 1) -> Strike:
    """The process dies when the service has acted on a call of this step, before it hears so."""
    return Strike(step, CallFault.DIE_AFTER, Kind.UNDO if undo else Kind.DO, nth)


def lost_answer(step: str, *, undo: bool = False, nth: int = 1) -> Strike:
    """The service acts on a call of this step, and its answer never arrives."""
    return Strike(step, CallFault.NO_ANSWER, Kind.UNDO if undo else Kind.DO, nth)


def lost_request(step: str, *, undo: bool = False, nth: int = 1) -> Strike:
    """A call of this step never arrives, and no answer comes."""
    return Strike(step, CallFault.REQUEST_LOST, Kind.UNDO if undo else Kind.DO, nth)


def happens_late(step: str, *, undo: bool = False, nth: int = 1) -> Strike:
    """A call of this step is acted on as late as it may be, long after its caller gave up."""
    return Strike(step, CallFault.LATE, Kind.UNDO if undo else Kind.DO, nth)


def turning_point(plan: Plan) -> str:
    """The last step during whose call a cancel still turns the task so that there is something to undo."""
    before = plan.steps if plan.pivot is None else plan.steps[: plan.pivot]
    return next((step.name for step in reversed(before) if step.undo is not None), "")


def cases(plan: Plan, *, pairs: bool) -> Iterator[Case]:
    """Runs without a fault first, then those with one, then those with two."""
    turn = turning_point(plan)
    forward = [Strike(step.name, fault) for step in plan.steps for fault in FAULTS]
    backward = [Strike(name, fault, Kind.UNDO) for name in _undone(plan, turn) for fault in FAULTS]
    yield Case()
    if turn:
        yield Case(cancel_at=turn)
    yield from (Case((strike,)) for strike in forward)
    for name in reversed(_undone(plan, turn)):
        yield from (Case((Strike(name, fault),), name) for fault in IN_DOUBT)
    yield from (Case((strike,), turn) for strike in backward)
    if pairs:
        yield from _pairs(forward, "")
        yield from _pairs(backward, turn)
        yield from (Case((one, other), turn) for one in forward for other in backward)


def _undone(plan: Plan, turn: str) -> list[str]:
    """The steps that are undone where the task turns, last first."""
    called = plan.steps[: plan.index_of[turn] + 1] if turn else ()
    return [step.name for step in reversed(called) if step.undo is not None]


def _pairs(strikes: Sequence[Strike], cancel_at: str) -> Iterator[Case]:
    """Two calls of different steps, or the first and the second call of one."""
    for one, other in combinations(strikes, 2):
        if one.step != other.step:
            yield Case((one, other), cancel_at)
    for one, other in product(strikes, strikes):
        if one.step == other.step:
            yield Case((one, replace(other, nth=2)), cancel_at)
