"""A process stands still between its last check and its send, and books when everybody has given it up."""

from pathlib import Path

from tests.acceptance.yard import Yard, until

APP = """
import asyncio, time
from makegood import Agent, Retry, call, plan, step
from tests.acceptance.trips import ledger

hotels = Agent("hotel-agent", timeout=1, settle=1, keyed=True, retry=Retry(attempts=1))

async def cancel(hotel: str | None) -> None:
    if hotel is not None or call().do_key:
        ledger().cancel(call(), hotel)

async def find() -> str | None:
    return ledger().find(call())

@hotels.action(undo=cancel, probe=find)
async def book(number: int) -> str:
    call().key
    ledger().begin(call())
    time.sleep(12)  # nothing of this process runs
    booked = ledger().book(call(), keyed=True)
    await asyncio.sleep(1)  # the answer would come now
    return booked

@plan
def stay(number: int) -> str:
    return step(book, number)
"""


def test_a_booking_made_when_all_was_undone_is_found_and_undone(yard: Yard, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    yard.engine("app.py")
    yard.cli("submit", "app.py:stay", "1", "--id", "task")
    until(lambda: yard.ledger.visits("BEGUN"), "standing still")
    yard.engine("app.py")
    until(lambda: yard.states() == {"task": "Compensated"}, "undone", 30)
    until(lambda: yard.ledger.bookings(), "the late booking", 30)
    until(lambda: yard.ledger.wrong(yard.states(), steps=1) == [], "undone again", 30)
