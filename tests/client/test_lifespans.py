"""What an agent's actions share is opened before the first call of a process and closed after the last."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from makegood import Agent, Makegood, MakegoodError, plan, step
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


def test_one_that_cannot_begin_names_its_agent_and_leaves_nothing_open(tmp_path: Path) -> None:
    async def work() -> None:
        makegood = Makegood(f"sqlite:///{tmp_path}/tasks.db", [agent("phones", line), agent("radios", torn)])
        with pytest.raises(
            MakegoodError, match="agent radios: its lifespan could not begin: ConnectionError"
        ):
            await makegood.__aenter__()

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


def test_one_that_ends_badly_keeps_no_other_from_ending(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        agents = [agent("phones", line), agent("radios", torn_at_the_end)]
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", agents):
            pass

    run(work)
    assert told == ["opened", "closed"]
    assert "agent radios: its lifespan did not end well" in caplog.text


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(PlanError, match="agent phones: lifespan=7 is no function"):
        agent("phones", 7)
