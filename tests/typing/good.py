"""Programs that both type checkers must take, and what they must make of them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar, assert_type

from makegood.authoring import (
    NOT_THERE,
    Agent,
    NotThere,
    PlanDefinition,
    There,
    build,
    parallel,
    plan,
    series,
    step,
)
from makegood.core.document import KeyForm, Retry, UndoRetry

WHEN = datetime.fromisoformat("2026-01-01T00:00:00Z")

Given = TypeVar("Given")
Returned = TypeVar("Returned")


@dataclass
class Trip:
    who: str
    legs: list[str]


@dataclass
class Flight:
    confirmation: str
    arrives: datetime


@dataclass
class Hotel:
    address: str | None


flights = Agent("flights", timeout=10, keyed=True, tombstone=True, retry=Retry(attempts=3), asks=5)
hotels = Agent(
    "hotels", settle=timedelta(seconds=2), keyed=timedelta(days=1), undo_retry=UndoRetry(within=60)
)
cars = Agent("cars", keyed=3600, key=KeyForm(prefix="x"))


async def cancel_flight(flight: Flight | None, trip: Trip) -> None: ...
async def find_flight(trip: Trip) -> Flight | None: ...


@flights.action(undo=cancel_flight, probe=find_flight)
async def reserve_flight(trip: Trip) -> Flight:
    return Flight(trip.who, WHEN)


def cancel_hotel(hotel: Hotel | None) -> None: ...


@hotels.action(undo=cancel_hotel, timeout=timedelta(seconds=5), settle=1, keyed=False, name="reserve")
def reserve_hotel(trip: Trip, *, arrives: datetime, stars: int = 3) -> Hotel:
    return Hotel(f"{trip.who} {arrives} {stars}")


@cars.action(undo=None, probe=None)
def wash_car(plate: str) -> None: ...


@cars.action(reads=True)
def find_seat(row: int) -> str | None: ...


async def ask_seat(row: int) -> There[str | None] | NotThere:
    return There("4A") if row else NOT_THERE


@cars.action(pivot=True, probe=ask_seat)
async def pay(row: int) -> str | None: ...


@cars.action(reads=True)
def anything(given: Any) -> Any: ...


# An action stays the function it was.
assert_type(reserve_hotel(Trip("ann", []), arrives=WHEN, stars=4), Hotel)
assert_type(wash_car(plate="x"), None)


async def fly() -> None:
    assert_type(await reserve_flight(Trip("ann", [])), Flight)


@plan
def book_trip(trip: Trip) -> str:
    flight = step(reserve_flight, trip)
    assert_type(flight, Flight)
    with parallel():
        hotel = step(reserve_hotel, trip, arrives=flight.arrives)
        assert_type(hotel, Hotel)
        with series():
            step(wash_car, plate=trip.legs[0])
            seat = step.options(name="seat", retry=Retry(), timeout=1, deadline=timedelta(hours=1))(
                find_seat, 4
            )
            assert_type(seat, str | None)
    assert_type(step(pay, 4), str | None)
    built = build(Trip, who=flight.confirmation, legs=[trip.who])
    assert_type(built, Trip)
    again = step(reserve_flight, Trip(flight.confirmation, [trip.legs[0]]))
    assert_type(step(anything, {"x": [hotel]}), Any)
    return again.confirmation


@plan
def nightly() -> None:
    step(find_seat, 1)


@plan(name="other_name")
def renamed(trip: Trip) -> Flight:
    return step(reserve_flight, trip)


@plan(name="without_input")
def renamed_too() -> int:
    return 5


assert_type(book_trip, PlanDefinition[Trip, str])
assert_type(nightly, PlanDefinition[None, None])
assert_type(renamed, PlanDefinition[Trip, Flight])
assert_type(renamed_too, PlanDefinition[None, int])


def submit(definition: PlanDefinition[Given, Returned], given: Given) -> Returned:
    raise AssertionError(f"only its types are read: {definition}, {given}")


assert_type(submit(book_trip, Trip("ann", [])), str)
assert_type(submit(nightly, None), None)
by_hand = PlanDefinition.from_document('{"plan": "x"}', agents=[flights], input_type=Trip)
assert_type(submit(by_hand, {"who": "ann"}), Any)
