"""The network before the services of a simulated world: carries calls, with the trouble that strikes them."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import msgspec

from makegood.agents.call import Call, call
from makegood.core.events import NULL, Answer, Reply
from makegood.core.plan import Millis, StepPlan
from makegood.core.record import Kind
from makegood.errors import Refused, StillRunning, Transient
from makegood.testing.observer import Flight
from makegood.testing.services import Message, Said, Service
from makegood.testing.simulation.faults import CallFault
from makegood.testing.simulation.scenarios import Scenario
from makegood.testing.virtual import EPOCH, PROCESS, Process, halt, virtual_loop

if TYPE_CHECKING:
    from makegood.testing.simulation.world import World

LAG = 0.01
NEVER_ANSWERED = frozenset(
    (CallFault.NO_ANSWER, CallFault.REQUEST_LOST, CallFault.LATE, CallFault.DIE_AND_LATE)
)
LATE = frozenset((CallFault.LATE, CallFault.DIE_AND_LATE))
JUST_IN_TIME = 0.002
"""Seconds before the end of a call's life at which the latest arrive."""
ROUNDING: Millis = 5
"""How far moments that were rounded on their way may be off."""
LIMIT = 20.0
"""Seconds of a Retry-After."""

NO_ANSWER_HEARD = NEVER_ANSWERED | {CallFault.ANSWER_LOST}
"""Faults of which a caller only knows that no answer came."""

Heard = Callable[[], object]
"""What a caller hears: the answer, or what is raised in its place."""


class Struck(NamedTuple):
    """A fault that came to pass."""

    at: float
    step: str
    kind: Kind
    fault: CallFault


class SimulatedService(Service):
    """One step's service: a ledger, and what is wrong with it."""

    def __init__(self, step: StepPlan, scenario: Scenario) -> None:
        super().__init__(
            step, step.keyed, step.tombstone, step.name in scenario.refuses_undo, trouble=scenario.moody
        )
        self.refuses = step.name in scenario.refuses
        self.slow = scenario.slow.get(step.name, 0.0)
        self.wishes: dict[str, object] = {}

    def receive(self, flight: Flight, now: Millis, rng: Random) -> Said:
        """A call has arrived: act on it and answer."""
        return self.handle(flight.message, now, rng)


@dataclass(eq=False)
class Letter:
    """A call on its way: to which step's service, what it does there, and until when it may arrive."""

    service: SimulatedService
    flight: Flight
    act: Callable[[Flight], Heard]
    fault: CallFault | None
    process: Process
    arrives_by: float
    slow: float
    answer: asyncio.Future[Heard]


class Network:
    """Carries calls to the services of a world, with the trouble that strikes them.

    `blunt`: a service that is told to refuse an undo refuses it. `struck` are the faults that came to pass,
    `overdue` the flights that landed later than their record allows, and when (in seconds).
    """

    def __init__(self, world: "World") -> None:
        self.world = world
        self.blunt = False
        self.struck: list[Struck] = []
        self.overdue: list[tuple[Flight, float]] = []
        self._carriers: set[asyncio.Task[None]] = set()
        self._open: dict[Flight, int] = {}

    def left_unanswered(self, step: str, kind: Kind) -> bool:
        """Whether a call of this step has brought no answer for a fault."""
        return any(
            one.step == step and one.kind is kind and one.fault in NO_ANSWER_HEARD for one in self.struck
        )

    async def call(self, service: SimulatedService, kind: Kind, result: object = None) -> object:
        """What a simulated agent's function does: one call. Raises what the service, or the network, says."""
        return await self.send(service, kind, partial(self._handled, service), _message(call(), kind, result))

    def _handled(self, service: SimulatedService, flight: Flight) -> Heard:
        return partial(_heard, service.receive(flight, self.world.watch.services_now, self.world.watch.rng))

    async def send(
        self,
        service: SimulatedService,
        kind: Kind,
        act: Callable[[Flight], Heard],
        message: Message | None = None,
        *,
        settle: float | None = None,
        slow: float = 0.0,
    ) -> object:
        """Send a call of the running attempt; `act` is what its service does when it arrives.

        `message`: what the service reads, to be held against the record. `settle` is how many seconds after
        the timeout it may still arrive (if not said: as its step declares), `slow` how long it takes.
        """
        process, current = PROCESS.get(), call()
        assert process is not None
        fault = self.world.strikes_call(self.world.member_of(process), current.task_id, service.step, kind)
        if fault is not None:
            self.struck.append(Struck(self.world.seconds, service.step.name, kind, fault))
        await self._before_sending(process, fault)
        flight = self._takes_off(current, message)
        life = current.time_left + (service.step.settle / 1000 if settle is None else settle)
        arrives_by = virtual_loop().seconds + life - JUST_IN_TIME
        answer: asyncio.Future[Heard] = virtual_loop().create_future()
        letter = Letter(service, flight, act, fault, process, arrives_by, service.slow + slow, answer)
        carrier = virtual_loop().create_task(self._carry(letter), context=Context())
        self._carriers.add(carrier)
        carrier.add_done_callback(self._carriers.discard)
        if fault is CallFault.DIE_AND_LATE:
            self.world.kill(process)
            await halt()
        return (await answer)()

    def _takes_off(self, current: Call, message: Message | None) -> Flight:
        """The flight of an attempt, which may send more than one letter."""
        flight = self.world.watch.flight_of(current)
        if flight is None or not flight.sent or message is not None:
            flight = self.world.watch.sends(current, message or _as_recorded(current, flight))
        flight.landed = False
        self._open[flight] = self._open.get(flight, 0) + 1
        return flight

    def _lands(self, flight: Flight) -> None:
        self._open[flight] -= 1
        flight.landed = self._open[flight] == 0
        if EPOCH + int(self.world.seconds * 1000) > flight.lands_by + ROUNDING:
            self.overdue.append((flight, self.world.seconds))

    async def _before_sending(self, process: Process, fault: CallFault | None) -> None:
        if fault is CallFault.DIE_BEFORE:
            self.world.kill(process)
            await halt()
        if fault is CallFault.STUCK:
            self.world.freeze(process)
            await halt()

    async def _carry(self, letter: Letter) -> None:
        """The way there and back; no process's death or sleep stops it."""
        fault, flight = letter.fault, letter.flight
        await asyncio.sleep(LAG)
        self.world.arrived(flight.task_id, letter.service.step, flight.message.kind)
        pause = letter.arrives_by - virtual_loop().seconds if fault in LATE else letter.slow
        if pause > 0:
            await asyncio.sleep(pause)
        heard = None if fault is CallFault.REQUEST_LOST else self._answer(letter)
        self._lands(flight)
        if fault is CallFault.DIE_AFTER:
            self.world.kill(letter.process)
        if fault is CallFault.FREEZES:
            self.world.freeze(letter.process)
        if heard is None or fault in NEVER_ANSWERED:
            return
        await asyncio.sleep(LAG)
        if not letter.answer.done():
            letter.answer.set_result(heard)

    def _answer(self, letter: Letter) -> Heard:
        """Have the service act, unless it does not get to it; what its caller is to hear."""
        fault, undo = letter.fault, letter.flight.message.kind is not Kind.DO
        if fault in INSTEAD and not (fault is CallFault.REFUSED and undo and not self.blunt):
            return INSTEAD[fault]
        heard = letter.act(letter.flight)
        return AFTER_IT.get(fault, heard) if fault else heard

    def wishes(self, service: SimulatedService, made: Call, wish: object) -> None:
        """S4: every attempt of a round sends the same."""
        forgotten = made.task_id in self.world.watch.forgotten
        if service.wishes.setdefault(made.key, wish) != wish and not forgotten:
            self.world.complaints.append(f"S4: two inputs for {made.key}")


def _message(current: Call, kind: Kind, result: object) -> Message:
    """A call as the service reads it."""
    known = current.result_known and kind is Kind.UNDO
    raw = msgspec.Raw(msgspec.json.encode(result)) if known else None
    return Message(current.task_id, kind, current.key, current.do_key, raw)


def _as_recorded(current: Call, flight: Flight | None) -> Message:
    """What an attempt sends whose service nobody reads."""
    if flight is None:
        return Message(current.task_id, current.kind, "", "", None)
    recorded = flight.message
    return replace(recorded, key=recorded.do_key) if recorded.kind is Kind.PROBE else recorded


def _heard(said: Said) -> object:
    match said.word:
        case Reply.REFUSED:
            raise Refused("the service says no")
        case Reply.TRANSIENT | Answer.CANNOT_TELL:
            raise Transient("the service is busy", retry_after=said.retry_after / 1000 or None)
        case Reply.SPOILED:
            return object()  # done, and what it returned cannot be recorded
        case Answer.RUNNING:
            raise StillRunning
        case Answer.ABSENT:
            return None
        case _:
            return None if said.result == NULL else msgspec.json.decode(said.result)


def _fails(error: type[Exception], text: str) -> NoReturn:
    raise error(text)


INSTEAD: dict[CallFault, Heard] = {
    CallFault.BUSY: partial(_heard, Said(Reply.TRANSIENT)),
    CallFault.LIMITED: partial(_heard, Said(Reply.TRANSIENT, retry_after=int(LIMIT * 1000))),
    CallFault.REFUSED: partial(_heard, Said(Reply.REFUSED)),
    CallFault.FAILS: partial(_fails, RuntimeError, "the service fails"),
}
"""What is heard where the service does not act."""
AFTER_IT: dict[CallFault, Heard] = {
    CallFault.ANSWER_LOST: partial(_fails, ConnectionResetError, "the connection broke"),
    CallFault.GARBLED: partial(_fails, ValueError, "the answer is no JSON"),
}
"""What is heard in place of the service's own answer."""
