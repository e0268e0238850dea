"""An order: stock is reserved and the card authorised; once the money is taken there is only the way on.

Out of stock, or the card declined: everything is given back. A carrier that is down is tried until it is not.

    python examples/order_fulfilment.py [FOLDER]
    makegood rehearse examples/order_fulfilment.py:fulfil
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from makegood import Agent, Makegood, Retry, parallel, plan, step

if TYPE_CHECKING or __package__:
    from .staging import agrees, enter, play, services, store, withdraw
else:  # started by its path: this folder is where imports are looked up
    from staging import agrees, enter, play, services, store, withdraw


@dataclass
class Order:
    customer: str
    card: str
    machine: str  # lies in the northern warehouse
    beans: str  # in the southern one
    cents: int


# All three do a thing once per key. Times are short, so that the play is over in seconds.
OFTEN = Retry(delay=0.2)
warehouses = Agent("warehouse-agent", timeout=1, settle=1, keyed=True, retry=OFTEN)
bank = Agent("bank-agent", timeout=1, settle=1, keyed=True, tombstone=True, retry=OFTEN)
parcels = Agent("parcel-agent", timeout=1, settle=1, keyed=True, retry=OFTEN)


def release(reserved: str | None) -> None:
    withdraw("stock")


@warehouses.action(undo=release)
def reserve(warehouse: str, item: str) -> str:
    return enter("stock", warehouse=warehouse, item=item)


def void(authorised: str | None) -> None:
    withdraw("authorisations")


@bank.action(undo=void)
def authorise(card: str, cents: int) -> str:
    return enter("authorisations", card=card, cents=cents)


@bank.action(pivot=True)  # money that was taken is not given back by us: from here on the order goes on
def capture(authorised: str) -> str:
    return enter("captures", of=authorised)


@parcels.action(undo=None)
def ship(machine: str, beans: str) -> str:
    return enter("parcels", holds=[machine, beans])


@parcels.action(undo=None)
def notify(customer: str, parcel: str) -> None:
    enter("mails", to=customer, text=f"{parcel} is on its way")


@plan
def fulfil(order: Order) -> str:
    with parallel():
        machine = step.options(name="reserve_machine")(reserve, "north", order.machine)
        beans = step.options(name="reserve_beans")(reserve, "south", order.beans)
    authorised = step(authorise, order.card, order.cents)
    receipt = step(capture, authorised)
    parcel = step(ship, machine, beans)
    step(notify, order.customer, parcel)
    return receipt


# --- four orders, and what goes wrong with them

FAULTS = {
    "order-1/reserve_machine": ["lost"],
    "order-2/reserve_beans": ["no: out of stock"],
    "order-3/authorise": ["no: card declined"],
    "undo order-3/reserve_machine": ["error"],
    "order-4/capture": ["error"],
    "order-4/ship": ["down", "busy", "down"],
}


async def main(folder: Path) -> bool:
    with services(folder, FAULTS):
        async with Makegood(store(folder), agents=[warehouses, bank, parcels]) as makegood:
            tasks = []
            for number in range(1, 5):
                order = Order(f"customer {number}", f"card {number}", "Lever No. 3", "Yirgacheffe", 149_00)
                tasks.append(await makegood.submit(fulfil, order, task_id=f"order-{number}"))
            return await agrees(folder, tasks)


if __name__ == "__main__":
    play(main)
