"""The proof of a record: its history holds together, and the core, told it again, makes the same of it.

What somebody rewrote consistently from the first row to the head cannot show here: against that a record is
compared with what was written down of it before (a seal).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from makegood.core import machine
from makegood.core.draft import Draft
from makegood.core.events import Event, Row, TaskSubmitted, begin, chain, decode_row, encode_row
from makegood.core.plan import Millis, Plan
from makegood.core.record import Head, decode_head, encode_head
from makegood.reading.words import state_name


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A task as a store holds it: its columns, its head, and its rows (version, write id, body) in order.

    Rows above `version` are those that no commit can have written.
    """

    task_id: str
    version: int
    state: int
    due: Millis | None
    head: bytes
    plan: str
    plan_version: str
    created_at: Millis
    rows: Sequence[tuple[int, int, bytes]]


class Differs(Exception):
    """The record is not what its history makes of it; `version` is the row at which that shows, 0 if none."""

    def __init__(self, what: str, version: int = 0) -> None:
        super().__init__(what)
        self.version = version


def digest_at(written: Written, version: int) -> bytes | None:
    """The running digest after the row of this version; None where there is no gapless history up to it."""
    digest, expected = begin(written.task_id, written.plan_version), 1
    for number, _, body in written.rows:
        if number != expected or number > version:
            break
        digest, expected = chain(digest, body), expected + 1
    return digest if expected > version else None


def refold(plan: Plan, task_id: str, before: Head | None, row: Row) -> Draft:
    """A row folded again, and found to be what the core makes of its events.

    Raises Differs where it is not, and whatever `folded` raises.
    """
    draft = folded(plan, task_id, before, row)
    if encode_row(Row(row.at, row.process, draft.facts)) != encode_row(row):
        raise Differs("other facts follow from its events")
    return draft


def folded(plan: Plan, task_id: str, before: Head | None, row: Row) -> Draft:
    """The events of a row, folded by the core again, on the record before it (None: it is the first).

    Raises Differs where the core takes an event for old news, and whatever the core raises on an event that
    cannot be.
    """
    events = [fact for fact in row.facts if isinstance(fact, Event)]
    if before is not None:
        draft = Draft(plan, task_id, before, row.at)
    else:
        first = events.pop(0) if events else None
        if not isinstance(first, TaskSubmitted):
            raise Differs("it does not begin with a submission")
        draft = machine.submit(plan, task_id, first, row.at)
    for event in events:
        if not machine.fold(draft, event):
            raise Differs(f"{type(event).__name__} would have been old news")
    return draft


def faults_of(written: Written, plan: Plan | None) -> Iterator[Differs]:
    """Everything in which a task, as written, is not what its own history makes of it.

    Without its plan (that being damaged) the events are not folded again.
    """
    gaps = list(_gaps(written))
    yield from gaps
    head = _read_head(written.head)
    if head is None:
        yield Differs("its head cannot be read: it is damaged, or of another version of makegood")
        return
    if not gaps:
        yield from _history_faults(written, head, plan)
    yield from _column_faults(written, head, plan)


def _gaps(written: Written) -> Iterator[Differs]:
    expected = 1
    if written.version < expected:
        yield Differs(f"its head is damaged: it is of version {written.version}, and the first is 1")
    for version, _, _ in written.rows:
        if version < 1:
            yield Differs(f"row {version} was added: a history begins with row 1", version)
            continue
        if version > written.version:
            yield Differs(f"row {version} was added: the head is of version {written.version}", version)
        elif version > expected:
            yield _missing(expected, version - 1, written.version)
        expected = min(version, written.version) + 1
    if expected <= written.version:
        yield _missing(expected, written.version, written.version)


def _missing(first: int, last: int, of: int) -> Differs:
    which = f"row {first} of {of} is" if first == last else f"rows {first} to {last} of {of} are"
    return Differs(f"{which} missing", first)


def _read_head(raw: bytes) -> Head | None:
    try:
        return decode_head(raw)
    except msgspec.DecodeError:
        return None


def _history_faults(written: Written, head: Head, plan: Plan | None) -> Iterator[Differs]:
    if digest_at(written, written.version) != head.digest:
        yield Differs(
            "the digest over its rows is not the one in its head: a row, the head or its plan changed"
        )
    if plan is None:
        return
    try:
        told = _retold(written, plan)
    except Differs as differs:
        yield differs
        return
    if encode_head(told) != written.head:
        yield Differs(f"its head is not what its history makes of it: {_difference(head, told)}")


def _retold(written: Written, plan: Plan) -> Head:
    """The head that the history makes, told to the core again from the start. Raises Differs."""
    head: Head | None = None
    for version, write_id, body in written.rows:
        try:
            row = decode_row(body)
            draft = refold(plan, written.task_id, head, row)
            if encode_row(row) != body:
                raise Differs("its bytes are not canonical")
        except Exception as error:  # what somebody wrote into a row may make the core raise anything
            raise Differs(f"row {version} is not what the core decided: {_said(error)}", version) from None
        head = draft.head
        head.digest, head.write_id = chain(head.digest, body), write_id
    assert head is not None, "a task has a row for each version from 1 on"
    return head


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, Differs) else f"{type(error).__name__}: {error}"


def _difference(head: Head, told: Head) -> str:
    pairs = [(name, getattr(head, name), getattr(told, name)) for name in head.__struct_fields__]
    differing = [
        f"{name} is {_shown(one)}, not {_shown(other)}" for name, one, other in pairs if one != other
    ]
    return "; ".join(differing) or "it is written otherwise"


def _shown(value: Any) -> str:
    return value.hex() if isinstance(value, bytes | bytearray) else f"{value!r}"


def _column_faults(written: Written, head: Head, plan: Plan | None) -> Iterator[Differs]:
    """What the store finds tasks by must say what the head says."""
    if written.state != head.state:
        yield Differs(f"it is listed in state {written.state}, but its head says {state_name(head.state)}")
    if written.created_at != head.created_at:
        yield Differs("the moment it is listed as created at is not that of its head")
    if plan is None:
        return
    if written.plan != plan.name:
        yield Differs(f"it is listed under plan {written.plan!r}, but is pinned to one called {plan.name!r}")
    due = _due(plan, head)
    if due is not None and (written.due is None or written.due > due):
        yield Differs("its due moment was put off or taken away: nobody would look at it in time")


def _due(plan: Plan, head: Head) -> Millis | None:
    """When the record needs someone, as far as that can be told of a head that may be damaged."""
    try:
        return machine.due(plan, head)
    except Exception:
        return None
