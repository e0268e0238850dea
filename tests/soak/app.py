"""The app of the soak: the demo's agents and its plan, and another plan that does two things at a time.

Each request takes a moment to be made up before it is sent. A process that is frozen in that moment holds a
call that is recorded and not sent, and it must not send it when it wakes up.
"""

import asyncio
import random
from typing import Any

from makegood import parallel, plan, series, step
from makegood.demo import http, trips
from makegood.demo.trips import (
    Booking,
    Trip,
    book_trip,
    cars,
    flights,
    hotels,
    reserve_car,
    reserve_flight,
    reserve_hotel,
)

__all__ = ["PLANS", "book_at_once", "book_trip", "cars", "flights", "hotels"]

MADE_UP_SECONDS = (0.0, 0.3)


async def request(*told: Any, **more: Any) -> Any:
    await asyncio.sleep(random.uniform(*MADE_UP_SECONDS))
    return await http.request(*told, **more)


vars(trips)["request"] = request


@plan
def book_at_once(trip: Trip) -> Booking:
    with parallel():
        flight = step(reserve_flight, trip)
        with series():
            hotel = step(reserve_hotel, trip, arrives=trip.day)
            car = step(reserve_car, trip, at=hotel.address)
    return Booking(flight.confirmation, hotel.confirmation, car.confirmation)


PLANS = (book_trip, book_at_once)
