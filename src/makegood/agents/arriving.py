"""A process that has just come: what others handed back before, it may be able to make."""

from collections.abc import Callable, Iterator

from makegood.agents.work import UNREADABLE_CAP
from makegood.core.events import Hastened
from makegood.core.plan import Millis, Plan, StepPlan
from makegood.core.record import KIND_OF, Head, Kind, Phase
from makegood.desk import Desk
from makegood.errors import PlanError
from makegood.store.protocol import Stored


async def hasten(desk: Desk, able: Callable[[StepPlan, Kind], bool], began: Millis, *, at_most: int) -> bool:
    """Have calls offered now that wait since before `began`, as an agent handed them back; whether that was
    all of them.

    Of many processes that come at once, one has each: what it hands back anew, was not handed back before the
    others began. `at_most` so many: what the process has no room for would be taken by one that is still up,
    and handed back again.
    """
    async for stored in desk.due(within=UNREADABLE_CAP):
        head = desk.shelf.head_of(stored)
        waiting = {} if head is None else dict(_waiting(head, began))
        plan = await _plan_of(desk, stored) if waiting else None
        if head is None or plan is None:
            continue
        for step, attempt in waiting.items():
            if able(plan.steps[step], KIND_OF[Phase(head.marks[step])]):
                if at_most <= 0:
                    return False
                at_most -= 1
                desk.post(stored.task_id, Hastened(step, attempt))
    return True


def _waiting(head: Head, began: Millis) -> Iterator[tuple[int, int]]:
    for step, opened in head.open.items():
        if opened.handed_back and opened.since < began < opened.due:
            yield step, opened.attempt


async def _plan_of(desk: Desk, stored: Stored) -> Plan | None:
    """None: who looks at the task says why it cannot be driven here."""
    try:
        return await desk.shelf.plan(stored.plan_version)
    except PlanError:
        return None
