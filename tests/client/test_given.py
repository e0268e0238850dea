"""A result that a person gives is checked by the action's own type, where the agent is known."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from makegood import Agent, Makegood, Unknown, plan, step
from makegood.errors import ActRefused, PayloadError


class Ticket(msgspec.Struct):
    number: int
    printed: bool = True


shows = Agent("shows", timeout=0.3, settle=0.1)


@shows.action(undo=None)
async def buy(guest: str) -> Ticket:
    raise Unknown("no answer")


@plan
def evening(guest: str) -> Ticket:
    return step(buy, guest)


def test_what_an_action_could_not_return_is_not_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path}/shows.db"

    async def work() -> None:
        async with Makegood(url, [shows]) as makegood:
            task = await makegood.submit(evening, "ann", task_id="ann")
            assert await task.wait(20) == "Failed"
            for wrong, words in (
                (b'"17"', "result: Expected `object`, got `str`"),
                ('{"number": "x"}', "result.number: Expected `int`, got `str`"),
                ({"number": 17}, "give JSON as text"),
                (
                    "ticket 17",
                    r"result: JSON is malformed.*; it is given as JSON: a text by json.dumps\(text\)",
                ),
            ):
                with pytest.raises(PayloadError, match=words):
                    await task.resolve("buy", "done", wrong)  # type: ignore[arg-type]  # one is none
        async with Makegood(url) as stranger:  # who knows no types
            with pytest.raises(ActRefused, match="buy"):
                await stranger.task("ann").skip("buy", '"17"')
            assert "not checked" not in caplog.text  # what is refused needs no warning
            await stranger.task("ann").resolve("buy", "done", '"17"')
            stranger.know([shows])
            [said] = [record for record in caplog.records if record.name == "makegood.client"]
            assert "the result of buy is not checked by its type, as no agent here" in said.getMessage()
            with pytest.raises(PayloadError, match="Expected `object`"):
                await stranger.task("ann").resolve("buy", "done", '"18"')
            await stranger.task("ann").resolve("buy", "done", '{"number": 17}')
            assert await stranger.task("ann").result(20) == {"number": 17, "printed": True}
        assert caplog.text.count("not checked by its type") == 1

    asyncio.run(work())
