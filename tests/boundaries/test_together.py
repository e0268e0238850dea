"""Several processes on one store: racing, frozen and resumed, and with a store that takes its time."""

from itertools import pairwise

import pytest

from makegood.core.events import EvidenceFiled, Reply, Reported
from makegood.core.record import Kind, TaskState
from makegood.testing.faulty import StoreFault
from makegood.testing.shorthand import BARE, KEYED, PROBED, TOMB, series
from makegood.testing.simulation.faults import CallFault, Trouble
from makegood.testing.simulation.scenarios import BY_NAME, DONE, Scenario, brief
from makegood.testing.simulation.world import World, play


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("engines", [2, 3])
def test_processes_race_for_many_tasks(name: str, engines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("makegood.agents.runner.CALLS_MAX", 2)  # each leaves work to the others
    world = play(World(BY_NAME[name], engines=engines, tasks=40))
    assert not world.complaints, world.story()
    writers = {process for written in world.watch.written.values() for process in written}
    assert len(world.watch.runs) == 40
    assert len(writers) > 1, "they did not race"


@pytest.mark.parametrize("lag", [0.05, 0.2])
@pytest.mark.parametrize("name", ["straight", "group", "cancelled", "pivot_first"])
def test_a_slow_store_costs_time_only(name: str, lag: float) -> None:
    world = play(World(BY_NAME[name], engines=2, lag=lag))
    assert not world.complaints, world.story()
    assert TaskState.FAILED.name not in world.states()


TWO_STEPS = Scenario("two_steps", series(brief("a", TOMB), brief("b", KEYED, after="a")), DONE)


def operations(scenario: Scenario, wanted: str) -> list[int]:
    """The numbers of a process's operations of a kind."""
    all_of_them = play(World(scenario)).members[0].operations
    return [at for at, each in enumerate(all_of_them, 1) if each == wanted]


@pytest.mark.parametrize(
    "steps", [[TOMB], [KEYED], [PROBED], [BARE]], ids=["tombstone", "keyed", "probed", "bare"]
)
def test_a_zombies_late_report_is_evidence(steps: list[dict[str, bool]]) -> None:
    """A process is frozen while the answer comes, longer than its lease; another takes the task over."""
    scenario = Scenario("zombie", series(brief("a", *steps), brief("b", KEYED)), DONE)
    [at] = operations(scenario, "do a")
    world = play(World(scenario, Trouble(at, CallFault.FREEZES)))
    assert not world.complaints, world.story()
    [run] = world.watch.runs
    zombie, successor = (member.engine.member_id for member in world.members)
    facts = [fact for row in run.rows for fact in row.facts]
    [late] = [before for before, fact in pairwise(facts) if isinstance(fact, EvidenceFiled)]
    assert isinstance(late, Reported)
    assert (late.step, late.reply) == (0, Reply.DONE)
    assert set(world.watch.written["trip-1"]) == {zombie, successor}


def test_a_process_that_wakes_with_a_claim_in_hand_does_not_send() -> None:
    """It is frozen after its claim was written, before it heard so: its call's life is over when it wakes."""
    at = operations(TWO_STEPS, "commit")[1]
    world = play(World(TWO_STEPS, Trouble(at, StoreFault.FREEZES)))
    assert not world.complaints, world.story()
    assert "do b" not in world.members[0].operations
    assert "do b" in world.members[1].operations
    assert world.services[1].most_live == 1


@pytest.mark.parametrize("fault", [StoreFault.ANSWER_LOST, StoreFault.REQUEST_LOST, StoreFault.UNAVAILABLE])
def test_a_commit_that_goes_wrong_costs_no_doubt(fault: StoreFault) -> None:
    """The process reads what became of it: no call is held lost, and even a blind service's step goes on."""
    for at in operations(BY_NAME["straight"], "commit"):
        world = play(World(BY_NAME["straight"], Trouble(at, fault)))
        assert not world.complaints, world.story()
        assert world.states() == ["COMPLETED"]
        assert [len(service.effects) for service in world.services] == [1, 1, 1, 1]
        assert not any(
            isinstance(fact, EvidenceFiled) for row in world.watch.runs[0].rows for fact in row.facts
        )


def test_the_store_hangs_in_one_process_and_the_other_goes_on() -> None:
    at = operations(TWO_STEPS, "commit")[1]
    world = play(World(TWO_STEPS, Trouble(at, StoreFault.HANGS)))
    assert not world.complaints, world.story()
    assert world.states() == ["COMPLETED"]
    assert "do b" in world.members[1].operations


def test_an_effect_after_the_client_gave_up_is_undone() -> None:
    """Its step was held in doubt, waited out, found by the probe, and undone with its result."""
    scenario = Scenario(
        "found_late",
        series(brief("a", PROBED), brief("b", TOMB)),
        frozenset({TaskState.COMPENSATED}),
        refuses=frozenset("b"),
        script={("a", Kind.DO, 1): CallFault.LATE},
    )
    world = play(World(scenario))
    assert not world.complaints, world.story()
    assert [effect.live for effect in world.services[0].effects] == [False]
