"""An app whose action forks, and whose child does what no child should; LIFE says which."""

import asyncio
import os
import sys
from pathlib import Path

from makegood import Agent, plan, step

shops = Agent("shops", timeout=5, settle=0.5)


def note(order: str) -> None:
    with Path(os.environ["PAID"]).open("a") as paid:
        paid.write(f"{order}\n")


@shops.action(undo=None)
async def pay(order: str) -> None:
    await asyncio.sleep(1)
    note(order)


@shops.action(undo=None)
def note_in_a_thread(order: str) -> None:
    note(order)


@shops.action(undo=None)
def fork_in_a_thread(order: str) -> None:
    os.fork()


@shops.action(undo=None)
async def work_in_threads(order: str) -> None:
    if order == "fork":
        await asyncio.to_thread(os.fork)
    await asyncio.to_thread(note, order)


@shops.action(undo=None)
async def notify(order: str) -> None:
    await asyncio.sleep(0.3)
    if os.fork() == 0:
        match os.environ["LIFE"]:
            case "exits":
                sys.exit(0)
            case "raises":
                raise ConnectionError("no line")
            case "waits":
                await asyncio.sleep(0)


@plan
def paying(order: str) -> None:
    step(pay, order)


@plan
def forking(order: str) -> None:
    step(fork_in_a_thread, order)
    step(note_in_a_thread, order)


@plan
def threading(order: str) -> None:
    step(work_in_threads, order)


@plan
def notifying(order: str) -> None:
    step(notify, order)
