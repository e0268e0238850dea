"""A trip's types, agents and actions, for tests of what users write."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from makegood.authoring import Agent
from makegood.core.document import KeyForm, Retry
from makegood.errors import PlanError


def refused(why: str) -> "pytest.RaisesExc[PlanError]":
    """PlanError that begins with the user's line, and says why."""
    return pytest.raises(PlanError, match=rf"^\S*\.py:\d+: .*{why}")


@dataclass
class Trip:
    who: str
    nights: int = 1


@dataclass
class Flight:
    confirmation: str
    arrives: datetime


@dataclass
class Charter(Flight):
    pilot: str = "ann"


@dataclass
class Hotel:
    address: str


flights = Agent("flight-agent", timeout=10, keyed=True, tombstone=True)
hotels = Agent("hotel-agent", keyed=timedelta(hours=1), retry=Retry(attempts=3))
cars = Agent("car-agent", settle=timedelta(milliseconds=500), key=KeyForm(uuid=True))
desk = Agent("desk")


async def cancel_flight(flight: Flight | None, trip: Trip) -> None: ...


async def find_flight(trip: Trip) -> Flight | None:
    return None


@flights.action(undo=cancel_flight, probe=find_flight)
async def reserve_flight(trip: Trip) -> Flight:
    return Flight(trip.who, datetime.fromisoformat("2026-01-01T00:00:00Z"))


def cancel_hotel(hotel: Hotel | None) -> None: ...


@hotels.action(undo=cancel_hotel, settle=2, asks=3)
def reserve_hotel(trip: Trip, arrives: datetime, stars: int = 3) -> Hotel:
    return Hotel(f"{trip.who} {arrives:%Y} {stars}")


def cancel_car(plate: str | None) -> None: ...


@cars.action(undo=cancel_car)
def reserve_car(trip: Trip, at: str) -> str:
    raise AssertionError("it is declared, never called")


@desk.action(reads=True)
def look(value: Any = None) -> Any:
    return None


@desk.action(pivot=True, timeout=timedelta(minutes=1))
def pay(amount: int) -> None: ...
