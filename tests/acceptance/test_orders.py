"""What a person orders from another process is noticed by the running engine within about a second."""

import time
from typing import Any

import pytest

from makegood import Makegood, PlanDefinition
from makegood.core.events import Claimed, PauseAsked
from tests.acceptance import orders
from tests.acceptance.yard import Running, Yard, until

NOTICED_SECONDS_MAX = 2.0
"""The promise is a second; another for what a busy machine does beside."""


@pytest.fixture
def engine(yard: Yard) -> Running:
    return yard.engine("tests.acceptance.orders")


def submit(yard: Yard, plan: PlanDefinition[Any, Any], given: Any) -> None:
    async def submitted(makegood: Makegood) -> None:
        await makegood.submit(plan, given, task_id="task")

    yard.ask(submitted)


def waits_for(yard: Yard) -> str:
    found: str = yard.record("task").get("waiting", {}).get("for", "")
    return found


def row_with(yard: Yard, kind: type) -> float:
    """When the fact of a kind was written, in seconds."""
    return next(row.at for row in yard.rows("task") if any(isinstance(f, kind) for f in row.facts)) / 1000


def test_cancel_reaches_the_running_action(yard: Yard, engine: Running) -> None:
    submit(yard, orders.lingering, 30)
    until(lambda: yard.ledger.visits(), "the call under way")
    said = yard.cli("cancel", "task", "--by", "ann", "--why", "changed plans")
    assert said == "task: cancelled: what it did is being undone\n"
    ordered = time.monotonic()
    assert yard.all_at_rest(1) == {"task": "Compensated"}
    assert time.monotonic() - ordered < 2 * NOTICED_SECONDS_MAX
    assert yard.ledger.wrong({"task": "Compensated"}, steps=1) == []
    assert "changed plans" in yard.record("task")["reason"]
    assert yard.cli("cancel", "task") == "task: already compensated\n"


def test_cancel_of_what_is_parked_on_its_way_back_says_so(yard: Yard, engine: Running) -> None:
    submit(yard, orders.undo_refused, 0)
    until(lambda: yard.states() == {"task": "Failed"}, "its undo is refused")
    told = yard.cli("cancel", "task")
    assert told == "task: to be undone already, once a person has settled what `makegood why` says\n"


def test_pause_starts_no_call_until_resume(yard: Yard, engine: Running) -> None:
    submit(yard, orders.two_parts, 4)
    until(lambda: yard.ledger.visits(), "the first call under way")
    assert yard.cli("pause", "task") == "task: paused\n"
    until(lambda: yard.step("task", "linger")["state"] == "Completed", "the open call recorded")
    time.sleep(2)
    assert yard.states() == {"task": "Running"}
    assert len(yard.ledger.visits()) == 1
    assert "Paused by" in yard.why("task")
    assert yard.cli("resume", "task") == "task: resumed\n"
    ordered = time.monotonic()
    until(lambda: len(yard.ledger.visits()) == 2, "the second call")
    assert time.monotonic() - ordered < NOTICED_SECONDS_MAX
    assert yard.all_at_rest(1) == {"task": "Completed"}
    pause_at = row_with(yard, PauseAsked)
    claims = [row for row in yard.rows("task") if any(isinstance(fact, Claimed) for fact in row.facts)]
    assert [row.at / 1000 > pause_at for row in claims] == [False, True]


def test_retry_tries_at_once_what_waits_for_long(yard: Yard, engine: Running) -> None:
    submit(yard, orders.patiently, 0)
    until(lambda: waits_for(yard) == "backoff", "the long wait")
    assert yard.cli("retry", "task") == "task: trying again\n"
    ordered = time.monotonic()
    assert yard.all_at_rest(1) == {"task": "Completed"}
    assert time.monotonic() - ordered < NOTICED_SECONDS_MAX
    assert yard.step("task", "book_at_second_try")["retryCount"] == 0


def test_skip_goes_on_as_if_it_were_done(yard: Yard, engine: Running) -> None:
    submit(yard, orders.patiently, 0)
    until(lambda: waits_for(yard) == "backoff", "the long wait")
    yard.cli("skip", "task", "book_at_second_try", code=1)
    assert yard.cli("skip", "task", "book_at_second_try", "--result", '"by hand"')
    assert yard.all_at_rest(1, within=2 * NOTICED_SECONDS_MAX) == {"task": "Completed"}
    assert yard.record("task")["output"] == "by hand"
    assert yard.ledger.bookings() == []


@pytest.mark.parametrize(
    ("verdict", "state"),
    [(("done", "--result", '"B1"'), "Completed"), (("absent",), "Completed"), (("kept",), "Compensated")],
)
def test_resolve_settles_what_only_a_person_can(
    yard: Yard, engine: Running, verdict: tuple[str, ...], state: str
) -> None:
    submit(yard, orders.in_doubt, 0)
    until(lambda: yard.states() == {"task": "Failed"}, "parked")
    assert waits_for(yard) == "person"
    if state == "Compensated":
        yard.cli("cancel", "task")
    yard.cli("resolve", "task", "book_and_lose", *verdict, "--by", "ann")
    until(lambda: yard.states() == {"task": state}, state, within=8)
    assert len(yard.ledger.visits()) == (2 if verdict == ("absent",) else 1)
