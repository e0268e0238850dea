"""The two lanes: starting, turning, groups, the order of undo, the pivot, pausing, parking."""

import pytest

from makegood.core.events import (
    NULL,
    Answer,
    CancelAsked,
    Claimed,
    DeadlineAnnounced,
    Driven,
    HandedBack,
    Hastened,
    LeaseRenewed,
    PauseAsked,
    Probed,
    Reply,
    ResolveAsked,
    ResumeAsked,
    RetryAsked,
    TurnPending,
    Verdict,
)
from makegood.core.record import Direction, Phase, TaskState
from makegood.testing.shorthand import BARE, FOR_A_MINUTE, KEYED, PIVOT, PROBED, TOMB, parallel, series, step
from tests.core.plans import LIFE
from tests.core.scripts import SEVEN, Bench

CANCEL = CancelAsked("ann", "changed plans")
A, B, C, D = (step(name, KEYED) for name in "abcd")


def phases(bench: Bench) -> list[str]:
    return [Phase(mark).name for mark in bench.head.marks]


# --- forward


def test_a_series_goes_step_by_step_and_completes() -> None:
    bench = Bench(series(A, B))
    assert phases(bench) == ["PLANNED", "IDLE"]
    assert phases(bench.done("a")) == ["DONE", "PLANNED"]
    assert bench.done("b").state is TaskState.COMPLETED


def test_branches_go_side_by_side_and_what_follows_waits_for_all() -> None:
    bench = Bench(series(parallel(A, series(B, C)), D))
    assert phases(bench) == ["PLANNED", "PLANNED", "IDLE", "IDLE"]
    assert phases(bench.done("a", "b")) == ["DONE", "DONE", "PLANNED", "IDLE"]
    assert phases(bench.done("c")) == ["DONE", "DONE", "DONE", "PLANNED"]


def test_an_offer_is_void_once_it_is_claimed_withdrawn_or_numbered_otherwise() -> None:
    bench = Bench(A)
    bench.tell(Driven())
    assert bench.tell(Claimed(0, 2, "wrong number")) == [False]
    assert bench.tell(Claimed(0, 1, "first"), Claimed(0, 1, "second")) == [True, False]
    assert bench.opened("a").owner == "first"


def test_a_stop_in_the_same_change_wins_over_a_claim() -> None:
    bench = Bench(A)
    bench.tell(Driven())
    assert bench.tell(CANCEL, Claimed(0, 1, "late")) == [True, False]
    assert bench.state is TaskState.COMPENSATED


# --- turning


def test_a_refused_step_turns_the_task_and_what_was_done_is_undone_in_reverse() -> None:
    bench = Bench(series(A, B, C)).done("a", "b").ends("c", Reply.REFUSED, error="sold out")
    assert bench.head.reason == "c: refused: sold out"
    assert phases(bench) == ["DONE", "UNDO_PLANNED", "REFUSED"]
    assert phases(bench.done("b")) == ["UNDO_PLANNED", "UNDONE", "REFUSED"]
    assert bench.done("a").state is TaskState.COMPENSATED


def test_a_cancel_stops_what_is_planned_and_lets_what_runs_report() -> None:
    bench = Bench(series(parallel(A, B, C), D)).call("a")
    bench.tell(CANCEL)
    assert phases(bench) == ["CALLED", "IDLE", "IDLE", "IDLE"]
    assert bench.head.reason == "cancelled by ann: changed plans"
    bench.report("a", Reply.DONE)
    assert phases(bench) == ["UNDO_PLANNED", "IDLE", "IDLE", "IDLE"]


def test_the_first_undo_waits_for_every_forward_call() -> None:
    bench = Bench(parallel(A, B, C)).done("a").call("b").ends("c", Reply.REFUSED)
    assert phases(bench) == ["DONE", "CALLED", "REFUSED"]
    bench.report("b", Reply.REFUSED)
    assert phases(bench) == ["DONE", "REPORTED", "REFUSED"]
    bench.look()
    assert phases(bench) == ["UNDO_PLANNED", "REFUSED", "REFUSED"]


def test_a_failed_branch_lets_no_sibling_try_again() -> None:
    bench = Bench(parallel(A, B)).ends("a", Reply.TRANSIENT)
    assert phases(bench)[0] == "PLANNED"
    bench.ends("b", Reply.REFUSED)
    assert phases(bench) == ["ABSENT", "REFUSED"]
    assert bench.state is TaskState.COMPENSATED


def test_a_planned_retry_in_doubt_goes_the_way_of_its_class_when_the_task_turns() -> None:
    for given, phase in ((TOMB, "UNDO_PLANNED"), (KEYED, "WAIT_OUT")):
        for offered in (False, True):
            bench = Bench(step("a", given)).ends("a", Reply.UNKNOWN)
            if offered:
                bench.tell(Driven())
            bench.tell(CANCEL)
            assert phases(bench) == [phase]


def test_no_forward_claim_commits_after_the_turn() -> None:
    bench = Bench(parallel(A, B))
    bench.tell(Driven())
    bench.tell(Claimed(1, 2, "an agent"))
    bench.report("b", Reply.REFUSED)
    bench.look()
    assert bench.tell(Claimed(0, 1, "late")) == [False]


def test_a_call_handed_back_after_the_turn_was_never_made() -> None:
    bench = Bench(A).call("a")
    bench.tell(CANCEL)
    assert bench.tell(HandedBack(0, 1, "stopping")) == [True]
    assert (phases(bench), bench.state) == (["IDLE"], TaskState.COMPENSATED)


def test_a_handed_back_call_costs_no_try() -> None:
    bench = Bench(step("a", KEYED, retry={"attempts": 1}))
    for attempt in range(1, 4):
        bench.call("a")
        assert bench.tell(HandedBack(0, attempt, "no room", wait=1_000)) == [True]
        assert (bench.due, bench.opened("a").retries) == (1_000, 0)
    assert bench.done("a").state is TaskState.COMPLETED


def test_a_spoiled_result_turns_the_task_without_another_try() -> None:
    bench = Bench(series(A, B)).done("a").call("b")
    bench.report("b", Reply.SPOILED)
    assert phases(bench) == ["DONE", "UNDO_PLANNED"]
    assert phases(bench.done("b", "a")) == ["UNDONE", "UNDONE"]


def test_an_input_that_is_not_there_settles_the_step_that_refers_to_it() -> None:
    bench = Bench(series(A, B)).done("a").call("b")
    bench.report("b", Reply.UNRESOLVED, error="a has no field 'price'")
    assert phases(bench) == ["UNDO_PLANNED", "UNRESOLVED"]
    assert bench.head.reason == "b: a has no field 'price'"


# --- the order of undo


def test_branches_are_undone_side_by_side_and_series_in_reverse_whatever_ended_first() -> None:
    body = series(A, parallel(series(B, C), D), step("e", KEYED))
    bench = Bench(body).done("a").call("b", "d")
    bench.report("d", Reply.DONE)
    bench.report("b", Reply.DONE)
    bench.done("c").ends("e", Reply.REFUSED)
    assert phases(bench) == ["DONE", "DONE", "UNDO_PLANNED", "UNDO_PLANNED", "REFUSED"]
    assert phases(bench.done("c"))[:4] == ["DONE", "UNDO_PLANNED", "UNDONE", "UNDO_OFFERED"]
    assert phases(bench.done("b"))[0] == "DONE"
    assert phases(bench.done("d"))[0] == "UNDO_PLANNED"


def test_only_what_was_done_or_is_feared_to_be_done_is_undone() -> None:
    body = series(step("a", undo=None), step("b", reads=True), C, parallel(D, step("e", TOMB)))
    bench = Bench(body).done("a", "b", "c").call("d", "e")
    bench.report("e", Reply.UNKNOWN)
    bench.report("d", Reply.REFUSED)
    bench.look()
    assert phases(bench) == ["DONE", "DONE", "DONE", "REFUSED", "UNDO_PLANNED"]
    bench.done("e", "c")
    assert (phases(bench)[:2], bench.state) == (["DONE", "DONE"], TaskState.COMPENSATED)


# --- undo that fails


def test_a_refused_undo_parks_before_anything_more_is_undone() -> None:
    bench = Bench(series(A, B, C)).done("a", "b").ends("c", Reply.REFUSED).ends("b", Reply.REFUSED)
    assert (phases(bench), bench.state) == (["DONE", "UNDO_STUCK", "REFUSED"], TaskState.FAILED)
    assert bench.head.direction is Direction.UNDO


def test_an_undo_whose_input_is_not_there_parks() -> None:
    bench = Bench(series(A, B)).done("a").ends("b", Reply.REFUSED).ends("a", Reply.UNRESOLVED)
    assert (phases(bench)[0], bench.state) == ("UNDO_STUCK", TaskState.FAILED)


def test_an_undo_is_tried_again_for_as_long_as_its_policy_says() -> None:
    bench = Bench(series(step("a", KEYED, undoRetry={"within": 100}), B)).done("a").ends("b", Reply.REFUSED)
    begun = bench.now
    while bench.phase("a") is not Phase.UNDO_STUCK:
        bench.ends("a", Reply.TRANSIENT)
    assert bench.now >= begun + 100_000
    assert bench.state is TaskState.FAILED


# --- parking


def test_a_task_is_not_parked_while_a_sibling_is_running() -> None:
    bench = Bench(parallel(step("a", BARE), step("b", KEYED, timeout=60))).call("a", "b")
    bench.tell(LeaseRenewed(1, 2, LIFE * 2))
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    assert bench.wait_out().opened("a").due == 0
    assert (phases(bench), bench.state) == (["DOUBT", "CALLED"], TaskState.RUNNING)
    bench.report("b", Reply.DONE)
    assert bench.state is TaskState.FAILED


def test_what_was_offered_is_taken_back_from_a_task_that_is_to_park() -> None:
    bench = Bench(parallel(step("a", BARE), B)).call("a")
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    assert phases(bench) == ["DOUBT", "PLANNED"]
    assert bench.tell(Driven()) == [False]
    assert bench.tell(Claimed(1, 2, "late")) == [False]


def test_a_planned_retry_lands_before_the_task_parks() -> None:
    """The sibling's first call may still be on its way, though its retry is only planned."""
    for given in (KEYED, TOMB):
        bench = Bench(parallel(step("a", BARE), step("b", given))).call("a", "b")
        bench.report("a", Reply.UNKNOWN)
        bench.wait(3_000).report("b", Reply.UNKNOWN)
        bench.look()
        assert phases(bench) == ["DOUBT", "WAIT_OUT"]
        bench.wait(LIFE - 3_000).look()
        assert (phases(bench), bench.state) == (["DOUBT", "PLANNED"], TaskState.FAILED)
        bench.tell(ResolveAsked(0, Verdict.DONE, "ann", given=(SEVEN,)))
        assert bench.done("b").state is TaskState.COMPLETED


def test_an_undo_whose_key_dies_while_it_waits_to_park_is_a_persons() -> None:
    body = series(parallel(A, step("b", FOR_A_MINUTE, undoRetry={"delay": 900})), C)
    bench = Bench(body).done("a", "b").ends("c", Reply.REFUSED).call("a", "b")
    bench.report("b", Reply.UNKNOWN)
    bench.look()
    bench.report("a", Reply.REFUSED)
    bench.look()
    assert phases(bench)[1] == "UNDO_WAIT_OUT"
    bench.wait(60_000).look()
    assert (phases(bench)[:2], bench.state) == (["UNDO_STUCK", "UNDO_STUCK"], TaskState.FAILED)


def test_a_blind_undo_that_only_a_tombstone_makes_safe_lands_before_the_task_parks() -> None:
    bench = Bench(parallel(step("a", BARE), step("b", TOMB))).call("b").wait(4_000).call("a")
    bench.tell(CANCEL)
    bench.report("b", Reply.UNKNOWN)
    bench.look()
    assert phases(bench) == ["CALLED", "UNKNOWN"]
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    assert phases(bench) == ["DOUBT", "WAIT_OUT"]
    bench.wait_out().wait_out()
    assert (phases(bench), bench.state) == (["DOUBT", "UNKNOWN"], TaskState.FAILED)
    bench.tell(ResolveAsked(0, Verdict.ABSENT, "ann"))
    bench.look()
    assert phases(bench.done("b")) == ["ABSENT", "UNDONE_BLIND"]


def test_an_undo_that_may_be_on_its_way_lands_before_the_task_parks() -> None:
    bench = Bench(series(parallel(A, B), C)).done("a", "b").ends("c", Reply.REFUSED).call("a", "b")
    bench.report("b", Reply.UNKNOWN)
    bench.look()
    assert phases(bench)[1] == "UNDO_PLANNED"
    bench.report("a", Reply.REFUSED)
    bench.look()
    assert (phases(bench)[:2], bench.state) == (["UNDO_STUCK", "UNDO_WAIT_OUT"], TaskState.COMPENSATING)
    bench.wait_out()
    assert (phases(bench)[:2], bench.state) == (["UNDO_STUCK", "UNDO_PLANNED"], TaskState.FAILED)


# --- the pivot

PIVOTED = series(A, step("p", PROBED, PIVOT), parallel(C, D))


def test_from_its_pivot_on_a_task_only_goes_on() -> None:
    bench = Bench(PIVOTED).done("a", "p").ends("c", Reply.TRANSIENT)
    for _ in range(12):
        bench.ends("c", Reply.TRANSIENT)
    assert phases(bench)[2] == "PLANNED", "transient failures are tried again without end"
    bench.ends("c", Reply.REFUSED)
    assert (bench.state, bench.head.direction) == (TaskState.FAILED, Direction.FORWARD)
    assert phases(bench) == ["DONE", "DONE", "REFUSED", "PLANNED"], "no sibling starts"


def test_a_pivot_that_is_only_planned_or_certainly_failed_does_not_hold_a_cancel() -> None:
    bench = Bench(PIVOTED).done("a")
    bench.tell(CANCEL)
    assert phases(bench)[:2] == ["UNDO_PLANNED", "IDLE"]
    bench = Bench(PIVOTED).done("a").ends("p", Reply.TRANSIENT)
    bench.tell(CANCEL)
    assert phases(bench)[:2] == ["UNDO_PLANNED", "ABSENT"]


def test_a_cancel_is_pending_while_the_pivot_may_have_happened_and_void_if_it_has() -> None:
    bench = Bench(PIVOTED).done("a").call("p")
    assert bench.tell(CANCEL) == [True]
    assert TurnPending("cancelled by ann: changed plans") in bench.facts
    assert (bench.state, bench.tell(CANCEL)) == (TaskState.RUNNING, [False])
    bench.report("p", Reply.DONE)
    assert (bench.head.pivoted, bench.head.pending) == (True, "")
    assert bench.done("c", "d").state is TaskState.COMPLETED


@pytest.mark.parametrize("reply", [Reply.TRANSIENT, Reply.REFUSED])
def test_a_pending_cancel_is_applied_once_the_pivot_proves_absent(reply: Reply) -> None:
    bench = Bench(PIVOTED).done("a").call("p")
    bench.tell(CANCEL)
    bench.report("p", reply)
    bench.look()
    assert (bench.state, phases(bench)[0]) == (TaskState.COMPENSATING, "UNDO_PLANNED")
    assert bench.head.reason == "cancelled by ann: changed plans"


def test_a_pending_cancel_outlives_doubt_and_probe() -> None:
    bench = Bench(PIVOTED).done("a").call("p")
    bench.tell(CANCEL)
    bench.report("p", Reply.UNKNOWN)
    bench.look()
    assert phases(bench)[1] == "WAIT_OUT"
    bench.wait_out().probed("p", Answer.ABSENT)
    assert phases(bench)[:2] == ["UNDO_PLANNED", "ABSENT"]


def test_a_deadline_is_pending_like_a_cancel_and_heard_once() -> None:
    bench = Bench(PIVOTED, deadline=9_000).done("a").call("p").wait(2_000)
    bench.tell(CANCEL)
    bench.wait(7_500)
    assert bench.wants_look()
    assert bench.look()
    assert DeadlineAnnounced(-1) in bench.facts, "the cancel came first"
    assert not bench.look()


def test_after_the_pivot_a_passed_deadline_is_announced_and_changes_nothing() -> None:
    bench = Bench(PIVOTED, deadline=9_000).done("a", "p").call("c").wait(9_000)
    bench.look()
    assert DeadlineAnnounced(-1) in bench.facts
    assert bench.state is TaskState.RUNNING
    assert not bench.wants_look() or bench.phase("c") is Phase.PLANNED


def test_a_step_deadline_that_cannot_turn_the_task_is_announced_once() -> None:
    body = series(step("p", KEYED, PIVOT, deadline=2), B)
    bench = Bench(body).call("p")
    bench.tell(CANCEL)
    bench.wait(2_000)
    assert bench.look()
    assert DeadlineAnnounced(0) in bench.facts
    assert not bench.wants_look()


def test_a_spoiled_pivot_has_happened_and_parks() -> None:
    bench = Bench(PIVOTED).done("a").call("p")
    bench.report("p", Reply.SPOILED)
    assert (bench.head.pivoted, bench.state) == (True, TaskState.FAILED)
    bench.tell(ResolveAsked(1, Verdict.DONE, "ann"))
    assert phases(bench) == ["DONE", "DONE", "PLANNED", "PLANNED"]


def test_a_step_after_the_pivot_that_is_in_doubt_parks_and_is_never_undone() -> None:
    bench = Bench(series(step("p", KEYED, PIVOT), step("b", BARE, undo=None))).done("p")
    bench.ends("b", Reply.UNKNOWN).wait_out()
    assert (bench.phase("b"), bench.state) == (Phase.DOUBT, TaskState.FAILED)
    bench.tell(ResolveAsked(1, Verdict.ABSENT, "ann"))
    bench.look()
    assert bench.phase("b") is Phase.PLANNED


def test_an_input_that_is_not_there_parks_after_the_pivot() -> None:
    bench = Bench(series(step("p", KEYED, PIVOT), B)).done("p").call("b")
    bench.report("b", Reply.UNRESOLVED)
    assert (bench.phase("b"), bench.state) == (Phase.UNRESOLVED, TaskState.FAILED)
    bench.tell(RetryAsked(1, "ann"))
    assert bench.done("b").state is TaskState.COMPLETED


# --- deadlines and pause


def test_a_task_deadline_turns_it() -> None:
    bench = Bench(series(A, B), deadline=5_000).done("a").wait(5_000)
    bench.look()
    assert (bench.state, bench.head.reason) == (TaskState.COMPENSATING, "deadline passed")


def test_a_step_deadline_bounds_all_attempts_and_turns_the_task() -> None:
    bench = Bench(series(A, step("b", KEYED, deadline=3))).done("a").ends("b", Reply.TRANSIENT)
    bench.ends("b", Reply.TRANSIENT).wait(2_000)
    bench.look()
    assert (bench.state, bench.head.reason) == (TaskState.COMPENSATING, "b: deadline passed")


def test_while_compensating_deadlines_mean_nothing() -> None:
    bench = Bench(series(A, B), deadline=5_000).done("a").ends("b", Reply.REFUSED).wait(6_000)
    assert not bench.wants_look()
    assert bench.done("a").state is TaskState.COMPENSATED


def test_a_paused_task_starts_no_call_of_any_kind_and_records_what_runs() -> None:
    bench = Bench(series(A, B)).call("a")
    bench.tell(PauseAsked("ann"))
    bench.report("a", Reply.DONE)
    assert (phases(bench), bench.due) == (["DONE", "PLANNED"], None)
    assert bench.tell(Driven()) == [False]
    assert bench.tell(ResumeAsked("ann"), Driven()) == [True, True]
    assert phases(bench)[1] == "OFFERED"


def test_an_offer_does_not_survive_a_pause() -> None:
    bench = Bench(A)
    bench.tell(Driven())
    bench.tell(PauseAsked("ann"))
    assert bench.tell(Claimed(0, 1, "late")) == [False]
    bench.tell(ResumeAsked("ann"))
    assert bench.done("a").state is TaskState.COMPLETED


def test_a_probe_and_a_check_wait_while_the_task_is_paused() -> None:
    bench = Bench(step("a", PROBED)).ends("a", Reply.UNKNOWN).wait_out()
    bench.tell(Driven(), PauseAsked("ann"))
    assert (phases(bench), bench.due) == (["PROBE_PLANNED"], None)
    bench = Bench(series(step("a", PROBED), B)).done("a").ends("b", Reply.REFUSED).ends("a", Reply.UNKNOWN)
    bench.wait_out().tell(Driven(), PauseAsked("ann"))
    assert (phases(bench)[0], bench.due) == ("CHECK_PLANNED", None)


def test_what_fell_due_during_a_pause_takes_effect_on_resume() -> None:
    bench = Bench(A, deadline=5_000)
    bench.tell(PauseAsked("ann"))
    bench.wait(60_000)
    assert not bench.wants_look()
    bench.tell(ResumeAsked("ann"))
    assert bench.wants_look()
    bench.look()
    assert bench.state is TaskState.COMPENSATED


def test_an_undo_that_no_agent_here_can_make_is_a_persons_when_its_policy_is_over() -> None:
    bench = Bench(series(step("a", KEYED, undoRetry={"within": 30}), B)).done("a").ends("b", Reply.REFUSED)
    for _ in range(3):
        bench.call("a")
        bench.tell(HandedBack(0, bench.opened("a").attempt, "cannot read its result", 15_000))
        bench.wait(15_000)
    assert bench.phase("a") is Phase.UNDO_STUCK
    assert bench.tell(ResolveAsked(0, Verdict.UNDONE, "ann", "cancelled by phone")) == [True]
    assert bench.state is TaskState.COMPENSATED


def test_a_call_that_was_handed_back_waits_no_longer_when_a_process_comes() -> None:
    bench = Bench(step("a", KEYED)).call("a")
    bench.tell(HandedBack(0, 1, "cannot read its input", 600_000))
    assert bench.due == 600_000
    bench.wait(1_000)
    assert bench.tell(Hastened(0, 1)) == [True]
    assert (bench.due, bench.opened("a").retries) == (0, 0)
    assert bench.tell(Hastened(0, 1)) == [False], "it waits for nothing"
    assert bench.done("a").state is TaskState.COMPLETED
    assert bench.tell(Hastened(0, 2)) == [False], "it is done"


def test_nothing_else_is_hastened() -> None:
    retried = Bench(step("a", KEYED)).ends("a", Reply.TRANSIENT)
    assert retried.phase("a") is Phase.PLANNED
    assert retried.due
    assert retried.tell(Hastened(0, 1)) == [False], "a pause before a retry"

    called = Bench(step("a", KEYED)).call("a")
    assert called.tell(Hastened(0, 1)) == [False], "a call under way"

    again = Bench(step("a", KEYED)).call("a")
    for attempt in (1, 2):
        again.tell(HandedBack(0, attempt, "cannot read its input", 600_000))
        if attempt == 1:
            again.wait(600_000)
            again.call("a")
    assert again.tell(Hastened(0, 1)) == [False], "it was tried since"
    assert again.tell(Hastened(0, 2)) == [True]


def test_a_probe_that_could_not_tell_is_not_hastened() -> None:
    bench = Bench(step("a", PROBED, retry={"attempts": 1, "delay": 60}, asks=5)).call("a")
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait(LIFE)
    bench.look()
    bench.tell(Driven())
    attempt = bench.opened("a").attempt
    bench.tell(Claimed(0, attempt, "an agent"))
    assert bench.tell(HandedBack(0, attempt, "cannot read its input", 600_000)) == [True]
    assert bench.tell(Hastened(0, attempt)) == [True], "it was handed back"
    bench.tell(Driven())
    attempt = bench.opened("a").attempt
    bench.tell(Claimed(0, attempt, "an agent"))
    assert bench.tell(Probed(0, attempt, Answer.CANNOT_TELL, error="busy")) == [True]
    assert bench.phase("a") is Phase.PROBE_PLANNED
    assert bench.tell(Hastened(0, attempt)) == [False], "the service asked for time"


def test_what_was_handed_back_is_offered_as_soon_as_a_person_lets_its_task_go_on() -> None:
    bench = Bench(step("a", KEYED)).call("a")
    bench.tell(HandedBack(0, 1, "cannot read its input", 600_000))
    bench.tell(PauseAsked("ann"))
    bench.tell(ResumeAsked("ann"))
    assert bench.due == 0

    parked = Bench(parallel(step("a", KEYED), step("b", BARE))).call("a").call("b")
    parked.tell(HandedBack(0, 1, "cannot read its input", 600_000))
    parked.report("b", Reply.UNKNOWN)
    parked.look()
    parked.wait(LIFE)
    parked.look()
    assert parked.state is TaskState.FAILED
    parked.tell(ResolveAsked(1, Verdict.DONE, "ann", given=(NULL,)))
    assert (parked.state, parked.due) == (TaskState.RUNNING, 0)
