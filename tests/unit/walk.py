"""A task walked through the core by hand, commit by commit, for the tests of what people see of it."""

from typing import Any

import msgspec

from makegood.core import machine
from makegood.core.document import read_document
from makegood.core.draft import Draft
from makegood.core.events import (
    Claimed,
    Driven,
    Event,
    Inspected,
    Reply,
    Reported,
    Row,
    TaskSubmitted,
    decode_row,
    encode_row,
)
from makegood.core.plan import Plan, compile_plan
from makegood.core.record import OFFERED, Head, Kind, Phase
from makegood.core.remedy import lands_by
from makegood.payload import resolve
from makegood.reading.facts import facts_of
from makegood.reading.story import story
from makegood.reading.under_way import Alive
from makegood.reading.view import record_of
from makegood.reading.why import why

START = 1_783_245_600_000
"""2026-07-05T10:00:00Z."""

TOMB = {"class": {"keyed": True, "tombstone": True}}
KEYED = {"class": {"keyed": True}}
PROBED = {"probe": "find"}


def step(name: str, *given: dict[str, Any], **more: Any) -> dict[str, Any]:
    """`name` at `name-agent`, undone by `cancel_name` unless something else is said."""
    node: dict[str, Any] = {
        "step": name,
        "agent": f"{name}-agent",
        "action": f"reserve_{name}",
        "timeout": 30,
    }
    for part in (*given, more):
        node |= part
    if node.get("probe"):
        node["probe"] = f"find_{name}"
    if not node.keys() & {"undo", "reads", "pivot"}:
        node["undo"] = f"cancel_{name}"
    return node


TRIP = {"series": [step("flight", TOMB), step("hotel", KEYED, PROBED), step("car")]}


def plan_of(body: dict[str, Any], output: Any = None) -> Plan:
    return compile_plan(read_document({"plan": "book_trip", "body": body, "output": output}))


class Walk:
    """The task `trip-9f3a`; each `commit` writes one row, as a desk would."""

    task_id = "trip-9f3a"

    def __init__(
        self,
        body: dict[str, Any] = TRIP,
        *,
        output: Any = None,
        input: bytes = b'{"to":"Rome"}',
        deadline: int = 0,
        tags: dict[str, str] | None = None,
    ) -> None:
        self.plan = plan_of(body, output)
        self.now = START
        self.rows: list[tuple[int, Row]] = []
        moment = START + deadline if deadline else 0
        event = TaskSubmitted(msgspec.Raw(input), moment, tags or {})
        self._commit(machine.submit(self.plan, self.task_id, event, self.now))

    def commit(self, *events: Event) -> None:
        """Fold the facts into one change; each must be news."""
        draft = Draft(self.plan, self.task_id, self.head, self.now)
        for event in events:
            assert machine.fold(draft, event), f"old news: {event}"
        self._commit(draft)

    def _commit(self, draft: Draft) -> None:
        self.head: Head = draft.head
        row = decode_row(encode_row(Row(self.now, "p1", draft.facts)))
        self.rows.append((len(self.rows) + 1, row))

    # --- short for what happens all the time

    def phase(self, name: str) -> Phase:
        return Phase(self.head.marks[self.plan.index_of[name]])

    def attempt(self, name: str) -> int:
        return self.head.open[self.plan.index_of[name]].attempt

    def call(self, *names: str) -> None:
        """The planned calls are handed out, and an agent claims those named."""
        self.commit(Driven())
        for name in names:
            assert self.phase(name) in OFFERED
            self.commit(Claimed(self.plan.index_of[name], self.attempt(name), "p1"))

    def report(self, name: str, reply: Reply, result: bytes = b"null", error: str = "", **more: Any) -> None:
        kind = Kind.UNDO if self.phase(name) == Phase.UNDO_CALLED else Kind.DO
        number = self.plan.index_of[name]
        self.commit(
            Reported(number, self.attempt(name), kind, reply, msgspec.Raw(result), error, **more),
        )

    def done(self, name: str, result: bytes = b"null") -> None:
        self.call(name)
        self.report(name, Reply.DONE, result)

    def inspect(self) -> None:
        """A supervisor looks; it has seen pass whatever is over by now."""
        waited = [
            n for n, opened in self.head.open.items() if lands_by(self.head.marks[n], opened) <= self.now
        ]
        self.commit(Inspected(0, tuple(waited)))

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * 1000)

    # --- what people see

    def record(self) -> dict[str, Any]:
        return record_of(self.plan, self.task_id, self.head, self.rows, now=self.now, resolve=resolve)

    def step(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(step for step in self.record()["steps"] if step["name"] == name)
        return found

    def why(self, alive: Alive | None = None) -> str:
        return why(self.plan, self.task_id, self.head, self.rows, now=self.now, alive=alive)

    def story(self) -> list[str]:
        return [f"{line.who}: {line.what}" for line in story(self.plan, self.rows)]

    def facts(self) -> list[dict[str, Any]]:
        return facts_of(self.plan, self.rows)
