"""What acceptance tests run as processes of their own: `python -m tests.acceptance.programs NAME URL ...`."""

import asyncio
import itertools
import sys

from makegood import Makegood
from tests.acceptance import trips

KINDS = ("done", "lossy", "refused", "lossy")


def say(words: object) -> None:
    print(words, flush=True)


async def book_for_ever(url: str, first: str) -> None:
    """An engine inside a program: submits one trip after the other and names each that is acknowledged."""
    async with Makegood(url, agents=[trips.flights, trips.cars]) as makegood:
        for number in itertools.count(int(first)):
            trip = trips.Trip(after=number % 3 / 20, car=KINDS[number % len(KINDS)])
            task = await makegood.submit(trips.book_trip, trip, task_id=f"trip-{number}")
            say(task.task_id)
            await asyncio.sleep(0.01)


async def submit_many(url: str, name: str, count: str) -> None:
    """A client that, when told to, submits many tasks at once."""
    async with Makegood(url) as makegood:
        say("ready")
        sys.stdin.readline()
        numbers = range(int(count))
        await asyncio.gather(
            *(makegood.submit(trips.note, number, task_id=f"{name}-{number}") for number in numbers)
        )
        say("done")


if __name__ == "__main__":
    programs = {each.__name__: each for each in (book_for_ever, submit_many)}
    asyncio.run(programs[sys.argv[1]](*sys.argv[2:]))
