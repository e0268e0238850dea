"""A payment at a provider whose idempotency keys promise less than one would think, and a ticket for it.

A key's first answer is its answer for a day, even where it is 500: repeating such a call never tells what
became of it. So the agent looks for the payment in the provider's list. A refund needs no key that lasts: no
payment is refunded twice.

    python examples/payments.py [FOLDER]
    makegood rehearse examples/payments.py:sell
"""

import json
import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from makegood import Agent, Makegood, Refused, Retry, Unknown, call, plan, step

if TYPE_CHECKING or __package__:
    from .staging import agrees, enter, patience, play, reference, services, store, withdraw
else:  # started by its path: this folder is where imports are looked up
    from staging import agrees, enter, patience, play, reference, services, store, withdraw


@dataclass
class Sale:
    customer: str
    card: str
    cents: int


OFTEN = Retry(attempts=8, delay=0.3, factor=1)
provider = Agent("payment-agent", timeout=1, settle=2, keyed=timedelta(hours=24), retry=OFTEN)
box_office = Agent("ticket-agent", timeout=1, settle=1, keyed=True, retry=OFTEN)


def find_payment(sale: Sale) -> str | None:
    """By our own reference, in the list: the search would not find what has just been paid."""
    page = {"customer": sale.customer, "limit": "100", "expand[]": "data.latest_charge"}
    while True:
        found = api("GET", "/v1/payment_intents?" + urlencode(page))
        for payment in found["data"]:
            if payment["metadata"]["reference"] == reference() and not payment["latest_charge"]["refunded"]:
                return str(payment["id"])
        if not found["has_more"]:
            return None
        page["starting_after"] = found["data"][-1]["id"]


def refund(payment: str | None, sale: Sale) -> None:
    payment = payment or find_payment(sale)
    if payment is None:
        return
    form = {"payment_intent": payment, "metadata[reference]": reference()}
    try:
        api("POST", "/v1/refunds", form, key=f"{call().key}-{call().attempt}")  # never an old 500 again
    except HTTPError as error:
        if error.code != 400 or json.load(error)["error"]["code"] != "charge_already_refunded":
            raise


@provider.action(undo=refund, probe=find_payment)
def pay(sale: Sale) -> str:
    form = {"amount": sale.cents, "currency": "eur", "customer": sale.customer, "payment_method": sale.card}
    confirmed = form | {"confirm": "true", "metadata[reference]": reference()}
    try:
        return str(api("POST", "/v1/payment_intents", confirmed, key=call().key)["id"])
    except HTTPError as error:
        if error.code == 402:
            raise Refused(json.load(error)["error"]["message"]) from None
        if error.code < 500:
            raise  # 409: the first is under way; 429: too many at once
        return find_all_the_same(sale)


def find_all_the_same(sale: Sale) -> str:
    """What the list does not tell stays in doubt: where it says no, it says so of itself."""
    try:
        found = find_payment(sale)
    except Exception as error:
        raise Unknown(f"an error, and no list: {error}") from error
    if found is None:
        raise Unknown("an error, and not in the list")
    return found


def take_back(ticket: str | None) -> None:
    withdraw("tickets")


@box_office.action(undo=take_back)
def issue_ticket(sale: Sale, payment: str) -> str:
    return enter("tickets", customer=sale.customer, payment=payment)


@plan
def sell(sale: Sale) -> str:
    payment = step(pay, sale)
    return step(issue_ticket, sale, payment)


def api(method: str, path: str, form: dict[str, Any] | None = None, key: str = "") -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    sent = None if form is None else urlencode(form).encode()
    request = Request(os.environ["SERVICES"] + path, sent, headers, method=method)
    with urlopen(request, timeout=patience()) as reply:
        return json.load(reply)


# --- six sales, and what goes wrong with them

FAULTS = {
    "sale-1/pay": ["lost"],
    "sale-2/pay": ["error"],
    "sale-3/pay": ["failed"],
    "sale-4/pay": ["no: the card has expired"],
    "sale-5/pay": ["slow"],
    "sale-6/pay": ["busy"],
    "sale-6/issue_ticket": ["no: sold out"],
    "undo sale-6/pay": ["error", "lost"],
}


async def main(folder: Path) -> bool:
    with services(folder, FAULTS, program="payment_provider.py"):
        async with Makegood(store(folder), agents=[provider, box_office]) as makegood:
            tasks = []
            for number in range(1, 7):
                sale = Sale("cus-1", f"pm-{number}", 45_00)
                tasks.append(await makegood.submit(sell, sale, task_id=f"sale-{number}"))
            return await agrees(folder, tasks)


if __name__ == "__main__":
    play(main)
