"""Fake services as an HTTP client hears them: statuses, JSON, and no longer than the client waits."""

import json
from typing import Any

import httpx
import pytest

from makegood import Agent, Refused, Transient, call
from makegood.http import AsyncClient
from makegood.testing import FakeService, Ledger, NothingThere, assert_settled, lost_answer, rehearse
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


def over_httpx(hotels: FakeService, *, keyed: bool = True, **patience: Any) -> shops.Shop:
    """An agent whose client is httpx's; its undo says nothing of what its service says no to."""
    agent = Agent("hotel", timeout=10, keyed=keyed)

    async def sent(request: httpx.Request) -> httpx.Response:
        key = request.headers["Idempotency-Key"]

        def work(ledger: Ledger) -> object:
            if request.method == "POST":
                return ledger.book(key=key).id
            return ledger.cancel(of=request.url.path.rpartition("/")[2], key=key)

        try:
            said = await hotels.http(work, within=request.extensions["timeout"]["read"])
        except TimeoutError:
            raise httpx.ReadTimeout("no answer", request=request) from None
        return httpx.Response(said.status, headers=said.headers, content=said.content)

    http = AsyncClient(base_url="https://hotel.example", transport=httpx.MockTransport(sent))

    async def cancel(id: str | None) -> None:
        try:
            await http.delete(f"/rooms/{call().do_key}", **patience)
        except httpx.HTTPStatusError as error:
            if error.response.status_code != 404:
                raise

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        return str((await http.post("/rooms", json={"guest": guest}, **patience)).json())

    return shops.shop(agent, book)


@pytest.mark.parametrize("keyed", [True, False])
def test_a_client_keeps_every_promise_and_handles_a_status(keyed: bool) -> None:
    shop = over_httpx(FakeService("hotels", keyed=keyed, cancels_again="fails"), keyed=keyed)
    report = rehearse(shop.plan, agents=[shop.agent])
    assert report.kept, f"{report}"
    assert report.rows[0].ends == "Completed"


def test_a_client_waits_as_long_as_it_says_and_no_longer() -> None:
    shop = over_httpx(FakeService("hotels", keyed=True), timeout=2)
    with TurnedClock() as clock:
        task = Performance(clock, shop.plan, lost_answer("book"), agents=[shop.agent])
        assert_settled(task)
    [given_up] = [line for line in task.story.splitlines() if "ReadTimeout" in line]
    assert given_up.split()[0] == "2.00"
