"""A call whose input its agent cannot read waits for a deploy, ever longer, and fills no history."""

from asyncio import gather, sleep, wait_for
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import pytest

from makegood import Agent, Unknown, call, plan, step
from makegood.agents.runner import CALLS_MAX
from makegood.client.connection import Connection
from makegood.client.task import Task
from makegood.core.events import HandedBack, Hastened, Restored, TaskSubmitted, decode_row
from makegood.core.plan import Millis
from makegood.core.record import TaskState
from makegood.health.line import Level, Line
from makegood.health.people import lines_of_people
from makegood.health.work import Work, work_of
from makegood.payload import Envelope
from makegood.reading.matching import parse
from makegood.runtime.engine import Engine
from makegood.store.memory import MemoryFile, MemoryStore
from makegood.testing.virtual import EPOCH, VirtualClock, run, virtual_loop

anything, numbers = Agent("shop"), Agent("shop")


@anything.action(name="look", reads=True)
async def look(what: Any) -> str:
    return f"seen {what}"


@numbers.action(name="look", reads=True)
async def look_up(what: int) -> str:
    return f"seen {what}"


@plan
def looks(what: Any) -> None:
    step(look, what)


def engine_with(file: MemoryFile, agent: Agent) -> Engine:
    clock = VirtualClock()
    return Engine(MemoryStore(file, clock=clock), [agent], clock=clock, chance=Random(1), watched=False)


async def wants(engine: Engine, *names: str) -> None:
    """Have the kettle looked at, under each of these names."""
    await engine.store.save_plan(looks.version, looks.name, looks.document.canonical())
    kettle = TaskSubmitted(msgspec.Raw(b'"kettle"'))
    await gather(*(engine.desk.submit(looks.plan, name, kettle) for name in names))


async def handed_back(engine: Engine, *names: str) -> int:
    """How often a call of these tasks was."""
    rows = [decode_row(row.body) for name in names for row in await engine.store.history(name)]
    return sum(isinstance(fact, HandedBack) for row in rows for fact in row.facts)


def test_of_two_processes_that_are_up_the_one_that_can_read_it_comes_first() -> None:
    """As while a new version is rolled out: the old one lets go of what it could not read."""

    async def main() -> tuple[int, float]:
        file = MemoryFile()
        strict, lenient = engine_with(file, numbers), engine_with(file, anything)
        await strict.start()
        names = [f"t{n}" for n in range(20)]
        await wants(strict, *names)
        await sleep(5)
        await lenient.start()
        connection = Connection(lenient.desk, Envelope())
        connection.open()
        for name in names:
            assert await connection.at_rest(name) is TaskState.COMPLETED
        took = virtual_loop().seconds
        times = await handed_back(strict, *names)
        for engine in (strict, lenient):
            await engine.stop()
        return times, took

    times, took = run(main())
    assert times == 20, "once each"
    assert took < 5 + 3


def test_its_waits_double_up_to_ten_minutes_and_a_deploy_is_noticed_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> list[Millis]:
        file = MemoryFile()
        newer = engine_with(file, numbers)
        await newer.start()
        await wants(newer, "t")
        await sleep(3 * 3600)
        rows = [decode_row(row.body) for row in await newer.store.history("t")]
        await newer.stop()

        older = engine_with(file, anything)
        await older.start()
        assert await wait_for(older.desk.ended("t"), 3) is TaskState.COMPLETED
        await older.stop()
        return [row.at for row in rows for fact in row.facts if isinstance(fact, HandedBack)]

    handed_back = run(main())
    waits = [(later - earlier) / 1000 for earlier, later in pairwise(handed_back)]
    assert [round(wait) for wait in waits[:6]] == [17, 19, 38, 76, 152, 304]  # others might have it for 2 s
    assert all(600 <= wait < 603 for wait in waits[6:])
    told = [line.getMessage() for line in caplog.records if "not called" in line.getMessage()]
    assert len(told) == len(handed_back)
    assert told[0] == "t look (do, call 1): not called, shop/look.what: Expected `int`, got `str`"


def test_processes_that_come_and_cannot_read_it_either_try_it_once_in_all() -> None:
    """One that has no such action tries nothing."""

    async def main() -> list[int]:
        file = MemoryFile()
        first = engine_with(file, numbers)
        await first.start()
        await wants(first, "t")
        await sleep(7_200)
        others = [engine_with(file, agent) for agent in (Agent("shed"), numbers, numbers, numbers)]
        tries = [await handed_back(first, "t")]
        await others[0].start()
        await sleep(2)
        assert await handed_back(first, "t") == tries[0]
        await gather(*(engine.start() for engine in others[1:]))
        await sleep(10)
        tries.append(await handed_back(first, "t"))
        rows = [decode_row(row.body) for row in await first.store.history("t")]
        [hastened] = [row for row in rows if any(isinstance(fact, Hastened) for fact in row.facts)]
        assert hastened.process in [engine.member_id for engine in others[1:]]
        for engine in (first, *others):
            await engine.stop()
        return tries

    before, after = run(main())
    assert after == before + 1


slowly = Agent("shop")


@slowly.action(name="look", reads=True)
async def look_slowly(what: Any) -> str:
    await sleep(5)
    return f"seen {what}"


def test_a_process_that_comes_takes_no_more_than_it_has_room_for() -> None:
    """The rest would be taken once more by the one that cannot read it and is still up."""

    async def main() -> tuple[int, int]:
        file = MemoryFile()
        old, new = engine_with(file, numbers), engine_with(file, slowly)
        await old.start()
        names = [f"t{n}" for n in range(CALLS_MAX + 100)]
        await wants(old, *names)
        await sleep(2_000)
        before = await handed_back(old, *names)
        await new.start()
        await sleep(150)
        states = {stored.state for stored in await old.store.load(names) if stored is not None}
        assert states == {TaskState.COMPLETED}
        after = await handed_back(old, *names)
        for engine in (new, old):
            await engine.stop()
        return before, after

    before, after = run(main())
    assert after == before


def test_what_nobody_could_read_for_long_is_found_by_the_doctor_and_as_stuck() -> None:
    async def main() -> tuple[Work, list[str], list[Line]]:
        file = MemoryFile()
        engine = engine_with(file, numbers)
        await engine.start()
        connection = Connection(engine.desk, Envelope())
        connection.open()
        await wants(engine, "t")
        await sleep(30)
        assert await found(connection, "stuck>1m") == []
        await sleep(600)
        now = await engine.store.now()
        work = await work_of(engine.store, now)
        lines = lines_of_people(await engine.store.members(), work, now)
        stuck = await found(connection, "stuck>5m")
        await engine.stop()
        return work, stuck, list(lines)

    async def found(connection: Connection, term: str) -> list[str]:
        return list(await connection.find(parse([term])))

    work, stuck, lines = run(main())
    [back] = work.handed_back
    assert (back.task_id, back.action, stuck) == ("t", "shop/look", ["t"])
    assert back.since - EPOCH < 5_000
    [line] = [line for line in lines if line.about == "handed back"]
    assert line.level is Level.BROKEN
    assert line.what == (
        "t waits for an agent that can make the call: shop/look handed it back unsent, as shop/look.what: "
        "Expected `int`, got `str`"
    )


class Booking(msgspec.Struct):
    hotel: str


rooms = Agent("rooms")


async def cancel_room(booking: Booking | None) -> None:
    assert booking == Booking("Lutetia")


@rooms.action(undo=cancel_room)
async def reserve_room(city: str) -> Booking:
    raise Unknown(f"no answer of {city}")


@rooms.action(name="confirm", undo=None)
async def confirm(booking: Booking) -> str:
    return f"{booking.hotel} is confirmed"


@plan
def stays(city: str) -> str:
    booking = step(reserve_room, city)
    return step(confirm, booking)


async def parked_stay(engine: Engine) -> Task[Any]:
    """A task whose reservation is in doubt; the person who looks gives a result that no agent can read."""
    await engine.start()
    await engine.store.save_plan(stays.version, stays.name, stays.document.canonical())
    await engine.desk.submit(stays.plan, "t", TaskSubmitted(msgspec.Raw(b'"Paris"')))
    connection = Connection(engine.desk, Envelope())
    connection.open()
    task: Task[Any] = Task(connection, "t", Any)
    assert await task.wait(600) == "Failed"
    await task.resolve("reserve_room", "done", b'"Lutetia"', by="ann")
    await sleep(100)
    return task


CORRECT = "makegood resolve t reserve_room done --result JSON --app APP"


def test_a_result_of_the_wrong_form_is_corrected_and_the_task_goes_on() -> None:
    async def main() -> tuple[str, str, str]:
        engine = engine_with(MemoryFile(), rooms)
        task = await parked_stay(engine)
        waits = await task.why()
        said = await task.resolve("reserve_room", "done", b'{"hotel": "Lutetia"}', by="ann")
        output = await task.result(3)
        await engine.stop()
        return waits, said, output

    waits, said, output = run(main())
    assert "Expected `object`, got `str`" in waits
    assert CORRECT in waits
    assert (said, output) == ("corrected the result of reserve_room", "Lutetia is confirmed")


def test_an_undo_that_cannot_read_the_result_waits_for_a_better_one_or_a_person() -> None:
    async def main(*act: Any) -> tuple[str, str]:
        engine = engine_with(MemoryFile(), rooms)
        task = await parked_stay(engine)
        await task.cancel(by="ann")
        await sleep(100)
        waits = await task.why()
        await task.resolve("reserve_room", *act, by="ann")
        ended = await task.wait(3)
        await engine.stop()
        return waits, ended

    for act in (("done", b'{"hotel": "Lutetia"}'), ("undone",), ("kept",)):
        waits, ended = run(main(*act))
        assert CORRECT in waits
        assert "makegood resolve t reserve_room undone" in waits
        assert ended == "Compensated"


halls = Agent("halls")


async def undo_hall(result: str | None) -> None:
    assert call().step == "choose", "nobody calls it of the hall: the city is not known"


async def find_hall(city: str) -> str:
    raise AssertionError("nobody asks: the city is not known")


@halls.action(keyed=True, tombstone=True, undo=undo_hall)
async def choose(guest: str) -> str:
    raise Unknown(f"no answer to {call().key}")


@halls.action(undo=undo_hall, probe=find_hall)
async def book_hall(city: str) -> str:
    raise Unknown("no answer")


@plan
def shows(guest: str) -> str:
    return step(book_hall, step(choose, guest))


def test_what_is_made_of_a_result_that_nobody_will_know_ends_with_a_person() -> None:
    """A backup was put back: whether the hall was booked, and in which city, is not on record."""

    async def main() -> tuple[str, str, str]:
        engine = engine_with(MemoryFile(), halls)
        await engine.start()
        await engine.store.save_plan(shows.version, shows.name, shows.document.canonical())
        await engine.desk.submit(shows.plan, "t", TaskSubmitted(msgspec.Raw(b'"ann"')))
        await engine.desk.act("t", Restored("ann", "the disk died"))
        connection = Connection(engine.desk, Envelope())
        connection.open()
        task: Task[Any] = Task(connection, "t", Any)
        await task.cancel(by="ann")
        assert await task.wait(600) == "Failed"
        await task.retry("book_hall", by="ann")  # in vain: no probe can be called without the city
        asked = await task.wait(3600)
        await task.resolve("book_hall", "left", by="ann")
        assert await task.wait(3600) == "Failed"
        await task.retry("book_hall", by="ann")
        undone = await task.wait(3600)
        why = await task.why()
        await engine.stop()
        return asked, undone, why

    asked, undone, why = run(main())
    assert (asked, undone) == ("Failed", "Failed")
    assert "choose is not there" in why
