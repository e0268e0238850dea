"""A payment provider for the examples, with the rules for idempotency keys that docs/examples.md tells of.

    POST /v1/payment_intents           amount, currency, customer, payment_method, metadata[...]
    GET  /v1/payment_intents           newest first; customer, limit, starting_after; with the latest charge
    GET  /v1/payment_intents/search    query=metadata['reference']:'...'; what is new is not found yet
    POST /v1/refunds                   payment_intent: an entry of its own against the whole payment

Requests are form-encoded, answers are JSON. Faults, and all else that is asked, are as in fake_services.py.
"""

import json
import re
import sqlite3
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING or __package__:
    from .fake_services import SLOW_SECONDS, Answer, Clerk, Request, serve
else:  # started by its path: this folder is where imports are looked up
    from fake_services import SLOW_SECONDS, Answer, Clerk, Request, serve

SEARCH_LAG_SECONDS = 3.0
REFERENCE = "metadata[reference]"


def error(status: int, kind: str, code: str, message: str) -> Answer:
    return Answer(status, {"error": {"type": kind, "code": code, "message": message}})


FAILED = error(500, "api_error", "", "something went wrong here")


class Provider(Clerk):
    mismatch = error(400, "idempotency_error", "", "this key came before with other parameters")
    under_way = error(409, "idempotency_error", "idempotency_key_in_use", "the first is under way")
    key_seconds = 86_400.0

    def asked(self, query: str, body: str) -> dict[str, Any]:
        return dict(parse_qsl(body or query)) if self.path.startswith("/v1/") else super().asked(query, body)

    def subject(self, request: Request) -> str:
        if request.path[0] != "v1" or request.method == "GET":
            return super().subject(request)
        return ("undo " if request.path[1] == "refunds" else "") + str(request.asked.get(REFERENCE, ""))

    def turned_away(self, fault: str) -> Answer | None:
        """The rate limiter stands before the keys; every other fault befalls what has begun."""
        begun = self.path.startswith("/v1/") and fault not in ("busy", "down")
        return None if begun else super().turned_away(fault)

    def act(self, request: Request, fault: str) -> Answer:
        match request.method, request.path:
            case "POST", ("v1", *_):
                return self.recalled(request) or self.begun(request, fault)
            case "GET", ("v1", "payment_intents"):
                return self.listed(request.asked)
            case "GET", ("v1", "payment_intents", "search"):
                return self.searched(request.asked["query"])
        return super().act(request, fault)

    def begun(self, request: Request, fault: str) -> Answer:
        """The first answer of a key, whatever it is, is its answer for a day."""
        ready_at = time.time() + (SLOW_SECONDS if fault == "slow" else 0.0)
        answer = self.executed(request, fault, ready_at)
        self.ledger.save(request.key, request.text, answer, ready_at)
        return answer

    def executed(self, request: Request, fault: str, ready_at: float) -> Answer:
        if fault.startswith("no: "):
            return error(402, "card_error", "card_declined", fault.removeprefix("no: "))
        if fault == "failed":
            return FAILED
        answer = self.refund(request) if request.path[1] == "refunds" else self.pay(request, ready_at)
        return FAILED if fault == "error" else answer

    # --- payments and refunds

    def pay(self, request: Request, ready_at: float) -> Answer:
        made = self.ledger.enter(request, request.asked.get(REFERENCE, ""), name="pi", ready_at=ready_at)
        return Answer(200, {"id": made, "object": "payment_intent", "status": "succeeded"})

    def refund(self, request: Request) -> Answer:
        payment = request.asked["payment_intent"]
        found = self.ledger.rows("SELECT * FROM entries WHERE id = ?", payment)
        if not found:
            return error(404, "invalid_request_error", "resource_missing", f"there is no {payment}")
        if self.refunded(payment):
            return error(400, "invalid_request_error", "charge_already_refunded", f"{payment} is refunded")
        reference = found[0]["reference"]
        made = self.ledger.enter(request, reference, name="re", ready_at=time.time(), counts=-1)
        return Answer(200, {"id": made, "object": "refund", "payment_intent": payment, "status": "succeeded"})

    def refunded(self, payment: str) -> bool:
        refunds = self.ledger.rows("SELECT asked FROM entries WHERE service = 're'")
        return any(json.loads(asked)["payment_intent"] == payment for (asked,) in refunds)

    # --- finding payments

    def listed(self, asked: dict[str, Any]) -> Answer:
        """At once, what there is."""
        found = [row for row in self.payments(time.time()) if shown(row)["customer"] == asked["customer"]]
        ids = [row["id"] for row in found]
        start = ids.index(asked["starting_after"]) + 1 if "starting_after" in asked else 0
        page = found[start : start + int(asked.get("limit", 10))]
        data = [shown(row) | {"latest_charge": {"refunded": self.refunded(row["id"])}} for row in page]
        return Answer(200, {"object": "list", "data": data, "has_more": start + len(page) < len(found)})

    def searched(self, query: str) -> Answer:
        """What was there a while ago."""
        wanted = re.fullmatch(r"metadata\['reference'\]:'(.*)'", query)
        if wanted is None:
            return error(400, "invalid_request_error", "", "the query cannot be read")
        found = map(shown, self.payments(time.time() - SEARCH_LAG_SECONDS))
        data = [payment for payment in found if payment["metadata"]["reference"] == wanted[1]]
        return Answer(200, {"object": "search_result", "data": data, "has_more": False})

    def payments(self, by: float) -> list[sqlite3.Row]:
        sql = "SELECT * FROM entries WHERE service = 'pi' AND ready_at <= ? ORDER BY number DESC"
        return self.ledger.rows(sql, by)


def shown(row: sqlite3.Row) -> dict[str, Any]:
    asked = json.loads(row["asked"])
    about = {"amount": int(asked["amount"]), "customer": asked["customer"]}
    return {"id": row["id"], "status": "succeeded", "metadata": {"reference": row["reference"]}} | about


if __name__ == "__main__":
    serve(Provider)
