"""Watches a simulated world of real processes: each commit when it is durable, each call when it is sent."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from random import Random

from makegood.agents.call import Call
from makegood.core import machine
from makegood.core.draft import Draft
from makegood.core.events import (
    Claimed,
    Event,
    HandedBack,
    Probed,
    Reported,
    Row,
    TaskSubmitted,
    chain,
    decode_row,
    encode_row,
)
from makegood.core.plan import Plan
from makegood.core.record import AT_REST, Head, Kind, Phase, TaskState, encode_head
from makegood.store.protocol import Change
from tests.boundaries.scenarios import Scenario
from tests.core.invariants import check_nothing_silent, check_settled
from tests.core.services import Message, Service
from tests.core.world import Flight, Run, World


class Watch(World):
    """The tests' own record of every task, made from what became durable; complaints are gathered.

    Its time is that of the newest commit; `written` says which process wrote each version of a task.
    """

    def __init__(self) -> None:
        super().__init__(Random(0))
        self.complaints: list[str] = []
        self._expected: dict[str, tuple[Plan, list[Service]]] = {}
        self.written: defaultdict[str, list[str]] = defaultdict(list)
        self._owners: dict[tuple[str, int], str] = {}

    def expect(self, task_id: str, plan: Plan, services: list[Service]) -> None:
        """A task with this id may be submitted."""
        self._expected[task_id] = (plan, services)

    def guard(self, check: Callable[[], None]) -> None:
        """What a check finds wrong is gathered: the product's own code must not feel it."""
        try:
            check()
        except Exception as error:
            self.complaints.append(f"{type(error).__name__}: {error}")

    def find(self, task_id: str) -> Run | None:
        return next((run for run in self.runs if run.task_id == task_id), None)

    # --- commits

    def committed(self, change: Change) -> None:
        self.guard(lambda: self._committed(change))

    def _committed(self, change: Change) -> None:
        row = decode_row(change.row)
        self.now = row.at
        run = self.find(change.task_id)
        before = None if run is None else run.head
        draft = _replayed(run, self._expected[change.task_id][0], change, row)
        if run is None:
            plan, services = self._expected[change.task_id]
            run = Run(change.task_id, plan, services, encode_head(draft.head))
            self.runs.append(run)
        assert change.base == len(run.rows), "a version was written twice, or left out"
        assert change.due is not None or _may_rest(draft.head), "P7: nothing is due, and nobody is waited for"
        self._hear(run, row)
        self.written[run.task_id].append(row.process)
        self._store(run, before, draft)
        draft.head.write_id = change.write_id
        draft.head.digest = chain(draft.head.digest, change.row)
        assert encode_head(draft.head) == change.head, "S14: another head on replay"
        run.stored = change.head

    def _hear(self, run: Run, row: Row) -> None:
        """Who reported makes no further call under that number; who claims is remembered."""
        for fact in row.facts:
            if isinstance(fact, Claimed):
                self._owners[run.task_id, fact.attempt] = fact.owner
            elif isinstance(fact, Reported | Probed | HandedBack):
                for flight in self._flights_of(run.task_id, fact.attempt):
                    flight.agent_alive = False

    def died(self, member_id: str) -> None:
        """A process died: what it has not sent, it will not send."""
        for flight in self.flights:
            if self._owners[flight.task_id, flight.attempt] == member_id:
                flight.agent_alive = False

    # --- calls

    def sends(self, call: Call, message: Message) -> Flight:
        """A call leaves its process."""
        flight = next(iter(self._flights_of(call.task_id, call.attempt)), None)
        if flight is None:
            self.complaints.append(
                f"S2: attempt {call.attempt} of {call.step} is sent, and nobody claimed it"
            )
            flight = Flight(call.task_id, 0, call.attempt, message, 0, 0)
        if flight.sent or not _same(message, flight.message):
            self.complaints.append(f"S4: {message} is sent, where {flight.message} was recorded")
        flight.sent = True
        return flight

    def _flights_of(self, task_id: str, attempt: int) -> list[Flight]:
        return [f for f in self.flights if (f.task_id, f.attempt) == (task_id, attempt)]

    # --- the end

    def at_rest(self) -> bool:
        """Every task has ended or is parked, and nothing is on its way."""
        ended = all((run := self.find(task_id)) and run.head.state in AT_REST for task_id in self._expected)
        return bool(ended) and not any(flight.on_its_way for flight in self.flights)

    def check_end(self) -> None:
        """The record against the ledgers."""
        for run in self.runs:
            if self.frozen:
                self.guard(partial(check_nothing_silent, run))
            else:
                self.guard(partial(check_settled, run, self))


def _same(sent: Message, recorded: Message) -> bool:
    """Whether a call is the one that was recorded; a probe asks about the do."""
    if sent.kind is Kind.PROBE:
        return (sent.key, sent.do_key) == (recorded.do_key, recorded.do_key)
    return sent == recorded


def _replayed(run: Run | None, plan: Plan, change: Change, row: Row) -> Draft:
    """S14: the events of the row, folded by the core again, give the facts that were stored."""
    events = [fact for fact in row.facts if isinstance(fact, Event)]
    if run is None:
        submitted = events.pop(0)
        assert isinstance(submitted, TaskSubmitted)
        draft = machine.submit(plan, change.task_id, submitted, row.at)
    else:
        draft = Draft(plan, change.task_id, run.head, row.at)
    for event in events:
        assert machine.fold(draft, event), f"S14: {event} was news the first time"
    assert encode_row(Row(row.at, row.process, draft.facts)) == change.row, "S14: other facts on replay"
    return draft


def _may_rest(head: Head) -> bool:
    return head.state in AT_REST or head.paused


def parks_rightly(run: Run, scenario: Scenario) -> bool:
    """Whether every step that blocks a parked task is one that only a person can settle."""
    for step, mark in zip(run.plan.steps, run.head.marks, strict=True):
        blind = not step.keyed and step.probe is None and not step.reads
        match Phase(mark):
            case Phase.DOUBT if not blind:
                return False
            case Phase.UNDO_STUCK if not blind and step.name not in scenario.refuses_undo:
                return False
            case Phase.REFUSED | Phase.ABSENT | Phase.UNRESOLVED if run.head.pivoted:
                if step.name not in scenario.refuses:
                    return False
            case _:
                pass
    return run.head.state is TaskState.FAILED
