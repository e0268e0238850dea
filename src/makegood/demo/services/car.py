"""The car rental. It knows nothing of keys: every request books a car, unless the place is sold out.

What can be asked of it:

    POST   /reservations                 reference, traveller, pickup, days; 422 {"error": "sold out"}
    GET    /reservations[?reference=R]   the live ones, of one reference or all
    DELETE /reservations/C               the booking with confirmation C; 404 where it is not live
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from .booking import Service, run
else:  # started by path, as a program of its own: this folder is where imports are looked up
    from booking import Service, run


def rental(request: dict[str, Any]) -> dict[str, Any]:
    return {"pickup": request["pickup"]}


CAR = Service(
    name="car",
    prefix="CA",
    asks=("pickup", "days"),
    describe=rental,
    keyed=False,
    cancels_by=frozenset({"confirmation"}),
    sold_out=0.15,
)

if __name__ == "__main__":
    run(CAR)
