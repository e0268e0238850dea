"""The simulated services, the network before them, and the agents whose actions call them."""

import asyncio
from contextvars import Context
from typing import TYPE_CHECKING, Any

import msgspec

from makegood import Agent, Refused, StillRunning, Transient, call
from makegood.core.events import NULL, Answer, Reply
from makegood.core.plan import StepPlan
from makegood.core.record import Kind
from makegood.testing.virtual import PROCESS, Process, halt, virtual_loop
from tests.boundaries.faults import CallFault
from tests.boundaries.scenarios import Scenario
from tests.core.services import Message, Said, Service
from tests.core.world import Flight

if TYPE_CHECKING:
    from tests.boundaries.simulation import World

LAG = 0.01
SILENT = frozenset((CallFault.NO_ANSWER, CallFault.REQUEST_LOST, CallFault.LATE, CallFault.DIE_AND_LATE))
LATE = frozenset((CallFault.LATE, CallFault.DIE_AND_LATE))


class Counter(Service):
    """One step's service: a ledger, and what is wrong with it."""

    def __init__(self, step: StepPlan, scenario: Scenario) -> None:
        refuses_undo = step.name in scenario.refuses_undo
        super().__init__(step, step.keyed, step.tombstone, refuses_undo, trouble=False)
        self.refuses = step.name in scenario.refuses
        self.slow = scenario.slow.get(step.name, 0.0)
        self.wishes: dict[str, int] = {}

    def _do(self, message: Message, rng: Any) -> Said:
        return Said(Reply.REFUSED) if self.refuses else super()._do(message, rng)


class Network:
    """Carries calls to the services of a world, with the trouble that strikes them."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._watch = world.watch
        self._carriers: list[asyncio.Task[None]] = []

    async def call(self, service: Counter, kind: Kind, result: int | None = None) -> int | None:
        """What an agent's function does: one call. Raises what the service, or the network, answers."""
        process, current = PROCESS.get(), call()
        assert process is not None
        fault = self._world.strikes_call(self._world.member_of(process), current.task_id, service.step, kind)
        if fault is CallFault.DIE_BEFORE:
            self._world.kill(process)
            await halt()
        raw = msgspec.Raw(msgspec.json.encode(result)) if current.result_known and kind is Kind.UNDO else None
        message = Message(current.task_id, kind, current.key, current.do_key, raw)
        flight = self._watch.sends(current, message)
        answer: asyncio.Future[Said] = virtual_loop().create_future()
        ends = virtual_loop().seconds + current.time_left + service.step.settle / 1000 - 0.002
        carried = self._carry(service, flight, answer, fault, process, ends)
        self._carriers.append(virtual_loop().create_task(carried, context=Context()))
        if fault is CallFault.DIE_AND_LATE:
            self._world.kill(process)
            await halt()
        return _heard(await answer)

    async def _carry(
        self,
        service: Counter,
        flight: Flight,
        answer: asyncio.Future[Said],
        fault: CallFault | None,
        process: Process,
        ends: float,
    ) -> None:
        """The way there and back; no process's death or sleep stops it."""
        await asyncio.sleep(LAG)
        self._world.arrived(flight.task_id, service.step, flight.message.kind)
        await asyncio.sleep(service.slow if fault not in LATE else ends - virtual_loop().seconds)
        if fault is CallFault.REQUEST_LOST:
            flight.landed = True
            return
        said = Said(Reply.TRANSIENT) if fault is CallFault.BUSY else self._act(service, flight)
        flight.landed = True
        if fault is CallFault.DIE_AFTER:
            self._world.kill(process)
        if fault is CallFault.FREEZES:
            self._world.freeze(process)
        await asyncio.sleep(LAG)
        if fault in SILENT or answer.done():
            return
        if fault is CallFault.ANSWER_LOST:
            answer.set_exception(ConnectionResetError("the connection broke"))
        else:
            answer.set_result(said)

    def _act(self, service: Counter, flight: Flight) -> Said:
        return service.handle(flight.message, self._watch.now, self._watch.rng)

    def wishes(self, service: Counter, key: str, wish: int) -> None:
        """S4: every attempt of a round sends the same."""
        if service.wishes.setdefault(key, wish) != wish:
            self._world.complaints.append(f"S4: two inputs for {key}")


def _heard(said: Said) -> int | None:
    match said.word:
        case Reply.REFUSED:
            raise Refused("sold out")
        case Reply.TRANSIENT | Answer.CANNOT_TELL:
            raise Transient("busy")
        case Answer.RUNNING:
            raise StillRunning
        case Answer.ABSENT:
            return None
        case _:
            return None if said.result == NULL else int(msgspec.json.decode(said.result))


def agent_for(service: Counter, network: Network) -> Agent:
    """An agent as a user would write it: three plain functions that each make one call."""
    step = service.step

    async def book(wish: int = 0) -> int:
        network.wishes(service, call().key, wish)
        return await network.call(service, Kind.DO) or 0

    async def cancel(booking: int | None) -> None:
        await network.call(service, Kind.UNDO, booking)

    async def find() -> int | None:
        return await network.call(service, Kind.PROBE)

    keyed = step.keyed if step.keyed_for is None else step.keyed_for / 1000
    agent = Agent(step.agent, timeout=step.timeout / 1000, keyed=keyed, tombstone=step.tombstone)
    probe = find if step.probe else None
    if step.reads:
        agent.action(reads=True, name=step.action)(book)
    elif step.pivot:
        agent.action(pivot=True, name=step.action, probe=probe)(book)
    else:
        agent.action(undo=cancel if step.undo else None, name=step.action, probe=probe)(book)
    return agent


def services_of(scenario: Scenario) -> list[Counter]:
    """A service for every step, each what the plan declares it to be."""
    return [Counter(step, scenario) for step in scenario.compiled.steps]
