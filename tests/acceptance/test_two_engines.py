"""Two engines on one store: what one of them leaves, by death or by silence, the other takes over in time."""

import time
from collections.abc import Sequence

from makegood import Makegood
from makegood.core.events import EvidenceFiled, Row
from tests.acceptance import slow, trips
from tests.acceptance.yard import Running, Yard, until

TRIPS = 100
TAKEOVER_SECONDS_MAX = 5 + 2
"""A lease, and a little for noticing that it has run out."""


def submit_trips(yard: Yard, count: int, trip: trips.Trip) -> None:
    async def submit(makegood: Makegood) -> None:
        for number in range(count):
            await makegood.submit(trips.book_trip, trip, task_id=f"trip-{number}")

    yard.ask(submit)


def submit_slow(yard: Yard, name: str, seconds: float, count: int) -> None:
    async def submit(makegood: Makegood) -> None:
        for number in range(count):
            await makegood.submit(slow.slowly, seconds, task_id=f"{name}-{number}")

    yard.ask(submit)


def takeover(rows: Sequence[Row], dead: Running, at: float) -> float | None:
    """Seconds from the silence of its driver to the first durable write of another; None: nothing left."""
    before = [row for row in rows if row.at <= at * 1000]
    if before[-1].process != dead.member_id or len(before) == len(rows):
        return None
    others = (row.at for row in rows[len(before) :] if row.process != dead.member_id)
    return next(others) / 1000 - at


def takeovers(yard: Yard, dead: Running, at: float) -> list[float]:
    found = (takeover(yard.rows(task_id), dead, at) for task_id in yard.states())
    return [seconds for seconds in found if seconds is not None]


def test_a_killed_engine_is_succeeded_in_time(yard: Yard) -> None:
    engines = [yard.engine("tests.acceptance.trips") for _ in range(2)]
    submit_trips(yard, TRIPS, trips.Trip(before=0.5, after=1, car="lossy"))
    first = until(yard.ledger.visits, "the first calls under way")[0].task
    driver = yard.rows(first)[-1].process
    [dead] = [engine for engine in engines if engine.member_id == driver]
    dead.kill()
    killed_at = time.time()
    states = yard.all_at_rest(TRIPS)
    assert set(states.values()) == {"Completed"}
    assert yard.ledger.wrong(states, steps=2) == []
    took = takeovers(yard, dead, killed_at)
    assert len(took) >= TRIPS / 20, "the dead engine drove next to nothing; this test shows nothing"
    assert max(took) <= TAKEOVER_SECONDS_MAX


def test_a_frozen_engine_is_succeeded_and_its_late_reports_are_evidence(yard: Yard) -> None:
    frozen = yard.engine("tests.acceptance.slow")
    submit_slow(yard, "short", 4, count=15)
    submit_slow(yard, "long", 6.5, count=15)
    until(lambda: len(yard.ledger.visits("BEGUN")) == 30, "all calls under way")
    frozen.freeze()
    frozen_at = time.time()
    yard.engine("tests.acceptance.slow")
    until(lambda: sum(s == "Completed" for s in yard.states().values()) >= 15, "the short ones taken over")
    frozen.thaw()  # now its threads make every booking they had begun, ended or taken over meanwhile
    states = yard.all_at_rest(30)
    assert set(states.values()) == {"Completed"}
    until(lambda: len(yard.ledger.visits()) == 60, "every booking asked for twice")
    assert yard.ledger.wrong(states, steps=1) == []
    took = takeovers(yard, frozen, frozen_at)
    assert len(took) == 30
    assert max(took) <= TAKEOVER_SECONDS_MAX
    assert len(until(lambda: late_reports(yard, frozen), "its late reports")) == 30


def late_reports(yard: Yard, engine: Running) -> list[EvidenceFiled]:
    """What an engine reported that changed no plan, once there is as much as there are tasks."""
    filed = [
        fact
        for task_id in yard.states()
        for row in yard.rows(task_id)
        for fact in row.facts
        if row.process == engine.member_id and isinstance(fact, EvidenceFiled)
    ]
    return filed if len(filed) >= len(yard.states()) else []
