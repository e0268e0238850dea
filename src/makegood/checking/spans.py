"""How long the tries of steps may take, when every call takes as long as it may."""

from collections.abc import Callable

from makegood.core.plan import Millis, Part, Plan, Series, StepPlan
from makegood.core.retry import JITTER_MAX, backoff

COUNTED_MAX = 1_000
"""Pauses that are added up one by one; there on each is taken for as long as the last of them."""


def tries(step: StepPlan, attempts: int | None = None) -> Millis:
    """From the first call of a step to the end of its last try, or of a certain one of them."""
    attempts = step.retry.attempts if attempts is None else attempts
    counted = min(attempts - 1, COUNTED_MAX)
    pauses = [backoff(step.retry, n, JITTER_MAX) for n in range(1, counted + 1)]
    rest = (attempts - 1 - counted) * pauses[-1] if pauses else 0
    return attempts * step.timeout + sum(pauses) + rest


def tries_within(step: StepPlan, deadline: Millis) -> int:
    """How many tries of a step can have ended by its deadline."""
    ended, fitting = step.timeout, 0
    while ended <= deadline and fitting < min(step.retry.attempts, COUNTED_MAX):
        fitting += 1
        ended += backoff(step.retry, fitting, JITTER_MAX) + step.timeout
    return fitting


def path(plan: Plan, length: Callable[[StepPlan], Millis]) -> Millis:
    """The longest way through a plan up to its pivot, each step being so long."""
    last = len(plan.steps) - 1 if plan.pivot is None else plan.pivot

    def of(part: Part) -> Millis:
        if isinstance(part, int):
            return length(plan.steps[part]) if part <= last else 0
        if isinstance(part, Series):
            return sum(map(of, part.parts))
        return max(map(of, part.branches))

    return of(plan.body)
