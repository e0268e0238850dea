"""A task's history, in words and as typed facts."""

import msgspec

from makegood.core.events import (
    Answer,
    CancelAsked,
    Claimed,
    Driven,
    HandedBack,
    LeaseRenewed,
    PauseAsked,
    Probed,
    Reply,
    Reported,
    ResolveAsked,
    Restored,
    ResumeAsked,
    RetryAsked,
    Row,
    SkipAsked,
    Verdict,
)
from makegood.core.record import FORWARD_OPEN, OFFERED, UNDO_OPEN, Kind, Phase
from makegood.reading.phrases import MOVED
from makegood.reading.story import Teller, story
from tests.unit.walk import KEYED, PROBED, TOMB, Walk, step


def test_a_trip_that_was_undone_reads_as_it_went() -> None:
    walk = Walk({"series": [step("flight", TOMB), step("hotel", KEYED)]})
    walk.done("flight", b'"FL-1"')
    walk.call("hotel")
    walk.report("hotel", Reply.REFUSED, error="full")
    walk.inspect()
    walk.done("flight")
    assert walk.story() == [
        'client: submitted: plan book_trip, input {"to":"Rome"}',
        "scheduler: flight: handed out, key trip-9f3a-flight",
        "flight-agent: flight: called, by process p1",
        'flight-agent: flight: done "FL-1"',
        "scheduler: hotel: handed out, key trip-9f3a-hotel",
        "hotel-agent: hotel: called",
        "hotel-agent: hotel: refused: full",
        "supervisor: hotel: failed for good: refused",
        "supervisor: the task is Compensating: hotel: refused: full",
        "supervisor: flight: to be undone",
        "scheduler: undo of flight: handed out, key trip-9f3a-flight-undo",
        "flight-agent: undo of flight: called",
        "flight-agent: undo of flight: done",
        "scheduler: the task is Compensated",
    ]


def test_a_call_that_is_claimed_as_it_is_handed_out_is_one_line() -> None:
    walk = Walk({"series": [step("flight", TOMB)]})
    walk.commit(Driven(), Claimed(0, 1, "p1"))
    walk.report("flight", Reply.TRANSIENT, error="503")
    walk.inspect()
    walk.wait(1)
    walk.commit(Driven(), Claimed(0, 2, "p2"))
    assert walk.story()[1:] == [
        "flight-agent: flight: called, key trip-9f3a-flight, by process p1",
        "flight-agent: flight: certainly no effect: 503",
        "supervisor: flight: to be called again, in 1 s",
        "flight-agent: flight: called again, try 2, by process p2",
    ]


def test_what_a_supervisor_finds_is_told_under_its_name() -> None:
    walk = Walk({"series": [step("hotel", PROBED)]})
    walk.call("hotel")
    walk.wait(6)
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    walk.call("hotel")
    walk.commit(Probed(0, walk.attempt("hotel"), Answer.CANNOT_TELL, error="504"))
    walk.wait(60)
    walk.call("hotel")
    walk.commit(Probed(0, walk.attempt("hotel"), Answer.THERE, msgspec.Raw(b'"H-1"')))
    told = walk.story()
    assert "supervisor: hotel: brought no answer: it may have happened" in told
    assert (
        "supervisor: hotel: left alone until no call can still reach the service, for at least 34 s" in told
    )
    assert "hotel-agent: probe of hotel: the service cannot tell: 504" in told
    assert 'hotel-agent: probe of hotel: it is there "H-1"' in told


def test_a_wait_out_that_grows_longer_is_told_with_its_new_length() -> None:
    walk = Walk({"series": [step("hotel", PROBED)]})
    walk.call("hotel")
    walk.wait(6)
    walk.inspect()
    walk.wait(20)
    walk.commit(Restored("ann", "the disk died"))
    assert walk.story()[-2:] == [
        "ann: a backup was put back; what had been done since is not on record: the disk died",
        "ann: hotel: waited out for longer, for at least 40 s from here",
    ]


def test_what_waits_for_a_person_may_also_grow_longer() -> None:
    walk = Walk({"series": [step("car")]})
    walk.call("car")
    walk.report("car", Reply.TRANSIENT, error="503")
    walk.inspect()
    walk.wait(1)
    walk.call("car")
    walk.report("car", Reply.UNKNOWN)
    walk.inspect()
    walk.wait(39)
    walk.commit(Reported(0, 1, Kind.DO, Reply.UNKNOWN, error="cut off"))
    assert walk.story()[-2:] == [
        "car-agent: car: that came too late to be accepted: filed as evidence",
        "car-agent: car: waited out for longer, for at least 10 s from here",
    ]
    walk.wait(1)
    walk.rows.append((len(walk.rows) + 1, Row(walk.now, "p1", [Claimed(0, 9, "p1")])))  # which cannot be
    assert walk.story()[-1] == "car-agent: car: called again, try 3"


def test_people_are_named_with_their_reason() -> None:
    walk = Walk()
    walk.commit(PauseAsked("ann", "storm"))
    walk.commit(ResumeAsked("bob"))
    walk.commit(RetryAsked(0, "ann", "quick"))
    walk.commit(SkipAsked(2, "ann", "has a car"))
    walk.commit(CancelAsked("ann", "no holiday"))
    told = walk.story()
    assert [line for line in told if "orders" in line] == [
        "ann: orders: pause: storm",
        "bob: orders: resume",
        "ann: orders: retry flight: quick",
        "ann: orders: skip car: has a car",
        "ann: orders: cancel: no holiday",
    ]
    assert "ann: the task is Compensating: cancelled by ann: no holiday" in told


def test_a_verdict_is_told_with_its_result() -> None:
    walk = Walk({"series": [step("car")]})
    walk.call("car")
    walk.report("car", Reply.UNKNOWN)
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    walk.commit(ResolveAsked(0, Verdict.DONE, "ann", "their site shows it", (msgspec.Raw(b'"C-1"'),)))
    told = walk.story()
    assert 'ann: resolves car as done: it happened, with the result "C-1": their site shows it' in told
    doubted = "supervisor: car: only a person can tell whether it happened"
    assert f"{doubted}; a call may still arrive for at least 40 s" in told
    assert "supervisor: car: no call can still reach the service: a person is asked" in told
    assert walk.step("car")["result"] == "C-1"
    fact = next(fact for fact in walk.facts() if fact["fact"] == "ResolveAsked")
    assert (fact["who"], fact["step"], fact["verdict"], fact["result"]) == ("ann", "car", "done", "C-1")
    walk.commit(ResolveAsked(0, Verdict.DONE, "bob", "a slip", (msgspec.Raw(b'"C-2"'),)))
    assert 'bob: corrects car, with the result "C-2": a slip' in walk.story()


def test_a_word_that_comes_before_the_probe_is_asked_again_is_told_as_it_is() -> None:
    walk = Walk({"series": [step("hotel", PROBED)]})
    walk.call("hotel")
    walk.report("hotel", Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    walk.call("hotel")
    walk.commit(Probed(0, walk.attempt("hotel"), Answer.CANNOT_TELL, error="504"))
    walk.commit(ResolveAsked(0, Verdict.ABSENT, "ann"))
    assert walk.story()[-1] == "ann: resolves hotel as absent: it never happened"


def test_what_is_taken_back_as_a_person_speaks_is_no_new_plan() -> None:
    for verdict in ("undone", "absent", "kept", "left"):
        walk = Walk({"series": [step("flight"), step("car")]})
        walk.done("flight", b'"1"')
        walk.commit(CancelAsked("ann"), Driven())
        walk.commit(ResolveAsked(0, Verdict(verdict), "ann"))
        told = walk.story()
        assert any(line.startswith("scheduler: undo of flight: handed out") for line in told)
        spoke = next(
            n for n, line in enumerate(told) if line.startswith(f"ann: resolves flight as {verdict}")
        )
        assert [line for line in told[spoke + 1 :] if line.startswith("ann: flight")] == []


def test_a_result_that_is_corrected_on_the_way_back_is_told_so() -> None:
    walk = Walk({"series": [step("flight"), step("car")]})
    walk.done("flight", b'"1"')
    walk.commit(CancelAsked("ann"))
    walk.commit(ResolveAsked(0, Verdict.DONE, "ann", given=(msgspec.Raw(b'"2"'),)))
    assert 'ann: corrects flight, with the result "2"' in walk.story()


def test_leases_hand_backs_and_late_words() -> None:
    walk = Walk()
    walk.call("flight")
    walk.commit(HandedBack(0, 1, "its process is going down"))
    walk.call("flight")
    walk.commit(LeaseRenewed(0, 2, 5_000))
    walk.commit(LeaseRenewed(0, 2, 5_000, overrun=True))
    walk.report("flight", Reply.TRANSIENT, error="429", retry_after=90_000, key_read=False)
    walk.inspect()
    walk.wait(100)
    walk.commit(Driven())
    walk.commit(Reported(0, 2, Kind.DO, Reply.DONE))
    told = walk.story()
    assert "flight-agent: flight: still under way" in told
    assert any("its thread cannot be stopped" in line for line in told)
    assert (
        "flight-agent: flight: claimed, then handed back unsent, no retry counted: its process is going down"
    ) in told
    assert told.count("scheduler: flight: handed out, key trip-9f3a-flight") == 1
    assert told.count("flight-agent: flight: called, by process p1") == 1
    assert (
        "flight-agent: flight: certainly no effect: 429; not again before 90 s have passed "
        "(it ran without reading its key)"
    ) in told
    assert "flight-agent: flight: that came too late to be accepted: filed as evidence" in told


def test_a_call_that_was_never_sent_is_not_told_as_made_nor_its_agent_as_turning_the_task() -> None:
    walk = Walk({"series": [step("flight", TOMB)]})
    walk.call("flight")
    walk.report("flight", Reply.UNRESOLVED, error="input.legs: there is no leg 3")
    assert walk.story()[1:] == [
        "flight-agent: flight: never sent: input.legs: there is no leg 3",
        "scheduler: the task is Compensating: flight: input.legs: there is no leg 3",
        "scheduler: the task is Compensated",
    ]


def test_nothing_is_told_twice_in_a_row() -> None:
    walk = Walk()
    for _ in range(3):
        walk.call("flight")
        walk.commit(HandedBack(0, walk.attempt("flight"), "input.to: unreadable", 5_000))
        walk.wait(5)
    walk.call("flight")
    for _ in range(3):
        walk.commit(LeaseRenewed(0, walk.attempt("flight"), 5_000))
    assert walk.story()[1:] == [
        "flight-agent: flight: claimed, then handed back unsent, no retry counted: input.to: unreadable",
        "scheduler: flight: handed out, key trip-9f3a-flight",
        "flight-agent: flight: called, by process p1",
        "flight-agent: flight: still under way",
    ]
    assert sum(fact["fact"] == "HandedBack" for fact in walk.facts()) == 3


def test_each_order_of_a_person_is_told() -> None:
    walk = Walk()
    for _ in range(2):
        walk.commit(RetryAsked(-1, "ann"))
    assert walk.story()[1:] == ["ann: orders: retry", "ann: orders: retry"]


def test_told_row_by_row_it_is_the_same_story() -> None:
    walk = Walk({"series": [step("flight", TOMB), step("hotel", KEYED)]})
    walk.done("flight")
    walk.call("hotel")
    walk.report("hotel", Reply.REFUSED, error="full")
    walk.inspect()
    walk.done("flight")
    teller = Teller(walk.plan)
    told = [line for row in walk.rows for line in teller.tell([row])]
    assert told == story(walk.plan, walk.rows)


def test_the_json_form_holds_every_fact() -> None:
    walk = Walk(deadline=60_000)
    walk.done("flight")
    walk.call("hotel")
    walk.report("hotel", Reply.TRANSIENT, error="503", retry_after=2_000)
    facts = walk.facts()
    assert len(facts) == sum(len(row.facts) for _, row in walk.rows)
    assert facts[0] == {
        "version": 1,
        "at": "2026-07-05T10:00:00.000Z",
        "who": "client",
        "process": "p1",
        "fact": "TaskSubmitted",
        "input": {"to": "Rome"},
        "deadline": "2026-07-05T10:01:00.000Z",
        "tags": {},
    }
    by_name = {fact["fact"]: fact for fact in facts}
    assert by_name["Offered"] | {"version": 0} == {
        "version": 0,
        "at": "2026-07-05T10:00:00.000Z",
        "who": "scheduler",
        "process": "p1",
        "fact": "Offered",
        "step": "hotel",
        "kind": "do",
        "attempt": 2,
        "round": 1,
        "key": "trip-9f3a-hotel",
    }
    assert (by_name["Moved"]["phase"], by_name["Moved"]["who"]) == ("reported", "hotel-agent")

    assert by_name["Reported"]["retryAfterMs"] == 2_000
    assert "result" not in by_name["Reported"]
    done = next(fact for fact in facts if fact.get("reply") == "done")
    assert done["result"] is None


def test_facts_and_story_agree_who_ended_the_task() -> None:
    walk = Walk(step("car"))
    walk.done("car")
    assert walk.story()[-1] == "scheduler: the task is Completed"
    assert [fact["who"] for fact in walk.facts() if fact["fact"] == "TaskMoved"] == ["scheduler"]


def test_words_for_every_phase_a_step_moves_into() -> None:
    called = {Phase.CALLED, Phase.PROBE_CALLED, Phase.UNDO_CALLED, Phase.CHECK_CALLED}
    assert set(MOVED) == set(Phase) - OFFERED - called
    assert (FORWARD_OPEN | UNDO_OPEN) - OFFERED - called <= set(MOVED)


def test_long_payloads_are_cut_in_words_only() -> None:
    long = b'"' + b"x" * 1_000 + b'"'
    walk = Walk(input=long)
    assert max(map(len, walk.story())) < 300
    assert len(walk.facts()[0]["input"]) == 1_000


def test_a_call_that_brought_nothing_is_done() -> None:
    walk = Walk({"series": [step("flight", TOMB)]})
    walk.done("flight", b"null")
    assert "flight-agent: flight: done" in walk.story()
