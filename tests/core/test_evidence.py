"""Reports that come too late: in every phase, filed; and what they prove to be live is undone or parked."""

from itertools import product
from typing import Any

import pytest

from makegood.core.events import (
    Answer,
    CancelAsked,
    Driven,
    EvidenceFiled,
    HandedBack,
    Reply,
    Reported,
    ResolveAsked,
    RetryAsked,
    SkipAsked,
    Surfaced,
    Verdict,
)
from makegood.core.record import Kind, Phase, TaskState
from makegood.core.reports import LEASE
from makegood.errors import ActRefused
from makegood.testing.shorthand import (
    BARE,
    KEYED,
    KEYED_PROBE,
    PIVOT,
    PROBED,
    READS,
    TOMB,
    parallel,
    series,
    step,
)
from tests.core.plans import LIFE, SETTLE
from tests.core.scripts import SEVEN, Bench, undone_in_doubt

CANCEL = CancelAsked("ann")
FILED = EvidenceFiled(0, 1)


def undone_blind(*given: dict[str, Any]) -> Bench:
    """Compensated; whether the step ever happened, nobody knew."""
    bench = Bench(step("a", *given)).call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    while bench.state is not TaskState.COMPENSATED:
        if bench.phase("a") is Phase.WAIT_OUT:
            bench.wait_out()
        elif bench.phase("a") is Phase.PROBE_PLANNED:
            bench.probed("a", Answer.CANNOT_TELL)
        elif bench.phase("a") is Phase.CHECK_PLANNED:
            bench.call("a").answer("a", Answer.ABSENT)
        else:
            bench.done("a")
    assert bench.phase("a") is Phase.UNDONE_BLIND
    return bench


def retried(*given: dict[str, Any]) -> Bench:
    """The first attempt ended unknown, the second is running."""
    return Bench(step("a", *given)).ends("a", Reply.UNKNOWN).call("a")


def test_a_report_counts_until_the_next_call_is_handed_out_and_the_clock_is_not_asked() -> None:
    for reply, state in ((Reply.DONE, TaskState.COMPLETED), (Reply.SPOILED, TaskState.COMPENSATING)):
        planned = Bench(step("a", KEYED)).call("a").wait(60_000)
        planned.look()
        waiting = Bench(step("a", PROBED)).call("a").wait_out()
        asking = Bench(step("a", PROBED)).call("a").wait_out().wait_out()
        reported = Bench(step("a", KEYED)).call("a")
        reported.report("a", Reply.UNKNOWN)
        for bench, phase in (
            (planned, Phase.PLANNED),
            (waiting, Phase.WAIT_OUT),
            (asking, Phase.PROBE_PLANNED),
            (reported, Phase.REPORTED),
        ):
            assert bench.phase("a") is phase
            assert bench.late("a", 1, reply)
            assert bench.state is state


def test_an_undo_held_lost_counts_until_the_next_call_is_handed_out() -> None:
    for given, looked in ((KEYED, True), (PROBED, True), (KEYED, False), (PROBED, False)):
        known = Bench(series(step("a", given), step("b", KEYED))).done("a").ends("b", Reply.REFUSED).call("a")
        blind = Bench(step("a", given | KEYED)).call("a")
        blind.tell(CANCEL)
        blind.report("a", Reply.UNKNOWN)
        blind.look()
        if blind.wait_out().phase("a") is Phase.PROBE_PLANNED:
            blind.probed("a", Answer.CANNOT_TELL).probed("a", Answer.CANNOT_TELL)
        blind.call("a")
        for bench, undone in ((known, Phase.UNDONE), (blind, Phase.UNDONE_BLIND)):
            undo = bench.opened("a").attempt
            bench.report("a", Reply.UNKNOWN)
            if looked:
                bench.look()
            bench.tell(Reported(0, undo, Kind.UNDO, Reply.DONE))
            checked = bench is blind and given is PROBED
            assert bench.phase("a") is (Phase.CHECK_PLANNED if checked else undone)


def test_a_blind_undo_that_waits_for_the_task_to_park_still_counts() -> None:
    bench = Bench(parallel(step("a", KEYED), step("b", KEYED))).done("b").call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait_out().call("a", "b")
    undo = bench.opened("a").attempt
    bench.report("a", Reply.UNKNOWN)
    bench.report("b", Reply.REFUSED)
    bench.look()
    assert bench.phase("a") is Phase.UNDO_WAIT_OUT
    bench.tell(Reported(0, undo, Kind.UNDO, Reply.DONE))
    assert (bench.phase("a"), bench.state) == (Phase.UNDONE_BLIND, TaskState.FAILED)


def test_an_undo_that_waits_to_be_repeated_counts_and_what_surfaced_is_undone_again() -> None:
    bench = Bench(step("a", KEYED)).call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait_out().call("a")
    undo = bench.opened("a").attempt
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.late("a", 1)
    bench.tell(Reported(0, undo, Kind.UNDO, Reply.DONE))
    assert bench.phase("a") is Phase.UNDO_PLANNED
    assert bench.call("a").opened("a").key == "t-a-undo~2"


def test_a_call_held_lost_that_reports_failure_stays_in_doubt() -> None:
    bench = Bench(step("a", KEYED)).call("a").wait(60_000)
    bench.look()
    for reply in (Reply.REFUSED, Reply.TRANSIENT, Reply.UNKNOWN, Reply.UNRESOLVED):
        assert bench.late("a", 1, reply)
        assert FILED in bench.facts
        assert bench.opened("a").doubt


def test_a_doubled_report_is_filed_and_nothing_else() -> None:
    bench = Bench(series(step("a", KEYED), step("b", KEYED))).done("a")
    assert bench.late("a", 1)
    assert bench.facts[1:] == [FILED]
    bench = Bench(step("a", KEYED)).call("a")
    bench.report("a", Reply.TRANSIENT)
    bench.late("a", 1, Reply.TRANSIENT)
    assert bench.facts[1:] == [FILED]


def test_a_number_that_was_never_handed_out_is_no_evidence() -> None:
    assert not Bench(step("a", KEYED)).call("a").late("a", 9)


def test_an_older_attempt_that_reports_done_casts_doubt_on_the_one_that_runs() -> None:
    bench = retried(KEYED)
    assert bench.late("a", 1)
    assert (bench.phase("a"), bench.facts[1:]) == (Phase.CALLED, [FILED])
    bench.report("a", Reply.REFUSED)
    bench.look()
    assert (bench.phase("a"), bench.state) == (Phase.WAIT_OUT, TaskState.COMPENSATING)


def test_a_planned_call_of_an_unkeyed_service_is_not_made_once_an_earlier_one_proves_live() -> None:
    for given, phase in ((PROBED, Phase.WAIT_OUT), (BARE, Phase.DOUBT)):
        for offered in (False, True):
            bench = Bench(step("a", given)).ends("a", Reply.TRANSIENT)
            bench.wait(60_000).tell(Driven())
            bench.call("a").report("a", Reply.TRANSIENT)
            bench.look()
            if offered:
                bench.wait(60_000).tell(Driven())
            bench.late("a", 1)
            assert bench.phase("a") is phase


def test_a_new_round_of_a_keyed_step_is_not_called_once_the_old_one_proves_live() -> None:
    """The new round has a new key: the service would not know it for a repetition."""
    bench = Bench(series(step("p", KEYED, PIVOT), step("a", KEYED))).done("p").ends("a", Reply.REFUSED)
    bench.tell(RetryAsked(1, "ann"))
    bench.late("a", 2)
    assert bench.phase("a") is Phase.DOUBT


def test_a_probe_that_denies_what_was_reported_done_is_not_believed() -> None:
    bench = Bench(step("a", PROBED)).call("a").wait_out().wait_out().call("a")
    bench.late("a", 1)
    for _ in range(2):
        bench.answer("a", Answer.ABSENT)
        bench.look()
        if bench.phase("a") is Phase.PROBE_PLANNED:
            bench.call("a")
    assert (bench.phase("a"), bench.state) == (Phase.DOUBT, TaskState.FAILED)


def test_in_doubt_a_late_report_is_evidence_for_the_person() -> None:
    bench = Bench(step("a", BARE)).ends("a", Reply.UNKNOWN).wait_out()
    bench.late("a", 1)
    assert (bench.facts[1:], bench.state) == ([FILED], TaskState.FAILED)


def test_compensated_is_left_again_on_evidence_of_a_live_effect() -> None:
    """The service said no, or its probe found nothing; then the effect was there after all."""
    for failed, reply in product(
        (Reply.UNKNOWN, Reply.REFUSED, Reply.UNRESOLVED), (Reply.DONE, Reply.SPOILED)
    ):
        bench = Bench(step("a", PROBED)).call("a")
        bench.tell(CANCEL)
        bench.report("a", failed)
        bench.look()
        if bench.phase("a") is Phase.WAIT_OUT:
            bench.wait_out().probed("a", Answer.ABSENT)
        assert bench.state is TaskState.COMPENSATED
        bench.late("a", 1, reply)
        assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATING, Phase.UNDO_PLANNED)
        assert Surfaced(0, 1) in bench.facts
        assert bench.done("a").state is TaskState.COMPENSATED


def test_a_blind_undo_is_repeated_under_a_new_key_once_its_effect_proves_live() -> None:
    bench = undone_blind(KEYED)
    bench.late("a", 1)
    assert bench.state is TaskState.COMPENSATING
    assert bench.call("a").opened("a").key == "t-a-undo~2"
    bench.report("a", Reply.DONE)
    assert (bench.phase("a"), bench.state) == (Phase.UNDONE, TaskState.COMPENSATED)


def test_where_there_is_a_probe_it_is_asked_before_a_blind_undo_is_repeated() -> None:
    for answer, phase in ((Answer.THERE, Phase.UNDO_PLANNED), (Answer.ABSENT, Phase.UNDONE)):
        bench = undone_blind(KEYED_PROBE)
        bench.late("a", 1)
        assert bench.phase("a") is Phase.CHECK_PLANNED
        assert bench.probed("a", answer).phase("a") is phase


def held_absent() -> Bench:
    """Compensated, as its probe found nothing there."""
    bench = Bench(step("a", PROBED)).call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait_out().probed("a", Answer.ABSENT)
    assert bench.state is TaskState.COMPENSATED
    return bench


def test_a_call_cut_off_late_has_its_service_asked_again_once_it_has_landed() -> None:
    """Its process was frozen just before it sent: nobody knows whether it sent it after the wait-out."""
    for answer, ends in ((Answer.THERE, Phase.UNDONE_BLIND), (Answer.ABSENT, Phase.UNDONE_BLIND)):
        for bench in (held_absent(), undone_blind(KEYED_PROBE)):
            bench.late("a", 1, Reply.UNKNOWN)
            assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATING, Phase.CHECK_PLANNED)
            assert bench.due == SETTLE
            bench.wait(SETTLE).call("a").answer("a", answer)
            if answer is Answer.THERE:
                bench.look()
                bench.wait(1_000).call("a").report("a", Reply.DONE)
                bench.call("a").answer("a", Answer.ABSENT)
            assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATED, ends)


def test_a_call_cut_off_late_has_a_blind_undo_repeated_where_nobody_can_be_asked() -> None:
    bench = undone_blind(KEYED)
    bench.late("a", 1, Reply.UNKNOWN)
    assert (bench.state, bench.due) == (TaskState.COMPENSATING, SETTLE)
    assert bench.wait(SETTLE).call("a").opened("a").key == "t-a-undo~2"
    bench.report("a", Reply.DONE)
    assert bench.state is TaskState.COMPENSATED


def test_a_call_cut_off_late_is_filed_where_it_changes_nothing() -> None:
    undone = Bench(series(step("a", KEYED), step("b", KEYED))).done("a").call("b")
    undone.report("b", Reply.REFUSED)
    undone.look()
    forward = Bench(series(step("a", PROBED), step("b", KEYED))).done("a")
    for bench in (undone_blind(TOMB), undone.done("a"), forward):
        state, phase = bench.state, bench.phase("a")
        assert bench.late("a", 1, Reply.UNKNOWN)
        assert bench.facts[-1] == FILED
        assert (bench.state, bench.phase("a")) == (state, phase)


def test_a_step_called_in_an_earlier_round_is_absent_when_its_task_turns() -> None:
    """Its first call fell silent, its probe found nothing; no second was made when the task turned."""
    for claimed in (False, True):
        bench = Bench(step("a", PROBED)).ends("a", Reply.UNKNOWN).wait_out()
        bench.probed("a", Answer.ABSENT)
        bench.look()
        if claimed:
            bench.call("a")
        bench.tell(CANCEL)
        if claimed:
            bench.tell(HandedBack(0, bench.opened("a").attempt, "going down"))
        assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATED, Phase.ABSENT)
        bench.late("a", 1)
        assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATING, Phase.UNDO_PLANNED)


def test_a_call_cut_off_late_repeats_no_undo_of_a_service_without_keys() -> None:
    """Somebody undid it by hand: a second undo would be a second refund."""
    bench = Bench(step("a", BARE)).call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait_out()
    bench.tell(ResolveAsked(0, Verdict.LEFT, "ann"))
    bench.tell(ResolveAsked(0, Verdict.UNDONE, "ann"))
    state, phase = bench.state, bench.phase("a")
    bench.late("a", 1, Reply.UNKNOWN)
    assert (bench.state, bench.phase("a")) == (state, phase)


def test_what_proves_live_before_the_next_undo_is_called_needs_no_further_one() -> None:
    bench = undone_blind(KEYED)
    bench.late("a", 1, Reply.UNKNOWN)
    bench.late("a", 1)
    bench.wait(SETTLE).call("a").report("a", Reply.DONE)
    assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATED, Phase.UNDONE)


def test_a_tombstone_needs_no_second_undo() -> None:
    bench = undone_blind(TOMB)
    bench.late("a", 1)
    assert (bench.facts[1:], bench.state) == ([FILED], TaskState.COMPENSATED)


def test_a_tombstone_does_not_cover_a_call_that_did_not_read_its_key() -> None:
    bench = undone_blind(TOMB)
    bench.late("a", 1, key_read=False)
    assert bench.state is TaskState.COMPENSATING


def test_evidence_during_a_blind_undo_has_it_repeated_with_the_result() -> None:
    bench = Bench(step("a", KEYED)).call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait_out().call("a")
    bench.late("a", 1)
    bench.report("a", Reply.DONE)
    assert bench.phase("a") is Phase.UNDO_PLANNED
    assert bench.call("a").opened("a").key == "t-a-undo~2"


def test_a_doubled_report_of_an_undo_does_not_answer_for_the_next_round() -> None:
    bench = Bench(step("a", KEYED)).call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait_out().call("a")
    bench.late("a", 1)
    undo = bench.opened("a").attempt
    bench.report("a", Reply.DONE)
    assert bench.phase("a") is Phase.UNDO_PLANNED
    bench.tell(Reported(0, undo, Kind.UNDO, Reply.DONE))
    assert bench.phase("a") is Phase.UNDO_PLANNED


def test_a_stuck_undo_remembers_evidence_for_its_retry() -> None:
    bench = Bench(step("a", KEYED)).call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait_out().ends("a", Reply.UNKNOWN).ends("a", Reply.REFUSED).wait_out()
    assert bench.phase("a") is Phase.UNDO_STUCK
    bench.late("a", 1)
    bench.tell(RetryAsked(0, "ann"))
    bench.done("a")
    assert bench.phase("a") is Phase.UNDO_PLANNED


def test_an_undone_step_with_an_earlier_round_is_checked_when_a_do_proves_live() -> None:
    bench = Bench(series(step("a", PROBED), step("b", KEYED))).ends("a", Reply.UNKNOWN)
    bench.wait_out().probed("a", Answer.ABSENT).done("a").ends("b", Reply.REFUSED).done("a")
    assert (bench.phase("a"), bench.state) == (Phase.UNDONE, TaskState.COMPENSATED)
    bench.late("a", 1)
    assert (bench.phase("a"), bench.state) == (Phase.CHECK_PLANNED, TaskState.COMPENSATING)
    bench.probed("a", Answer.THERE)
    assert bench.phase("a") is Phase.UNDO_PLANNED


def test_a_doubled_report_of_a_spoiled_result_does_not_reopen_the_task() -> None:
    bench = Bench(step("a", KEYED)).call("a")
    bench.report("a", Reply.SPOILED)
    bench.done("a").late("a", 1, Reply.SPOILED)
    assert (bench.facts[1:], bench.state) == ([FILED], TaskState.COMPENSATED)


def test_what_was_undone_knowing_its_result_stays_undone() -> None:
    bench = Bench(series(step("a", KEYED), step("b", KEYED))).done("a").ends("b", Reply.REFUSED).done("a")
    bench.late("a", 1)
    assert (bench.facts[1:], bench.state) == ([FILED], TaskState.COMPENSATED)


def test_a_reading_step_proves_nothing() -> None:
    bench = Bench(step("a", READS)).call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.late("a", 1)
    assert (bench.facts[1:], bench.state) == ([FILED], TaskState.COMPENSATED)


def test_a_pivot_that_proves_live_after_the_turn_parks() -> None:
    bench = Bench(series(step("a", KEYED), step("p", PROBED, PIVOT))).done("a").call("p")
    bench.tell(CANCEL)
    bench.report("p", Reply.UNKNOWN)
    bench.look()
    bench.wait_out().probed("p", Answer.ABSENT).done("a")
    assert bench.state is TaskState.COMPENSATED
    bench.late("p", 2)
    assert (bench.phase("p"), bench.state) == (Phase.DOUBT, TaskState.FAILED)


def parked_after_its_pivot(reply: Reply) -> Bench:
    """A step after the pivot failed for good."""
    bench = Bench(series(step("p", KEYED, PIVOT), parallel(step("a", BARE), step("b", KEYED)))).done("p")
    bench.call("a").report("a", reply)
    bench.look()
    return bench


def test_after_the_pivot_evidence_against_a_failed_step_asks_a_person() -> None:
    for reply in (Reply.REFUSED, Reply.UNRESOLVED):
        bench = parked_after_its_pivot(reply)
        bench.late("a", 2)
        assert (bench.phase("a"), bench.opened("a").doubt) == (Phase.DOUBT, True)
        bench.tell(ResolveAsked(1, Verdict.DONE, "ann", given=(SEVEN,)))
        assert bench.phase("a") is Phase.DONE


def test_what_surfaced_without_keys_is_not_tried_again_on_a_guess() -> None:
    bench = parked_after_its_pivot(Reply.REFUSED)
    bench.late("a", 2)
    with pytest.raises(ActRefused, match="resolve it instead"):
        bench.tell(RetryAsked(1, "ann"))


def test_evidence_against_a_skipped_step_is_not_silent() -> None:
    bench = parked_after_its_pivot(Reply.REFUSED)
    bench.tell(SkipAsked(1, "ann"))
    bench.late("a", 2)
    assert bench.phase("a") is Phase.DOUBT
    bench = Bench(series(step("a", KEYED), step("b", KEYED))).ends("a", Reply.TRANSIENT)
    bench.tell(SkipAsked(0, "ann"))
    bench.late("a", 1)
    assert bench.state is TaskState.FAILED
    for reply in (Reply.DONE, Reply.SPOILED):
        bench = Bench(series(step("a", KEYED), step("b", KEYED))).ends("a", Reply.TRANSIENT)
        bench.tell(SkipAsked(0, "ann"))
        bench.tell(CANCEL)
        bench.late("a", 1, reply)
        assert bench.phase("a") is Phase.UNDO_PLANNED


def test_a_skipped_step_that_surfaced_is_undone_once_the_task_turns() -> None:
    bench = Bench(series(step("a", TOMB), step("b", KEYED))).ends("a", Reply.TRANSIENT)
    bench.tell(SkipAsked(0, "ann"))
    bench.late("a", 1)
    bench.tell(CANCEL)
    assert bench.phase("a") is Phase.UNDO_PLANNED


def test_evidence_changes_no_completed_task() -> None:
    bench = Bench(step("a", KEYED)).ends("a", Reply.TRANSIENT)
    bench.tell(SkipAsked(0, "ann"))
    assert bench.state is TaskState.COMPLETED
    bench.late("a", 1)
    assert (bench.facts[1:], bench.state) == ([FILED], TaskState.COMPLETED)


def test_a_parked_task_stays_with_its_person_and_goes_on_with_what_surfaced() -> None:
    body = parallel(step("a", PROBED), step("b", BARE))
    bench = Bench(body).call("a", "b")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.report("b", Reply.UNKNOWN)
    bench.look()
    bench.wait_out()
    assert bench.state is TaskState.FAILED
    bench.tell(ResolveAsked(1, Verdict.LEFT, "ann"))
    bench.probed("a", Answer.ABSENT)
    assert (bench.phase("a"), bench.state) == (Phase.ABSENT, TaskState.FAILED)
    bench.late("a", 1)
    assert (bench.phase("a"), bench.state) == (Phase.DONE, TaskState.FAILED)
    bench.tell(ResolveAsked(1, Verdict.KEPT, "ann"))
    assert bench.done("a").state is TaskState.COMPENSATED


def test_a_refused_step_is_asked_about_when_its_first_call_was_cut_off_late() -> None:
    """The probe found nothing, the second attempt was refused; the first may have come after both."""
    for reply, phase in ((Reply.REFUSED, Phase.REFUSED), (Reply.UNRESOLVED, Phase.UNRESOLVED)):
        bench = Bench(step("a", PROBED)).ends("a", Reply.UNKNOWN).wait_out().probed("a", Answer.ABSENT)
        bench.ends("a", reply)
        assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATED, phase)
        bench.late("a", 1, Reply.UNKNOWN)
        assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATING, Phase.CHECK_PLANNED)
        assert bench.due == SETTLE


def test_a_skipped_step_is_asked_about_when_its_call_was_cut_off_late() -> None:
    bench = Bench(series(step("a", PROBED), step("b", KEYED))).ends("a", Reply.UNKNOWN).wait_out()
    bench.probed("a", Answer.ABSENT)
    bench.tell(SkipAsked(0, "ann"))
    bench.tell(CANCEL)
    bench.late("a", 1, Reply.UNKNOWN)
    assert (bench.phase("a"), bench.state) == (Phase.CHECK_PLANNED, TaskState.COMPENSATING)


def test_a_pivot_held_absent_is_a_person_s_when_its_call_was_cut_off_late() -> None:
    bench = Bench(step("p", PROBED, PIVOT)).call("p")
    bench.tell(CANCEL)
    bench.report("p", Reply.UNKNOWN)
    bench.look()
    bench.wait_out().probed("p", Answer.ABSENT)
    assert (bench.state, bench.phase("p")) == (TaskState.COMPENSATED, Phase.ABSENT)
    bench.late("p", 1, Reply.UNKNOWN)
    assert (bench.state, bench.phase("p"), bench.due) == (TaskState.COMPENSATING, Phase.DOUBT, SETTLE)
    assert bench.wait_out().state is TaskState.FAILED
    bench.tell(ResolveAsked(0, Verdict.ABSENT, "ann"))
    bench.look()
    assert bench.state is TaskState.COMPENSATED


def blind_undo(*given: dict[str, Any]) -> Bench:
    """Its undo runs, and nobody knows whether there is anything to undo."""
    return undone_in_doubt(*given).call("a")


def test_an_undo_that_a_late_call_may_have_overtaken_is_not_the_last_look() -> None:
    again = blind_undo(KEYED)
    again.late("a", 1, Reply.UNKNOWN)
    again.report("a", Reply.DONE)
    assert (again.phase("a"), again.due) == (Phase.UNDO_PLANNED, SETTLE)
    assert again.call("a").opened("a").key == "t-a-undo~2"
    asked = blind_undo(KEYED_PROBE)
    asked.late("a", 1, Reply.UNKNOWN)
    asked.report("a", Reply.DONE)
    assert (asked.phase("a"), asked.due) == (Phase.CHECK_PLANNED, SETTLE)
    for bench in (again, asked.call("a")):
        if bench is again:
            bench.report("a", Reply.DONE)
        else:
            bench.answer("a", Answer.ABSENT)
        assert (bench.phase("a"), bench.state) == (Phase.UNDONE_BLIND, TaskState.COMPENSATED)


def test_a_second_call_cut_off_late_puts_the_look_off() -> None:
    for bench in (held_absent(), undone_blind(KEYED)):
        bench.late("a", 1, Reply.UNKNOWN)
        bench.wait(SETTLE).call("a").late("a", 1, Reply.UNKNOWN)
        if bench.phase("a") is Phase.CHECK_CALLED:
            bench.answer("a", Answer.ABSENT)
        else:
            bench.report("a", Reply.DONE)
        assert (bench.state, bench.due) == (TaskState.COMPENSATING, SETTLE)


def test_a_retry_does_not_make_the_early_look_the_last() -> None:
    for bench in (held_absent(), undone_blind(KEYED)):
        bench.late("a", 1, Reply.UNKNOWN)
        bench.tell(RetryAsked(0, "ann"))
        assert bench.due == 0
        if bench.phase("a") is Phase.CHECK_PLANNED:
            bench.call("a").answer("a", Answer.ABSENT)
        else:
            bench.done("a")
        assert (bench.state, bench.due) == (TaskState.COMPENSATING, SETTLE)


def test_a_wait_out_begins_again_with_a_call_cut_off_late() -> None:
    bench = Bench(step("a", PROBED)).ends("a", Reply.TRANSIENT).ends("a", Reply.UNKNOWN)
    assert bench.phase("a") is Phase.WAIT_OUT
    due = bench.due or 0
    bench.wait(due - 1).late("a", 1, Reply.UNKNOWN)
    assert bench.due == SETTLE


def test_a_probe_asked_before_a_late_call_can_have_landed_is_asked_again() -> None:
    for cancelled in (False, True):
        bench = Bench(step("a", PROBED)).ends("a", Reply.UNKNOWN).wait_out().call("a")
        if cancelled:
            bench.tell(CANCEL)
        bench.late("a", 1, Reply.UNKNOWN)
        bench.answer("a", Answer.ABSENT)
        assert (bench.phase("a"), bench.due) == (Phase.PROBE_PLANNED, SETTLE)
        bench.probed("a", Answer.ABSENT)
        assert bench.phase("a") is (Phase.ABSENT if cancelled else Phase.PLANNED)


def test_no_second_call_is_made_while_the_first_may_have_been_sent_late() -> None:
    """Held absent and to be called again, at a service without keys: both would book."""
    bench = Bench(step("a", PROBED)).ends("a", Reply.UNKNOWN).wait_out().probed("a", Answer.ABSENT)
    assert bench.phase("a") is Phase.PLANNED
    bench.late("a", 1, Reply.UNKNOWN)
    assert (bench.phase("a"), bench.due) == (Phase.WAIT_OUT, SETTLE)
    assert bench.wait_out().probed("a", Answer.ABSENT).done("a").state is TaskState.COMPLETED


def test_a_person_s_absent_waits_for_a_call_that_was_cut_off_late() -> None:
    bench = Bench(step("a", BARE)).ends("a", Reply.UNKNOWN).wait_out()
    assert bench.state is TaskState.FAILED
    bench.late("a", 1, Reply.UNKNOWN)
    with pytest.raises(ActRefused, match="its last call may still be on its way until"):
        bench.tell(ResolveAsked(0, Verdict.ABSENT, "ann"))
    bench.wait(SETTLE).tell(ResolveAsked(0, Verdict.ABSENT, "ann"))
    assert bench.phase("a") is not Phase.DOUBT


def test_a_tombstone_of_one_round_does_not_cover_a_call_of_another() -> None:
    """Its key was forgotten, its probe found nothing; the second round had a key of its own."""
    for reply in (Reply.DONE, Reply.UNKNOWN):
        bench = Bench(step("a", {"class": {"keyed": 60, "tombstone": True}}, PROBED)).call("a")
        bench.wait(60_000).look()
        bench.wait_out().probed("a", Answer.ABSENT).call("a")
        bench.tell(CANCEL)
        bench.report("a", Reply.UNKNOWN)
        bench.look()
        assert bench.done("a").phase("a") is Phase.UNDONE_BLIND
        bench.late("a", 1, reply)
        assert (bench.phase("a"), bench.state) == (Phase.CHECK_PLANNED, TaskState.COMPENSATING)


def test_the_latest_call_too_may_be_cut_off_later_than_it_was_waited_for() -> None:
    for given in (BARE, PROBED):
        bench = Bench(step("a", given)).call("a").wait(LEASE)
        bench.look()
        assert bench.phase("a") in (Phase.WAIT_OUT, Phase.DOUBT)
        landing = bench.opened("a").landing
        bench.wait(LIFE).late("a", 1, Reply.UNKNOWN)
        assert bench.opened("a").landing == bench.opened("a").due == bench.now + SETTLE > landing


def test_a_late_unknown_of_the_latest_round_is_of_its_own_key() -> None:
    bench = Bench(step("a", KEYED)).ends("a", Reply.REFUSED)
    assert bench.state is TaskState.COMPENSATED
    bench = Bench(series(step("p", KEYED, PIVOT), step("a", KEYED))).done("p").ends("a", Reply.REFUSED)
    bench.tell(RetryAsked(1, "ann"))
    bench.call("a").wait(LEASE).look()
    assert bench.phase("a") is Phase.PLANNED
    bench.tell(Reported(1, bench.opened("a").attempt, Kind.DO, Reply.UNKNOWN))
    assert not bench.opened("a").unkeyed
