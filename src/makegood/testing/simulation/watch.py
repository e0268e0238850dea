"""Watches a simulated world of real processes: each commit when it is durable, each call when it is sent."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from random import Random

from makegood.agents.call import Call
from makegood.core.events import (
    Claimed,
    HandedBack,
    Probed,
    Reported,
    Row,
    chain,
    decode_row,
)
from makegood.core.plan import Millis, Plan
from makegood.core.record import AT_REST, Head, Kind, encode_head
from makegood.reading.proof import refold
from makegood.store.protocol import Change
from makegood.testing.invariants import check_commit, check_nothing_silent, check_settled
from makegood.testing.observer import Flight, Observer, Run
from makegood.testing.services import Message, Service
from makegood.testing.virtual import EPOCH, virtual_loop


class Watch(Observer):
    """The world's own record of every task, made from what became durable; complaints are gathered.

    Its time is that of the newest commit; `written` says which process wrote each version of a task.
    """

    def __init__(self, chance: Random, *, frozen: bool = False) -> None:
        super().__init__(0, frozen=frozen)
        self.rng = chance
        self.complaints: list[str] = []
        self.forgotten: set[str] = set()
        self.written: defaultdict[str, list[str]] = defaultdict(list)
        self._expected: dict[str, tuple[Plan, list[Service]]] = {}
        self._found: dict[str, Run] = {}
        self._flight_of: dict[tuple[str, int], Flight] = {}
        self._owners: dict[tuple[str, int], str] = {}

    @property
    def services_now(self) -> Millis:
        """Services keep the world's time, whatever jumps in the processes."""
        return EPOCH + int(virtual_loop().seconds * 1000)

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
        return self._found.get(task_id)

    def forget(self, task_id: str) -> None:
        """Ask nothing more of this task, and take no commit of it for wrong."""
        self.runs.remove(self._found[task_id])
        del self._expected[task_id], self._found[task_id]
        self.forgotten.add(task_id)

    def put_back(self, known: Run) -> None:
        """A task is again what a backup knows of it; its calls stay on their way."""
        self.runs[self.runs.index(self._found[known.task_id])] = known
        self._found[known.task_id] = known
        del self.written[known.task_id][len(known.rows) :]

    def knows_of(self, task_id: str) -> bool:
        """Whether a task is in the store, or was."""
        return task_id in self._found or task_id in self.forgotten

    # --- commits

    def committed(self, change: Change) -> None:
        self.guard(lambda: self._committed(change))

    def _committed(self, change: Change) -> None:
        row = decode_row(change.row)
        self.now = row.at
        if change.task_id in self.forgotten:
            return
        run = self.find(change.task_id)
        before = None if run is None else run.head
        draft = refold(self._expected[change.task_id][0], change.task_id, before, row)  # S14
        if run is None:
            plan, services = self._expected[change.task_id]
            run = self._found[change.task_id] = Run(change.task_id, plan, services, encode_head(draft.head))
            self.runs.append(run)
        assert change.base == len(run.rows), "a version was written twice, or left out"
        assert change.due is not None or _may_rest(draft.head), "P7: nothing is due, and nobody is waited for"
        self._hear(run, row)
        self.written[run.task_id].append(row.process)
        self.guard(partial(check_commit, run, before, draft, self))
        for flight in self.keep(run, draft, change.head, row):
            self._flight_of[run.task_id, flight.attempt] = flight
        draft.head.write_id = change.write_id
        draft.head.digest = chain(draft.head.digest, change.row)
        assert encode_head(draft.head) == change.head, "S14: another head on replay"

    def _hear(self, run: Run, row: Row) -> None:
        """Who reported makes no further call under that number; who claims is remembered."""
        for fact in row.facts:
            if isinstance(fact, Claimed):
                self._owners[run.task_id, fact.attempt] = fact.owner
            elif isinstance(fact, Reported | Probed | HandedBack):
                flight = self._flight_of.get((run.task_id, fact.attempt))
                assert flight is not None, f"S2: {fact} tells of an attempt that nobody claimed"
                flight.agent_alive = False

    def died(self, member_id: str) -> None:
        """A process died: what it has not sent, it will not send."""
        for flight in self.flights:
            if self._owners[flight.task_id, flight.attempt] == member_id:
                flight.agent_alive = False

    # --- calls

    def flight_of(self, call: Call) -> Flight | None:
        """The flight of a call's attempt; None: nobody claimed it."""
        return self._flight_of.get((call.task_id, call.attempt))

    def sends(self, call: Call, message: Message) -> Flight:
        """A call leaves its process."""
        flight = self.flight_of(call)
        if flight is None and call.task_id in self.forgotten:
            return Flight(call.task_id, 0, call.attempt, message, 0, 0)
        if flight is None:
            self.complaints.append(
                f"S2: attempt {call.attempt} of {call.step} is sent, and nobody claimed it"
            )
            flight = Flight(call.task_id, 0, call.attempt, message, 0, 0)
        if flight.sent or not _same(message, flight.message):
            self.complaints.append(f"S4: {message} is sent, where {flight.message} was recorded")
        flight.sent = True
        return flight

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


def _may_rest(head: Head) -> bool:
    return head.state in AT_REST or head.paused
