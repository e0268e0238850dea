"""What `makegood why` says, for everything that can be waited for."""

import re

import msgspec

from makegood.core.draft import Draft
from makegood.core.events import (
    NULL,
    Answer,
    CancelAsked,
    Claimed,
    Driven,
    HandedBack,
    Inspected,
    LeaseRenewed,
    PauseAsked,
    Probed,
    Reply,
    Reported,
    ResolveAsked,
    ResumeAsked,
    SkipAsked,
    Verdict,
)
from makegood.core.machine import fold
from makegood.core.record import Kind, Phase
from makegood.reading.under_way import Alive
from makegood.reading.view import summary_of
from makegood.reading.waiting import TELLING, task_waiting, waited_for, waiting_of, waiting_sentence
from tests.unit.walk import KEYED, PROBED, TOMB, Walk, step

EVERYBODY = Alive(frozenset({"scheduler", "agent", "supervisor"}), frozenset({"flight-agent/reserve_flight"}))
NOBODY = Alive(frozenset(), frozenset())


def lines(walk: Walk, alive: Alive | None = None) -> list[str]:
    return walk.why(alive).split("\n")


def waits_for(walk: Walk) -> str:
    waiting = task_waiting(walk.plan, walk.head, walk.now)
    assert waiting is not None
    return waiting.on


def test_lease() -> None:
    walk = Walk()
    walk.call("flight")
    assert waits_for(walk) == "lease"
    assert lines(walk) == [
        f"trip-9f3a is Running (plan book_trip {walk.plan.version[:12]})",
        "  waits for  a call under way (flight)",
        "  since      2026-07-05T10:00:00.000Z",
        "  until      2026-07-05T10:00:30.000Z",
        "  next       flight-agent reports how reserve_flight ended",
        "flight: flight-agent is calling reserve_flight. Meanwhile the agent renews a short lease: should it "
        "fall silent, that ends at 2026-07-05T10:00:05.000Z, and a supervisor takes over.",
    ]


def test_lease_of_a_thread_that_cannot_be_stopped() -> None:
    walk = Walk()
    walk.call("flight")
    walk.wait(30)
    walk.commit(LeaseRenewed(0, walk.attempt("flight"), 5_000, overrun=True))
    walk.wait(2)
    assert waits_for(walk) == "lease"
    assert "  until      2026-07-05T10:00:35.000Z" in lines(walk)
    assert "flight-agent has been calling reserve_flight since" in walk.why()
    assert "past its timeout, and cannot be stopped." in walk.why()


def test_nobody_is_asked_for_what_was_just_said() -> None:
    walk = Walk({"parallel": [step("car"), step("bus")]})
    walk.call("car", "bus")
    for name in ("car", "bus"):
        walk.report(name, Reply.UNKNOWN, error="silent")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    walk.commit(ResolveAsked(0, Verdict.ABSENT, "ann", "asked them"))
    assert "  waits for  a person (bus)" in lines(walk)
    assert "car: it did not happen: a supervisor goes on from there." in lines(walk)
    walk.inspect()
    assert "  waits for  a person (bus)" in lines(walk)
    assert "  next       a person says whether bus happened" in lines(walk)
    walk.commit(ResolveAsked(1, Verdict.ABSENT, "ann", "asked them"))
    assert "  next       it did not happen: a supervisor goes on from there" in lines(walk)


def test_parked_and_paused() -> None:
    walk = Walk({"series": [step("car")]})
    walk.call("car")
    walk.report("car", Reply.UNKNOWN, error="silent")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    walk.commit(PauseAsked("ann", "storm"))
    both = "a person says whether car happened; it is paused as well, and must be resumed"
    assert f"  next       {both}" in lines(walk)
    assert "Paused by ann at 2026-07-05T10:01:00.000Z: storm." in lines(walk)
    lifted = "lift its pause; it goes on once nothing else blocks it"
    resume = f"  makegood resume trip-9f3a                                    {lifted}"
    assert resume in lines(walk)
    assert walk.record()["waiting"]["next"] == both
    assert walk.record()["acts"] == ["resolve car done|absent", "resume", "cancel"]
    walk.commit(ResumeAsked("ann"))
    assert "resume" not in walk.why()
    assert walk.record()["acts"] == ["resolve car done|absent", "cancel"]


def test_scheduler() -> None:
    walk = Walk()
    assert waits_for(walk) == "scheduler"
    assert lines(walk, EVERYBODY)[1:] == [
        "  waits for  a scheduler (flight)",
        "  since      2026-07-05T10:00:00.000Z",
        "  next       a scheduler hands out reserve_flight",
    ]
    assert "No scheduler is alive on this store; start one: `makegood up APP`." in walk.why(NOBODY)


def test_agent() -> None:
    walk = Walk()
    walk.commit(Driven())
    assert waits_for(walk) == "agent"
    missing = (
        "No living process has flight-agent/reserve_flight. Start one: `makegood up APP`, where APP holds "
        'Agent("flight-agent") with the action reserve_flight.'
    )
    assert missing in walk.why(NOBODY)
    assert "it claims the call when it has room" in walk.why(EVERYBODY)
    assert missing not in walk.why(EVERYBODY)


def test_agent_that_handed_the_call_back() -> None:
    walk = Walk()
    walk.call("flight")
    walk.commit(HandedBack(0, walk.attempt("flight"), "input.to: Expected `int`, got `str`", 5_000))
    assert waits_for(walk) == "agent"
    assert lines(walk)[5:] == [
        "flight: flight-agent handed reserve_flight back unsent: input.to: Expected `int`, got `str`. No "
        "retry is counted; it is offered again at 2026-07-05T10:00:05.000Z. Deploy code whose agent "
        "flight-agent can make it: a process that starts has it offered at once; or choose from what is said "
        "below.",
        "",
        'What you can do (with --why "..." the history keeps your reason)',
        "  makegood retry trip-9f3a flight  try it again now, counting from the start",
        "  makegood skip trip-9f3a flight   go on as if it were done by hand",
        "  makegood cancel trip-9f3a        end it; as it stands, nothing is to be undone",
    ]
    walk.wait(5)
    walk.call("flight")
    walk.commit(HandedBack(0, walk.attempt("flight"), "input.to: Expected `int`, got `str`", 10_000))
    assert "  since      2026-07-05T10:00:00.000Z" in lines(walk)  # the first of them
    walk.wait(10)
    assert waits_for(walk) == "scheduler"
    assert "handed reserve_flight back unsent: input.to" in walk.why()
    assert "it is offered again now" in walk.why()
    walk.commit(Driven())
    assert "no agent has claimed it. It was handed back before: input.to: Expected `int`" in walk.why()
    walk.commit(PauseAsked("ann"))
    assert "No retry is counted; it is offered again once the task is resumed" in walk.why()


def test_agent_of_which_no_living_process_has_the_action() -> None:
    walk = Walk()
    walk.done("flight")
    walk.commit(CancelAsked("ann"), Driven())
    assert "makegood resolve trip-9f3a flight undone" in walk.why(Alive(EVERYBODY.roles, frozenset()))
    for alive in (EVERYBODY, NOBODY, None):
        assert "What you can do" not in walk.why(alive)


def test_agent_that_cannot_read_what_it_is_to_undo() -> None:
    walk = Walk()
    walk.done("flight")
    walk.commit(CancelAsked("ann"))
    walk.call("flight")
    walk.commit(HandedBack(0, walk.attempt("flight"), "result: Expected `int`", 5_000))
    assert "flight-agent handed its undo cancel_flight back unsent: result: Expected `int`" in walk.why()
    assert "makegood cancel" not in walk.why()


def test_another_result_is_asked_for_where_the_one_on_record_is_not_read() -> None:
    """Nowhere else could it help: not where a function or a parameter is lacking, nor for another step."""
    correct = "makegood resolve trip-9f3a {} done --result JSON"
    reads_hotel = {"args": {"at": {"$ref": "hotel", "path": ["address"]}, "who": {"$ref": "input"}}}
    body = {"series": [step("flight"), step("hotel"), step("car", reads_hotel)]}
    for why, meant in (
        ("car-agent/reserve_car.at: Expected `int`, got `str`", ["hotel"]),
        ("car-agent/reserve_car.who: Expected `int`, got `str`", []),
        ("car-agent/reserve_car is given no 'price', a parameter which this task is older than", []),
        ("the input is stored by codec 'fernet'", []),
    ):
        walk = Walk(body)
        walk.done("flight")
        walk.done("hotel", b'{"address": "x"}')
        walk.call("car")
        walk.commit(HandedBack(2, walk.attempt("car"), why, 5_000))
        assert [name for name in ("flight", "hotel") if correct.format(name) in walk.why()] == meant
    for why, meant in (
        ("the result of hotel: Expected `int`", ["hotel"]),
        ("the result of hotel.address: Expected `int`", ["hotel"]),
        ("hotel-agent/reserve_hotel has no undo, and this task began with", []),
    ):
        walk = Walk(body)
        walk.done("flight")
        walk.done("hotel")
        walk.commit(CancelAsked("ann"))
        walk.call("hotel")
        walk.commit(HandedBack(1, walk.attempt("hotel"), why, 5_000))
        assert [name for name in ("flight", "hotel") if correct.format(name) in walk.why()] == meant
        assert "makegood resolve trip-9f3a hotel undone" in walk.why()


def test_the_keys_are_told_by_which_a_person_finds_what_nobody_calls() -> None:
    walk = Walk()
    walk.done("flight", b'"1"')
    walk.call("hotel")
    walk.report("hotel", Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.call("hotel")
    walk.commit(HandedBack(1, walk.attempt("hotel"), "hotel-agent/reserve_hotel.at: Expected `int`", 5_000))
    said = walk.why()
    assert "  flight  done, key trip-9f3a-flight; undo cancel_flight\n" in said
    assert (
        "key trip-9f3a-hotel: handed back: hotel-agent/reserve_hotel.at: Expected `int`; it is to be" in said
    )


def test_a_cancel_that_waits_for_its_pivot_says_so_where_that_is_handed_back() -> None:
    walk = Walk({"series": [step("flight"), step("pay", KEYED, {"pivot": True})]})
    walk.done("flight")
    walk.call("pay")
    walk.report("pay", Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.call("pay")
    walk.commit(HandedBack(1, walk.attempt("pay"), "pay-agent/reserve_pay.at: Expected `int`", 5_000))
    assert "makegood cancel trip-9f3a            undo what was done, once pay is settled" in walk.why()


def test_an_undo_that_was_left_is_not_said_to_be_out_of_time() -> None:
    for verdict, over in ((Verdict.LEFT, False), (None, True)):
        walk = Walk({"series": [step("flight"), step("car")]})
        walk.done("flight")
        walk.commit(CancelAsked("ann"))
        walk.call("flight")
        back = HandedBack(0, walk.attempt("flight"), "the result of flight: Expected `int`", 5_000)
        if verdict is None:
            walk.wait(90_000)
        walk.commit(back)
        if verdict is not None:
            walk.commit(ResolveAsked(0, verdict, "ann"))
        assert ("undo cancel_flight, whose time is over: handed back:" in walk.why()) is over
        assert "undo cancel_flight" in walk.why()


def test_supervisor() -> None:
    walk = Walk()
    walk.call("flight")
    walk.report("flight", Reply.TRANSIENT, error="503")
    assert waits_for(walk) == "supervisor"
    assert "  next       a supervisor finds the remedy (certainly no effect: 503)" in lines(walk)
    assert "No supervisor is alive on this store" in walk.why(NOBODY)


def test_supervisor_for_a_silent_agent() -> None:
    walk = Walk()
    walk.call("flight")
    walk.wait(6)
    assert waits_for(walk) == "supervisor"
    assert "a supervisor finds that flight-agent fell silent over reserve_flight" in walk.why()


def test_backoff() -> None:
    walk = Walk()
    walk.call("flight")
    walk.report("flight", Reply.TRANSIENT, error="503 busy")
    walk.inspect()
    assert waits_for(walk) == "backoff"
    assert lines(walk)[-1] == (
        "flight: certainly no effect: 503 busy; reserve_flight is tried again at 2026-07-05T10:00:01.000Z "
        "(retry 1 of 4), or now by `makegood retry trip-9f3a flight`."
    )


def test_backoff_past_the_pivot_has_no_end() -> None:
    walk = Walk({"series": [step("pay", KEYED, pivot=True), step("hotel", KEYED)]})
    walk.done("pay")
    walk.call("hotel")
    walk.report("hotel", Reply.TRANSIENT)
    walk.inspect()
    assert "(retry 1), or now" in walk.why()


def lost_hotel() -> Walk:
    walk = Walk({"series": [step("hotel", PROBED)]})
    walk.call("hotel")
    walk.report("hotel", Reply.UNKNOWN, error="connection reset")
    walk.commit(Inspected())
    return walk


def test_person_who_can_have_the_probe_asked_again() -> None:
    walk = lost_hotel()
    while walk.phase("hotel") is not Phase.DOUBT:
        walk.wait(3_600)
        if walk.phase("hotel") is Phase.PROBE_PLANNED:
            walk.call("hotel")
            walk.commit(Probed(0, walk.attempt("hotel"), Answer.CANNOT_TELL, error="504"))
        else:
            walk.inspect()
    assert re.search("  makegood retry trip-9f3a hotel +ask find_hotel again now\n", walk.why())
    walk.commit(ResolveAsked(0, Verdict.ABSENT, "ann", "asked them"))
    walk.inspect()
    assert lines(walk)[-1].startswith("hotel: it never happened, says ann; reserve_hotel is tried again at")


def test_person_whose_done_is_undone_at_once() -> None:
    walk = doubtful()
    walk.wait(60)
    walk.inspect()
    walk.commit(CancelAsked("ann"))
    assert (
        "  makegood resolve trip-9f3a car done --result JSON --app APP  it happened, and cancel_car undoes it"
        in lines(walk)
    )


def test_wait_out() -> None:
    walk = lost_hotel()
    assert waits_for(walk) == "waitOut"
    assert lines(walk)[-2:] == [
        "  next       no call can still arrive then; its probe find_hotel asks whether it happened",
        "hotel: it may have happened: connection reset.",
    ]


def test_wait_out_of_a_service_without_a_probe() -> None:
    walk = Walk({"series": [step("hotel", KEYED)]})
    walk.call("hotel")
    walk.commit(CancelAsked("ann"))
    walk.report("hotel", Reply.UNKNOWN)
    walk.inspect()
    assert waits_for(walk) == "waitOut"
    assert "no call can still arrive then; cancel_hotel undoes it, happened or not" in walk.why()


def test_probe() -> None:
    walk = lost_hotel()
    walk.wait(60)
    walk.inspect()
    walk.call("hotel")
    assert waits_for(walk) == "probe"
    assert "hotel-agent is asking the service with its probe find_hotel. Meanwhile" in walk.why()
    walk.commit(Probed(0, walk.attempt("hotel"), Answer.CANNOT_TELL, error="504"))
    assert waits_for(walk) == "probe"
    assert "the service could not tell: 504; its probe find_hotel asks again at" in walk.why()
    assert "says before whether it happened: `makegood resolve trip-9f3a hotel done|absent`" in walk.why()
    for verdict, given in ((Verdict.DONE, (NULL,)), (Verdict.ABSENT, ())):
        settled = Draft(walk.plan, "trip-9f3a", walk.head, walk.now)
        assert fold(settled, ResolveAsked(0, verdict, "ann", given=given))


def test_pause() -> None:
    walk = Walk()
    walk.call("flight")
    walk.commit(PauseAsked("ann", "the airline is down"))
    assert waits_for(walk) == "pause"
    said = walk.why()
    assert "Paused by ann at 2026-07-05T10:00:00.000Z: the airline is down." in said
    assert "`makegood resume trip-9f3a` lets it go on." in said
    assert (
        "flight: flight-agent is calling reserve_flight, since 2026-07-05T10:00:00.000Z and until "
        "2026-07-05T10:00:30.000Z at the latest. Meanwhile"
    ) in said


def doubtful() -> Walk:
    walk = Walk({"series": [step("flight", TOMB), step("car")]})
    walk.done("flight")
    walk.call("car")
    walk.report("car", Reply.UNKNOWN, error="reset")
    walk.inspect()
    return walk


def test_what_a_person_says_never_happened_turns_a_task_that_is_out_of_tries() -> None:
    walk = Walk({"series": [step("flight", TOMB), step("car", retry={"attempts": 1})]})
    walk.done("flight")
    walk.call("car")
    walk.report("car", Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    assert "car absent                        it never happened: what was done is undone" in walk.why()


def test_a_person_is_asked_once_a_call_that_may_be_late_can_no_longer_arrive() -> None:
    walk = doubtful()
    walk.wait(60)
    walk.inspect()
    walk.head.open[1].late = walk.now + 5_000
    assert waits_for(walk) == "waitOut"
    assert "  until      2026-07-05T10:01:05.000Z" in lines(walk)
    assert "resolve trip-9f3a car absent" not in walk.why()
    walk.wait(5)
    assert waits_for(walk) == "person"
    assert "resolve trip-9f3a car absent" in walk.why()


def test_what_never_happened_is_called_again_once_all_else_is_settled() -> None:
    walk = Walk({"parallel": [step("car"), step("hotel")]})
    walk.call("car", "hotel")
    for name in ("car", "hotel"):
        walk.report(name, Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    said = walk.why()
    assert (
        "car absent                          it never happened: reserve_car is called again, once hotel"
        in said
    )
    walk.commit(PauseAsked("ann"))
    assert "once hotel is settled and the task is resumed" in walk.why()


def test_what_the_call_said_and_what_the_probe_said_are_both_told() -> None:
    walk = lost_hotel()
    walk.wait(60)
    walk.inspect()
    for _ in range(walk.plan.steps[0].asks):
        walk.call("hotel")
        walk.commit(Probed(0, walk.attempt("hotel"), Answer.CANNOT_TELL, error="504"))
        walk.wait(600)
    walk.inspect()
    asked = walk.plan.steps[0].asks
    assert (
        f"  hotel  key trip-9f3a-hotel: connection reset; find_hotel could not tell: 504, asked {asked} times"
    ) in lines(walk)
    assert walk.step("hotel")["error"] == "connection reset"


def test_wait_out_before_a_person_is_asked() -> None:
    walk = doubtful()
    assert walk.record()["state"] == "Running"
    assert walk.record()["waiting"] == {
        "for": "waitOut",
        "step": "car",
        "since": "2026-07-05T10:00:00.000Z",
        "until": "2026-07-05T10:00:40.000Z",
        "next": "no call can still arrive then; a person is asked whether car happened",
    }


def test_wait_out_that_only_a_process_which_saw_it_pass_may_end() -> None:
    for walk, call, after in (
        (doubtful(), "reset", "a person is asked whether car happened"),
        (lost_hotel(), "connection reset", "its probe find_hotel asks whether it happened"),
    ):
        walk.wait(41)
        waiting = task_waiting(walk.plan, walk.head, walk.now)
        assert waiting is not None
        assert (waiting.on, waiting.until) == ("waitOut", 0)
        assert waiting.next == (
            "a supervisor sees that no call can still arrive (one that has just started waits the whole 40 s "
            f"itself); {after}"
        )
        assert lines(walk)[-1].endswith(f": it may have happened: {call}.")
        assert walk.why().count("waits the whole 40 s") == 1


def test_wait_out_of_an_undo_before_a_person_is_asked() -> None:
    walk = Walk({"series": [step("car"), step("flight", TOMB)]})
    walk.done("car")
    walk.commit(CancelAsked("ann"))
    walk.call("car")
    walk.report("car", Reply.UNKNOWN, error="reset")
    walk.inspect()
    assert walk.phase("car") is Phase.UNDO_STUCK
    assert waits_for(walk) == "waitOut"
    assert "a person is asked what became of car: its undo cancel_car cannot be finished" in walk.why()


def test_an_error_that_was_cut_has_dots() -> None:
    walk = Walk({"series": [step("car")]})
    walk.call("car")
    walk.report("car", Reply.REFUSED, error="sold out, " * 30)
    walk.inspect()
    assert f"  because    car: refused: {'sold out, ' * 20}..." in lines(walk)


def test_person() -> None:
    walk = doubtful()
    walk.wait(60)
    walk.inspect()
    assert lines(walk) == [
        f"trip-9f3a is Failed (plan book_trip {walk.plan.version[:12]})",
        "  because    car: only a person can tell whether it happened (it may have happened: reset)",
        "  waits for  a person (car)",
        "  since      2026-07-05T10:01:00.000Z",
        "  next       a person says whether car happened",
        "",
        "In effect outside",
        "  flight  done, key trip-9f3a-flight; undo cancel_flight",
        "",
        "In doubt",
        "  car  key trip-9f3a-car: reset; car-agent declares neither keys nor a probe, so it can be "
        "neither repeated nor asked about",
        "`makegood show trip-9f3a --step car` tells with what it was called.",
        "",
        'What you can do (with --why "..." the history keeps your reason)',
        "  makegood resolve trip-9f3a car done --result JSON --app APP  it happened; its result is used",
        "  makegood resolve trip-9f3a car absent                        it never happened: "
        "reserve_car is called again",
        "  makegood cancel trip-9f3a                                    undo what was done, "
        "once car is settled",
        "JSON is what the step's action returns; APP is the app that has it, and checks it by its type.",
    ]


def stuck_undo() -> Walk:
    walk = Walk({"series": [step("flight", TOMB), step("car")]})
    walk.done("flight")
    walk.commit(CancelAsked("ann", "no holiday"))
    walk.call("flight")
    walk.report("flight", Reply.REFUSED, error="departed")
    walk.inspect()
    return walk


def test_person_for_an_undo_that_cannot_be_finished() -> None:
    said = stuck_undo().why()
    assert "flight: its undo cancel_flight cannot be finished (refused: departed)" in said
    assert "the task was being undone (cancelled by ann: no holiday)" in said
    assert "  flight  done, key trip-9f3a-flight; undo cancel_flight: departed" in said
    for act in ("resolve trip-9f3a flight kept", "resolve trip-9f3a flight left", "retry trip-9f3a flight"):
        assert f"  makegood {act} " in said
    assert "makegood cancel" not in said


def test_person_for_what_was_left() -> None:
    walk = stuck_undo()
    walk.commit(ResolveAsked(0, Verdict.LEFT, "ann"))
    assert waits_for(walk) == "person"
    assert "a person says whether flight, left in effect, is undone or kept" in walk.why()
    assert "  flight  left, key trip-9f3a-flight" in walk.why()


def test_person_for_an_undo_that_is_stuck_comes_before_what_was_left() -> None:
    walk = Walk({"series": [step("flight"), step("hotel"), step("car")]})
    walk.done("flight")
    walk.done("hotel")
    walk.commit(CancelAsked("ann"))
    for name, verdict in (("hotel", Verdict.LEFT), ("flight", None)):
        walk.call(name)
        walk.report(name, Reply.REFUSED, error="no")
        walk.inspect()
        if verdict is not None:
            walk.commit(ResolveAsked(walk.plan.index_of[name], verdict, "ann"))
    assert "  waits for  a person (flight)" in lines(walk)


def test_persons_for_two_branches_in_doubt() -> None:
    walk = Walk({"parallel": [step("car"), step("van"), step("tram")]})
    walk.call("car", "van", "tram")
    for name in ("car", "van", "tram"):
        walk.report(name, Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    assert "  next       a person says whether car happened; van, tram wait for a person too" in lines(walk)
    walk.commit(ResolveAsked(1, Verdict.DONE, "ann", given=(NULL,)))
    assert "  next       a person says whether car happened; tram waits for a person too" in lines(walk)


def test_person_for_a_task_that_has_a_deadline() -> None:
    walk = Walk({"series": [step("car"), step("van")]}, deadline=600_000)
    walk.call("car")
    walk.report("car", Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    assert waits_for(walk) == "person"
    assert "Its deadline is 2026-07-05T10:10:00.000Z: if it is not done by then, what was done" in walk.why()
    walk.wait(600)
    assert "Its deadline passed at 2026-07-05T10:10:00.000Z: what was done is undone, once what" in walk.why()


def test_person_for_a_sibling_that_may_not_start() -> None:
    """Nobody can be asked before no call can still arrive: the sibling, too, waits for that first."""
    walk = Walk({"parallel": [step("car"), step("flight", TOMB)]})
    walk.commit(Driven(), Claimed(0, 1, "p1"))
    walk.report("car", Reply.UNKNOWN)
    walk.inspect()
    assert walk.phase("flight") is Phase.PLANNED
    for seconds, expected in ((0, "waitOut"), (41, "waitOut"), (0, "person")):
        walk.wait(seconds)
        waiting = waiting_of(walk.plan, walk.head, 1, walk.now)
        assert waiting is not None
        assert (waiting.on, waits_for(walk)) == (expected, expected)
        assert "nothing more starts" in waiting.next
        if seconds:
            walk.inspect()


def test_everything_that_can_be_waited_for_is_tested_here() -> None:
    tested = {name.split("_")[1] for name in globals() if name.startswith("test_")}
    assert {on.lower().removesuffix("out") for on in TELLING} <= tested


def test_an_act_that_waits_for_the_pivot_is_told() -> None:
    walk = Walk({"series": [step("flight", TOMB), step("pay", KEYED, pivot=True)]})
    walk.done("flight")
    walk.call("pay")
    walk.commit(CancelAsked("ann"))
    assert "It is to be undone: cancelled by ann." in walk.why()
    assert "Before that it must be known whether pay, its pivot, happened." in walk.why()


def test_a_deadline_is_told_as_long_as_it_may_turn_the_task() -> None:
    walk = Walk({"series": [step("hotel", KEYED), step("pay", KEYED, pivot=True)]}, deadline=60_000)
    ahead = "Its deadline is 2026-07-05T10:01:00.000Z: if it is not done by then, what was done is undone."
    assert ahead in lines(walk)
    walk.wait(61)
    passed = "Its deadline passed at 2026-07-05T10:01:00.000Z: what was done is undone, as soon as a process"
    assert f"{passed} sees to it." in lines(walk)
    walk.inspect()
    assert "eadline is" not in walk.why()
    walk = Walk({"series": [step("pay", KEYED, pivot=True), step("hotel", KEYED)]}, deadline=60_000)
    walk.done("pay")
    assert "Its deadline" not in walk.why()


def test_the_deadline_of_a_paused_task_is_told() -> None:
    walk = Walk(deadline=60_000)
    walk.commit(PauseAsked("ann"))
    walk.wait(61)
    passed = "Its deadline passed at 2026-07-05T10:01:00.000Z: what was done is undone, once it is resumed."
    assert passed in lines(walk)


def test_the_deadline_of_a_step_is_told() -> None:
    walk = Walk({"series": [step("hotel", KEYED, deadline=20), step("car")]})
    walk.call("hotel")
    ahead = "The deadline of hotel is 2026-07-05T10:00:20.000Z: if it is not done by then, what was done is"
    assert ahead in walk.why()
    walk.wait(21)
    assert "The deadline of hotel passed at 2026-07-05T10:00:20.000Z: what was done is undone" in walk.why()
    walk.inspect()
    assert "The deadline of" not in walk.why()


def test_a_probe_that_was_handed_back_did_not_ask() -> None:
    walk = lost_hotel()
    walk.wait(60)
    walk.inspect()
    walk.call("hotel")
    walk.commit(HandedBack(0, walk.attempt("hotel"), "input.to: no such field", 15_000))
    assert waits_for(walk) == "agent"
    said = walk.why()
    assert "hotel: hotel-agent handed its probe find_hotel back unsent: input.to: no such field. No" in said
    assert "could not tell" not in said
    assert "makegood resolve trip-9f3a hotel done" in said
    assert "in the place of the recorded one" not in said, "there is none"
    assert walk.step("hotel")["error"] == "connection reset"
    assert walk.step("hotel")["probeError"] == "handed back: input.to: no such field"


def test_a_retry_that_nobody_hands_out_keeps_the_word_that_led_to_it() -> None:
    walk = Walk()
    walk.call("flight")
    walk.report("flight", Reply.TRANSIENT, error="503 busy")
    walk.inspect()
    walk.wait(5)
    assert waits_for(walk) == "scheduler"
    assert "flight: certainly no effect: 503 busy; a scheduler hands out reserve_flight." in lines(walk)


def test_a_pivot_whose_service_knows_its_key_for_ever_is_out_of_tries() -> None:
    walk = Walk({"series": [step("pay", KEYED, pivot=True, retry={"attempts": 1})]})
    walk.call("pay")
    walk.report("pay", Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    assert "  pay  key trip-9f3a-pay: reset; its tries are used up" in lines(walk)


def test_a_deadline_past_the_pivot_is_told() -> None:
    walk = Walk({"series": [step("pay", KEYED, pivot=True), step("hotel", KEYED)]}, deadline=60_000)
    walk.done("pay")
    walk.wait(61)
    walk.commit(Inspected())
    assert "Its deadline was found passed at 2026-07-05T10:01:01.000Z" in walk.why()


def test_how_a_task_completed() -> None:
    walk = Walk({"series": [step("flight", TOMB), step("car")]})
    walk.done("flight")
    walk.commit(SkipAsked(1, "ann"))
    assert lines(walk) == [
        f"trip-9f3a is Completed (plan book_trip {walk.plan.version[:12]})",
        "It ended at 2026-07-05T10:00:00.000Z.",
        "",
        "Its steps",
        "  flight  done",
        "  car     skipped by ann",
    ]


def test_how_a_task_was_compensated() -> None:
    walk = Walk()
    walk.done("flight")
    walk.call("hotel")
    walk.report("hotel", Reply.REFUSED, error="full")
    walk.inspect()
    walk.done("flight")
    assert lines(walk)[1:] == [
        "  because    hotel: refused: full",
        "It ended at 2026-07-05T10:00:00.000Z.",
        "",
        "Its steps",
        "  flight  undone",
        "  hotel   refused: full",
        "  car     never called",
    ]


def test_what_a_person_said_stands_as_they_said_it() -> None:
    walk = stuck_undo()
    walk.commit(ResolveAsked(0, Verdict.ABSENT, "ann", "asked them"))
    assert "  flight  it never happened, says ann" in lines(walk)
    assert walk.step("flight")["outcome"] == "undone"
    assert (walk.step("flight")["settledBy"], walk.step("flight")["settledAs"]) == ("ann", "absent")


def test_lists_say_it_from_the_head_alone() -> None:
    walk = doubtful()
    walk.wait(60)
    walk.inspect()
    summary = summary_of(walk.plan, "trip-9f3a", walk.head, walk.now)
    assert summary["waiting"]["for"] == "person"
    assert summary["waiting"]["step"] == "car"


def test_a_waiting_in_words() -> None:
    waiting = doubtful().record()["waiting"]
    assert waited_for(waiting) == "a lost call's time to run out (car)"
    assert waiting_sentence(waiting) == (
        "a lost call's time to run out (car), since 2026-07-05T10:00:00.000Z, until "
        "2026-07-05T10:00:40.000Z: no call can still arrive then; a person is asked whether car happened"
    )


def test_evidence_of_a_second_effect_is_told_of_a_completed_task() -> None:
    """A call outlived its bound at a service without keys: the probe saw nothing, another call was made."""
    walk = Walk(step("car", PROBED))
    walk.call("car")
    first = walk.attempt("car")
    walk.wait(31)
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    walk.call("car")
    walk.commit(Probed(0, walk.attempt("car"), Answer.ABSENT))
    walk.inspect()
    walk.wait(60)
    walk.done("car", b'"C-2"')
    assert "Look at car" not in walk.why()
    walk.commit(Reported(0, first, Kind.DO, Reply.DONE, msgspec.Raw(b'"C-1"')))
    assert f"call {first} was reported done as well" in walk.why()
    assert '"C-1"' in walk.why()
