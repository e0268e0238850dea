"""Wall clocks that are off by ten years, or jump by as much on the way: nothing is lost but time (S17)."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import pytest

from makegood.core.events import TaskSubmitted
from makegood.core.record import Kind
from makegood.testing.shorthand import PROBED, TOMB, series
from makegood.testing.simulation.faults import TEN_YEARS, CallFault, Trouble, WorldFault
from makegood.testing.simulation.happenings import Happening, Join, Jump
from makegood.testing.simulation.scenarios import BY_NAME, DONE, Scenario, brief
from makegood.testing.simulation.world import World, play

NAMES = ("straight", "group", "neither", "undo_doubted")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", WorldFault, ids=lambda fault: str(fault.name))
def test_clocks_go_wrong_at_any_operation(name: str, fault: WorldFault) -> None:
    clean = play(World(BY_NAME[name], engines=2))
    for at in range(1, clean.until_rest + 1, 2):
        world = play(World(BY_NAME[name], Trouble(at, fault), engines=2))
        assert not world.complaints, f"at {at}\n{world.story()}"


LATE_CALL = Scenario(
    "late_call",
    series(brief("a", TOMB), brief("b", PROBED, settle=3)),
    DONE,
    script={("b", Kind.DO, 1): CallFault.LATE},
)


@pytest.mark.parametrize("jump", [TEN_YEARS, -TEN_YEARS])
@pytest.mark.parametrize("at", [0.01 * n for n in range(1, 12)] + [1.0, 2.03, 2.1, 2.5, 4.0])
def test_a_wait_out_is_not_shortened_by_a_jump(at: float, jump: int) -> None:
    world = play(World(LATE_CALL, engines=2, happenings=[Jump(at, jump)]))
    assert not world.complaints, world.story()
    assert world.services[1].most_live == 1


@dataclass(frozen=True)
class Doing:
    """Something that only a test does."""

    at: float
    happen: Callable[[World], None]


def submitted_by_hand(
    scenario: Scenario, by: int = 0
) -> tuple[Callable[[World], None], Callable[[World], None]]:
    """Save the plan; submit the task: through the first process, and `by` one, each when a test says so."""

    def save(world: World) -> None:
        first, plan = world.members[0], scenario.compiled
        world.people.users[0].submitted = True
        first.begin(first.store.save_plan(plan.version, plan.name, scenario.document))

    def submit(world: World) -> None:
        desk = world.members[by].engine.desk
        event = TaskSubmitted(msgspec.Raw(b"{}"))
        world.members[by].begin(desk.submit(scenario.compiled, "trip-1", event))

    return save, submit


def test_a_call_claimed_at_a_moment_that_is_long_past_is_not_sent() -> None:
    """A process that has not heard of a jump yet claims in the old time; another, which has, waits that out.

    The claim's own commit brings the news: by the store's clock the call's life is over before it begins.
    """
    brief_life = brief("b", PROBED, timeout=0.5, settle=0.4)
    scenario = Scenario(
        "unaware", series(brief_life), DONE, script={("b", Kind.DO, n): CallFault.LATE for n in (1, 2)}
    )
    save, submit = submitted_by_hand(scenario)
    happenings: list[Happening] = [Doing(0.0, save), Jump(0.3, TEN_YEARS), Join(0.5), Doing(0.9, submit)]
    world = play(World(scenario, happenings=happenings))
    assert not world.complaints, world.story()
    assert world.services[0].most_live == 1


@pytest.mark.parametrize("born", [2.0 + 0.1 * n for n in range(1, 20)])
def test_a_call_of_a_process_whose_time_is_behind_is_waited_out_from_when_it_was_made(born: float) -> None:
    """When clocks were set back, a new process goes on from the store's mark; an older one is past that."""
    scenario = Scenario(
        "behind", series(brief("b", PROBED)), DONE, script={("b", Kind.DO, 1): CallFault.DIE_AND_LATE}
    )
    save, submit = submitted_by_hand(scenario, by=1)
    back: list[Happening] = [Doing(0.0, save), Jump(2.0, -TEN_YEARS), Join(born), Doing(born + 0.1, submit)]
    world = play(World(scenario, happenings=back))
    assert not world.complaints, world.story()
    assert world.services[0].most_live == 1
