"""Plans as they are declared: all is tried, promises hold, a service that is otherwise is found."""

from time import process_time
from typing import Any

import pytest

from examples import trip
from makegood import PlanDefinition
from makegood.demo import trips as demo_trips
from makegood.errors import PayloadError
from makegood.testing import Rehearsal, rehearse
from makegood.testing.rehearsal.cases import FAULTS, IN_DOUBT, UNANSWERED
from makegood.testing.rehearsal.performance import Performance, TurnedClock
from makegood.testing.rehearsal.promises import Promise
from tests.acceptance import trips as acceptance_trips
from tests.rehearsal import plans
from tests.rehearsal.trip_stage import stage as trip_stage

SECONDS_MAX = 5.0
"""Of the processor's time: how busy this machine is must not matter."""


@pytest.mark.parametrize("plan", plans.PLANS, ids=lambda plan: plan.name)
def test_a_sound_plan_keeps_every_promise(plan: PlanDefinition[Any, Any]) -> None:
    report = rehearse(plan)
    assert report.kept, f"{report}"
    assert report.rows[0].ends == "Completed"


def test_every_call_is_struck_by_everything_within_five_seconds() -> None:
    began = process_time()
    report = rehearse(plans.five)
    assert process_time() - began < SECONDS_MAX
    struck = {
        (row.faults[0].step, row.faults[0].call, bool(row.cancelled))
        for row in report.rows
        if len(row.faults) == 1
    }
    names = [step.name for step in plans.five.plan.steps]
    assert struck == {(name, call, call == "undo") for name in names for call in ("do", "undo")} | {
        (name, "do", True) for name in names
    }
    keyed = sum(step.keyed for step in plans.five.plan.steps)
    probed = sum(step.probe is not None for step in plans.five.plan.steps)
    in_vain = probed * 3 * len(UNANSWERED)  # while it is done, cancelled, and undone
    assert len(report.rows) == 2 + len(names) * (2 * len(FAULTS) + len(IN_DOUBT)) + keyed + in_vain


def test_a_task_is_named_after_its_plan() -> None:
    document = {"step": "charge", "agent": "bank", "action": "charge", "undo": None, "class": {"keyed": True}}
    for name, named in (("order", "order-1"), ("o" * 100, f"{'o' * 40}-1")):
        plan = PlanDefinition.from_document({"plan": name, "body": document})
        with TurnedClock() as clock:
            task = Performance(clock, plan).finish()
            assert task.task_id == task.record["taskId"] == named
            assert task.record["steps"][0]["idempotencyKey"] == f"{named}-charge"


def test_the_example_passes_as_it_is_declared() -> None:
    assert rehearse(trip.book_trip).kept


def test_the_example_passes_with_its_own_functions() -> None:
    report = rehearse(trip.book_trip, stage=trip_stage)
    assert report.kept, f"{report}"
    assert {row.ends for row in report.rows if not row.waits_for} == {"Completed", "Compensated"}


def test_one_agents_own_functions_are_given_what_others_are_said_to_answer() -> None:
    report = rehearse(trip.book_trip, agents=[trip.hotels])
    assert report.kept, f"{report}"
    assert report.rows[0].ends == "Completed"


@pytest.mark.parametrize(
    "plan", [demo_trips.book_trip, acceptance_trips.book_trip, acceptance_trips.note], ids=repr
)
def test_our_own_plans_pass(plan: PlanDefinition[Any, Any]) -> None:
    report = rehearse(plan)
    assert report.kept, f"{report}"


def test_what_cannot_be_known_waits_for_a_person_in_plain_sight() -> None:
    report = rehearse(plans.groups)
    [row] = [
        row
        for row in report.rows
        if not row.cancelled and [(f.step, f.fault) for f in row.faults] == [("four", "times out, happened")]
    ]
    assert (row.ends, row.in_doubt) == ("Failed", ("four",))
    assert "it may have happened" in row.waits_for["four"]


@pytest.mark.parametrize(
    ("truth", "promise", "because"),
    [
        ({"keyed": False}, Promise.ONCE, "its service booked again for the same key"),
        ({"settle": 120}, Promise.IN_TIME, "declare a longer settle"),
        ({"tombstone": False}, Promise.NOTHING_SILENT, "its agent declares tombstone"),
    ],
)
def test_a_service_that_is_not_what_its_agent_declares_is_found(
    truth: dict[str, Any], promise: Promise, because: str
) -> None:
    stage = Rehearsal()
    stage.service(plans.buries, **truth)
    report = rehearse(plans.five, stage=stage)
    [found] = [f for f in report.broken if f.broken.promise is promise]
    assert found.broken.step == "two"
    assert because in found.broken.because


def test_services_answer_and_refuse_what_was_said() -> None:
    stage = Rehearsal()
    stage.answers(plans.point, "the answer")
    stage.refuses(plans.mail)
    report = rehearse(plans.pivoted, stage=stage)
    assert report.rows[0].ends == "Failed"
    assert report.rows[0].waits_for["mail"] == "failed for good: refused"
    told = [line.what for finding in report.broken for line in finding.story]
    assert report.kept, told


def test_pairs_strike_twice() -> None:
    report = rehearse(plans.by_hand, pairs=True)
    assert report.kept, f"{report}"
    twice = [row.faults for row in report.rows if len(row.faults) == 2]
    assert {(one.step, other.step, other.nth) for one, other in twice} >= {("a", "b", 1), ("a", "a", 2)}


def test_an_input_that_the_plan_cannot_take_is_refused() -> None:
    with pytest.raises(PayloadError, match=r"input\.legs"):
        rehearse(plans.five, input_json=b'{"day": "2030-01-01", "legs": 3}')


def test_a_rehearsal_is_the_same_rehearsal_each_time() -> None:
    first, second = (rehearse(trip.book_trip, stage=trip_stage) for _ in range(2))
    assert first == second
