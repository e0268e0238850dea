"""What an agent's actions share is opened before the first call of a process and closed after the last."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import pytest

from makegood import Agent, Makegood, MakegoodError, plan, step
from makegood.agents import lifespans
from makegood.errors import PlanError, StoreUnavailable
from tests.client.sample import run

told: list[str] = []


@asynccontextmanager
async def line() -> AsyncIterator[None]:
    told.append("opened")
    yield
    told.append("closed")


@asynccontextmanager
async def torn() -> AsyncIterator[None]:
    if not told.count("repaired"):
        raise ConnectionError("no line")
    yield


@asynccontextmanager
async def torn_at_the_end() -> AsyncIterator[None]:
    yield
    raise ConnectionError("it fell")


@asynccontextmanager
async def endless() -> AsyncIterator[None]:
    yield
    await asyncio.sleep(1000)


@asynccontextmanager
async def called_off() -> AsyncIterator[None]:
    yield
    raise asyncio.CancelledError


@asynccontextmanager
async def exits_at_the_end() -> AsyncIterator[None]:
    yield
    raise SystemExit(9)


@asynccontextmanager
async def heeding_nothing() -> AsyncIterator[None]:
    yield
    while not told.count("over"):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.6)
            told.append("over")


@asynccontextmanager
async def never_begun() -> AsyncIterator[None]:
    if told:  # as ever: its sibling is open
        raise asyncio.CancelledError
    yield


@asynccontextmanager
async def exits() -> AsyncIterator[None]:
    if told:
        raise SystemExit("no URL")
    yield


def agent(name: str, lifespan: object) -> Agent:
    made = Agent(name, lifespan=lifespan)  # type: ignore[arg-type]  # one of them is none, on purpose

    @made.action(undo=None)
    async def tell(word: str) -> None:
        told.append(word)

    return made


@pytest.fixture(autouse=True)
def _fresh() -> None:
    told.clear()


def test_it_is_entered_before_the_first_call_and_left_after_the_last(tmp_path: Path) -> None:
    phones = agent("phones", line)

    @plan
    def tell(word: str) -> None:
        step(phones.actions["tell"].do.fn, word)

    async def work() -> None:
        for word in ("hello", "bye"):
            async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [phones, agent("other", None)]) as makegood:
                await (await makegood.submit(tell, word)).result(20)

    run(work)
    assert told == ["opened", "hello", "closed", "opened", "bye", "closed"]


@pytest.mark.parametrize(
    ("lifespan", "words"),
    [
        (torn, "ConnectionError: no line"),
        (never_begun, "CancelledError"),
        (exits, "SystemExit: no URL"),
    ],
)
def test_one_that_cannot_begin_names_its_agent_and_leaves_nothing_open(
    tmp_path: Path, lifespan: object, words: str
) -> None:
    async def work() -> None:
        agents = [agent("phones", line), agent("radios", lifespan)]
        with pytest.raises(MakegoodError, match=f"agent radios: its lifespan could not begin: {words}"):
            await Makegood(f"sqlite:///{tmp_path}/tasks.db", agents).__aenter__()

    run(work)
    assert told == ["opened", "closed"]


def test_a_start_that_fails_later_leaves_them_and_closes_the_store(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"

    @asynccontextmanager
    async def taking_the_store_away() -> AsyncIterator[None]:
        path.unlink()
        told.append("opened")
        yield
        told.append("closed")

    async def work() -> None:
        makegood = Makegood(f"sqlite:///{path}", [agent("phones", taking_the_store_away)])
        with pytest.raises(StoreUnavailable, match="deleted or replaced"):
            await makegood.__aenter__()

    run(work)
    assert told == ["opened", "closed"]
    held = [f"{each.readlink()}" for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert not any(name.startswith(str(path)) for name in held)


@pytest.mark.parametrize(
    "lifespan", [torn_at_the_end, called_off, exits_at_the_end, endless, heeding_nothing]
)
def test_one_that_ends_badly_keeps_no_other_from_ending(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, lifespan: object
) -> None:
    monkeypatch.setattr(lifespans, "LEAVING_MAX", 0.2)
    monkeypatch.setattr(lifespans, "CUT_OFF_MAX", 0.2)

    async def work() -> None:
        agents = [agent("phones", line), agent("radios", lifespan)]
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", agents):
            pass

    run(work)
    assert told[:2] == ["opened", "closed"]
    assert "agent radios: its lifespan did not end well" in caplog.text


def test_it_is_left_in_the_task_it_was_entered_in_and_actions_see_its_context(tmp_path: Path) -> None:
    line_of: ContextVar[str] = ContextVar("line_of")

    @asynccontextmanager
    async def in_one_task() -> AsyncIterator[None]:
        async with asyncio.TaskGroup():
            line_of.set("line 7")
            began = asyncio.current_task()
            yield
        told.append(f"same task: {began is asyncio.current_task()}")

    phones = Agent("phones", lifespan=in_one_task)

    @phones.action(undo=None)
    async def tell_line() -> None:
        told.append(line_of.get("no line"))

    @plan
    def tell() -> None:
        step(tell_line)

    async def work() -> None:
        makegood = Makegood(f"sqlite:///{tmp_path}/tasks.db", [phones])
        await asyncio.create_task(makegood.__aenter__())
        await (await makegood.submit(tell)).result(20)
        await makegood.__aexit__(None, None, None)

    run(work)
    assert told == ["line 7", "same task: True"]


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(PlanError, match="agent phones: lifespan=7 is no function"):
        agent("phones", 7)
