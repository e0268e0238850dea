"""An app whose actions take their time: in threads, on the loop, and where nobody can stop them."""

import asyncio
import os
import time
from pathlib import Path

from makegood import Agent, Refused, Retry, call, plan, step
from tests.acceptance.trips import ledger

SOON = Retry(delay=0.1, cap=0.5)


async def cancel(booked: str | None) -> None:
    ledger().cancel(call(), booked)


# --- sure to end within their timeout

slow_agent = Agent("slow-agent", timeout=8, settle=1, keyed=True, tombstone=True, retry=SOON)


@slow_agent.action(undo=cancel)
def book_slowly(seconds: float) -> str:
    """In a thread; the booking is made at the end, however late that is."""
    ledger().begin(call())
    time.sleep(seconds)
    return ledger().book(call(), keyed=True)


@plan
def slowly(seconds: float) -> str:
    return step(book_slowly, seconds)


# --- long

long_agent = Agent("long-agent", timeout=60, settle=1, keyed=True, tombstone=True, retry=SOON)


@long_agent.action(undo=cancel)
async def linger(seconds: float) -> str:
    """Books at once, then lingers; leaves early when the task is being undone."""
    booked, over = ledger().book(call(), keyed=True), time.monotonic() + seconds
    while time.monotonic() < over:
        await asyncio.sleep(0.02)
        if call().cancelled:
            break
    return booked


@long_agent.action(undo=cancel)
def linger_in_thread(seconds: float) -> str:
    booked = ledger().book(call(), keyed=True)
    time.sleep(seconds)
    return booked


@long_agent.action(undo=cancel)
async def book(seconds: float) -> str:
    return ledger().book(call(), keyed=True)


@plan
def lingering(seconds: float) -> str:
    return step(linger, seconds)


@plan
def lingering_in_thread(seconds: float) -> str:
    return step(linger_in_thread, seconds)


@plan
def two_parts(seconds: float) -> str:
    step(linger, seconds)
    return step(book, seconds)


# --- where nobody can stop them

deaf_agent = Agent("deaf-agent", timeout=1, settle=0.5, retry=SOON)


async def find() -> str | None:
    return ledger().find(call())


@deaf_agent.action(undo=cancel, probe=find)
def hang_once(seconds: float) -> str:
    """The first call of all hangs and never books anything."""
    if _first_time("hung"):
        time.sleep(seconds)
        raise Refused("too late for anybody to hear")
    return ledger().book(call(), keyed=False)


@long_agent.action(undo=cancel)
async def block_the_loop(seconds: float) -> str:
    booked = ledger().book(call(), keyed=True)
    time.sleep(seconds)  # noqa: ASYNC251 - the fault that a watchdog should name
    return booked


@plan
def hanging(seconds: float) -> str:
    return step(hang_once, seconds)


@plan
def blocking(seconds: float) -> str:
    return step(block_the_loop, seconds)


def _first_time(name: str) -> bool:
    try:
        Path(os.environ["LEDGER"]).with_name(name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
