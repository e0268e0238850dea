"""Task ids: what a person may choose, and what the client makes when nobody did."""

import re

from makegood.core.plan import Millis
from makegood.errors import PlanError

TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_task_id(task_id: object) -> str:
    """The id as given; raises PlanError if it is not one."""
    if not isinstance(task_id, str) or not TASK_ID.fullmatch(task_id):
        raise PlanError(
            f"task id {task_id!r}: an id has 1 to 100 letters, digits, dots, dashes or underscores, "
            "and begins with a letter or a digit"
        )
    return task_id


def make_task_id(plan: str, now: Millis, random_bits: int) -> str:
    """A new id: the plan's name, then the time and 64 random bits in hex, so that ids sort by time."""
    return f"{plan[:40]}-{now:011x}-{random_bits:016x}"
