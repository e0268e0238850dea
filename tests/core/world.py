"""A small simulated world around the core: pure, seeded, in virtual time.

Tasks run on services with ledgers. Agents claim, send, hear, fall silent and die; the network delays, drops
and loses; supervisors and schedulers come and go; people act, honestly. Every commit is checked
(`invariants`), and when the world has settled the record is compared with the ledgers.
"""

from collections.abc import Callable, Iterable
from random import Random

from makegood.core import machine, remedy
from makegood.core.draft import Draft
from makegood.core.events import (
    NULL,
    Answer,
    Claimed,
    Driven,
    Event,
    HandedBack,
    Hastened,
    Inspected,
    LeaseRenewed,
    Probed,
    Reply,
    Reported,
    Row,
    TaskSubmitted,
)
from makegood.core.plan import Millis, Plan
from makegood.core.record import OFFERED, Head, Kind, encode_head
from makegood.core.reports import LEASE
from makegood.testing import invariants
from makegood.testing.observer import Flight, Observer, Run
from makegood.testing.services import Said, service_of

START = 1_000_000_000


class World(Observer):
    """Virtual time, a network, and any number of tasks. `rng` decides whatever is left to chance.

    `frozen`: processes may be frozen between their last check and their send, so that calls outlive their
    bound; then only what the core itself can hold is checked at a commit.
    """

    def __init__(self, rng: Random, *, frozen: bool = False) -> None:
        super().__init__(START, frozen=frozen)
        self.rng = rng

    # --- tasks

    def submit(self, plan: Plan, *, deadline: Millis = 0, refuse_undo: Iterable[str] = ()) -> Run:
        refusing = set(refuse_undo)
        services = [service_of(step, refuses_undo=step.name in refusing) for step in plan.steps]
        task_id = f"{plan.name}-{len(self.runs) + 1}"
        draft = machine.submit(plan, task_id, TaskSubmitted(NULL, deadline and self.now + deadline), self.now)
        run = Run(task_id, plan, services, encode_head(draft.head))
        self.runs.append(run)
        self._store(run, None, draft)
        return run

    def commit(self, run: Run, *events: Event, rooms: str = "", claims: bool = False) -> list[bool]:
        """Fold facts, let the rooms speak ("s"cheduler, super"v"isor), and commit. Raises ActRefused."""
        before = run.head
        draft = Draft(run.plan, run.task_id, before, self.now)
        news = [self._fold(draft, event) for event in events]
        for _ in range(4):
            spoke = [self._spoke(draft, room) for room in rooms]
            if not any(spoke):
                break
        if claims:
            for step, opened in list(draft.head.open.items()):
                if draft.marks[step] in OFFERED:
                    self._fold(draft, Claimed(step, opened.attempt, "an agent"))
        if draft.facts:
            self._store(run, before, draft)
        return news

    def _fold(self, draft: Draft, event: Event) -> bool:
        known = encode_head(draft.head)
        news = machine.fold(draft, event)
        assert news or encode_head(draft.head) == known, f"old news changed the record: {event}"
        return news

    def _spoke(self, draft: Draft, room: str) -> bool:
        if room == "s" and machine.wants_driving(draft):
            return self._fold(draft, Driven())
        if room == "v" and remedy.wants_inspection(draft.head, self.now):
            ends = {s: max(remedy.lands_by(draft.marks[s], o), o.landing) for s, o in draft.head.open.items()}
            waited = [step for step, end in ends.items() if end <= self.now]
            return self._fold(draft, Inspected(self.rng.randrange(250), tuple(waited)))
        return False

    def _store(self, run: Run, before: Head | None, draft: Draft) -> None:
        invariants.check_replay(run, before, draft)
        invariants.check_commit(run, before, draft, self)
        self.keep(run, draft, encode_head(draft.head), Row(self.now, "test", draft.facts))

    def run_of(self, flight: Flight) -> Run:
        return next(run for run in self.runs if run.task_id == flight.task_id)

    # --- agents and the network: each answers whether there was anything to do

    def _pick(self, wanted: Callable[[Flight], bool]) -> Flight | None:
        found = [flight for flight in self.flights if wanted(flight)]
        return self.rng.choice(found) if found else None

    def send(self) -> bool:
        flight = self._pick(self.may_be_sent)
        if flight is not None:
            flight.sent = True
        return flight is not None

    def land(self) -> bool:
        flight = self._pick(lambda f: f.on_its_way)
        if flight is not None:
            self._land(flight)
        return flight is not None

    def _land(self, flight: Flight) -> None:
        service = self.run_of(flight).services[flight.step]
        flight.landed, flight.said = True, service.handle(flight.message, self.now, self.rng)

    def drop(self) -> bool:
        """The network loses a message, or the answer to it."""
        flight = self._pick(lambda f: f.on_its_way or (f.said is not None and f.report is None))
        if flight is not None:
            flight.landed, flight.said = True, None
        return flight is not None

    def hear(self) -> bool:
        """An agent hears the answer in time."""
        flight = self._pick(lambda f: f.agent_alive and f.said is not None and self._in_time(f))
        if flight is not None and flight.said is not None:
            self._ended(flight, self._report(flight, flight.said))
        return flight is not None

    def give_up(self) -> bool:
        """An agent's call times out or is cut off; one that is still unsent is certainly without effect."""
        flight = self._pick(lambda f: f.agent_alive)
        if flight is None:
            return False
        word: Reply | Answer = Reply.UNKNOWN if flight.sent else Reply.TRANSIENT
        if flight.message.kind is Kind.PROBE:
            word = Answer.CANNOT_TELL
        self._ended(flight, self._report(flight, Said(word)))
        return True

    def _in_time(self, flight: Flight) -> bool:
        return self.frozen or self.now <= flight.deadline

    def _report(self, flight: Flight, said: Said) -> Event:
        step, attempt, kind = flight.step, flight.attempt, flight.message.kind
        if isinstance(said.word, Answer):
            return Probed(step, attempt, said.word, said.result)
        return Reported(step, attempt, kind, said.word, said.result, retry_after=said.retry_after)

    def _ended(self, flight: Flight, report: Event) -> None:
        flight.agent_alive, flight.report = False, report
        flight.late = self.rng.random() < 0.1

    def die(self) -> bool:
        """An agent is killed; what it sent is still on its way."""
        flight = self._pick(lambda f: f.agent_alive)
        if flight is not None:
            flight.agent_alive = False
        return flight is not None

    def deliver(self) -> bool:
        """A report reaches the record, however late; at times it is delivered twice."""
        flight = self._pick(lambda f: f.report is not None and not f.late)
        if flight is not None and flight.report is not None:
            report = flight.report
            if self.rng.random() > 0.1:
                flight.report = None
            self.commit(self.run_of(flight), report, rooms=self._hosted(), claims=self.rng.random() < 0.5)
        return flight is not None

    def hand_back(self) -> bool:
        flight = self._pick(self.may_be_sent)
        if flight is not None:
            self._ended(
                flight, HandedBack(flight.step, flight.attempt, "shutting down", self.rng.choice((0, 15_000)))
            )
        return flight is not None

    def hasten(self) -> bool:
        """A process comes, and takes a look: often at what has moved on meanwhile."""
        flight = self._pick(lambda _: True)
        if flight is not None:
            news = Hastened(flight.step, flight.attempt)
            self.commit(self.run_of(flight), news, rooms=self._hosted(), claims=self.rng.random() < 0.5)
        return flight is not None

    def renew(self) -> bool:
        flight = self._pick(lambda f: f.agent_alive and self.now < f.deadline)
        if flight is not None:
            self.commit(self.run_of(flight), LeaseRenewed(flight.step, flight.attempt, LEASE))
        return flight is not None

    # --- rooms and time

    def _hosted(self) -> str:
        return self.rng.choice(("", "s", "v", "vs", "vs"))

    def look(self) -> bool:
        """A process looks at a task."""
        if not self.runs:
            return False
        run = self.rng.choice(self.runs)
        self.commit(run, rooms=self.rng.choice(("s", "v", "vs")), claims=self.rng.random() < 0.7)
        return True

    def wait(self) -> bool:
        """Time passes: a little, or until something is due."""
        steps = [self.rng.choice((1, 100, 1_000, 4_000, 12_000, 50_000))]
        for run in self.runs:
            moment = machine.due(run.plan, run.head)
            steps += [moment - self.now] if moment is not None and moment > self.now else []
        self.pass_time(self.rng.choice(steps))
        return True

    def pass_time(self, millis: Millis) -> None:
        """No message outlives its bound: before it is passed, each has landed or is lost."""
        until = self.now + millis
        for flight in sorted(self.flights, key=lambda f: f.lands_by):
            if flight.on_its_way and flight.lands_by < until and not self.frozen:
                self.now = max(self.now, flight.lands_by)
                if self.rng.random() < 0.5:
                    self._land(flight)
                flight.landed = True
        self.now = until
        self.flights = [flight for flight in self.flights if not flight.over]

    # --- the end

    def settle(self, rounds_max: int = 600) -> None:
        """Faults stop, every room is there, and time goes on until no task moves by itself any more."""
        for service in {id(s): s for run in self.runs for s in run.services}.values():
            service.trouble = False
        for _ in range(rounds_max):
            helped = [self._helped(run) for run in self.runs]
            if not any(helped):
                moments = [f.lands_by + 1 for f in self.flights if f.on_its_way]
                moments += [m for run in self.runs if (m := machine.due(run.plan, run.head)) is not None]
                if not moments:
                    return
                self.pass_time(max(1, min(moments) - self.now))
        raise AssertionError(f"never settles: {[run.head for run in self.runs]}")

    def _helped(self, run: Run) -> bool:
        """One round of healthy rooms and agents; answers whether anything happened."""
        mine = [flight for flight in self.flights if flight.task_id == run.task_id]
        for flight in mine:
            self._finish(flight)
        heard = [flight for flight in mine if not flight.late]
        events = [flight.report for flight in heard if flight.report is not None]
        for flight in heard:
            flight.report = None
        before = len(run.rows)
        self.commit(run, *events, rooms="vs", claims=True)
        return len(run.rows) > before

    def deliver_late(self) -> None:
        """What was held up longest arrives, when all is over."""
        for flight in self.flights:
            flight.late = False

    def _finish(self, flight: Flight) -> None:
        flight.sent = flight.sent or self.may_be_sent(flight)
        in_time = flight.agent_alive and self._in_time(flight)
        if flight.on_its_way and (in_time or self.frozen):
            self._land(flight)
        if in_time and flight.said is not None:
            self._ended(flight, self._report(flight, flight.said))
            flight.late = False
        elif flight.agent_alive and not in_time:
            flight.agent_alive = False
