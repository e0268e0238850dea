"""A trip of three bookings at three services: all of it, or none of it.

The airline and the hotel do a thing once per idempotency key, and the airline also refuses a booking whose
key was cancelled before; the car rental knows nothing of keys, but can be asked what is booked. Where they
are is read from FLIGHTS, HOTELS and CARS.

    makegood up examples/trip.py
    makegood submit examples/trip.py:book_trip @trip.json --wait
"""

import json
import os
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from makegood import Agent, call, plan, step


@dataclass
class Trip:
    traveller: str
    origin: str
    destination: str
    day: date
    nights: int = 2


@dataclass
class Flight:
    confirmation: str
    arrives: datetime


@dataclass
class Hotel:
    confirmation: str
    address: str


@dataclass
class Car:
    confirmation: str


flights = Agent("flight-agent", timeout=10, keyed=True, tombstone=True)
hotels = Agent("hotel-agent", timeout=10, keyed=True)
cars = Agent("car-agent", timeout=10)


def cancel_flight(flight: Flight | None) -> None:
    cancel(f"{service('flights')}/by-key/{quote(call().do_key)}")


@flights.action(undo=cancel_flight)
def reserve_flight(trip: Trip) -> Flight:
    wish = {"origin": trip.origin, "destination": trip.destination, "day": f"{trip.day}"}
    booked = book("flights", trip, wish)
    return Flight(booked["confirmation"], datetime.fromisoformat(booked["arrives"]))


def cancel_hotel(hotel: Hotel | None) -> None:
    cancel(f"{service('hotels')}/by-key/{quote(call().do_key)}")


@hotels.action(undo=cancel_hotel)
def reserve_hotel(trip: Trip, arrives: datetime) -> Hotel:
    wish = {"city": trip.destination, "arrives": f"{arrives:%Y-%m-%dT%H:%M:%SZ}", "nights": f"{trip.nights}"}
    booked = book("hotels", trip, wish)
    return Hotel(booked["confirmation"], booked["address"])


def find_car() -> Car | None:
    found = ask("GET", f"{service('cars')}?reference={quote(call().task_id)}")["reservations"]
    return Car(found[0]["confirmation"]) if found else None


def cancel_car(car: Car | None) -> None:
    booked = car or find_car()
    if booked is not None:
        cancel(f"{service('cars')}/{booked.confirmation}")


@cars.action(undo=cancel_car, probe=find_car)
def reserve_car(trip: Trip, at: str) -> Car:
    return Car(book("cars", trip, {"pickup": at, "days": f"{trip.nights}"})["confirmation"])


@plan
def book_trip(trip: Trip) -> dict[str, str]:
    flight = step(reserve_flight, trip)
    hotel = step(reserve_hotel, trip, arrives=flight.arrives)
    car = step(reserve_car, trip, at=hotel.address)
    return {"flight": flight.confirmation, "hotel": hotel.confirmation, "car": car.confirmation}


# --- one call over HTTP; what goes wrong is raised, and makegood knows what it means


def service(name: str) -> str:
    return f"{os.environ[name.upper()]}/reservations"


def book(name: str, trip: Trip, wish: dict[str, str]) -> Any:
    return ask("POST", service(name), {"reference": call().task_id, "traveller": trip.traveller} | wish)


def cancel(url: str) -> None:
    try:
        ask("DELETE", url)
    except HTTPError as error:
        if error.code != 404:  # gone already: an earlier cancellation has come through
            raise


def ask(method: str, url: str, body: Any = None) -> Any:
    sent = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | call().headers
    request = Request(url, sent, headers, method=method)
    with urlopen(request, timeout=call().time_left - 0.5) as reply:
        return json.load(reply)
