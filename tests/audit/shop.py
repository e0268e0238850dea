"""A small app for the tests of the audit. Its services are folders below SHOP: a file for each effect."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from makegood import Agent, Refused, Unknown, call, plan, step
from makegood.auditing import Held

stock = Agent("stock", timeout=2, settle=0.1, keyed=True)
bank = Agent("bank", timeout=0.5, settle=0.1)
post = Agent("post", timeout=2, settle=0.1, keyed=True)


@dataclass
class Order:
    item: str
    bank: str = "done"
    undo: str = "done"


def shelf(service: str) -> Path:
    folder = Path(os.environ["SHOP"]) / service
    folder.mkdir(parents=True, exist_ok=True)
    return folder


async def give_back(goods: str | None, order: Order) -> None:
    if order.undo == "refused":
        raise Refused("sold to somebody else")
    (shelf("stock") / call().do_key).unlink(missing_ok=True)


async def list_stock() -> AsyncIterator[Held]:
    for goods in shelf("stock").iterdir():
        with suppress(FileNotFoundError):  # given back in this moment
            yield Held(key=goods.name, note=goods.read_text())


@stock.action(undo=give_back, lists=list_stock)
async def reserve(order: Order) -> str:
    (shelf("stock") / call().key).write_text(order.item)
    return order.item


async def refund(receipt: str | None) -> None:
    (shelf("bank") / (receipt or "")).unlink()


def list_bank() -> Iterator[Held]:
    for receipt in shelf("bank").iterdir():
        yield Held(task_id=receipt.name.rpartition("_")[0], note=receipt.name)


@bank.action(undo=refund, lists=list_bank)
async def charge(order: Order) -> str:
    if order.bank == "refused":
        raise Refused("no credit")
    receipt = f"{call().task_id}_{call().attempt}"
    (shelf("bank") / receipt).touch()
    if order.bank == "lost":
        raise Unknown("connection reset")
    return receipt


@post.action(undo=None)
async def send_letter(receipt: str) -> None:
    (shelf("post") / call().key).touch()


@post.action(reads=True)
async def look_up(item: str) -> str:
    return item


@plan
def take_order(order: Order) -> str:
    step(look_up, order.item)
    step(reserve, order)
    receipt = step(charge, order)
    step(send_letter, receipt)
    return receipt


AGENTS = [stock, bank, post]
