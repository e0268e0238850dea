"""Tasks as a store would hold them, made of what other tests' worlds remember."""

from collections.abc import Sequence

from msgspec.structs import replace

from makegood.core import machine
from makegood.core.events import Row, encode_row
from makegood.core.plan import Plan
from makegood.core.record import decode_head, encode_head
from makegood.reading.audit import Statement, statement_of
from makegood.reading.proof import Written, digest_at
from tests.unit.walk import Walk


def written(task_id: str, plan: Plan, head: bytes, rows: Sequence[Row]) -> Written:
    """The task with its head as the core left it; digest and write id are those a desk would have added."""
    kept = [(version, 7, encode_row(row)) for version, row in enumerate(rows, 1)]
    sealed = decode_head(head)
    unsealed = Written(
        task_id=task_id,
        version=len(kept),
        state=sealed.state,
        due=machine.due(plan, sealed),
        head=head,
        plan=plan.name,
        plan_version=plan.version,
        created_at=sealed.created_at,
        rows=kept,
    )
    sealed.write_id, sealed.digest = 7, digest_at(unsealed, len(kept)) or b""
    return replace(unsealed, head=encode_head(sealed))


def statement(walk: Walk) -> Statement:
    """What is said of the task of a walk."""
    rows = [row for _, row in walk.rows]
    return statement_of(written(walk.task_id, walk.plan, encode_head(walk.head), rows), walk.plan)
