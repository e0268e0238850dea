"""A test acts on its task as a person does by the client: same words, same refusals, and the task goes on."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from makegood import Agent, Refused, Task, call, plan, step
from makegood.errors import ActRefused, PayloadError
from makegood.testing import (
    FakeService,
    Performance,
    Strike,
    assert_settled,
    crash_after,
    lost_answer,
    lost_request,
)
from makegood.testing.rehearsal.performance import TurnedClock
from tests.rehearsal import shops
from tests.rehearsal.shops import Shop, shop

ACTS = ("cancel", "pause", "resume", "retry", "skip", "resolve")

bank = Agent("bank", timeout=10)  # neither keys nor a probe: what is in doubt is a person's to settle


def refund(receipt: str | None) -> None:
    """Simulated, as `charge` is."""


@bank.action(undo=refund)
def charge(guest: str) -> str:
    return guest


@plan
def order(guest: str) -> str:
    return step(charge, guest)


@pytest.fixture
def clock() -> Iterator[TurnedClock]:
    with TurnedClock() as clock:
        yield clock


def parked(clock: TurnedClock, strike: Strike) -> Performance:
    task = Performance(clock, order, strike).finish()
    assert task.state == "Failed"
    return task


def keyed() -> Shop:
    return shops.keyed(FakeService("hotels", keyed=True))


@pytest.mark.parametrize("name", ACTS)
def test_an_act_takes_what_the_clients_takes(name: str) -> None:
    own, clients = getattr(Performance, name), getattr(Task, name)
    assert inspect.signature(own) == inspect.signature(clients)
    assert own.__doc__ == clients.__doc__


def test_what_a_person_found_done_completes(clock: TurnedClock) -> None:
    task, before = parked(clock, lost_answer("charge")), clock.seconds
    said = task.resolve("charge", "done", '"receipt 17"', by="ann", why="it is on the statement")
    assert said == "resolved charge as done"
    assert clock.seconds == before, "an act takes no time"
    assert_settled(task)
    assert (task.state, task.record["output"]) == ("Completed", "receipt 17")
    assert "ann: resolves charge as done" in task.story
    assert "it is on the statement" in task.story


def test_what_a_person_found_absent_is_called_again(clock: TurnedClock) -> None:
    task = parked(clock, lost_request("charge"))
    task.resolve("charge", "absent", by="ann")
    assert not task.at_rest
    assert_settled(task)
    assert task.state == "Completed"
    assert task.record["steps"][0]["round"] == 2


@pytest.mark.parametrize(
    ("strike", "word", "told"),
    [
        (lost_answer("charge"), ("absent",), "charge: it was in effect twice at once"),
        (lost_request("charge"), ("done", '"receipt"'), "the record says it is done, and nothing is there"),
    ],
)
def test_a_person_who_is_mistaken_is_found_out(
    strike: Strike, word: tuple[str, ...], told: str, clock: TurnedClock
) -> None:
    task = parked(clock, strike)
    task.resolve("charge", *word)
    with pytest.raises(AssertionError, match=told):
        assert_settled(task)


@pytest.mark.parametrize(
    ("act", "error", "told"),
    [
        (lambda task: task.resolve("charge", "maybe"), ActRefused, "'maybe' is no verdict"),
        (lambda task: task.resolve("pay", "done"), ActRefused, "order has no step 'pay'; it has charge"),
        (lambda task: task.resolve("charge", "done", "17"), PayloadError, "Expected `str`, got `int`"),
        (lambda task: task.retry("charge"), ActRefused, "the service cannot be asked; resolve it instead"),
        (lambda task: task.skip("charge", '"r"'), ActRefused, "only what certainly had no effect"),
    ],
)
def test_an_act_is_refused_as_by_the_client(
    act: Callable[[Performance], Any], error: type[Exception], told: str, clock: TurnedClock
) -> None:
    task = parked(clock, lost_answer("charge"))
    with pytest.raises(error, match=told):
        act(task)
    assert task.state == "Failed"
    assert task.broken == []


def test_a_word_that_comes_too_early_is_told_that_time_may_pass(clock: TurnedClock) -> None:
    task = Performance(clock, order, lost_answer("charge"))
    with pytest.raises(
        ActRefused, match=r"it does not wait for a person's word; let time pass first: finish"
    ):
        task.resolve("charge", "absent")
    with pytest.raises(ActRefused, match=r"order has no step 'pay'; it has charge$"):
        task.resolve("pay", "absent")
    task.finish().resolve("charge", "done", '"receipt"')
    assert_settled(task)
    with pytest.raises(ActRefused, match=r"cannot be resolved$"):
        task.resolve("charge", "absent")


def test_an_undo_that_is_stuck_is_tried_again(clock: TurnedClock) -> None:
    hotels, agent, opens = FakeService("hotels", keyed=True), Agent("hotel", timeout=10, keyed=True), [False]

    async def cancel(id: str | None) -> None:
        key = call().key
        if not opens[0]:
            raise Refused("closed on Sundays")
        await hotels.cancel(of=call().do_key, key=key)

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        return (await hotels.book(key=call().key, guest=guest)).id

    task = Performance(clock, shop(agent, book).plan, agents=[agent], cancel_at="pay").finish()
    assert (task.state, "closed on Sundays" in task.why) == ("Failed", True)
    opens[0] = True
    assert task.retry("book", why="it is Monday") == "trying again"
    assert_settled(task)
    assert task.state == "Compensated"


def test_nothing_is_called_while_it_is_paused_however_long(clock: TurnedClock) -> None:
    task = Performance(clock, keyed().plan)
    assert task.pause() == "paused"
    clock.advance(1800)
    with pytest.raises(AssertionError, match="is paused"):
        assert_settled(task)
    assert task.broken == ["it never comes to rest: it is paused, and nobody resumed it"]
    assert clock.seconds < 1801, "nobody waits where only a person can help"
    assert task.record["steps"][1]["state"] == "NotStarted"
    assert task.resume() == "resumed"
    assert_settled(task)
    assert task.state == "Completed"


def test_what_a_person_did_by_hand_is_skipped(clock: TurnedClock) -> None:
    task = Performance(clock, keyed().plan)
    assert task.skip("pay", '"in cash"') == "skipped pay"
    assert_settled(task)
    assert (task.state, task.record["steps"][1]["state"]) == ("Completed", "Skipped")


def test_what_is_cancelled_with_no_trouble_is_undone_and_no_promise_is_broken(clock: TurnedClock) -> None:
    task = Performance(clock, keyed().plan)
    task.cancel(by="ann", why="no longer wanted")
    assert_settled(task)
    assert task.state == "Compensated"
    assert "ann: orders: cancel: no longer wanted" in task.story


def test_a_person_acts_while_no_process_is_up(clock: TurnedClock) -> None:
    made = keyed()
    task = Performance(clock, made.plan, crash_after("book", down=3600), agents=[made.agent])
    clock.advance(60)
    assert task.cancel() == "cancelled: what it did is being undone"
    assert clock.seconds < 61
    assert_settled(task)
    assert (task.state, clock.seconds > 3600) == ("Compensated", True)


def test_processes_go_on_when_all_is_at_rest(clock: TurnedClock, caplog: pytest.LogCaptureFixture) -> None:
    parked(clock, lost_answer("charge"))
    caplog.clear()
    clock.advance(3600)
    assert caplog.messages == []
