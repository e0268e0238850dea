"""A test's strikes and its cancel come to pass, or the test hears of it."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from makegood.core.record import Kind
from makegood.errors import PlanError
from makegood.testing import (
    FakeService,
    Performance,
    Strike,
    assert_settled,
    crash_after,
    lost_answer,
    lost_request,
    rehearse,
)
from makegood.testing.rehearsal.cases import FAULTS, cases
from makegood.testing.rehearsal.performance import TurnedClock
from tests.rehearsal import plans, shops

SHOP = shops.keyed(FakeService("hotels", keyed=True))
TWO = {("book", Kind.DO): 2, ("book", Kind.UNDO): 2}


def settle(*strikes: Strike, cancel_at: str = "") -> None:
    with TurnedClock() as clock:
        assert_settled(Performance(clock, SHOP.plan, *strikes, agents=[SHOP.agent], cancel_at=cancel_at))


@pytest.mark.parametrize(
    ("direct", "reason"),
    [
        (
            lambda: settle(crash_after("book_curier", nth=2, down=60)),
            r"^crash_after\('book_curier', nth=2, down=60\): plan .* its steps are: book, pay$",
        ),
        (lambda: settle(cancel_at="charge_crad"), "cancel_at='charge_crad'.*its steps are: book, pay"),
        (lambda: settle(lost_answer("book", nth=0)), r"^lost_answer\('book', nth=0\).*counted from 1"),
        (lambda: settle(crash_after("book"), lost_answer("book")), "two strikes.*nth=2"),
    ],
)
def test_what_can_never_come_is_refused(direct: Callable[[], Any], reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        direct()


def test_an_undo_that_there_is_not_cannot_be_struck() -> None:
    with (
        TurnedClock() as clock,
        pytest.raises(PlanError, match=r"^crash_after\('mail', undo=True\).*no undo.*: one"),
    ):
        Performance(clock, plans.pivoted, crash_after("mail", undo=True))


def test_a_probe_that_there_is_not_cannot_be_struck() -> None:
    with (
        TurnedClock() as clock,
        pytest.raises(PlanError, match=r"^lost_request\('mail', probe=True\).*no probe.*: none"),
    ):
        Performance(clock, plans.pivoted, lost_request("mail", probe=True))


def test_a_probe_is_struck_as_a_test_says() -> None:
    shop = shops.probe_takes_no_answer_for_no(faulty=False)
    with TurnedClock() as clock:
        strikes = lost_answer("book"), lost_request("book", probe=True)
        task = Performance(clock, shop.plan, *strikes, agents=[shop.agent]).finish()
    assert "trouble: find is lost on its way" in task.story


@pytest.mark.parametrize(
    ("strike", "told"),
    [
        (crash_after("book", nth=5), r"crash_after\('book', nth=5\): this never came .*: book: 1, pay: 1"),
        (lost_answer("book", undo=True), r"lost_answer\('book', undo=True\): .*: book: 1, pay: 1"),
    ],
)
def test_a_strike_that_did_not_come_is_told(strike: Strike, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        settle(strike)


def test_a_cancel_that_did_not_come_is_told() -> None:
    shop = shops.says(lambda: "", faulty=False)  # its answer lost, nobody knows, and pay is never called
    with TurnedClock() as clock:
        task = Performance(clock, shop.plan, lost_answer("book"), agents=[shop.agent], cancel_at="pay")
        with pytest.raises(AssertionError, match="cancel_at='pay': this never came"):
            assert_settled(task)


def test_strikes_that_come_are_no_news() -> None:
    settle(crash_after("book"), lost_answer("book", nth=2))
    settle(lost_answer("book", undo=True), cancel_at="pay")


def test_every_request_of_an_action_and_of_its_undo_is_struck() -> None:
    shop = shops.with_breakfast()
    report = rehearse(shop.plan, agents=[shop.agent])
    for call, nth in product(("do", "undo"), (1, 2)):
        struck = {
            row.faults[0].fault
            for row in report.rows
            if row.faults
            and (row.faults[0].step, row.faults[0].call, row.faults[0].nth) == ("book", call, nth)
        }
        assert struck >= set(FAULTS.values()), (call, nth)
    assert ("pay", 2) not in {(fault.step, fault.nth) for row in report.rows for fault in row.faults}


def test_tries_that_fail_by_themselves_are_not_taken_for_requests() -> None:
    shop = shops.keyed(FakeService("hotels", keyed=True, slow=60))
    report = rehearse(shop.plan, agents=[shop.agent])
    assert report.rows[0].ends != "Completed"
    assert {fault.nth for row in report.rows for fault in row.faults} == {1}


def test_pairs_strike_every_request_of_the_next_try() -> None:
    struck = {tuple(one.nth for one in case.strikes) for case in cases(SHOP.plan.plan, TWO, pairs=True)}
    assert struck >= {(1, 2), (1, 3), (2, 3), (2, 4)}
    assert not {(1, 4), (2, 5)} & struck


def test_nobody_is_up_as_long_as_a_test_says() -> None:
    with TurnedClock() as clock:
        task = Performance(clock, SHOP.plan, crash_after("book", down=3600), agents=[SHOP.agent])
        clock.advance(3500)
        assert task.state == "Running"
        assert_settled(task)
        assert task.state == "Completed"
        assert 3600 < clock.seconds < 3700
