"""The payment provider of the examples keeps the rules that docs/examples.md states, over real HTTP."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from os import environ
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.payment_provider import SEARCH_LAG_SECONDS
from examples.staging import ledger, services

FORM = {"amount": "4500", "currency": "eur", "customer": "cus-1", "payment_method": "pm-1"}


class Provider:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.http = httpx.Client(base_url=f"{url}/v1", timeout=10)

    def pay(self, key: str = "", reference: str = "sale-1/pay", **more: str) -> httpx.Response:
        form = FORM | {"metadata[reference]": reference} | more
        return self.http.post("/payment_intents", data=form, headers=self.headers(key))

    def refund(self, payment: str, key: str = "", reference: str = "sale-1/pay") -> httpx.Response:
        form = {"payment_intent": payment, "metadata[reference]": reference}
        return self.http.post("/refunds", data=form, headers=self.headers(key))

    def listed(self, **query: str) -> Any:
        return self.http.get("/payment_intents", params={"customer": "cus-1"} | query).json()

    def refunded(self) -> dict[str, bool]:
        return {payment["id"]: payment["latest_charge"]["refunded"] for payment in self.listed()["data"]}

    def searched(self) -> Any:
        query = "metadata['reference']:'sale-1/pay'"
        return self.http.get("/payment_intents/search", params={"query": query}).json()["data"]

    def counts(self) -> list[int]:
        """The entries in its ledger: payments and refunds."""
        with closing(sqlite3.connect(ledger(self.folder))) as db:
            return [count for (count,) in db.execute("SELECT counts FROM entries ORDER BY number")]

    def age(self, seconds: float) -> None:
        """Let time pass for the keys it remembers."""
        with closing(sqlite3.connect(ledger(self.folder))) as db, db:
            db.execute("UPDATE answers SET at = at - ?", (seconds,))

    def headers(self, key: str) -> dict[str, str]:
        return {"Idempotency-Key": key} if key else {}


Start = Callable[..., Any]


@pytest.fixture
def provider(tmp_path: Path) -> Start:
    @contextmanager
    def start(*faults: str, undo: str = "") -> Iterator[Provider]:
        ordered = {"sale-1/pay": list(faults), "undo sale-1/pay": [undo]}
        with services(tmp_path, ordered, program="payment_provider.py"):
            one = Provider(tmp_path, environ["SERVICES"])
            with one.http:
                yield one

    return start


def said(reply: httpx.Response) -> tuple[int, str]:
    """The status, and what kind of error it is."""
    error = json.loads(reply.text).get("error", {})
    return reply.status_code, error.get("code") or error.get("type", "")


def test_the_same_key_is_answered_as_the_first_time(provider: Start) -> None:
    with provider() as one:
        first, second, other = one.pay("k"), one.pay("k"), one.pay("another")
        assert (first.status_code, first.json()) == (200, second.json())
        assert "Idempotent-Replayed" not in first.headers
        assert second.headers["Idempotent-Replayed"] == "true"
        assert other.json() != first.json()
        assert one.counts() == [1, 1]


def test_without_a_key_every_request_pays(provider: Start) -> None:
    with provider() as one:
        one.pay()
        one.pay()
        assert one.counts() == [1, 1]


def test_the_same_key_with_other_parameters_is_an_error(provider: Start) -> None:
    with provider() as one:
        one.pay("k")
        assert said(one.pay("k", amount="9900")) == (400, "idempotency_error")
        assert one.counts() == [1]


@pytest.mark.parametrize(("fault", "counts"), [("error", [1]), ("failed", [])])
def test_a_500_is_the_answer_of_its_key_whatever_was_done(
    provider: Start, fault: str, counts: list[int]
) -> None:
    with provider(fault) as one:
        assert [said(one.pay("k")) for _ in range(3)] == [(500, "api_error")] * 3
        assert one.counts() == counts
        assert one.pay("new").status_code == 200


def test_a_declined_card_is_the_answer_of_its_key_too(provider: Start) -> None:
    with provider("no: expired") as one:
        assert [said(one.pay("k")) for _ in range(2)] == [(402, "card_declined")] * 2
        assert one.counts() == []


def test_too_many_requests_are_turned_away_before_the_keys(provider: Start) -> None:
    with provider("busy") as one:
        first = one.pay("k")
        assert (first.status_code, first.headers["Retry-After"]) == (429, "1")
        assert one.pay("k").status_code == 200
        assert one.counts() == [1]


def test_while_the_first_is_under_way_its_key_is_in_conflict(provider: Start) -> None:
    with provider("slow") as one, ThreadPoolExecutor() as pool:
        first = pool.submit(one.pay, "k")
        time.sleep(0.5)
        assert said(one.pay("k")) == (409, "idempotency_key_in_use")
        assert first.result().json() == one.pay("k").json()
        assert one.counts() == [1]


def test_a_lost_answer_is_heard_the_second_time(provider: Start) -> None:
    with provider("lost") as one:
        with pytest.raises(httpx.TransportError):
            one.pay("k")
        assert one.pay("k").json()["id"] == "pi-1"
        assert one.counts() == [1]


def test_a_key_is_kept_for_a_day(provider: Start) -> None:
    with provider() as one:
        one.pay("k")
        one.age(86_400 - 60)
        one.pay("k")
        assert one.counts() == [1]
        one.age(60)
        one.pay("k")
        assert one.counts() == [1, 1]


def test_a_refund_is_an_entry_of_its_own_and_there_is_one(provider: Start) -> None:
    with provider(undo="error") as one:
        payment = one.pay("k").json()["id"]
        assert one.refunded() == {payment: False}
        assert said(one.refund(payment, "u-1")) == (500, "api_error")
        assert said(one.refund(payment, "u-1")) == (500, "api_error")
        assert said(one.refund(payment, "u-2")) == (400, "charge_already_refunded")
        assert said(one.refund("pi-17", "u-3")) == (404, "resource_missing")
        assert one.counts() == [1, -1]
        assert one.refunded() == {payment: True}


def test_the_list_has_at_once_what_the_search_has_not(provider: Start) -> None:
    with provider() as one:
        ids = [one.pay(reference=reference).json()["id"] for reference in ("a", "sale-1/pay", "b")]
        page = one.listed(limit="2")
        assert [payment["id"] for payment in page["data"]] == [ids[2], ids[1]]
        assert page["has_more"] is True
        rest = one.listed(limit="2", starting_after=ids[1])
        assert ([payment["id"] for payment in rest["data"]], rest["has_more"]) == ([ids[0]], False)
        assert one.searched() == []
        time.sleep(SEARCH_LAG_SECONDS)
        assert [payment["id"] for payment in one.searched()] == [ids[1]]
