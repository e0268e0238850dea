"""What every drawing shows: the steps from top to bottom, the groups around them, each step's way back."""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from makegood.core.plan import Part, Plan, Series, StepPlan
from makegood.reading.view import VERSION_SHOWN
from makegood.reading.words import span


class Group(Enum):
    """How the parts of a group stand to each other."""

    PARALLEL = "at the same time"
    SERIES = "one after the other"


class Step(NamedTuple):
    """A step, `depth` groups deep. `order`: which undo this is, 1 being the first; 0 where there is none."""

    plan: StepPlan
    depth: int
    order: int
    way_back: str


class Open(NamedTuple):
    """Here a group begins; all up to its Close lies one deeper."""

    group: Group
    depth: int


class Close(NamedTuple):
    """Here the group ends that was opened last at this depth."""

    depth: int


Row = Step | Open | Close


def rows(plan: Plan) -> Iterator[Row]:
    """The plan from top to bottom."""
    return _rows(plan, plan.body, undo_order(plan), 0)


def title(plan: Plan) -> str:
    """The plan's name, and its version in short."""
    return f"{plan.name} {plan.version[:VERSION_SHOWN]}"


def is_undone(plan: Plan, step: int) -> bool:
    """Whether compensation ever calls an undo of this step: from the pivot on it does not."""
    return plan.steps[step].undo is not None and (plan.pivot is None or step < plan.pivot)


def undo_order(plan: Plan) -> dict[int, int]:
    """Which undo is first, second, ..., by step; undos that may run at the same time have the same number."""
    order: dict[int, int] = {}
    _number(plan, plan.body, 0, order)
    return order


def _number(plan: Plan, part: Part, last: int, order: dict[int, int]) -> int:
    """Number the undos of a part, above `last`; answers the highest number given."""
    if isinstance(part, int):
        if is_undone(plan, part):
            last = order[part] = last + 1
        return last
    if isinstance(part, Series):
        for inner in reversed(part.parts):
            last = _number(plan, inner, last, order)
        return last
    return max(_number(plan, branch, last, order) for branch in part.branches)


def _rows(plan: Plan, part: Part, order: dict[int, int], depth: int) -> Iterator[Row]:
    if isinstance(part, int):
        step = plan.steps[part]
        yield Step(step, depth, order.get(part, 0), _way_back(plan, step))
    elif isinstance(part, Series):
        for inner in part.parts:  # a series in a series is no group: it changes nothing
            yield from _rows(plan, inner, order, depth)
    else:
        yield Open(Group.PARALLEL, depth)
        for branch in part.branches:
            yield from _branch(plan, branch, order, depth + 1)
        yield Close(depth)


def _branch(plan: Plan, part: Part, order: dict[int, int], depth: int) -> Iterator[Row]:
    if not isinstance(part, Series) or len(part.parts) == 1:
        yield from _rows(plan, part, order, depth)
        return
    yield Open(Group.SERIES, depth)
    yield from _rows(plan, part, order, depth + 1)
    yield Close(depth)


def _way_back(plan: Plan, step: StepPlan) -> str:
    """The undo's name, or why there is none."""
    if step.pivot:
        return "no way back from here"
    if step.reads:
        return "nothing to undo"
    if plan.pivot is not None and step.index > plan.pivot:
        return "never undone"
    return step.undo or "stays in effect"


def marks(step: StepPlan) -> list[str]:
    """What is declared of a step, in words: its agent first, then what its service promises."""
    called = step.agent if step.action == step.name else f"{step.agent}/{step.action}"
    return [mark for mark in (called, *_kind(step), *_promises(step), _deadline(step)) if mark]


def _kind(step: StepPlan) -> tuple[str, ...]:
    return tuple(name for name, so in (("pivot", step.pivot), ("reads", step.reads)) if so)


def _promises(step: StepPlan) -> Iterator[str]:
    if step.reads:
        return
    if step.keyed:
        yield "keyed" if step.keyed_for is None else f"keyed for {span(step.keyed_for)}"
    if step.tombstone:
        yield "tombstone"
    if step.probe:
        yield f"probe {step.probe}"
    if not step.keyed and not step.probe:
        yield "no keys, no probe"


def _deadline(step: StepPlan) -> str:
    return "" if step.deadline is None else f"deadline {span(step.deadline)}"
