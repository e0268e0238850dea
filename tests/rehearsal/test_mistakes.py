"""A mistake in a user's own code ends a rehearsal, with its line; a word of a function does not."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import pytest

from makegood import Agent, Refused, Secret, Unknown, plan, step
from makegood.cli.main import main
from makegood.errors import PlanError
from makegood.testing import FakeService, Ledger, Performance, assert_settled, rehearse
from makegood.testing.rehearsal.performance import TurnedClock
from tests.rehearsal import shops

HERE = re.escape(str(Path(__file__).relative_to(Path.cwd())))
NOTHING: dict[str, str] = {}


def misspelt(*given: Any) -> Any:
    return NOTHING["reff"]


def in_a_group(*given: Any) -> None:
    try:
        misspelt()
    except KeyError as error:
        raise ExceptionGroup("two requests at once", [error]) from None


def nothing(*given: Any) -> None: ...


def shop(
    in_do: Callable[..., Any] = nothing,
    in_undo: Callable[..., Any] = nothing,
    in_probe: Callable[..., Any] = nothing,
) -> shops.Shop:
    """An agent whose functions do their part in threads, and what is said in addition."""
    hotels, agent = FakeService("hotels").sync, Agent("hotel", timeout=10)

    def find(guest: str) -> str | None:
        in_probe()
        found = hotels.find(guest=guest)
        return found.id if found else None

    def cancel(id: str | None, guest: str) -> None:
        in_undo()
        if booked := id or find(guest):
            hotels.cancel(booked)

    @agent.action(undo=cancel, probe=find)
    def book(guest: str) -> str:
        in_do()
        return hotels.book(guest=guest).id

    return shops.shop(agent, book)


def asking(work: Callable[[Ledger], Any], *, minds: bool) -> shops.Shop:
    """An agent whose fake service does something more."""
    hotels, agent = FakeService("hotels"), Agent("hotel", timeout=10)

    @agent.action(undo=None)
    async def book(guest: str) -> str:
        try:
            await hotels.call(work)
        except Exception as error:
            if minds:
                raise
            raise Unknown("nobody knows") from error
        return (await hotels.book(guest=guest)).id

    return shops.shop(agent, book)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (shop(misspelt), r"\d times in calls of book of agent hotel \(with no trouble at all\)"),
        (shop(in_a_group), r"\d times in calls of book of agent hotel"),
        (
            shop(in_undo=misspelt),
            r"\d times in calls of undo cancel of agent hotel \(cancelled during pay\)",
        ),
        (shop(in_probe=misspelt), r"\d+ times in calls of probe find .*\(times out, happened at book\)"),
        (asking(misspelt, minds=True), "once in a call of book of agent hotel"),
        (asking(misspelt, minds=False), "once in a call of book of agent hotel"),
    ],
)
def test_it_is_found_and_named(made: shops.Shop, told: str) -> None:
    where = rf"^KeyError: 'reff' at {HERE}:\d+ in misspelt, {told}.*raises Unknown, a probe CannotTell$"
    with pytest.raises(PlanError, match=where):
        rehearse(made.plan, agents=[made.agent])


def test_a_coroutine_that_nobody_awaits_is_named_by_the_function_that_returned_it() -> None:
    hotels, agent = FakeService("hotels"), Agent("hotel", timeout=10)

    @agent.action(undo=None)
    def book(guest: str) -> Any:
        return hotels.book(guest=guest)

    made = shops.shop(agent, book)
    with pytest.raises(
        PlanError, match=rf"^TypeError: .* book \(.*\) without await.* at {HERE}:\d+, .* book of agent hotel"
    ):
        rehearse(made.plan, agents=[made.agent])


def test_a_task_of_a_test_is_held_to_the_same() -> None:
    made = shop(misspelt)
    with TurnedClock() as clock, pytest.raises(PlanError, match=r"^KeyError: 'reff' at "):
        assert_settled(Performance(clock, made.plan, agents=[made.agent]))


def test_no_secret_is_told() -> None:
    hotels, agent, prices = FakeService("hotels"), Agent("hotel", timeout=10), dict[str, int]()

    @agent.action(undo=None)
    async def pay_by(card: Annotated[str, Secret]) -> int:
        return await hotels.call(lambda ledger: prices[card])

    @plan
    def paid(card: Annotated[str, Secret]) -> None:
        step(pay_by, card)

    with pytest.raises(PlanError, match=r"^KeyError: '\*\*\*' at "):
        rehearse(paid, agents=[agent], input="4000 1234")


class NoSuchRoom(KeyError):
    """A word of somebody's client."""


@pytest.mark.parametrize("error", [NoSuchRoom("17"), ValueError("no JSON"), RuntimeError("who knows")])
def test_what_a_function_says_that_it_does_not_know_is_no_mistake(error: Exception) -> None:
    said = list[str]()

    def once() -> None:
        if not said:
            said.append("unknown")
            raise error

    made = shop(in_do=once)
    report = rehearse(made.plan, agents=[made.agent])
    assert report.kept, f"{report}"
    assert said


def test_a_mistake_that_a_function_minds_itself_is_none() -> None:
    def minded() -> None:
        with pytest.raises(KeyError):
            misspelt()

    made = shop(minded)
    assert rehearse(made.plan, agents=[made.agent]).kept


def test_the_command_takes_it_for_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = tmp_path / "app_with_a_mistake.py"
    app.write_text(shops.own("def book(guest: str) -> None:\n    guest.append('!')"))
    assert main(["rehearse", f"{app}:stay"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert (
        "AttributeError: 'str' object has no attribute 'append' at app_with_a_mistake.py:6 in book"
        in said.err
    )


def test_a_fake_service_is_for_the_thread_of_the_call() -> None:
    hotels, agent = FakeService("hotels"), Agent("hotel", timeout=10)
    heard = list[str]()

    @agent.action(undo=None)
    def book(guest: str) -> str:
        try:
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(lambda: hotels.sync.book(guest=guest)).result().id
        except Refused as error:
            heard.append(str(error))
            raise

    made = shops.shop(agent, book)
    rehearse(made.plan, agents=[made.agent])
    assert "outside of a rehearsal, or in an action's own thread" in heard[0]
