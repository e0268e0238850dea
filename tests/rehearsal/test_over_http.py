"""Fake services as an HTTP client hears them: statuses, JSON, and no longer than the client waits."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import requests
import urllib3

from makegood import Agent, Refused, Transient, call
from makegood.http import AsyncClient
from makegood.testing import (
    FakeService,
    HttpxTransport,
    Ledger,
    NothingThere,
    RequestsAdapter,
    assert_settled,
    lost_answer,
    rehearse,
)
from makegood.testing.rehearsal.over_http import failure, success
from makegood.testing.rehearsal.performance import Performance, TurnedClock
from tests.rehearsal import shops


@pytest.mark.parametrize(
    ("error", "status", "wait"),
    [
        (NothingThere("no such room"), 404, None),
        (Refused("full"), 422, None),
        (Transient("busy"), 429, None),
        (Transient("busy", retry_after=1.2), 429, "2"),
    ],
)
def test_what_is_raised_is_a_status(error: Refused | Transient, status: int, wait: str | None) -> None:
    answer = failure(error)
    assert (answer.status, answer.headers.get("Retry-After")) == (status, wait)
    assert json.loads(answer.content) == {"error": str(error)}


def test_what_is_returned_is_json() -> None:
    assert success({"id": "r-1"}) == (200, {"Content-Type": "application/json"}, b'{"id":"r-1"}')


def rooms(ledger: Ledger, request: Any) -> object:
    """What a hotel does with a request, of either library."""
    key = request.headers["Idempotency-Key"]
    if request.method == "POST":
        return ledger.book(key=key).id
    return ledger.cancel(of=str(request.url).rpartition("/")[2], key=key)


Over = Callable[..., shops.Shop]
URL = "https://hotel.example/rooms"


def over_async_httpx(hotels: FakeService, *, keyed: bool = True, **patience: Any) -> shops.Shop:
    """An agent whose client is httpx's; its undo says nothing of what its service says no to."""
    agent = Agent("hotel", timeout=10, keyed=keyed)
    http = AsyncClient(transport=HttpxTransport(hotels, rooms))

    async def cancel(id: str | None) -> None:
        try:
            await http.delete(f"{URL}/{call().do_key}", **patience)
        except httpx.HTTPStatusError as error:
            if error.response.status_code != 404:
                raise

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        return str((await http.post(URL, json={"guest": guest}, **patience)).json())

    return shops.shop(agent, book)


def in_threads(http: httpx.Client | requests.Session, *, keyed: bool, **patience: Any) -> shops.Shop:
    agent = Agent("hotel", timeout=10, keyed=keyed)

    def cancel(id: str | None) -> None:
        answer = http.delete(f"{URL}/{call().do_key}", headers=call().headers, **patience)
        if answer.status_code != 404:
            answer.raise_for_status()

    @agent.action(undo=cancel)
    def book(guest: str) -> str:
        answer = http.post(URL, json={"guest": guest}, headers=call().headers, **patience)
        answer.raise_for_status()
        return str(answer.json())

    return shops.shop(agent, book)


def over_httpx(hotels: FakeService, *, keyed: bool = True, **patience: Any) -> shops.Shop:
    """The same in threads."""
    return in_threads(httpx.Client(transport=HttpxTransport(hotels, rooms)), keyed=keyed, **patience)


def over_requests(hotels: FakeService, *, keyed: bool = True, **patience: Any) -> shops.Shop:
    """The same with requests."""
    http = requests.Session()
    http.mount("https://", RequestsAdapter(hotels, rooms))
    return in_threads(http, keyed=keyed, **patience)


@pytest.mark.parametrize("over", [over_async_httpx, over_httpx, over_requests])
@pytest.mark.parametrize("keyed", [True, False])
def test_a_client_keeps_every_promise_and_handles_a_status(over: Over, keyed: bool) -> None:
    shop = over(FakeService("hotels", keyed=keyed, cancels_again="fails"), keyed=keyed)
    report = rehearse(shop.plan, agents=[shop.agent])
    assert report.kept, f"{report}"
    assert report.rows[0].ends == "Completed"


@pytest.mark.parametrize(
    ("over", "timeout"),
    [
        (over_async_httpx, 2),
        (over_httpx, 2),
        (over_requests, 2),
        (over_requests, (5, 2)),
        (over_requests, urllib3.Timeout(read=2)),
    ],
)
def test_a_client_waits_as_long_as_it_says_and_no_longer(over: Over, timeout: object) -> None:
    shop = over(FakeService("hotels", keyed=True), timeout=timeout)
    with TurnedClock() as clock:
        task = Performance(clock, shop.plan, lost_answer("book"), agents=[shop.agent])
        assert_settled(task)
    [given_up] = [line for line in task.story.splitlines() if "ReadTimeout" in line]
    assert given_up.split()[0] == "2.00"


WITHOUT_LIBRARIES = """
import sys
sys.modules["httpx"] = sys.modules["requests"] = None
from makegood.testing import *
print(FakeService("hotels"), lost_answer("book").written, "RequestsAdapter" in globals())
for name in ("HttpxTransport", "RequestsAdapter"):
    try:
        exec(f"from makegood.testing import {name}")
    except ImportError as error:
        print(error)
"""


def test_who_has_neither_library_has_all_the_rest() -> None:
    said = subprocess.check_output([sys.executable, "-c", WITHOUT_LIBRARIES], text=True).splitlines()
    assert said == [
        "<fake service hotels> lost_answer('book') False",
        "makegood.testing.HttpxTransport needs httpx, which is missing: pip install 'makegood[http]' "
        "(from a clone: '.[http]')",
        "makegood.testing.RequestsAdapter needs requests, which is missing: pip install requests",
    ]


def test_who_has_both_has_all_by_a_star() -> None:
    names: dict[str, Any] = {}
    exec("from makegood.testing import *", names)
    assert names["HttpxTransport"] is HttpxTransport
    assert names["RequestsAdapter"] is RequestsAdapter
