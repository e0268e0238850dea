"""The exported record: the pattern's document, in every phase a step can be in."""

import re
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from makegood.core.events import (
    Answer,
    CancelAsked,
    Driven,
    HandedBack,
    PauseAsked,
    Probed,
    Reply,
    Reported,
    ResolveAsked,
    RetryAsked,
    SkipAsked,
    Verdict,
)
from makegood.core.record import FORWARD_OPEN, UNDO_OPEN, WAITING_OUT, Kind, Phase
from makegood.reading.past import Past
from makegood.reading.step_view import SHOWN
from makegood.testing.observer import Run
from tests.core.plans import PLANS, REFUSE_UNDO
from tests.core.test_walks import CALM, TROUBLE
from tests.core.world import World
from tests.unit.walk import KEYED, PROBED, TOMB, Walk, step

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
PAYLOADS = {"input", "output", "arguments", "result"}
MOMENTS = {"createdAt", "deadline", "completeBy", "leaseUntil", "since", "until", "at"}


def test_a_task_under_way_is_the_pattern_s_document() -> None:
    walk = Walk()
    walk.done("flight", b'{"confirmation":"FL-88213"}')
    walk.wait(15)
    walk.call("hotel")
    walk.wait(30)
    walk.report("hotel", Reply.UNKNOWN, error="timeout")
    walk.inspect()
    walk.call("hotel")

    record = walk.record()
    pattern = ("name", "agent", "state", "idempotencyKey", "completeBy", "retryCount", "result")
    assert list(record)[:3] == ["taskId", "state", "createdAt"]
    assert {name: record[name] for name in ("taskId", "state", "createdAt")} == {
        "taskId": "trip-9f3a",
        "state": "Running",
        "createdAt": "2026-07-05T10:00:00.000Z",
    }
    assert [{name: s[name] for name in pattern if name in s} for s in record["steps"]] == [
        {
            "name": "flight",
            "agent": "flight-agent",
            "state": "Completed",
            "idempotencyKey": "trip-9f3a-flight",
            "completeBy": "2026-07-05T10:00:30.000Z",
            "retryCount": 0,
            "result": {"confirmation": "FL-88213"},
        },
        {
            "name": "hotel",
            "agent": "hotel-agent",
            "state": "Running",
            "idempotencyKey": "trip-9f3a-hotel",
            "completeBy": "2026-07-05T10:01:15.000Z",
            "retryCount": 1,
        },
        {
            "name": "car",
            "agent": "car-agent",
            "state": "NotStarted",
            "idempotencyKey": "trip-9f3a-car",
            "retryCount": 0,
        },
    ]
    assert all(list(s)[:3] == ["name", "agent", "state"] for s in record["steps"])


def test_what_we_add_to_the_task() -> None:
    walk = Walk(deadline=60_000, tags={"customer": "7"}, output={"$ref": "flight"})
    record = walk.record()
    assert record["plan"] == "book_trip"
    assert record["planVersion"] == walk.plan.version[:12]
    assert record["deadline"] == "2026-07-05T10:01:00.000Z"
    assert record["tags"] == {"customer": "7"}
    assert record["input"] == {"to": "Rome"}
    assert record["paused"] is False
    assert not record.keys() & {"output", "reason", "direction", "acts"}
    assert record["waiting"] == {
        "for": "scheduler",
        "step": "flight",
        "since": "2026-07-05T10:00:00.000Z",
        "next": "a scheduler hands out reserve_flight",
    }


def test_a_step_that_was_called_shows_its_arguments() -> None:
    flight = step("flight", TOMB) | {"args": {"to": {"$ref": "input", "path": ["to"]}}}
    hotel = step("hotel", KEYED) | {"args": {"at": {"$ref": "flight", "path": ["at"]}, "nights": 3}}
    car = step("car", KEYED) | {"args": {"at": {"$ref": "hotel", "path": ["gone"]}}}
    walk = Walk({"series": [flight, hotel, car]})
    assert not any("arguments" in shown for shown in walk.record()["steps"])
    walk.done("flight", b'{"at":7}')
    walk.done("hotel", b"{}")
    walk.call("car")
    assert [shown.get("arguments") for shown in walk.record()["steps"]] == [
        {"to": "Rome"},
        {"at": 7, "nights": 3},
        None,
    ]


def test_a_completed_task_shows_its_output_and_waits_for_nothing() -> None:
    walk = Walk({"series": [step("flight", TOMB)]}, output={"at": {"$ref": "flight", "path": ["at"]}})
    walk.done("flight", b'{"at":7}')
    record = walk.record()
    assert (record["state"], record["output"]) == ("Completed", {"at": 7})
    assert not record.keys() & {"waiting", "reason"}
    assert "error" not in record["steps"][0]


def test_a_null_output_and_a_null_result_are_values() -> None:
    walk = Walk({"series": [step("flight", TOMB)]})
    walk.done("flight")
    assert walk.record()["output"] is None
    assert walk.step("flight")["result"] is None


def test_an_output_that_is_not_there_is_said_and_hides_nothing() -> None:
    walk = Walk({"series": [step("flight", TOMB)]}, output={"$ref": "flight", "path": ["gate"]})
    walk.done("flight", b"{}")
    record = walk.record()
    assert "flight.gate" in record["outputError"]
    assert "output" not in record
    assert walk.step("flight")["state"] == "Completed"


# --- every phase: the hotel (keyed, with a probe) between a flight (tombstones) and a car (neither)

Road = Callable[[], Walk]


def on_the_way(*moves: Callable[[Walk], object]) -> Road:
    """The flight is done; then these moves."""

    def road() -> Walk:
        walk = Walk()
        walk.done("flight")
        for move in moves:
            move(walk)
        return walk

    return road


def offer(walk: Walk) -> None:
    walk.commit(Driven())


def call(walk: Walk) -> None:
    walk.call("hotel")


def answer(reply: Reply, error: str = "") -> Callable[[Walk], object]:
    return lambda walk: walk.report("hotel", reply, b'"H-1"', error)


def probed(word: Answer) -> Callable[[Walk], object]:
    return lambda walk: walk.commit(Probed(1, walk.attempt("hotel"), word, msgspec.Raw(b'"H-1"')))


def wait(seconds: float) -> Callable[[Walk], object]:
    return lambda walk: walk.wait(seconds)


def settle(verdict: Verdict) -> Callable[[Walk], object]:
    return lambda walk: walk.commit(ResolveAsked(1, verdict, "ann", "looked it up"))


def out_of_tries(walk: Walk) -> None:
    for _ in range(4):
        call(walk)
        answer(Reply.TRANSIENT, "503")(walk)
        walk.inspect()
        walk.wait(100)
    call(walk)
    answer(Reply.TRANSIENT, "503")(walk)
    walk.inspect()


def cancel(walk: Walk) -> None:
    walk.commit(CancelAsked("ann"))


def skip(walk: Walk) -> None:
    walk.commit(SkipAsked(1, "ann"))


inspect = Walk.inspect
LOST = (call, answer(Reply.UNKNOWN, "timeout"))
ASKING = (*LOST, cancel, inspect, wait(60), inspect)
UNDOING = (call, answer(Reply.DONE), cancel)
STUCK = (*UNDOING, call, answer(Reply.REFUSED, "too late"), inspect)
IN_VAIN = (*ASKING, *[call, probed(Answer.CANNOT_TELL), wait(100)] * 10)

CHECKING = (*IN_VAIN, inspect, call, answer(Reply.DONE))

PHASES: dict[Phase, tuple[Road, str]] = {
    # the road; state, outcome, compensation's state, phase of an open lane, what is waited for
    Phase.IDLE: (Walk, "NotStarted none NotStarted - -"),
    Phase.PLANNED: (on_the_way(), "NotStarted none NotStarted between scheduler"),
    Phase.OFFERED: (on_the_way(offer), "NotStarted none NotStarted offered agent"),
    Phase.CALLED: (on_the_way(call), "Running - NotStarted called lease"),
    Phase.REPORTED: (on_the_way(*LOST), "Running unknown NotStarted between supervisor"),
    Phase.WAIT_OUT: (on_the_way(*LOST, cancel, inspect), "Running unknown NotStarted between waitOut"),
    Phase.PROBE_PLANNED: (on_the_way(*ASKING), "Running unknown NotStarted between scheduler"),
    Phase.PROBE_OFFERED: (on_the_way(*ASKING, offer), "Running unknown NotStarted between agent"),
    Phase.PROBE_CALLED: (on_the_way(*ASKING, call), "Running unknown NotStarted between probe"),
    Phase.DONE: (on_the_way(call, answer(Reply.DONE)), "Completed done NotStarted - -"),
    Phase.REFUSED: (on_the_way(call, answer(Reply.REFUSED), inspect), "Failed refused NotStarted - -"),
    Phase.ABSENT: (on_the_way(out_of_tries), "Failed absent NotStarted - -"),
    Phase.UNRESOLVED: (on_the_way(call, answer(Reply.UNRESOLVED)), "Failed none NotStarted - -"),
    Phase.SKIPPED: (on_the_way(skip), "Skipped none NotStarted - -"),
    Phase.UNDO_PLANNED: (on_the_way(*UNDOING), "Completed done NotStarted between scheduler"),
    Phase.UNDO_OFFERED: (on_the_way(*UNDOING, offer), "Completed done NotStarted offered agent"),
    Phase.UNDO_CALLED: (on_the_way(*UNDOING, call), "Completed done Running called lease"),
    Phase.UNDO_REPORTED: (
        on_the_way(*UNDOING, call, answer(Reply.TRANSIENT)),
        "Completed done Running between supervisor",
    ),
    Phase.UNDO_STUCK: (on_the_way(*STUCK), "Completed done Failed - person"),
    Phase.UNDONE: (on_the_way(*UNDOING, call, answer(Reply.DONE)), "Completed undone Completed - -"),
    Phase.LEFT: (on_the_way(*STUCK, settle(Verdict.LEFT)), "Completed done Failed - person"),
    Phase.KEPT: (on_the_way(*STUCK, settle(Verdict.KEPT)), "Completed kept Failed - -"),
    Phase.CHECK_PLANNED: (on_the_way(*CHECKING), "Failed unknown Running between scheduler"),
    Phase.CHECK_OFFERED: (on_the_way(*CHECKING, offer), "Failed unknown Running between agent"),
    Phase.CHECK_CALLED: (on_the_way(*CHECKING, call), "Failed unknown Running between probe"),
    Phase.UNDONE_BLIND: (
        on_the_way(*CHECKING, call, probed(Answer.ABSENT)),
        "Failed undone Completed - -",
    ),
}


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
def test_a_step_in_every_phase(phase: Phase) -> None:
    road, expected = PHASES[phase]
    walk = road()
    assert walk.phase("hotel") is phase
    found = walk.step("hotel")
    undo = found["compensation"]
    open_phase = (undo if phase in UNDO_OPEN else found).get("phase", "-")
    waits_for = found.get("waiting", {}).get("for", "-")
    seen = (found["state"], found.get("outcome", "-"), undo["state"], open_phase, waits_for)
    assert " ".join(seen) == expected


def test_the_phases_that_only_a_bare_service_or_a_pivot_brings() -> None:
    walk = Walk({"series": [step("flight", TOMB), step("hotel")]})
    walk.done("flight")
    call(walk)
    answer(Reply.UNKNOWN, "timeout")(walk)
    inspect(walk)
    assert walk.phase("hotel") is Phase.DOUBT
    assert (walk.step("hotel")["state"], walk.step("hotel")["outcome"]) == ("Running", "unknown")

    walk = Walk({"series": [step("flight", KEYED, pivot=True), step("hotel", KEYED)]})
    walk.done("flight")
    call(walk)
    answer(Reply.SPOILED, "too large")(walk)
    assert walk.phase("hotel") is Phase.SPOILED
    assert (walk.step("hotel")["state"], walk.step("hotel")["outcome"]) == ("Failed", "done")
    assert walk.step("hotel")["error"] == "too large"
    assert "(hotel: done, but its result cannot be recorded: too large)" in walk.why()
    assert "compensation" not in walk.step("flight")


def test_what_is_in_doubt_waits_its_turn_to_be_undone() -> None:
    body = {"parallel": [step("flight", TOMB), step("hotel", KEYED)]}
    walk = Walk(body)
    walk.call("flight", "hotel")
    walk.report("flight", Reply.UNKNOWN)
    walk.commit(CancelAsked("ann"))
    walk.inspect()
    assert walk.phase("flight") is Phase.UNKNOWN
    assert (walk.step("flight")["state"], walk.step("flight")["outcome"]) == ("Failed", "unknown")
    assert "waiting" not in walk.step("flight")


def test_the_table_of_phases_is_whole() -> None:
    assert set(SHOWN) == set(Phase)


# --- what the record keeps of calls that ended


def test_complete_by_and_retries_stay_when_the_lane_has_ended() -> None:
    walk = on_the_way(
        call, answer(Reply.TRANSIENT, "503"), inspect, wait(2), call, answer(Reply.DONE), cancel, wait(5),
        call, answer(Reply.TRANSIENT, "503"), inspect, wait(2), call, answer(Reply.DONE),
    )()  # fmt: skip
    hotel = walk.step("hotel")
    assert (hotel["retryCount"], hotel["completeBy"]) == (1, "2026-07-05T10:00:32.000Z")
    undo = hotel["compensation"]
    assert (undo["retryCount"], undo["completeBy"]) == (1, "2026-07-05T10:00:39.000Z")
    assert (hotel["attempt"], undo["attempt"]) == (5, 5)
    assert "error" not in hotel
    assert "error" not in undo


def test_a_retry_by_a_person_counts_from_zero() -> None:
    walk = on_the_way(call, answer(Reply.TRANSIENT, "503"), inspect)()
    assert walk.step("hotel")["retryCount"] == 1
    walk.commit(RetryAsked(-1, "ann"))
    assert walk.step("hotel")["retryCount"] == 0


def test_a_later_round_has_a_key_of_its_own_before_it_is_offered() -> None:
    walk = Walk({"series": [step("hotel", PROBED)]})
    call(walk)
    walk.report("hotel", Reply.UNKNOWN)
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    call(walk)
    walk.commit(Probed(0, walk.attempt("hotel"), Answer.ABSENT))
    assert walk.step("hotel")["idempotencyKey"] == "trip-9f3a-hotel"
    walk.inspect()
    assert (walk.step("hotel")["idempotencyKey"], walk.step("hotel")["round"]) == ("trip-9f3a-hotel~2", 2)


def test_a_call_handed_back_says_why_and_costs_nothing() -> None:
    walk = on_the_way(call)()
    walk.commit(HandedBack(1, walk.attempt("hotel"), "input.to: unreadable", 5_000))
    hotel = walk.step("hotel")
    assert (hotel["retryCount"], hotel["error"]) == (0, "handed back: input.to: unreadable")
    assert hotel["waiting"]["for"] == "agent"
    assert hotel["waiting"]["until"] == "2026-07-05T10:00:05.000Z"


def test_a_lost_agent_is_the_error() -> None:
    walk = on_the_way(call)()
    walk.wait(6)
    walk.inspect()
    assert walk.step("hotel")["error"] == "its agent fell silent"


def test_late_evidence_stands_beside_the_step() -> None:
    walk = on_the_way(call, wait(6), inspect)()
    lost = walk.attempt("hotel")
    walk.call("hotel")
    walk.wait(1)
    walk.commit(Reported(1, lost, Kind.DO, Reply.DONE, msgspec.Raw(b'"H-1"')))
    assert walk.step("hotel")["evidence"] == [
        {"at": "2026-07-05T10:00:07.000Z", "attempt": lost, "kind": "do", "reply": "done", "result": "H-1"}
    ]
    assert "result" not in walk.step("hotel")


def test_who_settled_a_step_is_named_until_an_agent_settles_it() -> None:
    walk = Walk({"series": [step("hotel", KEYED), step("car")]})
    walk.done("hotel")
    walk.call("car")
    walk.report("car", Reply.UNKNOWN)
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    walk.commit(ResolveAsked(1, Verdict.ABSENT, "ann", "asked them"))
    assert walk.step("car")["settledBy"] == "ann"
    walk.inspect()
    walk.wait(10)
    walk.done("car")
    assert "settledBy" not in walk.step("car")


def test_pause_is_dated_by_the_order() -> None:
    walk = on_the_way(wait(3), lambda w: w.commit(PauseAsked("ann")), wait(4))()
    record = walk.record()
    assert record["paused"] is True
    assert (record["waiting"]["for"], record["waiting"]["since"]) == ("pause", "2026-07-05T10:00:03.000Z")


# --- parked


def test_a_parked_task_lists_what_stands_and_what_can_be_done() -> None:
    walk = Walk({"series": [step("flight", TOMB), step("car")]})
    walk.done("flight")
    walk.call("car")
    walk.report("car", Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    record = walk.record()
    assert record["state"] == "Failed"
    assert (record["direction"], record["blocking"]) == ("forward", ["car"])
    assert (record["inEffect"], record["inDoubt"]) == (["flight"], ["car"])
    assert record["acts"] == ["resolve car done|absent", "cancel"]
    assert "car: only a person can tell" in record["reason"]


def test_a_stuck_undo_lists_its_acts() -> None:
    record = on_the_way(*STUCK)().record()
    assert (record["direction"], record["blocking"]) == ("undo", ["hotel"])
    assert record["inEffect"] == ["flight", "hotel"]
    assert record["inDoubt"] == []
    assert record["acts"] == ["resolve hotel undone|kept|left|absent", "retry hotel"]
    assert record["reason"].endswith("; the task was being undone (cancelled by ann)")


def test_a_result_that_later_steps_need_is_asked_for() -> None:
    walk = Walk({"series": [step("flight"), step("car", args={"at": {"$ref": "flight"}})]})
    walk.call("flight")
    walk.report("flight", Reply.UNKNOWN)
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    assert "resolve trip-9f3a flight done    --result" not in walk.why()
    assert "makegood resolve trip-9f3a flight done --result JSON" in walk.why()


def test_after_the_pivot_a_step_that_failed_for_good_waits_for_a_person() -> None:
    walk = Walk({"series": [step("flight", KEYED, pivot=True), step("hotel", KEYED)]})
    walk.done("flight")
    call(walk)
    answer(Reply.REFUSED, "full")(walk)
    walk.inspect()
    record = walk.record()
    assert record["waiting"]["for"] == "person"
    assert record["acts"] == ["resolve hotel done", "retry hotel", "skip hotel"]
    assert walk.step("hotel")["waiting"]["for"] == "person"


# --- always


def check_document(node: Any, name: str = "") -> None:
    """Moments are moments, and no field is there without a value."""
    if name in MOMENTS:
        assert MOMENT.fullmatch(node), f"{name}: {node}"
    if isinstance(node, dict) and name not in PAYLOADS:
        for field, value in node.items():
            assert value not in ("", {}) or field in PAYLOADS, field
            assert value is not None or field in PAYLOADS, field
            check_document(value, field)
    elif isinstance(node, list):
        for value in node:
            check_document(value)


class SeenWorld(World):
    """Looks at every record that is written, as people would."""

    def _store(self, run: Run, before: Any, draft: Any) -> None:
        super()._store(run, before, draft)
        look(run, self.now)


def look(run: Run, now: int) -> None:
    walk = Walk.__new__(Walk)
    walk.plan, walk.head, walk.now = run.plan, run.head, now
    walk.rows = list(enumerate(run.rows, 1))
    check_document(walk.record())
    assert walk.why()
    assert walk.story()
    assert msgspec.json.encode(walk.facts())
    check_past(walk)


def check_past(walk: Walk) -> None:
    """What the rows tell of open steps is what the head holds of them."""
    for past in Past(walk.plan, walk.rows).steps:
        index = past.plan.index
        assert past.phase == walk.head.marks[index]
        opened = walk.head.open.get(index)
        if opened is None or past.phase not in FORWARD_OPEN | UNDO_OPEN:
            continue
        assert past.lane.retries == opened.retries
        waits_longer = past.evidence and past.phase in WAITING_OUT
        assert past.since == opened.since or (waits_longer and past.since < opened.since)
        assert past.lane.attempt == (opened.attempt or past.lane.attempt)
        assert past.lane.key == (opened.key or past.lane.key)
        assert past.lane.complete_by == (opened.complete_by or past.lane.complete_by)


@pytest.mark.parametrize("first", range(0, 160, 16))
def test_every_record_of_random_worlds_can_be_shown(first: int) -> None:
    for seed in range(first, first + 16):
        rng = Random(seed)
        name = list(PLANS)[seed % len(PLANS)]
        world = SeenWorld(rng)
        world.submit(PLANS[name], deadline=rng.choice((0, 15_000)), refuse_undo=REFUSE_UNDO.get(name, ()))
        weights = CALM | TROUBLE
        for move in rng.choices(list(weights), list(weights.values()), k=60):
            move(world)
        world.settle()
