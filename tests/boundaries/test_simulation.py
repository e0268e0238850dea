"""The simulation itself: it runs what is shipped, one seed is one run, and what goes wrong is shrunk."""

import subprocess
import sys
from pathlib import Path
from random import Random
from types import FrameType

import pytest

import makegood.errors
from makegood.core import doubt
from makegood.core.doubt import Course
from makegood.testing.simulation.random_plans import random_scenario
from makegood.testing.simulation.shrinking import shrink
from makegood.testing.simulation.storms import AT_CALLS, AT_READS, AT_REPORTS, AT_WRITES, Storm, storm
from makegood.testing.simulation.totals import PROCESS, SQLITE, Totals, engine
from makegood.testing.simulation.world import World, play

Patch = pytest.MonkeyPatch


def remembered(world: World) -> list[object]:
    """Everything that can be told of a run afterwards."""
    rows = [(run.task_id, run.rows, run.stored) for run in world.watch.runs]
    return [rows, world.struck, [member.operations for member in world.members], world.seconds_played]


@pytest.mark.parametrize("seed", range(40, 60))
def test_one_seed_is_one_run(seed: int) -> None:
    assert remembered(play(storm(seed).world())) == remembered(play(storm(seed).world()))


def test_two_seeds_are_two_runs() -> None:
    assert remembered(play(storm(1).world())) != remembered(play(storm(2).world()))


@pytest.mark.parametrize("seed", range(60, 80))
def test_what_struck_can_be_struck_again(seed: int) -> None:
    """The list of the faults that struck makes the same run as the chance that chose them."""
    chosen = storm(seed)
    first = play(chosen.world())
    again = play(chosen.again(first.struck, chosen.happenings, chosen.tasks))
    assert remembered(first) == remembered(again)


def test_it_runs_the_shipped_core(monkeypatch: Patch) -> None:
    """Every decision is the shipped core's: what is changed there changes the runs, and shows."""
    before = [remembered(play(storm(seed).world())) for seed in range(6)]
    monkeypatch.setattr("makegood.core.remedy.backoff", lambda *args, **named: 4_321)
    worlds = [play(storm(seed).world()) for seed in range(6)]
    assert [remembered(world) for world in worlds] != before
    assert any(world.complaints for world in worlds)


def test_it_runs_the_shipped_shell(monkeypatch: Patch) -> None:
    """So does what is changed in a room, the store or the runner."""
    before = remembered(play(storm(3).world()))
    monkeypatch.setattr("makegood.agents.runner.CALLS_MAX", 1)
    assert remembered(play(storm(3).world())) != before


def test_what_runs_in_memory_are_not_counted_for_is_not_run_there() -> None:
    def notice(frame: FrameType, event: str, _: object) -> None:
        run.add(Path(frame.f_code.co_filename))

    run: set[Path] = set()
    sys.setprofile(notice)
    try:
        play(storm(3).world())
    finally:
        sys.setprofile(None)
    parts = {f"{file.parent.name}/{file.stem}" for file in run}
    assert {"store/memory", "runtime/engine"} <= parts
    assert parts.isdisjoint(SQLITE + PROCESS)
    package = Path(makegood.errors.__file__).parent
    assert all((package / f"{part}.py").exists() for part in SQLITE + PROCESS)
    assert engine("memory") != engine("sqlite")


def test_storms_hold_every_kind_of_fault() -> None:
    found = {trouble.fault for seed in range(200) for trouble in play(storm(seed).world()).struck}
    assert found >= AT_READS.keys() | AT_WRITES.keys() | AT_CALLS.keys() | AT_REPORTS.keys()


def test_plans_made_by_chance_are_of_every_kind() -> None:
    plans = [random_scenario(Random(seed)).compiled for seed in range(300)]
    steps = [step for plan in plans for step in plan.steps]
    assert {len(plan.steps) for plan in plans} >= {1, 2, 3, 4, 5, 8}
    assert any(plan.pivot is not None for plan in plans)
    assert any(step.tombstone for step in steps)
    assert any(step.keyed_for for step in steps)


# --- shrinking


@pytest.fixture
def broken(monkeypatch: Patch) -> Storm:
    """A storm that goes wrong, for an unkeyed call in doubt is simply repeated."""
    monkeypatch.setattr(doubt, "to_be_retried", lambda *_: Course.RETRY)
    return next(storm(seed) for seed in range(200) if play(storm(seed).world()).complaints)


def test_a_storm_is_shrunk_to_the_least_that_goes_wrong(broken: Storm) -> None:
    shrunk = shrink(broken)
    assert shrunk is not None
    assert shrunk.world.complaints
    assert len(shrunk.troubles) + len(shrunk.happenings) <= 3
    assert shrunk.tasks <= broken.tasks
    for left_out in range(len(shrunk.troubles)):
        fewer = [*shrunk.troubles[:left_out], *shrunk.troubles[left_out + 1 :]]
        assert not play(broken.again(fewer, shrunk.happenings, shrunk.tasks)).complaints


def test_a_storm_that_goes_well_is_not_shrunk() -> None:
    assert shrink(storm(1)) is None


# --- the command


def simulation(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "makegood.testing.simulation", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def test_a_seed_can_be_played_by_hand() -> None:
    ended = simulation("--seed", "7")
    assert ended.returncode == 0, ended.stderr
    assert "seed 7 is clean" in ended.stdout


def test_many_seeds_are_added_up() -> None:
    ended = simulation("--seeds", "12", "--from", "5", "--workers", "2")
    assert ended.returncode == 0, ended.stderr
    expected = Totals()
    for seed in range(5, 17):
        expected.count(play(storm(seed).world()))
    assert ended.stdout.strip() == f"{expected}; 0 went wrong"
