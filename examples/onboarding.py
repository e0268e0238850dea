"""A new customer: an account, a check of who it is, a ledger, a card, a welcome.

The ledgers know nothing of keys, but can be asked what is open. The card press cannot even be asked: a card
whose answer was lost waits for a person. A welcome, once it is sent, is out, and needs no undo.

    python examples/onboarding.py [FOLDER]
    makegood rehearse examples/onboarding.py:welcome
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from makegood import Agent, Makegood, Refused, Retry, Task, plan, step

if TYPE_CHECKING or __package__:
    from .staging import agrees, ask, enter, entries, look_up, play, reference, services, store, withdraw
else:  # started by its path: this folder is where imports are looked up
    from staging import agrees, ask, enter, entries, look_up, play, reference, services, store, withdraw


@dataclass
class Customer:
    name: str
    born: str


OFTEN = Retry(delay=0.2)
accounts = Agent("account-agent", timeout=1, settle=1, keyed=True, tombstone=True, retry=OFTEN)
registry = Agent("registry-agent", timeout=1, settle=1, retry=OFTEN)
ledgers = Agent("ledger-agent", timeout=1, settle=1, retry=OFTEN)  # no keys
press = Agent("press-agent", timeout=1, settle=1, retry=OFTEN)  # no keys, and nobody to ask
mail = Agent("mail-agent", timeout=1, settle=1, keyed=True, retry=OFTEN)


def close_account(account: str | None) -> None:
    withdraw("accounts")


@accounts.action(undo=close_account)
def create_account(customer: Customer) -> str:
    return enter("accounts", name=customer.name)


@registry.action(reads=True)  # it changes nothing, so it may be asked again at any time
def check_identity(customer: Customer) -> None:
    about = {"name": customer.name, "born": customer.born, "reference": reference()}
    ask("GET", "/identities?" + urlencode(about))  # 422, refused: it is not who it says


def close_ledger(ledger: str | None) -> None:
    opened = ledger or find_ledger()
    if opened is not None:
        withdraw("ledgers", opened)


def find_ledger() -> str | None:
    return look_up("ledgers")


@ledgers.action(undo=close_ledger, probe=find_ledger)
def open_ledger(account: str) -> str:
    return enter("ledgers", account=account)


def block_card(card: str | None) -> None:
    if card is None:
        raise Refused("nobody knows which card it is")  # so that a person is asked
    withdraw("cards", card)


@press.action(undo=block_card)
def issue_card(customer: Customer, account: str) -> str:
    return enter("cards", name=customer.name, account=account)


@mail.action(undo=None)
def send_welcome(customer: Customer, card: str) -> None:
    enter("mails", to=customer.name, text=f"your card {card} is in the post")


@plan
def welcome(customer: Customer) -> str:
    account = step(create_account, customer)
    step(check_identity, customer)
    step(open_ledger, account)
    card = step(issue_card, customer, account)
    step(send_welcome, customer, card)
    return account


# --- four customers, and what goes wrong with them

FAULTS = {
    "ann/check_identity": ["slow", "down"],
    "ann/open_ledger": ["lost"],
    "bob/check_identity": ["no: the passport has expired"],
    "cleo/issue_card": ["lost"],
    "dan/issue_card": ["down"],
}


async def ask_the_press(folder: Path, task: Task[Any]) -> None:
    """What a person does about a parked task: look whether there is a card, and say so."""
    print(await task.why())
    cards = entries(folder, f"{task.task_id}/issue_card")
    verdict, result = ("done", f'"{cards[0]}"'.encode()) if cards else ("absent", None)
    print(
        await task.resolve("issue_card", verdict, result, by="eve", why="it says so on the press's day sheet")
    )


async def main(folder: Path) -> bool:
    with services(folder, FAULTS, keyless=["ledgers", "cards"]):
        async with Makegood(store(folder), agents=[accounts, registry, ledgers, press, mail]) as makegood:
            tasks = []
            for name in ("ann", "bob", "cleo", "dan"):
                customer = Customer(name, "1990-05-01")
                tasks.append(await makegood.submit(welcome, customer, task_id=name))
            for task in tasks:
                while await task.wait(timeout=60) == "Failed":
                    await ask_the_press(folder, task)
            return await agrees(folder, tasks)


if __name__ == "__main__":
    play(main)
