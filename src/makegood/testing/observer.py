"""What somebody outside knows of every task: the record as it became durable, and the calls it led to."""

from dataclasses import dataclass, field

from makegood.core.draft import Draft
from makegood.core.events import Claimed, Event, Row
from makegood.core.plan import Millis, Plan
from makegood.core.record import KIND_OF, Head, Kind, decode_head
from makegood.core.values import Values
from makegood.testing.numbers import Numbers
from makegood.testing.services import Message, Said, Service


@dataclass(eq=False, slots=True)
class Flight:
    """A claimed call: in its agent's hand, then on its way, then answered.

    `deadline` is the record's end of its life, `lands_by` the last moment at which it can still land.
    """

    task_id: str
    step: int
    attempt: int
    message: Message
    deadline: Millis
    lands_by: Millis
    agent_alive: bool = True
    sent: bool = False
    landed: bool = False
    said: Said | None = None
    report: Event | None = None
    late: bool = False

    @property
    def on_its_way(self) -> bool:
        return self.sent and not self.landed

    @property
    def over(self) -> bool:
        return not self.agent_alive and not self.on_its_way and self.report is None


@dataclass(eq=False)
class Run:
    """A task: what the store holds of it, and what is remembered of it. `services` has one for each step."""

    task_id: str
    plan: Plan
    services: list[Service]
    stored: bytes
    rows: list[Row] = field(default_factory=list)
    values: Values = field(default_factory=Values)
    numbers: Numbers = field(default_factory=Numbers)
    cancelled: bool = False

    @property
    def head(self) -> Head:
        return decode_head(self.stored)


class Observer:
    """The tasks and calls of a world, and what follows from them for the invariants.

    `frozen`: processes may be frozen between their last check and their send, so that calls outlive their
    bound; then only what the core itself can hold is checked at a commit.
    """

    def __init__(self, now: Millis, *, frozen: bool = False) -> None:
        self.now = now
        self.frozen = frozen
        self.runs: list[Run] = []
        self.flights: list[Flight] = []
        self.moves: set[tuple[int, int]] = set()

    def keep(self, run: Run, draft: Draft, stored: bytes, row: Row) -> list[Flight]:
        """A commit is durable: keep it, and give the calls it claims."""
        run.stored = stored
        run.rows.append(row)
        run.values.absorb(row.facts)
        taken_off = [self._flight(run, draft, fact) for fact in row.facts if isinstance(fact, Claimed)]
        self.flights += taken_off
        return taken_off

    def _flight(self, run: Run, draft: Draft, claim: Claimed) -> Flight:
        opened, plan = draft.head.open[claim.step], run.plan.steps[claim.step]
        result, do_key = run.values.results.get(claim.step), run.values.do_key(run.task_id, plan)
        message = Message(run.task_id, KIND_OF[draft.phase(claim.step)], opened.key, do_key, result)
        lands_by = self.now + plan.life - 1  # a call's life is counted from when its claim was asked for
        return Flight(run.task_id, claim.step, claim.attempt, message, opened.complete_by, lands_by)

    @property
    def services_now(self) -> Millis:
        """The time by the services' own clocks."""
        return self.now

    def flights_of(self, task_id: str) -> list[Flight]:
        return [flight for flight in self.flights if flight.task_id == task_id]

    def may_be_sent(self, flight: Flight) -> bool:
        """Whether its agent has not sent it, and still may."""
        alive = flight.agent_alive and not flight.sent and flight.report is None
        return alive and (self.frozen or self.now < flight.deadline)

    def may_land(self, run: Run, step: int) -> bool:
        """Whether a call of this step may still change the ledger."""
        service, now = run.services[step], self.services_now
        messages = [] if service.step.reads else [flight.message for flight in self._under_way(run, step)]
        return any(
            not service.knows(message.key, now) and message.do_key not in service.tombs
            for message in messages
        )

    def in_flight(self, run: Run, step: int) -> int:
        """Calls of this step that may still arrive, whatever they would do."""
        return len(self._under_way(run, step))

    def _under_way(self, run: Run, step: int) -> list[Flight]:
        return [
            flight
            for flight in self.flights_of(run.task_id)
            if flight.step == step
            and flight.message.kind is not Kind.PROBE
            and (flight.on_its_way or self.may_be_sent(flight))
        ]
