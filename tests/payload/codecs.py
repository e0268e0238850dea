"""An app with codecs in it, for the command line as well."""

import zlib
from dataclasses import dataclass

from cryptography.fernet import Fernet

from makegood import Agent, Refused, plan, step


class Encrypted:
    """Encrypts what is stored."""

    name = "fernet"

    def __init__(self, key: bytes = b"k3J0Q2xVbWx5c2VjcmV0a2V5Zm9ydGVzdHNvbmx5ISE=") -> None:
        self._fernet = Fernet(key)

    def encode(self, clear: bytes) -> bytes:
        return self._fernet.encrypt(clear)

    def decode(self, stored: bytes) -> bytes:
        return self._fernet.decrypt(stored)


class Compressed:
    """Compresses what is stored."""

    name = "zlib"

    def encode(self, clear: bytes) -> bytes:
        return zlib.compress(clear)

    def decode(self, stored: bytes) -> bytes:
        return zlib.decompress(stored)


encrypted = Encrypted()

LONG = "the service said no, at length, and for a reason that fills more than a line. " * 5


@dataclass
class Order:
    item: str
    count: int = 1


shop = Agent("shop", keyed=True)
bank = Agent("bank", timeout=0.5, settle=0)
undone: list[tuple[str | None, Order]] = []


async def give_back(taken: str | None, order: Order) -> None:
    undone.append((taken, order))


@shop.action(undo=give_back)
async def take(order: Order) -> str:
    return f"taken {order.item}"


@shop.action(undo=None)
async def pay(order: Order, taken: str) -> str:
    if order.count > 1:
        raise Refused(f"{LONG}{order.item}")
    return f"paid {taken}"


@bank.action(undo=None)
async def ask(order: Order) -> str:
    raise RuntimeError(f"{order.item} is lost")


@plan
def buy(order: Order) -> str:
    return step(pay, order, step(take, order))


@plan
def doubt(order: Order) -> str:
    return step(ask, order)
