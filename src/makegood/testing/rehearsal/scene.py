"""One world of a rehearsal: its services, simulated or fake, its agents, and the notes of what they did."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple, NoReturn

import msgspec

from makegood.agents.call import Call, call
from makegood.authoring.agent import Agent
from makegood.core.events import Reply
from makegood.core.plan import Millis, StepPlan
from makegood.core.record import Kind
from makegood.testing.observer import Flight
from makegood.testing.rehearsal.fakes import STAGES, FakeService
from makegood.testing.rehearsal.ledgers import Booking, Ledger
from makegood.testing.rehearsal.mistakes import Mistakes
from makegood.testing.rehearsal.stage import Rehearsal
from makegood.testing.services import Effect, Message, Said
from makegood.testing.simulation.casting import agents_for
from makegood.testing.simulation.network import Heard, Network, SimulatedService
from makegood.testing.simulation.scenarios import Scenario
from makegood.testing.virtual import EPOCH, Process

Results = Callable[[StepPlan, int], msgspec.Raw]
"""The result of a step's n-th effect, from 1."""


class Note(NamedTuple):
    """Something that a service did: `at` seconds since the world began."""

    at: float
    who: str
    what: str


class Outside(NamedTuple):
    """A call of an own function that was about to reach something outside."""

    step: str
    kind: Kind
    where: str


class StagedService(SimulatedService):
    """One step's service; what it holds are bookings. `bookable`: somebody asked it to book something."""

    effects: list[Effect]

    def __init__(self, step: StepPlan, scenario: Scenario, scene: "Scene") -> None:
        super().__init__(step, scenario)
        self.scene = scene
        self.bookable = not step.reads
        self._flight: Flight | None = None

    @property
    def bookings(self) -> list[Booking]:
        """Everything that was ever booked for this step, whether it is still in effect or not."""
        return [effect for effect in self.effects if isinstance(effect, Booking)]

    def receive(self, flight: Flight, now: Millis, rng: Random) -> Said:
        self._flight = flight
        return super().receive(flight, now, rng)

    def book(self, task_id: str, key: str) -> Effect:
        assert self._flight is not None, "only a call books"
        number = len(self.effects) + 1
        made = self.scene.results(self.step, number)
        booking = Booking(number, task_id, key, service=self.step.name, made=made)
        booking.attempt, booking.at = self._flight.attempt, self.scene.seconds
        self.effects.append(booking)
        self.most_live = max(self.most_live, len(self.live(task_id)))
        self.scene.note(self.step.agent, f"{self.step.name} takes effect, key {key}")
        return booking

    def _do(self, message: Message, rng: Random) -> Said:
        said = super()._do(message, rng)
        if self.step.reads and said.word is Reply.DONE:
            return said._replace(result=self.scene.results(self.step, 1))
        return said

    def _undo(self, message: Message, now: Millis, rng: Random) -> Said:
        live = [booking for booking in self.bookings if booking.live]
        said = super()._undo(message, now, rng)
        ended = [booking for booking in live if not booking.live]
        for booking in ended:
            booking.cancel(self.scene.seconds)
        if said.word is Reply.DONE:
            self.scene.note(
                self.step.agent, f"{self.step.name} is undone" if ended else "nothing is there to undo"
            )
        return said


class OwnService(StagedService):
    """One step whose own functions are run: what is in effect for it lies in the ledgers of fake services."""

    def __init__(self, step: StepPlan, scenario: Scenario, scene: "Scene") -> None:
        super().__init__(step, scenario, scene)
        self.ledgers: set[Ledger] = set()
        self.bookable = False

    def knows(self, key: str, now: Millis) -> bool:
        return any(ledger.knows(key, (now - EPOCH) / 1000) for ledger in self.ledgers)

    def served(self, ledger: Ledger, new: list[Booking]) -> None:
        """A ledger has acted on a call of this step."""
        self.ledgers.add(ledger)
        self.effects += new
        self.bookable |= bool(new)
        live = [booking for booking in self.bookings if booking.live and booking.service == ledger.name]
        self.most_live = max(self.most_live, ledger.most_alike(live))
        self.tombs |= ledger.tombs


class Scene:
    """A world's services and agents, made from a scenario and from what the user said of it."""

    def __init__(self, scenario: Scenario, network: Network, stage: Rehearsal, results: Results) -> None:
        self.network = network
        self.results = results
        self.notes: list[Note] = []
        self.asked: set[tuple[str, int]] = set()
        """The calls, by step and attempt, of which a request came to a fake service."""
        self.outside: list[Outside] = []
        self.mistakes = Mistakes()
        network.blunt = True
        own = stage.own()
        self.services = {
            step.name: (OwnService if (step.agent, step.action) in own else StagedService)(
                stage.step(step), scenario, self
            )
            for step in scenario.compiled.steps
        }
        STAGES.add(self)
        self._ledgers: dict[FakeService, Ledger] = {}
        self.agents: list[Agent] = agents_for(self.services.values(), network, own)

    @property
    def seconds(self) -> float:
        return self.network.world.seconds

    def has(self, process: Process) -> bool:
        return any(member.process is process for member in self.network.world.members)

    def note(self, who: str, what: str) -> None:
        """Write down what a service did just now."""
        self.notes.append(Note(self.seconds, who, what))

    def reached_out(self, where: str) -> None:
        self.outside.append(Outside(call().step, call().kind, where))

    def raised(self, error: Exception, where: str) -> None:
        self.mistakes.look(error, call(), where)

    async def ask(
        self, service: FakeService, work: Callable[[Ledger], object], *, books: bool = False
    ) -> object:
        """Carry one call to this service's ledger in this world, and its answer back."""
        self.asked.add((call().step, call().attempt))
        ledger = self._ledgers.setdefault(service, Ledger(service.name, service.habits))
        step, habits = self.services[call().step], service.habits
        step.bookable |= books and call().kind is Kind.DO
        return await self.network.send(
            step,
            call().kind,
            partial(self._served, call(), ledger, work),
            settle=habits.settle,
            slow=habits.slow,
        )

    def _served(
        self, during: Call, ledger: Ledger, work: Callable[[Ledger], object], flight: Flight
    ) -> Heard:
        ledger.serve(flight, self.seconds)
        before = len(ledger.bookings)
        try:
            answer = work(ledger)
        except Exception as error:  # whatever it is, its caller hears it
            self.mistakes.look(error, during, f"fake service {ledger.name}")
            heard: Heard = partial(_raised, error)
        else:
            heard = partial(_same, answer)
        for note in ledger.take_notes():
            self.note(ledger.name, note)
        step = self.services[during.step]
        assert isinstance(step, OwnService), "only own functions reach a fake service"
        step.served(ledger, ledger.bookings[before:])
        return heard


def _raised(error: Exception) -> NoReturn:
    raise error


def _same(answer: object) -> object:
    return answer
