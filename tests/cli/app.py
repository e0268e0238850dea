"""A small app for the tests of the command line: what goes wrong is asked for in the input."""

import asyncio
from dataclasses import dataclass

from makegood import Agent, Refused, Transient, Unknown, call, plan, step


@dataclass
class Trip:
    who: str
    car: str = "done"
    undo: str = "done"


flights = Agent("flight-agent", timeout=5, settle=1, keyed=True, tombstone=True)
cars = Agent("car-agent", timeout=1, settle=0.2)


async def cancel_flight(flight: str | None, trip: Trip) -> None:
    if trip.undo == "refused":
        raise Refused("\x1b[31mdeparted\x1b[0m\nsorry")


@flights.action(undo=cancel_flight)
async def reserve_flight(trip: Trip) -> str:
    return f"{call().key}:{trip.who}"


async def cancel_car(car: str | None) -> None: ...


@cars.action(undo=cancel_car)
async def reserve_car(trip: Trip) -> str:
    match trip.car:
        case "refused":
            raise Refused("sold out")
        case "busy":
            raise Transient("busy")
        case "lost":
            raise Unknown("connection reset")
        case "slow":
            await asyncio.sleep(0.8)
    return "C-1"


@plan
def book_trip(trip: Trip) -> str:
    flight = step(reserve_flight, trip)
    step(reserve_car, trip)
    return flight


@plan
def rent_car(trip: Trip) -> str:
    return step(reserve_car, trip)
