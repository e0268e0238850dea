"""What people may order: each act, and each refusal with its words; a refused act changes nothing."""

from itertools import product
from typing import Any

import msgspec
import pytest

from makegood.core.events import (
    Answer,
    CancelAsked,
    Driven,
    Event,
    PauseAsked,
    Reply,
    ResolveAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
    Verdict,
)
from makegood.core.record import Phase, TaskState
from makegood.core.words import STANDING
from makegood.errors import ActRefused
from makegood.testing.shorthand import (
    BARE,
    FOR_A_MINUTE,
    FOR_A_MINUTE_PROBE,
    KEYED,
    PIVOT,
    PROBED,
    READS,
    parallel,
    series,
    step,
)
from tests.core.plans import LIFE
from tests.core.scripts import SEVEN, START, Bench, undone_in_doubt

CANCEL, PAUSE, RESUME, RETRY = (
    CancelAsked("ann"),
    PauseAsked("ann"),
    ResumeAsked("ann"),
    RetryAsked(-1, "ann"),
)
A, B = step("a", KEYED), step("b", KEYED)
PIVOTED = series(A, step("p", KEYED, PIVOT), B)


def skip(number: int, *, result: bool = False) -> SkipAsked:
    return SkipAsked(number, "ann", given=(SEVEN,) if result else ())


def resolve(number: int, verdict: Verdict, *, result: bool | None = None) -> ResolveAsked:
    given = verdict is Verdict.DONE if result is None else result
    return ResolveAsked(number, verdict, "ann", "asked the hotel", (SEVEN,) if given else ())


def refused(bench: Bench, act: Event, words: str) -> None:
    """The act is refused with these words, and nothing is changed."""
    before = bench.head
    with pytest.raises(ActRefused, match=words):
        bench.tell(act)
    assert bench.head == before


def completed() -> Bench:
    return Bench(A).done("a")


def compensated() -> Bench:
    return Bench(A).ends("a", Reply.REFUSED)


def in_doubt() -> Bench:
    return Bench(series(step("a", BARE), B)).ends("a", Reply.UNKNOWN).wait_out()


def doubt_to_be_undone(*given: dict[str, Any]) -> Bench:
    """A step is in doubt, the task turned, and it is parked."""
    bench = Bench(parallel(step("a", *given), B)).done("b").call("a")
    bench.tell(CANCEL)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    return bench.wait_out()


def stuck(reply: Reply = Reply.REFUSED, *given: dict[str, Any]) -> Bench:
    """An undo that cannot be finished."""
    return (
        Bench(series(step("a", *(given or (KEYED,))), B)).done("a").ends("b", Reply.REFUSED).ends("a", reply)
    )


# --- cancel


def test_a_cancel_turns_the_task_once() -> None:
    bench = Bench(series(A, B)).done("a")
    assert bench.tell(CANCEL) == [True]
    assert bench.state is TaskState.COMPENSATING
    assert bench.tell(CANCEL) == [False], "already compensating"
    assert bench.done("a").tell(CANCEL) == [False]


def test_cancel_and_completion_in_one_change_one_wins_and_both_are_told() -> None:
    refused(completed(), CANCEL, "Completed; nothing was cancelled")


def test_past_the_pivot_a_cancel_is_refused() -> None:
    refused(Bench(PIVOTED).done("a", "p"), CANCEL, r"past its point of no return \(p\); it can only go on")


def test_a_parked_task_can_be_cancelled() -> None:
    bench = in_doubt()
    bench.tell(CANCEL)
    assert (bench.phase("a"), bench.state) == (Phase.DOUBT, TaskState.FAILED), "it is still a person's"
    bench.tell(resolve(0, Verdict.ABSENT))
    bench.look()
    assert (bench.phase("a"), bench.state) == (Phase.ABSENT, TaskState.COMPENSATED)
    bench = (
        Bench(step("a", PROBED, asks=1)).ends("a", Reply.UNKNOWN).wait_out().probed("a", Answer.CANNOT_TELL)
    )
    bench.tell(CANCEL)
    assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATING, Phase.WAIT_OUT)
    bench = Bench(step("a", PROBED, undo=None, asks=1)).ends("a", Reply.UNKNOWN).wait_out()
    bench.probed("a", Answer.CANNOT_TELL).tell(CANCEL)
    assert bench.wait_out().state is TaskState.COMPENSATED


# --- pause and resume


def test_pause_and_resume_are_news_once() -> None:
    bench = Bench(A)
    assert bench.tell(RESUME) == [False]
    assert bench.tell(PAUSE, PAUSE, RESUME) == [True, False, True]


@pytest.mark.parametrize("act", [PAUSE, RESUME, RETRY, skip(0), resolve(0, Verdict.ABSENT)])
@pytest.mark.parametrize("ended", [completed, compensated])
def test_an_ended_task_takes_no_more_orders(ended: object, act: Event) -> None:
    assert callable(ended)
    refused(ended(), act, "it has ended; it cannot be ")


# --- retry


def test_a_retry_does_not_wait_for_the_backoff_and_counts_from_the_start() -> None:
    bench = Bench(A).ends("a", Reply.TRANSIENT).ends("a", Reply.TRANSIENT, retry_after=60_000)
    bench.tell(RETRY)
    assert (bench.due, bench.opened("a").retries) == (0, 0)


def test_a_retry_before_the_start_starts_all_of_the_task() -> None:
    for retried in (RETRY, RetryAsked(0, "ann")):
        bench = Bench(parallel(series(A, step("c", KEYED)), step("b", KEYED)), start_at=60_000)
        bench.tell(retried)
        assert bench.done("a").call("b", "c").now < START + 60_000


def test_a_failed_step_after_the_pivot_is_tried_again_in_a_new_round() -> None:
    bench = Bench(PIVOTED).done("a", "p").ends("b", Reply.REFUSED)
    bench.tell(RetryAsked(2, "ann"))
    assert bench.state is TaskState.RUNNING
    assert bench.call("b").opened("b").key == "t-b~2"


def test_what_is_certainly_absent_after_the_pivot_is_tried_again_or_skipped() -> None:
    """A reading step that never got its answer."""
    for act, state in ((RetryAsked(1, "ann"), TaskState.RUNNING), (skip(1), TaskState.COMPLETED)):
        bench = Bench(series(step("p", KEYED, PIVOT), step("r", READS))).done("p").ends("r", Reply.UNKNOWN)
        bench.ends("r", Reply.REFUSED)
        assert (bench.phase("r"), bench.state) == (Phase.ABSENT, TaskState.FAILED)
        bench.tell(act)
        assert bench.state is state


def test_an_unresolved_step_after_the_pivot_is_skipped_or_done_by_hand() -> None:
    for act in (skip(2), resolve(2, Verdict.DONE)):
        bench = Bench(PIVOTED).done("a", "p").call("b")
        bench.report("b", Reply.UNRESOLVED)
        bench.tell(act)
        assert bench.state is TaskState.COMPLETED


def test_what_is_in_doubt_is_tried_again_only_where_that_is_safe() -> None:
    refused(in_doubt(), RetryAsked(0, "ann"), "may have happened and the service cannot be asked; resolve it")
    refused(in_doubt(), RETRY, "no step of it waits for another try")
    bench = (
        Bench(step("a", PROBED, asks=1)).ends("a", Reply.UNKNOWN).wait_out().probed("a", Answer.CANNOT_TELL)
    )
    bench.tell(RETRY)
    assert bench.phase("a") is Phase.PROBE_PLANNED
    bench = Bench(step("p", KEYED, PIVOT, retry={"attempts": 1})).ends("p", Reply.UNKNOWN).wait_out()
    bench.tell(RETRY)
    assert bench.call("p").opened("p").key == "t-p"


def test_nothing_is_tried_again_while_its_last_call_may_be_on_its_way() -> None:
    bench = Bench(step("a", BARE)).ends("a", Reply.UNKNOWN)
    refused(bench, RetryAsked(0, "ann"), r"its last call may still be on its way until \S+Z; ask again then")


def test_a_retry_of_what_needs_none_is_refused() -> None:
    bench = Bench(series(A, B)).call("a")
    refused(bench, RetryAsked(0, "ann"), "step a: it is under way: there is nothing to try again")
    refused(bench, RetryAsked(1, "ann"), "step b: it has not begun")


def test_a_refused_undo_is_tried_again_under_a_new_key() -> None:
    """With the old one, a service that remembers answers would refuse it for ever."""
    bench = stuck()
    bench.tell(RETRY)
    assert bench.call("a").opened("a").key == "t-a-undo~2"
    bench.report("a", Reply.DONE)
    assert bench.state is TaskState.COMPENSATED


def test_a_stuck_undo_in_doubt_is_repeated_by_its_key_or_after_its_probe() -> None:
    bench = stuck(Reply.UNKNOWN).ends("a", Reply.REFUSED).wait_out()
    bench.tell(RETRY)
    assert bench.call("a").opened("a").key == "t-a-undo"
    bench = stuck(Reply.UNKNOWN, PROBED).wait_out()
    for _ in range(2):
        bench.probed("a", Answer.CANNOT_TELL)
    bench.tell(RETRY)
    assert bench.phase("a") is Phase.CHECK_PLANNED
    bench = stuck(Reply.UNKNOWN, BARE).wait_out()
    refused(bench, RetryAsked(0, "ann"), "resolve it instead")


def test_what_was_left_in_effect_can_still_be_undone() -> None:
    bench = stuck()
    bench.tell(resolve(0, Verdict.LEFT))
    bench.tell(RETRY)
    assert bench.done("a").state is TaskState.COMPENSATED


def test_in_doubt_after_the_turn_only_a_probe_can_be_tried_again() -> None:
    bench = doubt_to_be_undone(BARE)
    refused(bench, RetryAsked(0, "ann"), "resolve it instead")
    bench = doubt_to_be_undone(PROBED)
    for _ in range(2):
        bench.probed("a", Answer.CANNOT_TELL)
    bench.tell(RETRY)
    assert bench.phase("a") is Phase.PROBE_PLANNED


def test_a_pivot_that_surfaced_after_the_turn_is_not_called_again() -> None:
    bench = Bench(step("p", KEYED, PIVOT)).ends("p", Reply.TRANSIENT)
    bench.tell(CANCEL)
    bench.late("p", 1)
    assert (bench.phase("p"), bench.state) == (Phase.DOUBT, TaskState.FAILED)
    refused(bench, RetryAsked(0, "ann"), "it is the pivot and the task turned; resolve it instead")
    refused(bench, resolve(0, Verdict.DONE), "the pivot happened though the task turned; resolve it as kept")
    bench.tell(resolve(0, Verdict.KEPT))
    assert (bench.phase("p"), bench.state) == (Phase.KEPT, TaskState.COMPENSATED)


# --- skip


def test_a_step_is_skipped_where_certainly_nothing_happened() -> None:
    bench = Bench(series(A, B))
    bench.tell(skip(1))
    bench.done("a")
    assert bench.state is TaskState.COMPLETED
    bench = Bench(PIVOTED).done("a", "p").ends("b", Reply.REFUSED)
    bench.tell(skip(2))
    assert bench.state is TaskState.COMPLETED
    bench = Bench(A).ends("a", Reply.TRANSIENT)
    bench.tell(skip(0))
    assert bench.state is TaskState.COMPLETED


def test_a_skipped_step_is_not_undone() -> None:
    bench = Bench(series(A, B))
    bench.tell(skip(0))
    bench.ends("b", Reply.REFUSED)
    assert (bench.phase("a"), bench.state) == (Phase.SKIPPED, TaskState.COMPENSATED)


def test_a_step_that_runs_or_is_in_doubt_is_not_skipped() -> None:
    words = "only what certainly had no effect may be skipped"
    refused(Bench(A).call("a"), skip(0), f"step a is under way: {words}")
    refused(in_doubt(), skip(0), f"step a is in doubt: {words}")
    refused(Bench(A).ends("a", Reply.UNKNOWN), skip(0), f"step a is about to be called: {words}")


def test_a_pivot_and_the_way_back_are_not_skipped() -> None:
    refused(Bench(PIVOTED), skip(1), "step p: it is the pivot; resolve it instead")
    refused(stuck(), skip(0), "the task is being undone; there is nothing to skip on the way back")


def test_a_result_that_is_used_later_must_be_given() -> None:
    body = series(A, step("b", KEYED, args={"x": {"$ref": "a"}}))
    refused(
        Bench(body),
        skip(0),
        r"a later step, or the plan.s output, uses its result; give it \(CLI: --result JSON\)",
    )
    bench = Bench(body)
    bench.tell(skip(0, result=True))
    assert bench.phase("a") is Phase.SKIPPED
    refused(Bench(A, output={"$ref": "a"}), skip(0), "uses its result")


# --- resolve


def test_a_doubt_is_settled_as_done_or_absent() -> None:
    bench = in_doubt()
    bench.tell(resolve(0, Verdict.DONE))
    assert bench.done("b").state is TaskState.COMPLETED
    bench = in_doubt()
    bench.tell(resolve(0, Verdict.ABSENT))
    bench.look()
    assert bench.call("a").opened("a").key == "t-a~2"


def test_done_with_a_result_that_is_used_needs_the_result() -> None:
    bench = Bench(step("a", BARE), output={"$ref": "a"}).ends("a", Reply.UNKNOWN).wait_out()
    refused(
        bench,
        resolve(0, Verdict.DONE, result=False),
        r"a later step, or the plan.s output, uses its result; give it \(CLI: --result JSON\)",
    )
    bench.tell(resolve(0, Verdict.DONE, result=True))
    assert bench.state is TaskState.COMPLETED


def test_absent_is_not_believed_while_the_call_may_be_on_its_way() -> None:
    bench = Bench(step("a", BARE)).ends("a", Reply.UNKNOWN).wait(LIFE - 1)
    refused(bench, resolve(0, Verdict.ABSENT), r"its last call may still be on its way until \S+Z; ask")
    bench.tell(resolve(0, Verdict.DONE))
    assert bench.state is TaskState.COMPLETED


def test_a_result_is_given_for_done_alone() -> None:
    """With another verdict it would be dropped in silence."""
    bench = in_doubt()
    refused(bench, resolve(0, Verdict.ABSENT, result=True), "a result is given for done, not for absent")
    refused(stuck(), resolve(0, Verdict.UNDONE, result=True), "a result is given for done, not for undone")
    bench.tell(resolve(0, Verdict.ABSENT))


def test_a_word_holds_for_the_step_as_it_was_seen() -> None:
    bench = Bench(step("a", BARE)).ends("a", Reply.UNKNOWN)
    early = bench.head.stands_since(0)
    bench.wait(LIFE + 1).look()
    stale = msgspec.structs.replace(resolve(0, Verdict.ABSENT), seen=early)
    refused(bench, stale, "has moved on since you looked")
    refused(bench, msgspec.structs.replace(stale, seen=0), "has moved on since you looked")
    bench.tell(msgspec.structs.replace(stale, seen=bench.head.stands_since(0)))
    assert bench.phase("a") is not Phase.DOUBT


def test_a_doubt_on_the_way_forward_is_neither_kept_nor_left() -> None:
    for verdict in (Verdict.KEPT, Verdict.LEFT, Verdict.UNDONE):
        refused(in_doubt(), resolve(0, verdict), "is in doubt: resolve it as done or absent")


def test_a_doubt_on_the_way_back_is_undone_kept_or_left() -> None:
    bench = doubt_to_be_undone(BARE)
    bench.tell(resolve(0, Verdict.DONE))
    assert bench.done("a", "b").state is TaskState.COMPENSATED
    bench = doubt_to_be_undone(BARE)
    bench.tell(resolve(0, Verdict.ABSENT))
    bench.look()
    assert bench.done("b").state is TaskState.COMPENSATED
    bench = doubt_to_be_undone(BARE)
    bench.tell(resolve(0, Verdict.KEPT))
    assert bench.done("b").state is TaskState.COMPENSATED
    assert bench.phase("a") is Phase.KEPT


def test_going_on_without_a_step_keeps_it_listed_until_it_is_settled() -> None:
    for verdict, phase in ((Verdict.UNDONE, Phase.UNDONE_BLIND), (Verdict.KEPT, Phase.KEPT)):
        bench = doubt_to_be_undone(BARE)
        bench.tell(resolve(0, Verdict.LEFT))
        bench.done("b")
        assert (bench.phase("a"), bench.state) == (Phase.LEFT, TaskState.FAILED)
        bench.tell(resolve(0, verdict))
        assert (bench.phase("a"), bench.state) == (phase, TaskState.COMPENSATED)


def test_a_doubt_that_was_left_is_asked_about_before_it_is_undone() -> None:
    bench = doubt_to_be_undone(PROBED)
    for _ in range(2):
        bench.probed("a", Answer.CANNOT_TELL)
    bench.tell(resolve(0, Verdict.LEFT))
    bench.done("b").tell(RETRY)
    bench.probed("a", Answer.THERE)
    assert bench.call("a").opened("a").key.startswith("t-a-undo")


def test_a_stuck_undo_is_undone_kept_or_left() -> None:
    for verdict, phase in (
        (Verdict.UNDONE, Phase.UNDONE),
        (Verdict.ABSENT, Phase.UNDONE),
        (Verdict.KEPT, Phase.KEPT),
    ):
        bench = stuck()
        bench.tell(resolve(0, verdict))
        assert (bench.phase("a"), bench.state) == (phase, TaskState.COMPENSATED)
    bench = stuck()
    bench.tell(resolve(0, Verdict.LEFT))
    assert (bench.phase("a"), bench.state) == (Phase.LEFT, TaskState.FAILED)
    refused(bench, resolve(0, Verdict.LEFT), "its undo is stuck: resolve it as undone, absent, kept or left")
    bench.tell(resolve(0, Verdict.UNDONE))
    assert bench.state is TaskState.COMPENSATED
    refused(
        stuck(), resolve(0, Verdict.DONE), "its undo is stuck: resolve it as undone, absent, kept or left"
    )


def test_what_an_undo_on_its_way_may_still_take_is_neither_kept_nor_left() -> None:
    for verdict in (Verdict.KEPT, Verdict.LEFT):
        bench = stuck(Reply.UNKNOWN, BARE)
        refused(bench, resolve(0, verdict), r"its undo may still be on its way until \S+Z; ask again then")
    bench = stuck(Reply.UNKNOWN, BARE)
    bench.tell(resolve(0, Verdict.UNDONE))
    assert bench.state is TaskState.COMPENSATED


def test_a_failed_step_after_the_pivot_is_settled_as_done_by_hand() -> None:
    bench = Bench(PIVOTED).done("a", "p").ends("b", Reply.REFUSED)
    refused(bench, resolve(2, Verdict.KEPT), "step b was refused: it does not wait for a person's word")
    bench.tell(resolve(2, Verdict.DONE))
    assert bench.state is TaskState.COMPLETED


def test_what_waits_for_nobody_is_not_resolved() -> None:
    refused(Bench(series(A, B)).call("a"), resolve(0, Verdict.DONE), "it does not wait for a person's word")
    refused(Bench(series(A, B)).done("a"), resolve(0, Verdict.ABSENT), "step a is done")


def test_resolving_one_of_two_parks_again() -> None:
    bench = Bench(parallel(step("a", BARE), step("b", BARE))).call("a", "b")
    bench.report("a", Reply.UNKNOWN)
    bench.report("b", Reply.UNKNOWN)
    bench.look()
    bench.wait_out()
    assert bench.head.open[0].due == 0
    for step_number, state in enumerate((TaskState.FAILED, TaskState.COMPLETED)):
        bench.tell(resolve(step_number, Verdict.DONE))
        assert bench.state is state


def test_a_call_in_doubt_that_nobody_repeats_may_be_a_persons() -> None:
    """Where no process has its action any more; a pivot cannot even be cancelled then."""
    for offered in (False, True):
        bench = Bench(PIVOTED).done("a").ends("p", Reply.UNKNOWN)
        if offered:  # and claimed by nobody: that is taken back
            bench.tell(Driven())
        assert bench.phase("p") is (Phase.OFFERED if offered else Phase.PLANNED)
        refused(bench, resolve(1, Verdict.ABSENT), r"its last call may still be on its way until \S+Z; ask")
        bench.tell(CANCEL, resolve(1, Verdict.DONE))
        assert (bench.phase("p"), bench.phase("b")) == (Phase.DONE, Phase.PLANNED)


def test_a_call_in_doubt_that_nobody_repeats_is_waited_out_where_it_stands() -> None:
    for act, offered in product((None, PAUSE, CANCEL), (False, True)):
        bench = Bench(PIVOTED).done("a").ends("p", Reply.UNKNOWN)
        if offered:
            bench.tell(Driven())
        if act is not None:
            bench.tell(act)
        stood = (bench.phase("p"), bench.opened("p").due, bench.head.stands_since(1))
        bench.wait(LIFE)
        refused(bench, resolve(1, Verdict.ABSENT), "ask again once a supervisor has waited it out")
        assert not bench.look(waited=False), "by the clock alone nothing is over"
        assert bench.wants_look()
        assert bench.look()
        assert (bench.phase("p"), bench.opened("p").due, bench.head.stands_since(1)) == stood
        assert not bench.wants_look()
        refused(bench, resolve(1, Verdict.KEPT), "step p is in doubt: resolve it as done or absent")
        bench.tell(resolve(1, Verdict.ABSENT))
        bench.look()
        turned = act is CANCEL
        assert bench.phase("p") is (Phase.ABSENT if turned else Phase.PLANNED)
        assert bench.state is (TaskState.COMPENSATING if turned else TaskState.RUNNING)


def test_what_was_never_called_did_not_happen_and_is_no_persons() -> None:
    refused(
        Bench(A), resolve(0, Verdict.DONE), "step a is about to be called: it does not wait for a person's"
    )


def test_there_are_words_for_every_phase() -> None:
    assert set(STANDING) == set(Phase)


def undo_refused(*given: dict[str, Any]) -> Bench:
    """The undo of a step in doubt is refused: its person stands before it."""
    return undone_in_doubt(*given).ends("a", Reply.REFUSED).wait_out()


def test_a_blind_undo_is_not_repeated_once_the_key_it_finds_its_effect_by_is_forgotten() -> None:
    """It would find nothing, and pass for undone."""
    refused(undo_refused(FOR_A_MINUTE).wait(60_000), RETRY, "no step of it waits for another try")
    refused(undo_refused(FOR_A_MINUTE).wait(60_000), RetryAsked(0, "ann"), "may have forgotten the key")
    asked = undo_refused(FOR_A_MINUTE_PROBE).wait(60_000)
    asked.tell(RETRY)
    assert asked.done("a").phase("a") is Phase.CHECK_PLANNED


def test_the_key_that_a_repeated_blind_undo_finds_its_effect_by_can_be_forgotten_before_it_is_made() -> None:
    bench = undo_refused(FOR_A_MINUTE)
    bench.tell(RETRY)
    bench.wait(60_000).look()
    assert bench.phase("a") is Phase.UNDO_STUCK


def test_what_was_left_is_undone_when_nothing_else_is() -> None:
    bench = stuck_then_left("b")
    assert bench.phase("a") is Phase.UNDO_OFFERED or bench.phase("a") is Phase.UNDO_PLANNED
    refused(
        bench, RetryAsked(1, "ann"), "step b: it was left; what is under way, or was done after it, is to be"
    )
    bench.done("a")
    bench.tell(RetryAsked(1, "ann"))
    assert bench.done("b").state is TaskState.COMPENSATED


def test_of_several_that_were_left_the_last_is_undone_first() -> None:
    bench = stuck_then_left("b", "a")
    bench.tell(RETRY)
    assert (bench.phase("a"), bench.phase("b")) == (Phase.LEFT, Phase.UNDO_PLANNED)
    bench.done("b").tell(RETRY)
    assert bench.done("a").state is TaskState.COMPENSATED


def stuck_then_left(*names: str) -> Bench:
    """Two steps are done and undone, but for these, whose undo is refused; a person leaves each."""
    bench = Bench(series(A, B, step("c", KEYED))).done("a", "b")
    bench.tell(CANCEL)
    for name in names:
        bench.ends(name, Reply.REFUSED)
        bench.tell(resolve(bench.plan.index_of[name], Verdict.LEFT))
    return bench
