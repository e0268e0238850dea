"""The decisive rule, cell by cell: what becomes of an unknown call, by its service's class."""

from typing import Any

import pytest

from makegood.core.events import Answer, CancelAsked, Claimed, Driven, HandedBack, Reply, RetryAsked
from makegood.core.record import News, Phase, TaskState
from makegood.testing.shorthand import (
    BARE,
    FOR_A_MINUTE,
    FOR_A_MINUTE_PROBE,
    KEYED,
    KEYED_PROBE,
    PROBED,
    READS,
    TOMB,
    parallel,
    series,
    step,
)
from tests.core.plans import LIFE
from tests.core.scripts import Bench

CANCEL = CancelAsked("ann")


def in_doubt(*given: dict[str, Any], **more: Any) -> Bench:
    """A task of one step whose first call ended unknown; the Supervisor has looked."""
    return Bench(step("a", *given, **more)).ends("a", Reply.UNKNOWN)


def to_be_undone(*given: dict[str, Any], **more: Any) -> Bench:
    """The same, in a task that was cancelled while the call was running."""
    bench = Bench(step("a", *given, **more)).call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    return bench


# --- unknown, to be retried


@pytest.mark.parametrize(
    "given", [TOMB, KEYED, KEYED_PROBE, READS], ids=["tombstone", "keyed", "+probe", "reads"]
)
def test_what_is_keyed_or_only_reads_is_retried_at_once_with_the_same_key(given: dict[str, Any]) -> None:
    bench = in_doubt(given)
    assert (bench.phase("a"), bench.due) == (Phase.PLANNED, 0)
    key = bench.opened("a").key
    bench.call("a")
    assert bench.opened("a").key == key == "t-a"
    bench.report("a", Reply.DONE)
    assert bench.state is TaskState.COMPLETED


def test_without_keys_a_probe_is_asked_once_no_call_can_land_any_more() -> None:
    bench = in_doubt(PROBED)
    assert (bench.phase("a"), bench.due) == (Phase.WAIT_OUT, LIFE)
    bench.wait(LIFE - 1)
    assert not bench.look()
    bench.wait(1)
    assert not bench.look(waited=False), "this Supervisor has not seen it pass by its own clock"
    assert bench.look()
    assert bench.phase("a") is Phase.PROBE_PLANNED


def test_a_probe_that_finds_it_makes_it_done() -> None:
    assert in_doubt(PROBED).wait_out().probed("a", Answer.THERE).state is TaskState.COMPLETED


def test_a_probe_that_does_not_find_it_begins_a_new_round() -> None:
    bench = in_doubt(PROBED).wait_out().probed("a", Answer.ABSENT)
    assert (bench.phase("a"), bench.opened("a").doubt) == (Phase.PLANNED, False)
    bench.call("a")
    assert bench.opened("a").key == "t-a~2"


@pytest.mark.parametrize("answer", [Answer.CANNOT_TELL, Answer.RUNNING])
def test_a_probe_that_cannot_tell_is_asked_again_up_to_its_limit_and_then_parks(answer: Answer) -> None:
    bench = in_doubt(PROBED, asks=3).wait_out()
    for _ in range(2):
        bench.probed("a", answer)
        assert bench.phase("a") is Phase.PROBE_PLANNED
        assert bench.due is not None
        assert bench.due > 0
    bench.probed("a", answer)
    assert (bench.phase("a"), bench.state) == (Phase.DOUBT, TaskState.FAILED)


def test_a_probe_that_brings_no_answer_cannot_tell() -> None:
    bench = in_doubt(PROBED, asks=1).wait_out().call("a").wait_out()
    assert (bench.phase("a"), bench.opened("a").news) == (Phase.DOUBT, News.CANNOT_TELL)


def test_with_neither_it_parks_and_never_before_the_call_has_landed() -> None:
    bench = in_doubt(BARE)
    assert (bench.phase("a"), bench.state, bench.due) == (Phase.DOUBT, TaskState.RUNNING, LIFE)
    assert not bench.wait(LIFE - 1).look()
    bench.wait(1).look()
    assert (bench.state, bench.due) == (TaskState.FAILED, None)


def test_a_call_that_did_not_read_its_key_is_treated_as_unkeyed() -> None:
    bench = Bench(step("a", KEYED)).ends("a", Reply.UNKNOWN, key_read=False)
    assert bench.phase("a") is Phase.DOUBT
    bench = Bench(step("a", KEYED_PROBE)).ends("a", Reply.UNKNOWN, key_read=False)
    assert bench.phase("a") is Phase.WAIT_OUT


def test_a_call_that_certainly_had_no_effect_needed_no_key() -> None:
    bench = Bench(step("a", KEYED)).ends("a", Reply.TRANSIENT, key_read=False)
    bench.ends("a", Reply.UNKNOWN)
    assert bench.phase("a") is Phase.PLANNED
    bench = in_doubt(KEYED).ends("a", Reply.TRANSIENT, key_read=False)
    assert bench.phase("a") is Phase.PLANNED


def test_a_call_whose_agent_fell_silent_is_unknown() -> None:
    bench = Bench(step("a", BARE)).call("a").wait_out()
    assert bench.phase("a") is Phase.DOUBT


def test_once_unknown_a_refusal_or_a_transient_failure_does_not_make_it_certain() -> None:
    bench = in_doubt(KEYED).call("a")
    bench.report("a", Reply.REFUSED)
    bench.look()
    assert (bench.phase("a"), bench.state) == (Phase.WAIT_OUT, TaskState.COMPENSATING)
    bench = in_doubt(PROBED).wait_out().probed("a", Answer.THERE)
    assert bench.state is TaskState.COMPLETED
    bench = in_doubt(KEYED).ends("a", Reply.TRANSIENT)
    assert bench.opened("a").doubt


# --- unknown, to be undone


def test_a_tombstone_lets_it_be_undone_at_once() -> None:
    bench = to_be_undone(TOMB)
    assert (bench.phase("a"), bench.due) == (Phase.UNDO_PLANNED, 0)
    assert bench.done("a").phase("a") is Phase.UNDONE_BLIND
    assert bench.state is TaskState.COMPENSATED


def test_a_key_alone_is_waited_out_and_then_undone_without_its_result() -> None:
    bench = to_be_undone(KEYED)
    assert (bench.phase("a"), bench.due) == (Phase.WAIT_OUT, LIFE)
    bench.wait_out()
    assert bench.phase("a") is Phase.UNDO_PLANNED
    assert bench.done("a").state is TaskState.COMPENSATED


@pytest.mark.parametrize("given", [KEYED_PROBE, PROBED], ids=["keyed", "unkeyed"])
def test_a_probe_says_whether_there_is_anything_to_undo(given: dict[str, Any]) -> None:
    bench = to_be_undone(given).wait_out().probed("a", Answer.ABSENT)
    assert (bench.phase("a"), bench.state) == (Phase.ABSENT, TaskState.COMPENSATED)
    bench = to_be_undone(given).wait_out().probed("a", Answer.THERE)
    assert bench.phase("a") is Phase.UNDO_PLANNED
    assert bench.done("a").phase("a") is Phase.UNDONE


def test_keyed_and_the_probe_cannot_tell_it_is_undone_and_checked_once_more() -> None:
    bench = to_be_undone(KEYED_PROBE).wait_out()
    for _ in range(2):
        bench.probed("a", Answer.CANNOT_TELL)
    assert bench.phase("a") is Phase.UNDO_PLANNED
    bench.done("a")
    assert bench.phase("a") is Phase.CHECK_PLANNED
    assert bench.call("a").answer("a", Answer.ABSENT)
    assert (bench.phase("a"), bench.state) == (Phase.UNDONE_BLIND, TaskState.COMPENSATED)


def test_what_surfaced_at_the_check_is_undone_again_under_a_new_key() -> None:
    bench = to_be_undone(KEYED_PROBE).wait_out()
    for _ in range(2):
        bench.probed("a", Answer.CANNOT_TELL)
    bench.done("a").probed("a", Answer.THERE)
    assert bench.phase("a") is Phase.UNDO_PLANNED
    bench.call("a")
    assert bench.opened("a").key == "t-a-undo~2"
    bench.report("a", Reply.DONE)
    assert bench.phase("a") is Phase.CHECK_PLANNED


def test_a_check_that_cannot_tell_to_its_last_ask_parks() -> None:
    bench = to_be_undone(KEYED_PROBE).wait_out()
    for _ in range(2):
        bench.probed("a", Answer.CANNOT_TELL)
    bench.done("a").probed("a", Answer.RUNNING).probed("a", Answer.CANNOT_TELL)
    assert (bench.phase("a"), bench.state) == (Phase.UNDO_STUCK, TaskState.FAILED)
    bench.tell(RetryAsked(-1, "ann"))
    assert bench.phase("a") is Phase.CHECK_PLANNED, "its undo was done: only the check is asked again"


def test_unkeyed_and_the_probe_cannot_tell_it_parks() -> None:
    bench = to_be_undone(PROBED, asks=1).wait_out().probed("a", Answer.CANNOT_TELL)
    assert (bench.phase("a"), bench.state) == (Phase.DOUBT, TaskState.FAILED)


def test_with_neither_nothing_is_undone_on_a_guess() -> None:
    bench = to_be_undone(BARE).wait_out()
    assert (bench.phase("a"), bench.state) == (Phase.DOUBT, TaskState.FAILED)


def test_a_reading_step_leaves_nothing_to_undo() -> None:
    bench = to_be_undone(READS)
    assert (bench.phase("a"), bench.state) == (Phase.ABSENT, TaskState.COMPENSATED)


@pytest.mark.parametrize(
    "given", [KEYED, KEYED_PROBE, PROBED, BARE], ids=["keyed", "+probe", "probe", "neither"]
)
def test_an_effect_that_needs_no_undo_only_has_to_land(given: dict[str, Any]) -> None:
    bench = to_be_undone(given, undo=None)
    assert bench.phase("a") is Phase.WAIT_OUT
    bench.wait_out()
    assert (bench.phase("a"), bench.state) == (Phase.UNKNOWN, TaskState.COMPENSATED)


def test_a_probe_in_vain_about_an_effect_that_needs_no_undo_asks_nobody() -> None:
    bench = in_doubt(PROBED, undo=None, asks=1).wait_out().call("a")
    bench.tell(CANCEL)
    bench.answer("a", Answer.CANNOT_TELL)
    bench.look()
    assert (bench.phase("a"), bench.state) == (Phase.UNKNOWN, TaskState.COMPENSATED)


# --- an undo whose own outcome is unknown


def undo_in_doubt(*given: dict[str, Any]) -> Bench:
    bench = Bench(series(step("a", *given), step("b", TOMB))).done("a")
    return bench.ends("b", Reply.REFUSED).ends("a", Reply.UNKNOWN)


@pytest.mark.parametrize("given", [TOMB, KEYED, KEYED_PROBE], ids=["tombstone", "keyed", "+probe"])
def test_a_keyed_undo_is_repeated_at_once_with_the_same_key(given: dict[str, Any]) -> None:
    bench = undo_in_doubt(given)
    assert (bench.phase("a"), bench.due) == (Phase.UNDO_PLANNED, 0)
    key = bench.opened("a").key
    assert bench.call("a").opened("a").key == key == "t-a-undo"
    bench.report("a", Reply.DONE)
    assert bench.state is TaskState.COMPENSATED


def test_an_undo_without_keys_is_waited_out_and_probed_before_it_is_repeated() -> None:
    bench = undo_in_doubt(PROBED)
    assert (bench.phase("a"), bench.due) == (Phase.UNDO_WAIT_OUT, LIFE)
    bench.wait_out().probed("a", Answer.THERE)
    assert bench.phase("a") is Phase.UNDO_PLANNED
    assert bench.call("a").opened("a").key == "t-a-undo~2"
    bench = undo_in_doubt(PROBED).wait_out().call("a")
    bench.answer("a", Answer.ABSENT)
    assert (bench.phase("a"), bench.state) == (Phase.UNDONE, TaskState.COMPENSATED)


def test_an_undo_with_neither_parks_once_it_has_landed() -> None:
    bench = undo_in_doubt(BARE)
    assert (bench.phase("a"), bench.state, bench.due) == (Phase.UNDO_STUCK, TaskState.COMPENSATING, LIFE)
    assert bench.wait_out().state is TaskState.FAILED


# --- keyed for a duration


def test_within_its_duration_a_key_is_a_key() -> None:
    assert in_doubt(FOR_A_MINUTE).phase("a") is Phase.PLANNED
    assert to_be_undone(FOR_A_MINUTE).wait_out().phase("a") is Phase.UNDO_PLANNED


def test_past_its_duration_a_step_is_unkeyed() -> None:
    bench = Bench(step("a", {"class": {"keyed": 20}}, retry={"attempts": 9})).ends("a", Reply.UNKNOWN)
    bench.call("a").wait(6_000).report("a", Reply.UNKNOWN)
    bench.look()
    assert bench.phase("a") is Phase.DOUBT, "a third call could arrive after 20 s, when the key is forgotten"


def test_a_planned_retry_is_not_made_once_its_key_may_be_forgotten() -> None:
    """It was decided while the key was known; but an agent was long in coming, or the task was paused."""
    for offered in (False, True):
        bench = in_doubt(FOR_A_MINUTE)
        if offered:
            bench.tell(Driven())
        bench.wait(60_000 - LIFE)
        if offered:
            assert bench.tell(Claimed(0, bench.opened("a").attempt, "late")) == [False]
        assert bench.wants_look()
        bench.look()
        assert bench.phase("a") is Phase.DOUBT
    bench = in_doubt(FOR_A_MINUTE_PROBE).wait(60_000)
    bench.look()
    assert bench.phase("a") is Phase.WAIT_OUT


def test_a_retry_that_is_planned_for_later_is_due_when_its_key_dies() -> None:
    bench = in_doubt(FOR_A_MINUTE).call("a")
    bench.report("a", Reply.UNKNOWN, retry_after=3_600_000)
    bench.look()
    assert bench.due == LIFE, "a person is believed from then on"
    bench.wait(LIFE).look()
    assert (bench.phase("a"), bench.due) == (Phase.PLANNED, 60_000 - LIFE - LIFE)


def test_after_a_wait_out_that_outlives_the_key_nothing_is_undone_blindly() -> None:
    bench = to_be_undone({"class": {"keyed": 16}})
    assert bench.phase("a") is Phase.WAIT_OUT
    assert bench.wait_out().phase("a") is Phase.DOUBT


def test_a_blind_undo_is_not_made_once_the_key_of_the_do_may_be_forgotten() -> None:
    for given, phase in ((FOR_A_MINUTE, Phase.UNDO_STUCK), (FOR_A_MINUTE_PROBE, Phase.UNDO_WAIT_OUT)):
        bench = Bench(parallel(step("a", given, asks=1), step("b", TOMB))).call("a", "b")
        bench.tell(CANCEL)
        bench.report("a", Reply.UNKNOWN)
        bench.report("b", Reply.DONE)
        bench.look()
        bench.wait_out()
        if bench.phase("a") is Phase.PROBE_PLANNED:
            bench.probed("a", Answer.CANNOT_TELL)
        assert bench.phase("a") is Phase.UNDO_PLANNED
        bench.wait(60_000).look()
        assert bench.phase("a") is phase


def test_an_undo_whose_key_may_be_forgotten_is_not_repeated() -> None:
    bench = undo_in_doubt(FOR_A_MINUTE)
    bench.tell(Driven())
    bench.wait(60_000).look()
    assert bench.phase("a") is Phase.UNDO_STUCK


def test_a_claim_that_was_handed_back_does_not_start_the_life_of_a_key() -> None:
    bench = Bench(step("a", FOR_A_MINUTE)).call("a")
    bench.tell(HandedBack(0, bench.opened("a").attempt, "stopping"))
    bench.wait(60_000).ends("a", Reply.UNKNOWN)
    assert bench.phase("a") is Phase.PLANNED
