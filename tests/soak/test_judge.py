"""The judge finds whatever is not as it should be: each fault is made by hand where all went well."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import msgspec
import pytest

from makegood.core.events import Reply, Reported
from makegood.core.record import Kind
from makegood.demo.check import Reservation, check_service
from makegood.runtime.engine import Engine
from makegood.store.url import open_store
from tests.soak.judge import judge
from tests.soak.world import World

TRIPS = 16
TASK = "(SELECT reference FROM reservations WHERE state = '{}' ORDER BY id LIMIT 1)"
LIVE, CANCELLED = TASK.format("live"), TASK.format("cancelled")
AGAIN = (
    "INSERT INTO reservations (reference, traveller, key, confirmation, state, created_at, details) "
    f"SELECT reference, traveller, {{}}, 'again', 'live', {{}}, details FROM reservations "
    f"WHERE reference = {LIVE}"
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world in which some trips were booked and some were cancelled; nothing runs in it any more."""
    world = World(tmp_path_factory.mktemp("world"), seed=5, faults="none")
    try:
        world.open()
        world.quick_engine()
        client = world.quick_client(world.notes("trip"), TRIPS, TRIPS, 0.4)
        assert client.ended(within=60) == 0
        assert world.settle()
        yield world
    finally:
        world.close()


@pytest.fixture
def world(finished: World) -> Iterator[World]:
    """The same, put right again afterwards."""
    files = [*(service.ledger for service in finished.services), *finished.all_notes(), finished.store]
    kept = {file: file.read_bytes() for file in files}
    yield finished
    for file, content in kept.items():
        file.write_bytes(content)


def judged(world: World) -> list[str]:
    return [case.words for case in judge(world).broken]


def test_it_finds_nothing_where_all_went_well(world: World) -> None:
    verdict = judge(world)
    assert verdict.broken == verdict.late == []
    assert verdict.counts["tasks"] == TRIPS
    assert verdict.counts["Completed"] > 2
    assert verdict.counts["Compensated"] > 2
    assert verdict.counts["late effects"] == 0


@pytest.mark.parametrize(
    ("service", "sql", "words"),
    [
        ("flight", AGAIN.format("key", "created_at"), "double: flight"),
        ("car", AGAIN.format("NULL", "created_at"), "double: car"),
        ("hotel", f"DELETE FROM reservations WHERE reference = {LIVE}", "half done: hotel"),
        (
            "hotel",
            f"UPDATE reservations SET cancelled_at = NULL WHERE reference = {CANCELLED}",
            "orphaned: h",
        ),
        ("flight", f"UPDATE reservations SET reference = 'x/y' WHERE reference = {LIVE}", "orphaned: flight"),
    ],
)
def test_what_a_service_holds_against_the_record_is_found(
    world: World, service: str, sql: str, words: str
) -> None:
    alter(world, service, sql)
    assert any(found.startswith(words) for found in judged(world)), judged(world)


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("submitted trip-x", "lost: its submission was acknowledged"),
        ("cancelled {Completed}", "its cancel was acknowledged, and it is Completed"),
        ("too-late {Compensated}", "its cancel was refused as too late, and it is Compensated"),
    ],
)
def test_what_a_client_was_told_against_the_record_is_found(world: World, note: str, words: str) -> None:
    ended = {state: task_id for task_id, state in world.states().items()}
    with world.notes("trip").open("a") as notes:
        notes.write(note.format(**ended) + "\n")
    assert any(found.startswith(words) for found in judged(world)), judged(world)


@pytest.mark.parametrize(("parked", "broken"), [("inDoubt", False), ("inEffect", True)])
@pytest.mark.parametrize("live", [True, False])
def test_a_parked_trip_may_be_what_its_record_leaves_open(parked: str, broken: bool, live: bool) -> None:
    """Its flight was done, and the undo cannot be finished: only where it is in doubt both are right."""
    cancelled_at = None if live else "2027-03-04T00:00:01.000Z"
    made = Reservation("trip/reserve_flight", "key", "FL-1", "2027-03-04T00:00:00.000Z", cancelled_at)
    record = {"state": "Failed", "steps": [{"name": "reserve_flight", "outcome": "done"}]}
    record[parked] = ["reserve_flight"]
    found = check_service("flight", [made], {"trip": record})
    assert bool(found.wrong) is (broken and not live)


EARLY = "UPDATE reservations SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-1 minute') WHERE "


def test_an_effect_without_a_record_before_it_is_broken(world: World) -> None:
    alter(world, "hotel", EARLY + f"reference = {LIVE}")
    assert any(found.startswith("unrecorded: hotel") for found in judged(world)), judged(world)


LATE = "strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '+1 minute')"


def test_an_effect_after_its_calls_life_that_the_record_knows_nothing_of_is_broken(world: World) -> None:
    alter(world, "car", AGAIN.format("NULL", LATE))
    verdict = judge(world)
    assert verdict.late == []
    assert verdict.counts["late effects"] == 1
    assert any(case.words.startswith("double: car") for case in verdict.broken)


def test_one_that_was_filed_as_evidence_is_told_apart(world: World) -> None:
    alter(world, "car", AGAIN.format("NULL", LATE))
    [case] = [case for case in judge(world).broken if case.words.startswith("double: car")]
    file_evidence(world, case.task)
    verdict = judge(world)
    assert verdict.broken == []
    [late] = verdict.late
    assert late.task == case.task
    assert late.words.endswith("again came after its call's life")


def alter(world: World, service: str, sql: str) -> None:
    [path] = [each.ledger for each in world.services if each.name == service]
    with closing(sqlite3.connect(path)) as ledger, ledger:
        assert ledger.execute(sql).rowcount > 0


def file_evidence(world: World, task_id: str) -> None:
    """Report, as a process that was frozen would, that an early call for the car has worked."""

    async def report() -> None:
        engine = Engine(open_store(world.store_url))
        await engine.start()
        [task] = await engine.store.load([task_id])
        assert task is not None
        plan = await engine.desk.shelf.plan(task.plan_version)
        late = Reported(
            plan.index_of["reserve_car"], 1, Kind.DO, Reply.DONE, msgspec.Raw(b'{"confirmation":"C"}')
        )
        assert await engine.desk.act(task_id, late)
        await engine.stop()

    asyncio.run(report())
