"""Deploy any time: a task waits visibly for code that is not there or cannot read it, at no cost."""

from pathlib import Path
from time import sleep

from tests.acceptance.yard import Yard, until

OLD = """
from dataclasses import dataclass
from makegood import Agent, call, plan, step

flights = Agent("flight-agent", timeout=3, settle=0.2, keyed=True, tombstone=True)
cars = Agent("car-agent", timeout=3, settle=0.2, keyed=True, tombstone=True)

@dataclass
class Trip:
    who: str

async def cancel(booked: str | None) -> None: ...

@flights.action(undo=cancel)
async def book_flight(trip: Trip) -> str:
    return f"{call().key}: {trip.who}"

@cars.action(undo=cancel)
async def book_car(trip: Trip) -> str:
    return f"{call().key}: {trip.who}"

@plan
def book_trip(trip: Trip) -> str:
    step(book_flight, trip)
    return step(book_car, trip)
"""
NEW = OLD.replace("who: str", "who: str\n    passport: int").replace("{trip.who}", "{trip.passport}")
"""The trip of a later version, which a trip submitted before cannot be read as."""


def apps(folder: Path) -> None:
    (folder / "old.py").write_text(OLD)
    (folder / "new.py").write_text(NEW)


def test_a_step_waits_for_a_process_that_has_its_action(yard: Yard) -> None:
    apps(yard.folder)
    yard.engine("old.py:flights")
    yard.cli("submit", "old.py:book_trip", '{"who": "ann"}', "--id", "task")
    until(lambda: yard.step("task", "book_flight")["state"] == "Completed", "the flight")
    sleep(1.5)
    waiting = yard.record("task")["waiting"]
    assert (waiting["for"], waiting["step"]) == ("agent", "book_car")
    assert "process has car-agent/book_car" in yard.why("task")
    assert yard.step("task", "book_car")["state"] == "NotStarted"

    yard.engine("old.py:cars")
    assert yard.all_at_rest(1, within=5) == {"task": "Completed"}
    assert yard.record("task")["output"] == "task-book_car: ann"
    assert yard.step("task", "book_car")["retryCount"] == 0


def test_input_of_another_version_is_handed_back_and_costs_no_retry(yard: Yard) -> None:
    apps(yard.folder)
    yard.cli("submit", "old.py:book_trip", '{"who": "ann"}', "--id", "task")
    newer = yard.engine("new.py")
    until(lambda: "passport" in yard.cli("history", "task"), "handed back, and said why")
    sleep(6)  # it has been offered again meanwhile, and handed back
    assert yard.states() == {"task": "Running"}
    assert "passport" in yard.why("task")
    assert yard.step("task", "book_flight").get("retryCount", 0) == 0
    newer.terminate()
    assert newer.ended() == 0

    yard.engine("old.py")
    assert yard.all_at_rest(1, within=10) == {"task": "Completed"}
    assert yard.record("task")["output"] == "task-book_car: ann"
    assert yard.step("task", "book_flight")["retryCount"] == 0


def test_an_undo_that_a_deploy_renamed_waits_for_a_person_or_its_old_name(yard: Yard) -> None:
    apps(yard.folder)
    renamed = OLD.replace("def cancel(", "def refund(").replace("undo=cancel", "undo=refund")
    (yard.folder / "renamed.py").write_text(renamed)
    older = yard.engine("old.py:flights")
    for name in ("a", "b"):
        yard.cli("submit", "old.py:book_trip", '{"who": "ann"}', "--id", name)
    until(lambda: flown(yard, "a") and flown(yard, "b"), "the flights")
    older.terminate()
    assert older.ended(10) == 0

    newer = yard.engine("renamed.py:flights")
    for name in ("a", "b"):
        yard.cli("cancel", name)
    until(lambda: newer.talk.count("book_flight (undo, call 3): not called") == 2, "both are handed back")
    assert "has the undo refund, and this task began with the undo cancel" in yard.cli("history", "a")
    assert "makegood resolve a book_flight undone" in yard.why("a")
    yard.cli("resolve", "a", "book_flight", "undone", "--why", "cancelled by telephone")
    until(lambda: yard.states()["a"] == "Compensated", "what a person said")

    yard.engine("old.py:flights")
    assert yard.all_at_rest(2, within=10) == {"a": "Compensated", "b": "Compensated"}


def flown(yard: Yard, name: str) -> bool:
    return bool(yard.step(name, "book_flight")["state"] == "Completed")
