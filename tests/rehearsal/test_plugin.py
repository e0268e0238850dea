"""The pytest plugin as a user has it: their tests, in a pytest of their own."""

import re
import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

APP = """
from makegood import Agent, call, plan, step
from makegood.testing import FakeService

hotel_service = FakeService("hotels", keyed=True)
hotels = Agent("hotels", timeout=10, keyed=True)
cars = Agent("cars", timeout=10, keyed=True)

async def cancel_hotel(id: str | None, guest: str) -> None:
    await hotel_service.cancel(of=call().do_key, key=call().key)

@hotels.action(undo=cancel_hotel)
async def reserve_hotel(guest: str) -> str:
    return (await hotel_service.book(key=call().key, guest=guest)).id

async def cancel_car(id: str | None) -> None: ...

@cars.action(undo=cancel_car)
async def reserve_car(guest: str, hotel: str) -> str: ...

@plan
def trip(guest: str) -> str:
    return step(reserve_car, guest, hotel=step(reserve_hotel, guest))

bank = Agent("bank", timeout=10)

async def refund(receipt: str | None) -> None: ...

@bank.action(undo=refund)
async def charge(guest: str) -> str: ...

@plan
def order(guest: str) -> str:
    return step(charge, guest)
"""

TESTS = """
import asyncio
from types import ModuleType
import pytest
from makegood import Makegood
from makegood.errors import PlanError
from makegood.testing import Rehearsal, assert_settled, crash_after, happens_late, lost_answer
from app import cars, hotel_service, hotels, order, reserve_hotel, trip

@pytest.mark.parametrize("strike", [crash_after("reserve_hotel"), lost_answer("reserve_hotel"),
                                    happens_late("reserve_hotel")])
def test_trouble_costs_nothing(makegood_play, strike):
    task = makegood_play(trip, strike, input="ann", agents=[hotels])
    assert_settled(task)
    assert task.state == "Completed"
    assert task.record["input"] == "ann"
    assert "hotels-1" in task.story

def test_time_passes_when_it_is_told_to(makegood_play, makegood_clock):
    task = makegood_play(trip, lost_answer("reserve_hotel"), agents=[hotels])
    makegood_clock.advance(5)
    assert task.state == "Running"
    assert "is calling reserve_hotel" in task.why
    assert not task.at_rest
    makegood_clock.advance(3600)
    assert makegood_clock.seconds == 3605
    assert (task.state, task.at_rest) == ("Completed", True)

def test_what_is_cancelled_is_undone(makegood_play):
    crash = crash_after("reserve_hotel", undo=True)
    task = makegood_play(trip, crash, agents=[hotels], cancel_at="reserve_car")
    assert_settled(task)
    assert task.state == "Compensated"

def test_a_person_sees_to_what_is_in_doubt(makegood_play):
    task = makegood_play(order, lost_answer("charge"), input="ann").finish()
    assert task.state == "Failed"
    assert "makegood resolve order-1 charge done" in task.why
    task.resolve("charge", "done", '"receipt 17"', by="bob", why="the bank has it")
    assert_settled(task)
    assert (task.state, task.record["output"]) == ("Completed", "receipt 17")

def test_a_rehearsal(makegood_rehearse):
    report = makegood_rehearse(trip, agents=[hotels])
    assert report.kept, report
    assert not report.broken and len(report.rows) > 30

def test_a_stage_is_also_the_module_that_has_it(makegood_play):
    stage = ModuleType("stage")
    stage.said = Rehearsal()
    stage.said.input("bob")
    assert makegood_play(trip, stage=stage).finish().record["input"] == "bob"
    with pytest.raises(PlanError, match="stage='app' is no Rehearsal; give one, or the module that has one"):
        makegood_play(trip, stage="app")

def test_a_lossy_service(makegood_service):
    assert makegood_service("cars", keyed=True).name == "cars"

def test_a_fresh_store(makegood_store):
    async def main():
        async with Makegood(makegood_store) as makegood:
            return await makegood.list()
    assert not asyncio.run(main()).tasks
"""

FAULTY = """
from makegood.testing import FakeService, assert_settled, crash_after, lost_answer
import app

def test_a_service_without_keys(makegood_play, monkeypatch):
    monkeypatch.setattr(app, "hotel_service", FakeService("hotels"))
    assert_settled(makegood_play(app.trip, lost_answer("reserve_hotel"), agents=[app.hotels]))

def test_all_of_it(makegood_rehearse, monkeypatch):
    monkeypatch.setattr(app, "hotel_service", FakeService("hotels"))
    report = makegood_rehearse(app.trip, agents=[app.hotels])
    assert report.kept, str(report)

def test_a_step_that_is_not_there(makegood_play):
    makegood_play(app.trip, crash_after("reserve_cra"))
"""


def run(pytester: pytest.Pytester, tests: str) -> pytest.RunResult:
    pytester.makepyfile(app=APP, test_trip=tests)
    return pytester.runpytest_subprocess("-p", "makegood_pytest", "-p", "no:cacheprovider", "-W", "error")


def test_a_users_tests_pass(pytester: pytest.Pytester) -> None:
    run(pytester, TESTS).assert_outcomes(passed=10)


def test_a_broken_promise_fails_with_its_story(pytester: pytest.Pytester) -> None:
    result = run(pytester, FAULTY)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "*reserve_hotel: it was in effect twice at once (hotels-1, hotels-2)*",
            "*service hotels: books hotels-2*",
            "E*AssertionError: BROKEN, in * runs: reserve_hotel: it was in effect twice at once*",
            "E*broken promises: *",
            "E*trip has no step 'reserve_cra'; its steps are: reserve_hotel, reserve_car",
        ]
    )


WRONG = """
from makegood.testing import assert_settled, crash_after, lost_answer
import app

def test_a_step_that_is_not_there(makegood_play):
    makegood_play(app.trip, crash_after("reserve_cra"))

def test_an_input_that_it_cannot_take(makegood_play):
    makegood_play(app.trip, input=4)

def test_a_word_too_early(makegood_play):
    makegood_play(app.order).resolve("charge", "absent")

def test_a_strike_that_never_came(makegood_play):
    assert_settled(makegood_play(app.trip, lost_answer("reserve_car", undo=True)))

def test_a_rehearsal(makegood_rehearse):
    makegood_rehearse(app.trip, stage=17)
"""


REWRITTEN = """
import pytest

pytest.register_assert_rewrite("makegood.testing")  # as it is for an installed plugin's distribution
"""


def test_what_is_not_settled_is_said_once(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(REWRITTEN)
    result = run(pytester, WRONG)
    told = [line for line in result.outlines if line.startswith("E") and "this never came to pass" in line]
    assert len(told) == 1, told


def test_a_users_mistake_is_told_at_his_own_line(pytester: pytest.Pytester) -> None:
    result = run(pytester, WRONG)
    result.assert_outcomes(failed=5)
    places = [line for line in result.outlines if re.match(r"\S+\.py:\d+: ", line)]
    assert [place.partition(":")[0] for place in places] == ["test_trip.py"] * 5
    result.stdout.fnmatch_lines(["E*lost_answer('reserve_car', undo=True): this never came to pass; *"])


def test_unused_it_brings_nothing_of_makegood() -> None:
    code = "import sys, makegood_pytest; print([name for name in sys.modules if name.startswith('makegood')])"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert said.stdout.strip() == "['makegood_pytest']"
