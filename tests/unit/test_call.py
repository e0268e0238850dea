"""What an action may know of its call: when it must be over, and a logger that names it."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from makegood import Agent, Makegood, MakegoodError, call, plan, step
from makegood.agents.call import Call
from makegood.core.record import Kind

agent = Agent("agent", timeout=20, keyed=True)
seen: list[Call] = []


@agent.action(undo=None)
async def book(guest: str) -> str:
    current = call()
    current.logger.warning("room %s for %r", 7, guest, extra={"guest": guest, "step": "mine"})
    seen.append(current)
    return current.key


@plan
def stay(guest: str) -> str:
    return step(book, guest)


def test_a_call_has_a_deadline_and_a_logger(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> dict[str, Any]:
        async with Makegood("memory:", [agent]) as makegood:
            task = await makegood.submit(stay, "ann", task_id="stay-1")
            await task.result(10)
            return await task.record()

    seen.clear()
    began = datetime.now(UTC)
    record = asyncio.run(run())
    [made] = seen
    [booked] = record["steps"]
    assert made.deadline == datetime.fromisoformat(booked["completeBy"])
    assert timedelta(seconds=19) < made.deadline - began < timedelta(seconds=25)
    assert made.deadline.tzinfo is UTC
    assert 0 < made.time_left <= 20

    [said] = [record for record in caplog.records if record.name == "makegood.call"]
    assert said.getMessage() == "stay-1 book (do, call 1): room 7 for 'ann'"
    named = {name: vars(said)[name] for name in ("task_id", "step", "attempt", "kind", "guest")}
    assert named == {"task_id": "stay-1", "step": "book", "attempt": 1, "kind": "do", "guest": "ann"}


def made(*, left: float, hides: Callable[[str], str] = str) -> Call:
    """A call that should have been over in 1970."""
    return Call(
        task_id="t",
        step="s",
        kind=Kind.UNDO,
        attempt=2,
        key="t-s-undo",
        do_key="t-s",
        result_known=False,
        complete_by=0,
        left=lambda: left,
        hides=hides,
    )


def test_time_that_is_over_is_none_left() -> None:
    late = made(left=-1.0)
    assert late.time_left == 0
    assert late.deadline == datetime(1970, 1, 1, tzinfo=UTC)


def test_there_is_no_call_outside_of_one() -> None:
    with pytest.raises(MakegoodError, match="outside of a call"):
        call()


def test_its_logger_hides_what_the_call_was_given_as_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    def hides(text: str) -> str:
        return text.replace("hunter2", "***")

    current = made(left=1.0, hides=hides)
    with caplog.at_level(logging.INFO, "makegood.call"):
        current.logger.info("the token is %s, 100 %%", "hunter2")
        current.logger.warning("hunter2 at 100 %")
        current.logger.info("paid %(sum)s", {"sum": 5})
        current.logger.info("paid %s %s", b"hunter2")
        try:
            raise ValueError("hunter2 is wrong")
        except ValueError as error:
            current.logger.exception("failed")
            current.logger.info("so it did", exc_info=error)
    said = [record.getMessage().partition(": ")[2] for record in caplog.records]
    assert said[:4] == ["the token is ***, 100 %", "*** at 100 %", "paid 5", "paid %s %s b'***'"]
    for text, begins in zip(said[4:], ("failed\nTraceback", "so it did\nTraceback"), strict=True):
        assert text.startswith(begins)
        assert text.endswith("ValueError: *** is wrong")
    assert "hunter2" not in caplog.text
    assert {Path(record.pathname).name for record in caplog.records} == {"test_call.py"}
