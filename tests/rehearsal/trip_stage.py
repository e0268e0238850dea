"""The trip of the examples with its own functions: what they would send over HTTP goes to fake services."""

import io
import re
from email.message import Message
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote

from examples import trip
from makegood import call
from makegood.testing import Booking, FakeService, Ledger, Rehearsal

SERVICES = {
    "flights": FakeService("flights", keyed=True, tombstone=True),
    "hotels": FakeService("hotels", keyed=True),
    "cars": FakeService("cars"),
}
URL = re.compile(
    r"(?P<service>\w+)/reservations(/by-key/(?P<of>.+)|/(?P<id>.+)|\?reference=(?P<reference>.+))?"
)
ARRIVES, ADDRESS = "2030-01-01T12:00:00Z", "5 Harbour Road"

stage = Rehearsal()
stage.runs(trip.flights, trip.hotels, trip.cars)


def ask(method: str, url: str, body: Any = None) -> Any:
    """The example's one call over HTTP, answered by a fake service in place of a real one."""
    found = URL.fullmatch(url)
    assert found is not None, url
    headers = call().headers
    return SERVICES[found["service"]].sync.call(lambda ledger: answered(ledger, method, found, headers, body))


def answered(ledger: Ledger, method: str, url: re.Match[str], headers: dict[str, str], body: Any) -> Any:
    key = headers["Idempotency-Key"]
    if method == "POST":
        return shown(ledger.book(key=key, **body))
    if method == "GET":
        booking = ledger.find(reference=unquote(url["reference"]))
        return {"reservations": [shown(booking)] if booking else []}
    if not ledger.cancel(url["id"] or "", of=unquote(url["of"] or ""), key=key):
        raise HTTPError(url.string, 404, "there is no such reservation", Message(), io.BytesIO())
    return {}


def shown(booking: Booking) -> dict[str, str]:
    return {"confirmation": booking.id, "arrives": ARRIVES, "address": ADDRESS}


trip.ask = ask
trip.service = lambda name: f"{name}/reservations"
