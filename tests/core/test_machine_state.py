"""Hypothesis drives the simulated world: whatever it makes happen, every commit and every end must hold.

MAKEGOOD_EXAMPLES and MAKEGOOD_STEPS set its size; a failure is shrunk to the few steps that matter.
"""

import os
from collections.abc import Callable
from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from makegood.core.record import TaskState
from makegood.testing import invariants
from tests.core import people
from tests.core.plans import PLANS, REFUSE_UNDO
from tests.core.test_walks import finish
from tests.core.world import World

Move = Callable[[World], bool]

CHANCE = st.integers(0, 63)
ROOMS: tuple[Move, ...] = (World.look, World.wait)
AGENTS: tuple[Move, ...] = (World.send, World.hear, World.deliver, World.renew)
TROUBLE: tuple[Move, ...] = (World.drop, World.give_up, World.die, World.hand_back)


class Tasks(RuleBasedStateMachine):
    """One or two tasks in a world where anything may happen next."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(Random(0))

    @initialize(
        names=st.lists(st.sampled_from(sorted(PLANS)), min_size=1, max_size=2),
        deadline=st.sampled_from((0, 0, 15_000, 60_000)),
    )
    def submit(self, names: list[str], deadline: int) -> None:
        for name in names:
            self.world.submit(PLANS[name], deadline=deadline, refuse_undo=REFUSE_UNDO.get(name, ()))

    def make(self, move: Move, chance: int) -> None:
        self.world.rng = Random(chance)
        move(self.world)

    @rule(move=st.sampled_from(ROOMS), chance=CHANCE)
    def a_room_or_time(self, move: Move, chance: int) -> None:
        self.make(move, chance)

    @rule(move=st.sampled_from(AGENTS), chance=CHANCE)
    def an_agent(self, move: Move, chance: int) -> None:
        self.make(move, chance)

    @rule(chance=CHANCE)
    def a_call_lands(self, chance: int) -> None:
        self.make(World.land, chance)

    @rule(move=st.sampled_from(TROUBLE), chance=CHANCE)
    def trouble(self, move: Move, chance: int) -> None:
        self.make(move, chance)

    @rule(chance=CHANCE)
    def a_person(self, chance: int) -> None:
        self.make(people.act, chance)

    @invariant()
    def nothing_is_booked_twice(self) -> None:
        for run in self.world.runs:
            invariants.check_ledgers(run)

    @invariant()
    def what_has_ended_is_true(self) -> None:
        for run in self.world.runs:
            if run.head.state in (TaskState.COMPLETED, TaskState.COMPENSATED):
                flying = any(self.world.may_land(run, step.index) for step in run.plan.steps)
                if not flying:
                    invariants.check_settled(run, self.world)

    def teardown(self) -> None:
        finish(self.world)


Tasks.TestCase.settings = settings(
    max_examples=int(os.environ.get("MAKEGOOD_EXAMPLES", "300")),
    stateful_step_count=int(os.environ.get("MAKEGOOD_STEPS", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestTasks = Tasks.TestCase
