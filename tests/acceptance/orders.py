"""An app for orders by hand: actions that linger, that wait for long, and that leave doubt."""

from makegood import Agent, Refused, Retry, Transient, Unknown, call, plan, step
from tests.acceptance.slow import cancel, lingering, long_agent, two_parts
from tests.acceptance.trips import ledger

__all__ = ["in_doubt", "lingering", "long_agent", "patiently", "two_parts", "undo_refused"]

patient_agent = Agent("patient-agent", keyed=True, tombstone=True, retry=Retry(attempts=2, delay=60, cap=60))
doubt_agent = Agent("doubt-agent", timeout=1, settle=0.2)


@patient_agent.action(undo=cancel)
async def book_at_second_try(number: int) -> str:
    if call().attempt == 1:
        raise Transient("not yet")
    return ledger().book(call(), keyed=True)


@plan
def patiently(number: int) -> str:
    return step(book_at_second_try, number)


@doubt_agent.action(undo=cancel)
async def book_and_lose(number: int) -> str:
    """The first answer is lost, and the service can neither be asked nor trusted with a key."""
    booked = ledger().book(call(), keyed=False)
    if call().attempt == 1:
        raise Unknown("the answer was lost")
    return booked


@plan
def in_doubt(number: int) -> str:
    return step(book_and_lose, number)


async def cannot_be_undone(done: str | None) -> None:
    raise Refused("it is final")


@doubt_agent.action(undo=cannot_be_undone)
async def book_for_good(number: int) -> str:
    return f"booked {number}"


@doubt_agent.action(undo=None)
async def refuse(number: int) -> None:
    raise Refused("no")


@plan
def undo_refused(number: int) -> None:
    step(book_for_good, number)
    step(refuse, number)
