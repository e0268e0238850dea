"""A backup was put back: what is open, and what comes next, may have been there before."""

from typing import Any

import pytest

from makegood.core.events import (
    Answer,
    CancelAsked,
    Driven,
    Event,
    Reply,
    Reported,
    ResolveAsked,
    Restored,
    RetryAsked,
    SkipAsked,
    Verdict,
)
from makegood.core.record import Kind, Phase, TaskState
from makegood.core.values import Values
from makegood.errors import ActRefused
from makegood.testing.shorthand import BARE, FOR_A_MINUTE, KEYED, PIVOT, PROBED, READS, TOMB, series, step
from tests.core.plans import LIFE
from tests.core.scripts import SEVEN, Bench

RESTORED = Restored("ann", "the disk died")


def two(*given: dict[str, Any]) -> Bench:
    return Bench(series(step("a", *given), step("b", *given)))


def planned(*given: dict[str, Any]) -> Bench:
    return two(*given)


def offered(*given: dict[str, Any]) -> Bench:
    bench = two(*given)
    bench.tell(Driven())
    return bench


@pytest.mark.parametrize("stands", [planned, offered])
@pytest.mark.parametrize(
    ("given", "phase"),
    [
        (KEYED, Phase.PLANNED),
        (TOMB, Phase.PLANNED),
        (PROBED, Phase.WAIT_OUT),
        (BARE, Phase.DOUBT),
        (FOR_A_MINUTE, Phase.DOUBT),
    ],
)
def test_a_step_about_to_be_called_may_have_been_called(
    stands: Any, given: dict[str, Any], phase: Phase
) -> None:
    bench = stands(given)
    assert bench.tell(RESTORED) == [True]
    assert bench.phase("a") in ({Phase.PLANNED, Phase.OFFERED} if phase is Phase.PLANNED else {phase})
    assert bench.opened("a").doubt
    if phase is Phase.WAIT_OUT:
        assert bench.due == LIFE  # what ran before may still be on its way


def test_what_is_known_by_its_key_is_called_again_under_the_same_one() -> None:
    bench = two(KEYED)
    key = bench.call("a").opened("a").key
    bench.tell(RESTORED)
    bench.wait(60_000).look()
    assert bench.call("a").opened("a").key == key
    bench.report("a", Reply.DONE)
    assert bench.done("b").state is TaskState.COMPLETED


def test_what_comes_next_is_asked_for_before_it_is_called() -> None:
    bench = two(PROBED)
    bench.tell(RESTORED)
    bench.wait_out().probed("a", Answer.THERE)
    assert bench.phase("b") is Phase.PROBE_PLANNED  # what ran before has landed by now
    bench.probed("b", Answer.ABSENT).done("b")
    assert bench.state is TaskState.COMPLETED


def test_what_comes_next_and_cannot_be_asked_for_is_a_person_s() -> None:
    bench = Bench(series(step("a", KEYED), step("b", BARE)))
    bench.tell(RESTORED)
    bench.done("a")
    assert bench.phase("b") is Phase.DOUBT
    assert bench.wait_out().state is TaskState.FAILED


def test_a_step_that_only_reads_is_read() -> None:
    bench = two(READS)
    bench.tell(RESTORED)
    assert bench.done("a", "b").state is TaskState.COMPLETED


@pytest.mark.parametrize(
    ("given", "phase"),
    [(KEYED, Phase.UNDO_PLANNED), (PROBED, Phase.UNDO_REPORTED), (BARE, Phase.UNDO_REPORTED)],
)
@pytest.mark.parametrize("restored_first", [True, False])
def test_an_undo_may_have_been_made(given: dict[str, Any], phase: Phase, restored_first: bool) -> None:
    bench = two(given).done("a")
    told: list[Event] = [RESTORED, CancelAsked("ann")]
    for event in told if restored_first else reversed(told):
        bench.tell(event)
    while bench.phase("a") is Phase.DONE:
        match bench.phase("b"):
            case Phase.PROBE_PLANNED:
                bench.probed("b", Answer.ABSENT)
            case Phase.UNDO_PLANNED:
                bench.done("b")
            case Phase.DOUBT:
                bench.wait_out().tell(ResolveAsked(1, Verdict.ABSENT, "ann"))
            case _:
                bench.wait_out()
    assert bench.phase("a") is phase


def test_an_ended_task_keeps_its_end() -> None:
    bench = Bench(step("a", KEYED)).done("a")
    assert bench.tell(RESTORED) == [False]
    assert bench.state is TaskState.COMPLETED


def test_a_report_whose_call_is_not_on_record_does_not_count() -> None:
    """It was handed out after the backup, under a number that the record knows nothing of."""
    bench = two(KEYED)
    bench.tell(RESTORED)
    bench.call("a")
    assert bench.opened("a").attempt > 1_000
    bench.tell(Reported(0, 1, Kind.DO, Reply.REFUSED))
    assert bench.phase("a") is Phase.CALLED


def test_a_wait_out_begins_anew() -> None:
    bench = two(PROBED).ends("a", Reply.UNKNOWN)
    bench.wait((bench.due or 0) - 1).tell(RESTORED)
    assert bench.due == LIFE


# --- the task turns, and nobody knows how far it had come


def turned(*steps: dict[str, Any]) -> Bench:
    """The backup knows of nothing but the first step's call; the task is cancelled after it was put back."""
    bench = Bench(series(*steps)).call("a")
    bench.tell(RESTORED)
    bench.tell(CancelAsked("ann"))
    return waited(bench)


def waited(bench: Bench) -> Bench:
    """Whatever is waited out is waited out."""
    while bench.due is not None and (bench.due > 0 or bench.wants_look()):
        bench.wait_out()
    return bench


def phases(bench: Bench) -> str:
    return " ".join(Phase(mark).name for mark in bench.head.marks)


def test_what_the_backup_does_not_know_is_undone_as_far_as_the_task_may_have_come() -> None:
    bench = turned(step("a", TOMB), step("b", TOMB), step("c", PROBED), step("d", KEYED))
    assert phases(bench) == "UNKNOWN UNKNOWN PROBE_PLANNED IDLE"
    waited(
        bench.probed("c", Answer.ABSENT)
    )  # it may have been skipped since: what comes after it is looked for
    assert phases(bench) == "UNKNOWN UNKNOWN ABSENT UNDO_PLANNED"
    assert bench.done("d").done("b").done("a").state is TaskState.COMPENSATED


def test_what_is_found_to_be_there_leads_on_to_what_comes_after_it() -> None:
    bench = turned(step("a", PROBED), step("b", READS), step("c", PROBED))
    assert phases(bench) == "PROBE_PLANNED IDLE IDLE"
    waited(bench.probed("a", Answer.THERE))
    assert phases(bench) == "DONE IDLE PROBE_PLANNED"
    waited(bench.probed("c", Answer.THERE))
    for name in "ca":  # each may have been undone since the backup: it is asked for first
        waited(bench.probed(name, Answer.THERE)).done(name)
        waited(bench)
    assert phases(bench) == "UNDONE IDLE UNDONE"


@pytest.mark.parametrize("then", [step("b", KEYED, args={"x": {"$ref": "a"}}), step("b", KEYED, PIVOT)])
def test_a_person_is_asked_about_what_no_call_can_be_made_of_and_about_a_pivot(then: dict[str, Any]) -> None:
    bench = turned(step("a", TOMB), then)
    assert (phases(bench), bench.state) == ("UNKNOWN DOUBT", TaskState.FAILED)
    bench.tell(ResolveAsked(1, Verdict.ABSENT, "ann"))
    bench.look()
    assert bench.done("a").state is TaskState.COMPENSATED


def test_a_doubt_that_was_left_is_not_undone_where_there_is_no_undo() -> None:
    bench = turned(step("a", TOMB), step("b", KEYED, args={"x": {"$ref": "a"}}, undo=None))
    bench.tell(ResolveAsked(1, Verdict.LEFT, "ann"))
    bench.done("a")
    assert (phases(bench), bench.state) == ("UNDONE_BLIND LEFT", TaskState.FAILED)
    with pytest.raises(ActRefused, match="it was left and has no undo; resolve it as undone or kept"):
        bench.tell(RetryAsked(1, "ann"))
    bench.tell(ResolveAsked(1, Verdict.UNDONE, "ann"))
    assert (phases(bench), bench.state) == ("UNDONE_BLIND UNDONE_BLIND", TaskState.COMPENSATED)


@pytest.mark.parametrize("reply", [Reply.DONE, Reply.UNKNOWN])
def test_what_a_person_undid_by_hand_is_not_undone_again_where_there_is_no_undo(reply: Reply) -> None:
    bench = turned(step("a", TOMB), step("b", PROBED, args={"x": {"$ref": "a"}}, undo=None))
    bench.tell(ResolveAsked(1, Verdict.LEFT, "ann"), ResolveAsked(1, Verdict.UNDONE, "ann"))
    bench.done("a").tell(Reported(1, 1, Kind.DO, reply))
    assert (phases(bench), bench.state) == ("UNDONE_BLIND UNDONE_BLIND", TaskState.COMPENSATED)


def test_what_a_task_on_its_way_back_never_began_was_never_called() -> None:
    bench = Bench(series(step("a", KEYED), step("b", KEYED), step("c", KEYED))).done("a")
    bench.ends("b", Reply.REFUSED)
    bench.tell(RESTORED)
    assert not bench.head.beyond
    bench.wait(60_000).look()
    assert bench.done("a").state is TaskState.COMPENSATED
    assert phases(bench) == "UNDONE REFUSED IDLE"


def test_nobody_skips_what_may_have_been_done() -> None:
    bench = Bench(series(step("a", KEYED), step("b", KEYED), step("c", READS))).call("a")
    bench.tell(RESTORED)
    with pytest.raises(ActRefused, match="may have been done since the backup that was put back"):
        bench.tell(SkipAsked(1, "ann"))
    assert bench.tell(SkipAsked(2, "ann")) == [True]


def test_what_was_left_is_not_undone_before_what_came_after_it() -> None:
    bench = turned(step("a", BARE), step("b", TOMB))
    bench.tell(ResolveAsked(0, Verdict.LEFT, "ann"))
    assert phases(waited(bench)) == "LEFT UNDO_PLANNED"
    with pytest.raises(
        ActRefused, match="step a: it was left; what is under way, or was done after it, is to be"
    ):
        bench.tell(RetryAsked(0, "ann"))
    assert bench.done("b").state is TaskState.FAILED
    bench.tell(ResolveAsked(0, Verdict.KEPT, "ann"))
    assert bench.head.state is TaskState.COMPENSATED


def test_the_key_of_a_do_that_is_not_on_record_was_its_first() -> None:
    assert Values().do_key("t", two(KEYED).plan.steps[1]) == "t-b"


def test_an_offer_of_the_backup_is_made_anew_under_another_number() -> None:
    """Its number may have been claimed since, and that call may report yet."""
    bench = offered(KEYED)
    number = bench.opened("a").attempt
    bench.tell(RESTORED)
    assert bench.call("a").opened("a").attempt > number + 999


def test_a_second_restore_knows_no_more_than_the_first() -> None:
    bench = Bench(series(step("a", KEYED), step("b", TOMB))).call("a")
    for event in (RESTORED, CancelAsked("ann"), RESTORED):
        bench.tell(event)
    assert bench.head.beyond
    assert phases(waited(bench)) == "UNKNOWN UNDO_PLANNED"


def test_an_undo_that_was_stuck_may_have_been_tried_again() -> None:
    bench = Bench(series(step("a", PROBED), step("b", KEYED))).done("a").ends("b", Reply.REFUSED)
    bench.ends("a", Reply.REFUSED)
    assert (bench.phase("a"), bench.state) == (Phase.UNDO_STUCK, TaskState.FAILED)
    bench.tell(RESTORED)
    assert bench.opened("a").doubt
    with pytest.raises(ActRefused, match="may still be on its way until"):
        bench.tell(RetryAsked(0, "ann"))
    bench.wait(LIFE).tell(RetryAsked(0, "ann"))
    assert bench.phase("a") is Phase.CHECK_PLANNED


def test_a_step_that_was_never_called_has_its_tries_left() -> None:
    bench = Bench(step("a", PROBED, retry={"attempts": 1}))
    bench.tell(RESTORED)
    waited(bench).probed("a", Answer.ABSENT)
    assert bench.done("a").state is TaskState.COMPLETED


def test_a_result_that_a_call_may_have_been_made_of_since_stays() -> None:
    bench = Bench(series(step("a", KEYED), step("b", KEYED), step("c", KEYED, args={"x": {"$ref": "a"}})))
    bench.done("a").tell(RESTORED)
    with pytest.raises(ActRefused, match="c has been called with its result"):
        bench.tell(ResolveAsked(0, Verdict.DONE, "ann", given=(SEVEN,)))
