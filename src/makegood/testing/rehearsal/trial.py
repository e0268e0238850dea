"""One run of a rehearsal: a case, played to its end in virtual time."""

from asyncio import sleep
from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Any

import msgspec

from makegood.authoring.plans import PlanDefinition
from makegood.core.events import Act, HandedBack, Offered
from makegood.core.plan import StepPlan
from makegood.core.record import AT_REST, Head, Kind, Phase
from makegood.reading.phrases import MOVED
from makegood.reading.words import news_of
from makegood.testing.observer import Run
from makegood.testing.rehearsal.cases import Case, Strike, place
from makegood.testing.rehearsal.made_up import MadeUp
from makegood.testing.rehearsal.scene import Scene
from makegood.testing.rehearsal.stage import Rehearsal
from makegood.testing.services import Service
from makegood.testing.simulation.casting import Cast
from makegood.testing.simulation.faults import CallFault
from makegood.testing.simulation.member import Member
from makegood.testing.simulation.network import Network
from makegood.testing.simulation.scenarios import Scenario
from makegood.testing.simulation.world import World, play, settles_within
from makegood.testing.virtual import Process, virtual_loop

NAMED = 40
"""Letters of a plan's name with which the ids of its tasks begin, as in ids that the client makes."""
SETTLED = 0.1
"""Seconds after which we look once more whether what has come to rest stays so."""
LINGERS = 0.5
"""Seconds that the service takes during whose call somebody cancels, so that they come in time."""


class RehearsedWorld(World):
    """A world that is not waited for where nothing but more of the same can come.

    So few faults strike that a call which goes on failing after so many tries fails for a reason of its own.
    """

    TRIES_MAX = 6

    def __init__(self, scenario: Scenario, strikes: Sequence[Strike], cast: Cast) -> None:
        super().__init__(scenario, lag=0.0, cast=cast)
        self._downs = {strike.call: strike.down for strike in strikes}
        self._down = 0.0
        self._found: list[str] = []

    async def play(self) -> None:
        await self.begin()
        await self.come_to_rest()
        self.seconds_played = self.seconds

    async def begin(self) -> None:
        """Start the process in which the task is submitted; all else comes as time passes."""
        virtual_loop().set_exception_handler(self._fell_over)
        self.launch()

    async def come_to_rest(self) -> None:
        """Wait until the task rests, or only more of the same can come, and check how it stands then.

        What an earlier check found is forgotten: somebody may have acted since.
        """
        await self._settle()
        await sleep(SETTLED)
        await self._settle()
        for found in self._found:
            self.complaints.remove(found)
        before = len(self.complaints)
        self._check()
        self._found = self.complaints[before:]

    def calls(self) -> dict[tuple[str, Kind], int]:
        """How often each step's service was called, by step and kind."""
        return {(step, kind): times for (_, step, kind), times in self._calls.items()}

    def strikes_call(self, member: Member, task_id: str, step: StepPlan, kind: Kind) -> CallFault | None:
        fault = super().strikes_call(member, task_id, step, kind)
        call = (step.name, kind, self._calls[task_id, step.name, kind])
        self._down = self._downs.get(call, self._down)
        return fault

    def kill(self, process: Process) -> None:
        super().kill(process)
        self.dark_until, self._down = max(self.dark_until, self.seconds + self._down), 0.0

    async def _settle(self) -> None:
        until = self.seconds + settles_within(self.scenario.compiled)
        while self.seconds < until and not self._hopeless():
            dark = max(0.0, self.dark_until - self.seconds)
            until += dark
            await sleep(dark + 0.5)
            if self.watch.at_rest():
                return

    def _check(self) -> None:
        if not self.watch.at_rest():
            self.complaints.append("L1: it never settles")
        super()._check()
        for member in self.members:
            self.watch.guard(member.check_slots)

    def _hopeless(self) -> bool:
        return any(self._in_vain(run) or self._is_held(run) for run in self.watch.runs)

    def _is_held(self, run: Run) -> bool:
        """Whether it is paused, and its last call is over."""
        return run.head.paused and all(flight.over for flight in self.watch.flights_of(run.task_id))

    def _in_vain(self, run: Run) -> bool:
        handed_back = sum(isinstance(fact, HandedBack) for row in run.rows for fact in row.facts)
        return handed_back > self.TRIES_MAX or any(
            opened.retries > max(self.TRIES_MAX, run.plan.steps[step].retry.attempts)
            for step, opened in run.head.open.items()
        )


class Trial:
    """A plan in a world of its own, with the strikes of one case."""

    def __init__(
        self, plan: PlanDefinition[Any, Any], case: Case, stage: Rehearsal, made_up: MadeUp, input: bytes
    ) -> None:
        self.plan = plan
        self.case = case
        self.stage = stage
        self._made_up = made_up
        self.world = RehearsedWorld(_scenario(plan, case, stage, input), case.strikes, self._cast)
        self.scene: Scene

    def _cast(self, scenario: Scenario, network: Network) -> tuple[list[Service], list[Any]]:
        self.scene = Scene(scenario, network, self.stage, self._made_up.result)
        return list(self.scene.services.values()), self.scene.agents

    def play(self) -> "Trial":
        """Play it to its end."""
        play(self.world)
        return self

    # --- how it stands

    @property
    def task_id(self) -> str:
        """The id under which it is submitted."""
        [user] = self.world.people.users
        return user.task_id

    @property
    def run(self) -> Run:
        """The task, as the store holds it."""
        [run] = self.world.watch.runs
        return run

    @property
    def head(self) -> Head:
        return self.run.head

    def why(self, step: int) -> str:
        """Why only a person can move this step on."""
        opened = self.head.open.get(step)
        return (opened and news_of(opened)) or MOVED[Phase(self.head.marks[step])]

    @property
    def untroubled(self) -> bool:
        """Whether nothing at all is in its way, and nobody acted on it."""
        acts = (isinstance(fact, Act) for row in self.run.rows for fact in row.facts)
        trouble = self.case.strikes or self.case.cancel_at or self.stage.expects_refusal
        return not (trouble or any(acts))

    @property
    def missed(self) -> list[Strike]:
        """The strikes of the case whose call has not come."""
        calls = self.world.calls()
        return [
            strike for strike in self.case.strikes if strike.nth > calls.get((strike.step, strike.kind), 0)
        ]

    @property
    def cancel_missed(self) -> bool:
        """Whether the call during which somebody is to cancel has not come."""
        return bool(self.case.cancel_at) and (self.case.cancel_at, Kind.DO) not in self.world.calls()

    @property
    def requests(self) -> Counter[tuple[str, Kind]]:
        """How many calls to services one try of each step's do and undo made."""
        facts = (fact for row in self.run.rows for fact in row.facts if isinstance(fact, Offered))
        tries = Counter((self.run.plan.steps[fact.step].name, fact.kind) for fact in facts)
        return Counter({call: ceil(times / tries[call]) for call, times in self.world.calls().items()})

    @property
    def calls(self) -> str:
        """The calls that services were sent, in words."""
        told = [f"{place(step, kind)}: {times}" for (step, kind), times in self.world.calls().items()]
        return ", ".join(told) or "none"


def _scenario(plan: PlanDefinition[Any, Any], case: Case, stage: Rehearsal, input: bytes) -> Scenario:
    document: dict[str, Any] = msgspec.json.decode(plan.document.canonical())
    refuses, refuses_undo = stage.refused(plan)
    slow = {step.name: stage.slow(step) for step in plan.plan.steps}
    if case.cancel_at:
        slow[case.cancel_at] += LINGERS
    return Scenario(
        document["plan"],
        document["body"],
        AT_REST,
        refuses=refuses,
        refuses_undo=refuses_undo,
        script={strike.call: strike.fault for strike in case.strikes},
        cancel_at=case.cancel_at,
        slow=slow,
        input=input,
        tasks=plan.name[:NAMED],
        more={name: document[name] for name in ("input", "output", "secrets") if name in document},
    )
