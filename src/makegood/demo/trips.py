"""The demo's plan and agents: book a flight, then a hotel, then a car, at three services nobody controls.

Where the services are is read from the environment, as it would be in earnest: MAKEGOOD_DEMO_FLIGHT,
MAKEGOOD_DEMO_HOTEL and MAKEGOOD_DEMO_CAR.
"""

import os
from dataclasses import dataclass
from urllib.parse import quote

from makegood import Agent, Retry, UndoRetry, call, plan, step
from makegood.auditing import Held
from makegood.demo.http import request

TIMEOUT, SETTLE = 1.0, 1.8
"""Seconds. The services' late effects come within 0.7 s after we gave up; a request may leave late, too."""
OFTEN = Retry(attempts=6, delay=0.2, cap=2.0)
UNTIL_DONE = UndoRetry(delay=0.2, cap=2.0)


@dataclass
class Trip:
    """What a traveller asks for."""

    traveller: str
    origin: str
    destination: str
    day: str
    nights: int = 2


@dataclass
class Flight:
    confirmation: str
    arrives: str


@dataclass
class Hotel:
    confirmation: str
    address: str


@dataclass
class Car:
    confirmation: str


@dataclass
class Booking:
    """What the traveller gets."""

    flight: str
    hotel: str
    car: str


flights = Agent(
    "flight-agent",
    timeout=TIMEOUT,
    settle=SETTLE,
    keyed=True,
    tombstone=True,
    retry=OFTEN,
    undo_retry=UNTIL_DONE,
)
hotels = Agent(
    "hotel-agent", timeout=TIMEOUT, settle=SETTLE, keyed=True, retry=OFTEN, undo_retry=UNTIL_DONE, asks=30
)
cars = Agent("car-agent", timeout=TIMEOUT, settle=SETTLE, retry=OFTEN, undo_retry=UNTIL_DONE, asks=30)


def service(name: str) -> str:
    """Where a service listens."""
    return os.environ[f"MAKEGOOD_DEMO_{name.upper()}"] + "/reservations"


def reference() -> str:
    """What we tell a service of our own: by it a booking can be found again."""
    return f"{call().task_id}/{call().step}"


async def held_by(name: str) -> list[Held]:
    """All that a service holds, by the references it was told; for the audit."""
    found = await request("GET", service(name))
    references = [
        (*booked["reference"].split("/"), booked["confirmation"]) for booked in found["reservations"]
    ]
    return [Held(task_id=task_id, step=step, note=note) for task_id, step, note in references]


# --- the airline: keyed, and a cancelled key stays cancelled


async def cancel_flight(flight: Flight | None) -> None:
    key = quote(call().do_key, safe="")
    await request("DELETE", f"{service('flight')}/by-key/{key}", headers=call().headers, keyed=True)


async def list_flights() -> list[Held]:
    return await held_by("flight")


@flights.action(undo=cancel_flight, lists=list_flights)
async def reserve_flight(trip: Trip) -> Flight:
    asked = {"reference": reference(), "traveller": trip.traveller, "day": trip.day}
    asked |= {"origin": trip.origin, "destination": trip.destination}
    booked = await request("POST", service("flight"), asked, call().headers, keyed=True)
    return Flight(booked["confirmation"], booked["arrives"])


# --- the hotel: keyed, but a cancelled key can be booked again; bookings can be looked up


async def cancel_hotel(hotel: Hotel | None) -> None:
    which = f"by-key/{quote(call().do_key, safe='')}" if hotel is None else hotel.confirmation
    await request("DELETE", f"{service('hotel')}/{which}", headers=call().headers, keyed=True)


async def find_hotel() -> Hotel | None:
    found = await request("GET", f"{service('hotel')}?reference={quote(reference(), safe='')}")
    return next((Hotel(r["confirmation"], r["address"]) for r in found["reservations"]), None)


async def list_hotels() -> list[Held]:
    return await held_by("hotel")


@hotels.action(undo=cancel_hotel, probe=find_hotel, lists=list_hotels)
async def reserve_hotel(trip: Trip, arrives: str) -> Hotel:
    asked = {"reference": reference(), "traveller": trip.traveller, "city": trip.destination}
    asked |= {"arrives": arrives, "nights": f"{trip.nights}"}
    booked = await request("POST", service("hotel"), asked, call().headers, keyed=True)
    return Hotel(booked["confirmation"], booked["address"])


# --- the car: no keys at all; bookings can be looked up


async def cancel_car(car: Car | None) -> None:
    if car is not None:
        await request("DELETE", f"{service('car')}/{car.confirmation}")


async def find_car() -> Car | None:
    found = await request("GET", f"{service('car')}?reference={quote(reference(), safe='')}")
    return next((Car(r["confirmation"]) for r in found["reservations"]), None)


async def list_cars() -> list[Held]:
    return await held_by("car")


@cars.action(undo=cancel_car, probe=find_car, lists=list_cars)
async def reserve_car(trip: Trip, at: str) -> Car:
    asked = {"reference": reference(), "traveller": trip.traveller, "pickup": at, "days": f"{trip.nights}"}
    return Car((await request("POST", service("car"), asked))["confirmation"])


# --- the plan


@plan
def book_trip(trip: Trip) -> Booking:
    flight = step(reserve_flight, trip)
    hotel = step(reserve_hotel, trip, arrives=flight.arrives)
    car = step(reserve_car, trip, at=hotel.address)
    return Booking(flight.confirmation, hotel.confirmation, car.confirmation)
