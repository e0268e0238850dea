"""The due time: never later than the first thing a record waits for; "none" only where a person must come."""

import pytest

from makegood.core import machine
from makegood.core.events import CancelAsked, Driven, HandedBack, LeaseRenewed, PauseAsked, Reply, ResumeAsked
from makegood.core.machine import NothingDue
from makegood.core.record import Head, Open, Phase, TaskState
from makegood.core.reports import LEASE, REPORT_GRACE
from makegood.testing.shorthand import BARE, KEYED, PIVOT, PROBED, parallel, series, step
from tests.core.plans import LIFE, TIMEOUT, plan_of
from tests.core.scripts import START, Bench

A, B = step("a", KEYED), step("b", KEYED)


def test_what_may_start_is_due_now_and_so_is_an_offer() -> None:
    bench = Bench(A)
    assert bench.due == 0
    bench.tell(Driven())
    assert bench.due == 0


def test_a_call_is_due_when_its_lease_ends_and_never_after_its_own_end() -> None:
    bench = Bench(A).call("a")
    assert bench.due == LEASE
    bench.wait(4_000).tell(LeaseRenewed(0, 1, LEASE))
    assert bench.due == LEASE
    bench.wait(4_000).tell(LeaseRenewed(0, 1, LEASE))
    assert bench.due == TIMEOUT + REPORT_GRACE - 8_000
    assert Bench(step("a", KEYED, timeout=1)).call("a").due == 1_000 + REPORT_GRACE


def test_a_lease_is_never_shortened_and_only_the_call_that_runs_renews_it() -> None:
    bench = Bench(A).call("a")
    bench.tell(LeaseRenewed(0, 1, 100))
    assert bench.due == LEASE
    assert bench.tell(LeaseRenewed(0, 2, LEASE)) == [False]
    bench.report("a", Reply.TRANSIENT)
    assert bench.tell(LeaseRenewed(0, 1, LEASE)) == [False]


def test_a_call_that_cannot_be_stopped_may_land_later_and_is_waited_out_for_longer() -> None:
    bench = Bench(step("a", PROBED)).call("a").wait(TIMEOUT)
    bench.tell(LeaseRenewed(0, 1, LEASE, overrun=True))
    assert bench.due == LEASE
    bench.wait(LEASE).look()
    assert (bench.phase("a"), bench.due) == (Phase.WAIT_OUT, LIFE - TIMEOUT)


def test_the_supervisors_turn_is_now() -> None:
    bench = Bench(A).call("a")
    bench.report("a", Reply.TRANSIENT)
    assert (bench.due, bench.wants_look()) == (0, True)


def test_a_backoff_a_deadline_and_a_lease_the_first_of_them_counts() -> None:
    bench = Bench(parallel(A, step("b", KEYED, deadline=3)), deadline=60_000).call("b")
    bench.report("b", Reply.TRANSIENT)
    bench.look()
    bench.call("a")
    assert bench.due == 1_000, "the retry"
    bench.call("b")
    assert bench.due == 3_000 - (bench.now - START)


def test_a_deadline_that_was_heard_is_not_waited_for() -> None:
    bench = Bench(series(step("p", KEYED, PIVOT), B), deadline=2_000).done("p").call("b").wait(2_000)
    assert bench.due == 0
    bench.look()
    assert bench.due == LEASE - 2_000


def test_a_handed_back_call_is_due_when_its_agent_said() -> None:
    bench = Bench(A).call("a")
    bench.tell(HandedBack(0, 1, "no room", wait=700))
    assert bench.due == 700


def test_a_paused_task_waits_for_its_person_or_for_what_still_runs() -> None:
    bench = Bench(parallel(A, B), deadline=60_000)
    bench.tell(PauseAsked("ann"))
    assert bench.due is None
    bench.tell(ResumeAsked("ann"))
    bench.call("a").tell(PauseAsked("ann"))
    assert bench.due == LEASE


def test_what_is_planned_in_a_task_that_is_to_park_wakes_nobody() -> None:
    bench = Bench(parallel(step("a", BARE), B)).call("a")
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    assert (bench.phase("b"), bench.due) == (Phase.PLANNED, LIFE)
    body = series(step("p", KEYED, PIVOT), parallel(A, B, step("c", KEYED)))
    bench = Bench(body).done("p").call("b").ends("a", Reply.REFUSED)
    assert (bench.phase("c"), bench.state, bench.due) == (Phase.PLANNED, TaskState.RUNNING, LEASE)


def test_a_task_at_rest_waits_for_nobody() -> None:
    assert Bench(A).done("a").due is None
    assert Bench(A).ends("a", Reply.REFUSED).due is None
    assert Bench(step("a", BARE)).ends("a", Reply.UNKNOWN).wait_out().due is None


@pytest.mark.parametrize("phase", [Phase.DOUBT, Phase.LEFT, Phase.UNKNOWN])
def test_none_is_refused_where_nobody_would_come(phase: Phase) -> None:
    head = Head(marks=bytearray([phase]), open={0: Open()})
    with pytest.raises(NothingDue, match="plan trip: RUNNING"):
        machine.due(plan_of(A), head)
    head.state = TaskState.FAILED
    assert machine.due(plan_of(A), head) is None


def test_every_moment_that_is_due_finds_somebody_who_acts() -> None:
    """No hot loop: whenever the due time has come, the Supervisor or the Scheduler finds something to do."""
    bench = Bench(series(step("a", PROBED), B), deadline=40_000).ends("a", Reply.UNKNOWN)
    bench.tell(CancelAsked("ann"))
    for _ in range(20):
        if bench.due is None:
            break
        bench.wait(max(0, bench.due))
        acted = bench.look() if bench.wants_look() else bench.tell(Driven()) == [True]
        assert acted
        if bench.phase("a") is Phase.PROBE_OFFERED:
            bench.call("a")
    assert bench.state is TaskState.FAILED
