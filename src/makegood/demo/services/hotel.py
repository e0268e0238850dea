"""The hotel. It honours idempotency keys, but forgets what was cancelled: a late booking still gets in.

Answers come late or never at times, though the room is booked. What can be asked of it:

    POST   /reservations                 reference, traveller, city, arrives, nights
    GET    /reservations[?reference=R]   the live ones, of one reference or all
    DELETE /reservations/C               the booking with confirmation C; 404 where it is not live
    DELETE /reservations/by-key/K        the one made under K so far; {"cancelled": false} if none
"""

import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from .booking import Fault, Service, run
else:  # started by path, as a program of its own: this folder is where imports are looked up
    from booking import Fault, Service, run

STREETS = ("Station Road", "Harbour Street", "Market Square", "Castle Hill", "Mill Lane", "River Walk")


def room(request: dict[str, Any]) -> dict[str, Any]:
    number = zlib.crc32(request["city"].encode())
    return {"address": f"{1 + number % 90} {STREETS[number % len(STREETS)]}, {request['city']}"}


HOTEL = Service(
    name="hotel",
    prefix="HO",
    asks=("city", "arrives", "nights"),
    describe=room,
    keyed=True,
    cancels_by=frozenset({"key", "confirmation"}),
    often=(Fault.LATENCY, Fault.HANG_AFTER, Fault.LATE, Fault.RESET_AFTER),
)

if __name__ == "__main__":
    run(HOTEL)
