"""An app: trips of a flight and a car, booked in the ledger that the environment names.

The airline honours keys and remembers what was cancelled; the car rental knows no keys, but can be asked.
"""

import asyncio
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from makegood import Agent, Refused, Retry, UndoRetry, Unknown, call, plan, step
from tests.acceptance.ledger import Ledger


@dataclass
class Trip:
    """`before`, `after`: seconds the flight takes until and since it is booked; `car`: what happens there."""

    before: float = 0.0
    after: float = 0.0
    car: str = "done"


SOON = Retry(attempts=8, delay=0.1, cap=0.5)
flights = Agent("flight-agent", timeout=3, settle=0.5, keyed=True, tombstone=True, retry=SOON)
cars = Agent(
    "car-agent", timeout=1, settle=0.5, retry=SOON, undo_retry=UndoRetry(delay=0.1, cap=0.5), asks=30
)


def ledger() -> Ledger:
    return Ledger(Path(os.environ["LEDGER"]))


async def cancel_flight(flight: str | None) -> None:
    ledger().cancel(call(), flight)


@flights.action(undo=cancel_flight)
async def book_flight(trip: Trip) -> str:
    assert call().headers, "the request is made up first; then it takes its time"
    await asyncio.sleep(trip.before)
    flight = ledger().book(call(), keyed=True)
    await asyncio.sleep(trip.after)
    return flight


async def cancel_car(car: str | None) -> None:
    ledger().cancel(call(), car)
    lose_some_answers()


async def find_car() -> str | None:
    return ledger().find(call())


@cars.action(undo=cancel_car, probe=find_car)
async def book_car(trip: Trip) -> str:
    if trip.car == "refused":
        raise Refused("sold out")
    car = ledger().book(call(), keyed=False)
    if trip.car == "lossy":
        lose_some_answers()
    return car


def lose_some_answers() -> None:
    if zlib.crc32(f"{call().task_id} {call().attempt}".encode()) % 3 == 0:
        raise Unknown("the answer was lost")


@plan
def book_trip(trip: Trip) -> str:
    flight = step(book_flight, trip)
    step(book_car, trip)
    return flight


# --- a task that does next to nothing

notes = Agent("note-agent", keyed=True, tombstone=True)


@notes.action(undo=None)
async def take_note(number: int) -> str:
    return f"{call().key}: {number}"


@plan
def note(number: int) -> str:
    return step(take_note, number)
