"""A deploy renamed or took away a function that tasks under way are pinned to: the record says so, another
version's process comes first, and a person may settle what nobody calls any more."""

from asyncio import sleep
from random import Random
from typing import Any

import msgspec
import pytest

from makegood import Agent, Unknown, plan, step
from makegood.client.connection import Connection
from makegood.client.task import Task
from makegood.core.events import Restored, TaskSubmitted
from makegood.health.line import Line
from makegood.health.people import lines_of_people
from makegood.health.work import work_of
from makegood.payload import Envelope
from makegood.runtime.engine import Engine
from makegood.store.memory import MemoryFile, MemoryStore
from makegood.testing.virtual import VirtualClock, run, virtual_loop


async def cancel(room: str | None) -> None: ...


async def refund(room: str | None) -> None:
    raise AssertionError("another undo than the one that the task is pinned to")


async def find(who: str) -> str | None:
    return None


async def ask_for(who: str) -> str | None:
    raise AssertionError("another probe than the one that the task is pinned to")


def inn(undo: Any, probe: Any = None, *, answers: bool = True) -> Agent:
    """An agent in one of its versions."""
    agent = Agent("inn", settle=0.1, timeout=1)

    @agent.action(name="book", undo=undo, probe=probe)
    async def book(who: str) -> str:
        if not answers:
            raise Unknown("no answer")
        return f"room of {who}"

    return agent


elsewhere = Agent("elsewhere")


@elsewhere.action(name="look", reads=True)
async def look() -> None: ...


def engine_with(file: MemoryFile, *agents: Agent) -> Engine:
    clock = VirtualClock()
    return Engine(MemoryStore(file, clock=clock), agents, clock=clock, chance=Random(1), watched=False)


def at(engine: Engine) -> Task[Any]:
    """The task, as a client sees it who is with this process."""
    connection = Connection(engine.desk, Envelope())
    connection.open()
    return Task(connection, "t", Any)


async def under_way(engine: Engine, agent: Agent) -> Task[Any]:
    """A room is to be booked, and after that nobody is there for what comes next."""

    @plan
    def stay(who: str) -> None:
        step(agent.actions["book"].fn, who)
        step(look)

    await engine.start()
    await engine.store.save_plan(stay.version, stay.name, stay.document.canonical())
    await engine.desk.submit(stay.plan, "t", TaskSubmitted(msgspec.Raw(b'"ann"')))
    await sleep(5)
    return at(engine)


def test_an_undo_of_another_name_is_not_taken_for_the_pinned_one() -> None:
    """The record says so, and a process that has it is offered the call as soon as it comes."""

    async def main() -> tuple[str, str, float]:
        file = MemoryFile()
        older, newer = engine_with(file, inn(cancel)), engine_with(file, inn(refund))
        await under_way(older, inn(cancel))
        await older.stop()
        await newer.start()
        task = at(newer)
        await task.cancel(by="ann")
        await sleep(60)
        said, asked_at = await task.why(), virtual_loop().seconds
        again = engine_with(file, inn(cancel))
        await again.start()
        ended = await task.wait(60)
        for engine in (newer, again):
            await engine.stop()
        return said, ended, virtual_loop().seconds - asked_at

    said, ended, took = run(main())
    assert (
        "inn handed its undo cancel back unsent: inn/book has the undo refund, and this task began with the "
        "undo cancel: declare it as undo=cancel until such tasks have ended, or run the code that does "
        "beside this. No retry is counted"
    ) in said
    assert ended == "Compensated"
    assert took < 5


def test_while_a_version_is_rolled_out_the_process_that_has_the_function_comes_first() -> None:
    async def main() -> tuple[str, list[dict[str, Any]]]:
        file = MemoryFile()
        older, newer = engine_with(file, inn(cancel)), engine_with(file, inn(refund))
        await under_way(older, inn(cancel))
        await newer.start()
        task = at(newer)
        await task.cancel(by="ann")
        ended, history = await task.wait(5), await task.history()
        for engine in (older, newer):
            await engine.stop()
        return ended, history

    ended, history = run(main())
    assert ended == "Compensated"
    assert "handedBack" not in str(history)


LACKS_UNDO = "inn/book has no undo, and this task began with the undo cancel"


@pytest.mark.parametrize("verdict", ["undone", "absent", "kept"])
def test_an_undo_that_was_taken_away_may_be_a_persons(verdict: str) -> None:
    async def main() -> tuple[str, str]:
        file = MemoryFile()
        older, newer = engine_with(file, inn(cancel)), engine_with(file, inn(None))
        await under_way(older, inn(cancel))
        await older.stop()
        await newer.start()
        task = at(newer)
        await task.cancel(by="ann")
        await sleep(10)
        said = await task.why()
        await task.resolve("book", verdict, by="ann")
        ended = await task.wait(3)
        [book, _] = (await task.record())["steps"]
        assert book["compensation"]["state"] != "Completed", "nobody has called it"
        await newer.stop()
        return said, ended

    said, ended = run(main())
    assert LACKS_UNDO in said
    assert f"makegood resolve t book {verdict}" in said
    assert ended == "Compensated"


@pytest.mark.parametrize(("verdict", "state"), [("undone", "Compensated"), ("left", "Failed")])
def test_an_undo_whose_whole_action_is_gone_may_be_a_persons(verdict: str, state: str) -> None:
    """Nobody claims it, so nobody can hand it back."""

    async def main() -> tuple[str, str]:
        file = MemoryFile()
        older, newer = engine_with(file, inn(cancel)), engine_with(file, Agent("inn"))
        await under_way(older, inn(cancel))
        await older.stop()
        await newer.start()
        task = at(newer)
        await task.cancel(by="ann")
        await sleep(10)
        said = await task.why()
        await task.resolve("book", verdict, by="ann")
        ended = await task.wait(3)
        await newer.stop()
        return said, ended

    said, ended = run(main())
    assert "No living process has inn/book. Start one" in said
    assert f"makegood resolve t book {verdict}" in said
    assert ended == state


def test_a_probe_of_another_name_is_not_asked_and_a_person_may_answer() -> None:
    async def main() -> tuple[str, str, list[Line]]:
        file = MemoryFile()
        newer = engine_with(file, inn(cancel, ask_for, answers=False), elsewhere)
        task = await under_way(newer, inn(cancel, find))
        await sleep(100)
        said, now = await task.why(), await newer.store.now()
        lines = lines_of_people(await newer.store.members(), await work_of(newer.store, now), now)
        await task.resolve("book", "done", b'"room of ann"', by="ann")
        ended = await task.wait(3)
        await newer.stop()
        return said, ended, list(lines)

    said, ended, lines = run(main())
    assert "inn/book has the probe ask_for, and this task began with the probe find" in said
    [line] = [line for line in lines if line.about == "handed back"]
    assert "handed it back unsent, as inn/book has the probe ask_for" in line.what
    assert "makegood resolve t book absent" in said
    assert ended == "Completed"


def test_after_a_backup_was_put_back_the_first_pause_is_short_as_well() -> None:
    """Of what may have been called since the backup nobody knows when that was."""

    async def main() -> list[dict[str, Any]]:
        file = MemoryFile()
        nobody, newer = engine_with(file), engine_with(file, inn(cancel, ask_for))
        await under_way(nobody, inn(cancel, find))
        await nobody.desk.act("t", Restored("ann", "the disk died"))
        await newer.start()
        await sleep(60)
        history = await at(newer).history()
        for engine in (nobody, newer):
            await engine.stop()
        return history

    first, *_ = [fact["waitMs"] for fact in run(main()) if fact["fact"] == "HandedBack"]
    assert first == 15_000
