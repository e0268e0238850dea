"""An app as a web server with preloading would have it: its Makegood is made at import, and opened later."""

import os

from makegood import Agent, Refused, call, plan, step
from makegood.sync import Makegood

desk = Agent("desk", timeout=5, keyed=True)
keys: list[str] = []


async def cancel(room: str | None) -> None:
    keys.append(call().key)


@desk.action(undo=cancel)
async def book(guest: str) -> str:
    if guest == "nobody":
        raise Refused("a guest has a name")
    keys.append(call().key)
    return f"a room for {guest}"


@plan
def stay(guest: str) -> str:
    return step(book, guest)


makegood = Makegood(os.environ.get("STORE", "memory:"), [desk])
