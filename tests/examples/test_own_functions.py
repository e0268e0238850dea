"""The examples' own functions, rehearsed: what they would send over HTTP goes to fake services."""

import io
import json
from collections.abc import Sequence
from email.message import Message
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from examples import onboarding, order_fulfilment, payments, provisioning, staging
from makegood import Agent, PlanDefinition, call
from makegood.testing import FakeService, Ledger, rehearse

KEYED = (
    "stock",
    "authorisations",
    "captures",
    "parcels",
    "mails",
    "accounts",
    "networks",
    "databases",
    "records",
)
KEYLESS = ("identities", "ledgers", "cards", "instances")
SERVICES = {name: FakeService(name, keyed=True) for name in (*KEYED, "tickets")} | {
    name: FakeService(name) for name in KEYLESS
}
SERVICES["authorisations"] = FakeService("authorisations", keyed=True, tombstone=True)
SERVICES["accounts"] = FakeService("accounts", keyed=True, tombstone=True)
PROVIDER = FakeService("payment provider", keyed=86_400.0)


@pytest.fixture(autouse=True)
def _staged(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (staging, onboarding):
        monkeypatch.setattr(module, "ask", ask)
    monkeypatch.setattr(payments, "api", api)


def ask(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """The examples' call over HTTP, answered by a fake service in place of a real one."""
    url = urlsplit(path)
    _, service, *rest = url.path.split("/")
    key, reference = call().key, staging.reference()

    def answer(ledger: Ledger) -> Any:
        if method == "POST":
            return {"id": ledger.book(key=key, reference=reference, **(body or {})).id}
        if method == "GET":
            found = ledger.find(reference=unquote(dict(parse_qsl(url.query))["reference"]))
            return {"entries": [{"id": found.id, "ready": True}] if found else []}
        gone = ledger.cancel(of=rest[1], key=key) if rest[0] == "by-key" else ledger.cancel(rest[0], key=key)
        return {} if gone else error(404)

    return SERVICES[service].sync.call(answer)


def api(method: str, path: str, form: dict[str, Any] | None = None, key: str = "") -> Any:
    """A payment provider that keeps its payments, and a second entry for each refund."""
    reference = staging.reference()

    def answer(ledger: Ledger) -> Any:
        if method == "GET":
            found = ledger.find(reference=reference)
            about = {"metadata": {"reference": reference}, "latest_charge": {"refunded": False}}
            return {"data": [{"id": found.id} | about] if found else [], "has_more": False}
        assert form is not None
        if path.endswith("refunds"):
            return ledger.reverse(form["payment_intent"], key=key) or error(400, "charge_already_refunded")
        return {"id": ledger.book(key=key, reference=reference).id}

    return PROVIDER.sync.call(answer)


def error(status: int, code: str = "") -> Any:
    body = io.BytesIO(json.dumps({"error": {"code": code, "message": code}}).encode())
    raise HTTPError("http://service", status, "it says no", Message(), body)


@pytest.mark.parametrize(
    ("plan", "agents"),
    [
        (
            order_fulfilment.fulfil,
            [order_fulfilment.warehouses, order_fulfilment.bank, order_fulfilment.parcels],
        ),
        (
            onboarding.welcome,
            [onboarding.accounts, onboarding.registry, onboarding.ledgers, onboarding.press, onboarding.mail],
        ),
        (
            provisioning.provision,
            [provisioning.networks, provisioning.databases, provisioning.computers, provisioning.names],
        ),
        (payments.sell, [payments.provider, payments.box_office]),
    ],
    ids=lambda given: given.name if isinstance(given, PlanDefinition) else "",
)
def test_no_fault_makes_them_break_a_promise(plan: PlanDefinition[Any, Any], agents: Sequence[Agent]) -> None:
    report = rehearse(plan, agents=agents)
    assert report.kept, str(report)
    assert report.rows[0].ends == "Completed"
    assert any(row.undone for row in report.rows)


def test_a_payment_whose_key_is_answered_500_for_ever_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def api_500(method: str, path: str, form: dict[str, Any] | None = None, key: str = "") -> Any:
        said = api(method, path, form, key)
        return error(500) if method == "POST" and path.endswith("payment_intents") else said

    monkeypatch.setattr(payments, "api", api_500)
    report = rehearse(payments.sell, agents=[payments.provider, payments.box_office])
    assert report.kept, str(report)
    assert report.rows[0].ends == "Completed"
