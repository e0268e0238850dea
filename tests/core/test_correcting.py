"""A recorded result that no call can be made of: it is corrected, or its undo is taken to be a person's."""

from itertools import product
from typing import Any

import msgspec
import pytest

from makegood.core.events import (
    CancelAsked,
    Driven,
    HandedBack,
    PauseAsked,
    Reply,
    ResolveAsked,
    SkipAsked,
    Verdict,
)
from makegood.core.record import Phase, TaskState
from makegood.core.values import Values
from makegood.errors import ActRefused
from makegood.testing.shorthand import BARE, FOR_A_MINUTE, KEYED, PIVOT, PROBED, TOMB, series, step
from tests.core.plans import LIFE
from tests.core.scripts import SEVEN, START, Bench

EIGHT = msgspec.Raw(b"8")
OF_A = {"args": {"x": {"$ref": "a"}}}


def word(verdict: Verdict, result: msgspec.Raw | None = None) -> ResolveAsked:
    return ResolveAsked(0, verdict, "ann", given=() if result is None else (result,))


def hand_back(bench: Bench, name: str, *, wait: int = 15_000) -> None:
    number = bench.plan.index_of[name]
    bench.call(name).tell(HandedBack(number, bench.opened(name).attempt, "it cannot be read", wait))


def stays(bench: Bench, act: ResolveAsked, words: str) -> None:
    before = bench.head
    with pytest.raises(ActRefused, match=words):
        bench.tell(act)
    assert bench.head == before


def unread_by_next(*given: dict[str, Any]) -> Bench:
    """`a` is done; `b` was to be called with its result, and was handed back."""
    bench = Bench(series(step("a", KEYED), step("b", *given or (KEYED,), OF_A))).done("a")
    hand_back(bench, "b")
    return bench


def unread_undo(*given: dict[str, Any]) -> Bench:
    bench = Bench(series(step("a", *given or (KEYED,)), step("b", KEYED))).done("a")
    bench.tell(CancelAsked("ann"))
    hand_back(bench, "a")
    return bench


def test_the_call_that_waited_for_a_corrected_result_is_made_at_once() -> None:
    bench = unread_by_next()
    assert bench.due == 15_000
    bench.tell(word(Verdict.DONE, EIGHT))
    assert bench.due == 0
    assert bench.done("b").state is TaskState.COMPLETED


def test_what_a_person_gave_to_skip_a_step_is_corrected_as_well() -> None:
    bench = Bench(series(step("a", KEYED), step("b", KEYED, OF_A)))
    bench.tell(SkipAsked(0, "ann", given=(SEVEN,)))
    hand_back(bench, "b")
    bench.tell(word(Verdict.DONE, EIGHT))
    assert (bench.due, bench.phase("a")) == (0, Phase.SKIPPED)


def test_calls_are_made_of_the_corrected_result() -> None:
    values = Values()
    bench = Bench(series(step("a", BARE), step("b", KEYED, OF_A))).ends("a", Reply.UNKNOWN)
    for event in (word(Verdict.DONE, SEVEN), word(Verdict.DONE, EIGHT)):
        bench.tell(event)
        values.absorb(bench.facts)
    assert values.results == {0: EIGHT}


def test_a_result_that_a_call_was_made_of_stays() -> None:
    correct = word(Verdict.DONE, EIGHT)
    for reply in (Reply.UNKNOWN, Reply.TRANSIENT):
        called = Bench(series(step("a", KEYED), step("b", KEYED, OF_A))).done("a").call("b")
        stays(called, correct, "step a: b has been called with its result, which stays as it is")
        called.report("b", reply)
        called.look()
        assert called.phase("b") is Phase.PLANNED
        stays(called, correct, "b has been called with its result")
    undone = Bench(series(step("a", KEYED), step("b", KEYED, OF_A), step("c", KEYED))).done("a", "b")
    undone.tell(CancelAsked("ann"))
    undone.done("b")
    stays(undone, correct, "a: b has been called with its result, which stays as it is")


def test_without_a_result_there_is_nothing_to_correct() -> None:
    stays(unread_by_next(), word(Verdict.DONE), "step a is done: it does not wait for a person's word")


def test_an_undo_is_called_with_the_corrected_result() -> None:
    bench = unread_undo()
    bench.tell(word(Verdict.DONE, EIGHT))
    assert bench.due == 0
    assert bench.done("a").state is TaskState.COMPENSATED


def test_an_undo_that_was_never_sent_may_be_a_persons() -> None:
    for verdict, offered in product((Verdict.UNDONE, Verdict.ABSENT, Verdict.KEPT), (False, True)):
        bench = unread_undo()
        if offered:  # and claimed by nobody: that is taken back
            bench.wait(15_000).tell(Driven())
        bench.tell(word(verdict))
        assert bench.state is TaskState.COMPENSATED
        assert bench.phase("a") is (Phase.KEPT if verdict is Verdict.KEPT else Phase.UNDONE)


def test_an_unsent_undo_may_be_left_and_tried_again() -> None:
    bench = unread_undo()
    bench.tell(word(Verdict.LEFT))
    assert (bench.state, bench.phase("a")) == (TaskState.FAILED, Phase.LEFT)
    stays(bench, word(Verdict.DONE), "its undo is stuck: resolve it as undone, absent, kept or left")


def unclaimed_undo(*replies: Reply) -> Bench:
    """An undo waits for an agent, after calls of it that ended so."""
    bench = Bench(series(step("a", KEYED), step("b", KEYED))).done("a")
    bench.tell(CancelAsked("ann"))
    for reply in replies:
        stays(bench.call("a"), word(Verdict.UNDONE), "is being undone: it does not wait")
        bench.report("a", reply)
        bench.look()
    return bench.wait(bench.due or 0)


def test_an_undo_that_nobody_claims_is_a_persons() -> None:
    """Where no process has its action any more, nobody would ever hand it back."""
    for replies, offered in product(([], [Reply.TRANSIENT], [Reply.UNKNOWN]), (False, True)):
        bench = unclaimed_undo(*replies)
        if offered:  # that is taken back
            bench.tell(Driven())
        assert bench.phase("a") is (Phase.UNDO_OFFERED if offered else Phase.UNDO_PLANNED)
        bench.tell(word(Verdict.UNDONE))
        assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATED, Phase.UNDONE)


def test_the_result_that_an_undo_was_made_of_stays() -> None:
    for reply in (Reply.TRANSIENT, Reply.UNKNOWN):
        words = "its undo is about to be called: resolve it as undone"
        stays(unclaimed_undo(reply), word(Verdict.DONE, EIGHT), words)


def test_what_an_undo_may_still_take_that_is_to_be_repeated_is_neither_kept_nor_left() -> None:
    for verdict, again in product((Verdict.KEPT, Verdict.LEFT), (False, True)):
        lost = unclaimed_undo(Reply.UNKNOWN)
        if again:
            hand_back(lost, "a")
        stays(lost, word(verdict), r"its undo may still be on its way until \S+Z; ask again then")
        lost.wait(LIFE).look()
        lost.tell(word(verdict))
        unclaimed_undo(Reply.TRANSIENT).tell(word(verdict))


def test_what_a_call_on_its_way_may_still_do_is_not_said_to_be_gone() -> None:
    """Its undo leaves a tombstone that keeps it from landing; a person who looks there leaves none."""
    for verdict, again in product(
        (Verdict.UNDONE, Verdict.ABSENT, Verdict.KEPT, Verdict.LEFT), (False, True)
    ):
        bench = Bench(step("a", TOMB)).call("a")
        bench.tell(CancelAsked("ann"))
        bench.report("a", Reply.UNKNOWN)
        bench.look()
        assert bench.phase("a") is Phase.UNDO_PLANNED
        if again:
            hand_back(bench, "a")
        stays(bench, word(verdict), r"its last call may still be on its way until \S+Z; ask again then")
        bench.wait(LIFE).look()
        bench.tell(word(verdict))
        assert bench.state is (TaskState.FAILED if verdict is Verdict.LEFT else TaskState.COMPENSATED)


def test_nor_where_its_undo_was_refused() -> None:
    bench = Bench(step("a", TOMB)).call("a")
    bench.tell(CancelAsked("ann"))
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.ends("a", Reply.REFUSED)
    assert bench.phase("a") is Phase.UNDO_STUCK
    stays(bench, word(Verdict.UNDONE), r"its last call may still be on its way until \S+Z; ask again then")
    bench.wait_out().tell(word(Verdict.UNDONE))
    assert bench.state is TaskState.COMPENSATED


def test_of_an_undo_that_is_to_be_made_it_is_not_asked_whether_its_step_is_done() -> None:
    for bench in (unread_undo(), unclaimed_undo()):
        words = "its undo is about to be called: resolve it as undone, absent, kept or left"
        stays(bench, word(Verdict.DONE), words)


def test_an_undo_handed_back_does_not_start_the_life_of_its_key() -> None:
    bench = unread_undo(FOR_A_MINUTE)
    assert (bench.opened("a").first_at, bench.opened("a").key_until) == (0, 0)
    bench.call("a")
    assert bench.opened("a").first_at == bench.now > START


def test_a_blind_undo_handed_back_keeps_the_key_of_what_it_undoes() -> None:
    bench = Bench(step("a", FOR_A_MINUTE)).call("a")
    until = bench.opened("a").key_until
    bench.tell(CancelAsked("ann"))
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait_out()
    hand_back(bench, "a", wait=10)
    assert (bench.opened("a").fate, bench.opened("a").key_until) == (Phase.UNKNOWN, until)


def test_a_result_that_was_not_given_may_be_given_later() -> None:
    values, bench = Values(), Bench(series(step("a", TOMB), step("b", KEYED)))
    bench.tell(SkipAsked(0, "ann"))
    values.absorb(bench.facts)
    assert values.results == {}
    bench.tell(word(Verdict.DONE, EIGHT))
    values.absorb(bench.facts)
    assert values.results == {0: EIGHT}


def test_where_the_undo_goes_by_the_result_alone_it_must_be_given() -> None:
    for given in (BARE, PROBED):
        bench = Bench(step("a", given)).ends("a", Reply.UNKNOWN)
        while bench.phase("a") not in (Phase.DOUBT, Phase.PROBE_PLANNED):
            bench.wait_out()
        stays(
            bench, word(Verdict.DONE), "its undo may find the effect by its result alone; give that, or null"
        )
        bench.tell(word(Verdict.DONE, SEVEN))
        assert bench.state is TaskState.COMPLETED


def test_a_corrected_result_starts_nothing_before_its_time() -> None:
    bench = Bench(series(step("a", KEYED), step("b", KEYED, OF_A)), start_at=60_000)
    bench.tell(SkipAsked(0, "ann", given=(SEVEN,)))
    bench.tell(word(Verdict.DONE, EIGHT))
    assert (bench.phase("b"), bench.due) == (Phase.PLANNED, 60_000)


# --- when it has ended


def test_a_task_that_has_ended_is_paused_no_more() -> None:
    bench = Bench(step("a", BARE)).call("a")
    bench.tell(CancelAsked("ann"), PauseAsked("ann"))
    bench.report("a", Reply.REFUSED)
    bench.look()
    assert bench.state is TaskState.COMPENSATED
    bench.late("a", 1)
    assert (bench.state, bench.head.paused) == (TaskState.COMPENSATING, False)
    assert bench.done("a").state is TaskState.COMPENSATED


def test_the_result_of_a_completed_task_is_corrected_where_only_its_output_is_made_of_it() -> None:
    bench = Bench(series(step("a", KEYED), step("b", KEYED, OF_A)), output={"$ref": "b"}).done("a", "b")
    head = bench.head
    assert bench.tell(ResolveAsked(1, Verdict.DONE, "ann", given=(EIGHT,))) == [True]
    assert (bench.state, bench.head.marks) == (TaskState.COMPLETED, head.marks)
    stays(bench, word(Verdict.DONE, EIGHT), "step a: b has been called with its result")
    stays(bench, ResolveAsked(1, Verdict.ABSENT, "ann"), "it has ended; it cannot be resolved")
    stays(bench, ResolveAsked(1, Verdict.DONE, "ann"), "it has ended; it cannot be resolved")


def test_an_effect_that_a_person_finds_after_the_end_is_undone() -> None:
    bench = Bench(series(step("a", BARE), step("b", KEYED))).ends("a", Reply.UNKNOWN).wait_out()
    bench.tell(CancelAsked("ann"), word(Verdict.ABSENT))
    bench.look()
    assert bench.state is TaskState.COMPENSATED
    stays(bench, ResolveAsked(1, Verdict.DONE, "ann"), "it has ended")  # it was never called
    stays(bench, word(Verdict.UNDONE), "it has ended")
    bench.tell(word(Verdict.DONE, SEVEN))
    assert (bench.state, bench.phase("a")) == (TaskState.COMPENSATING, Phase.UNDO_PLANNED)
    assert bench.done("a").state is TaskState.COMPENSATED


def test_a_pivot_that_a_person_finds_after_the_end_is_first_theirs() -> None:
    bench = Bench(step("a", KEYED, PIVOT)).ends("a", Reply.REFUSED)
    assert bench.state is TaskState.COMPENSATED
    bench.tell(word(Verdict.DONE))
    assert (bench.state, bench.phase("a")) == (TaskState.FAILED, Phase.DOUBT)
    bench.tell(word(Verdict.KEPT))
    assert bench.state is TaskState.COMPENSATED


# --- in the place of a probe


def test_a_person_s_word_is_as_good_as_a_probe_s() -> None:
    for verdict, offered in product((Verdict.DONE, Verdict.ABSENT), (False, True)):
        bench = Bench(step("a", PROBED)).ends("a", Reply.UNKNOWN).wait_out()
        assert bench.phase("a") is Phase.PROBE_PLANNED
        if offered:
            bench.tell(Driven())
        bench.tell(word(verdict, SEVEN if verdict is Verdict.DONE else None))
        bench.look()
        assert bench.phase("a") is (Phase.DONE if verdict is Verdict.DONE else Phase.PLANNED)


def test_a_person_s_word_is_as_good_as_the_probe_s_of_an_undo() -> None:
    for verdict in (Verdict.UNDONE, Verdict.ABSENT, Verdict.KEPT, Verdict.LEFT):
        bench = Bench(series(step("a", PROBED), step("b", KEYED))).done("a")
        bench.tell(CancelAsked("ann"))
        bench.ends("a", Reply.UNKNOWN).wait_out()
        assert bench.phase("a") is Phase.CHECK_PLANNED
        bench.tell(word(verdict))
        parked = verdict is Verdict.LEFT
        assert bench.state is (TaskState.FAILED if parked else TaskState.COMPENSATED)


def test_while_a_probe_is_asked_its_answer_is_waited_for() -> None:
    bench = Bench(step("a", PROBED)).ends("a", Reply.UNKNOWN).wait_out().call("a")
    assert bench.phase("a") is Phase.PROBE_CALLED
    stays(bench, word(Verdict.ABSENT), "step a is under way: it does not wait for a person's word")


def test_a_call_handed_back_in_the_very_moment_of_an_earlier_one_keeps_the_life_of_its_key() -> None:
    bench = Bench(step("a", FOR_A_MINUTE)).call("a")
    until = bench.opened("a").key_until
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    hand_back(bench, "a")
    assert (bench.now, bench.opened("a").key_until) == (START, until)


def test_an_undo_that_was_handed_back_learns_of_a_late_result_in_a_round_of_its_own() -> None:
    """Its key may be forgotten, and a call of the old round is not given what nobody knew then."""
    values, bench = Values(), Bench(step("a", FOR_A_MINUTE)).call("a")
    bench.tell(CancelAsked("ann"))
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.wait_out()
    hand_back(bench, "a")
    bench.late("a", 1)
    values.absorb(bench.facts)
    bench.wait(15_000).tell(Driven())
    values.absorb(bench.facts)
    assert bench.head.undo_rounds == {0: 2}
    assert values.results == {0: SEVEN}


def test_a_probed_undo_keeps_to_the_same_rules() -> None:
    bench = unread_undo(PROBED)
    bench.tell(word(Verdict.UNDONE))
    assert bench.state is TaskState.COMPENSATED
