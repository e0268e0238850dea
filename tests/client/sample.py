"""A small plan and its agents, for tests of what a client may do with many tasks."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from makegood import Agent, Refused, Unknown, plan, step

lamps = Agent("lamps", timeout=1, settle=0.1)


@dataclass
class Order:
    name: str
    trouble: str = ""


async def put_back(result: str | None, order: Order) -> None:
    pass


@lamps.action(undo=put_back)
async def order_lamp(order: Order) -> str:
    if order.trouble == "refused":
        raise Refused("sold out")
    if order.trouble == "doubt":
        raise Unknown("the line went dead")
    return f"lamp for {order.name}"


@plan
def light(order: Order) -> str:
    return step(order_lamp, order)


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run it, within a minute."""

    async def bounded() -> None:
        async with asyncio.timeout(60):
            await work()

    asyncio.run(bounded())
