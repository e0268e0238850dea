"""The airline. It honours idempotency keys, and a key once cancelled can never be booked under again.

What can be asked of it:

    POST   /reservations                 reference, traveller, origin, destination, day
    GET    /reservations[?reference=R]   the live ones, of one reference or all
    DELETE /reservations/by-key/K        the booking made under K, now or ever
"""

import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from .booking import Service, run
else:  # started by path, as a program of its own: this folder is where imports are looked up
    from booking import Service, run


def ticket(request: dict[str, Any]) -> dict[str, Any]:
    route = f"{request['origin']}-{request['destination']}"
    hour = 8 + zlib.crc32(route.encode()) % 12
    return {"arrives": f"{request['day']}T{hour:02}:40:00Z"}


FLIGHT = Service(
    name="flight",
    prefix="FL",
    asks=("origin", "destination", "day"),
    describe=ticket,
    keyed=True,
    tombstones=True,
    cancels_by=frozenset({"key"}),
)

if __name__ == "__main__":
    run(FLIGHT)
