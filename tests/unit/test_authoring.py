"""Plans: what a user writes, the document it becomes, and what is refused with its line and the way out."""

import functools
import json
from collections.abc import Callable, Iterator
from contextvars import copy_context
from datetime import timedelta
from typing import Any, Literal

import pytest

from makegood.authoring import Agent, PlanDefinition, parallel, plan, series, step
from makegood.core.document import Retry
from makegood.core.plan import Parallel, Series
from makegood.errors import PlanError
from tests.unit.trip_agents import (
    Flight,
    Hotel,
    Trip,
    cars,
    desk,
    flights,
    hotels,
    look,
    pay,
    refused,
    reserve_car,
    reserve_flight,
    reserve_hotel,
)


def nodes(definition: PlanDefinition[Any, Any]) -> list[Any]:
    """The parts of a plan's body, as JSON."""
    parts: list[Any] = json.loads(definition.document.canonical())["body"]["series"]
    return parts


@plan
def book_trip(trip: Trip) -> str:
    """Books it."""
    flight = step(reserve_flight, trip)
    with parallel():
        hotel = step(reserve_hotel, trip, arrives=flight.arrives)
        with series():
            step.options(name="spare_car", retry=Retry(attempts=1), timeout=5, deadline=timedelta(hours=1))(
                reserve_car, Trip("spare", nights=2), at="airport"
            )
            step(look)
    step(reserve_car, at=hotel.address, trip=trip)
    return flight.confirmation


def test_a_plan_is_a_document() -> None:
    flight, group, car = nodes(book_trip)
    assert flight["args"] == {"trip": {"$ref": "input"}}
    assert (flight["undo"], flight["probe"], flight["class"]) == (
        "cancel_flight",
        "find_flight",
        {"keyed": True, "tombstone": True},
    )
    hotel, branch = group["parallel"]
    arrives = {"$ref": "reserve_flight", "path": ["arrives"]}
    assert hotel["args"] == {"trip": {"$ref": "input"}, "arrives": arrives, "stars": 3}, "defaults are pinned"
    spare, looked = branch["series"]
    assert (spare["step"], spare["action"], spare["args"]["trip"]) == (
        "spare_car",
        "reserve_car",
        {"who": "spare", "nights": 2},
    )
    assert (spare["timeout"], spare["deadline"], spare["retry"]["attempts"]) == (5.0, 3600.0, 1)
    assert (looked["reads"], looked["args"], "undo" in looked) == (True, {"value": None}, False)
    assert car["args"] == {"trip": {"$ref": "input"}, "at": {"$ref": "reserve_hotel", "path": ["address"]}}
    assert book_trip.document.output == {"$ref": "reserve_flight", "path": ["confirmation"]}
    assert book_trip.document.input["$defs"]["Trip"]["required"] == ["who"]


def test_a_plan_knows_its_types_actions_and_compiled_form() -> None:
    assert (book_trip.name, book_trip.input_type, book_trip.output_type) == ("book_trip", Trip, str)
    assert [action.name for action in book_trip.actions] == [
        "reserve_flight",
        "reserve_hotel",
        "reserve_car",
        "look",
    ]
    assert book_trip.plan is book_trip.plan
    assert book_trip.plan.body == Series((0, Parallel((1, Series((2, 3)))), 4))
    assert book_trip.version == book_trip.document.version
    assert repr(book_trip) == f"<plan book_trip {book_trip.version[:12]}: 5 steps>"
    assert repr(flights) == "<agent flight-agent: reserve_flight>"
    assert "flight-agent/reserve_flight at " in repr(flights.actions["reserve_flight"])


def test_recording_again_gives_the_same_version() -> None:
    def make() -> PlanDefinition[Trip, str]:
        @plan(name="again")
        def record(trip: Trip) -> str:
            step(look, {"b": [1, trip.who], "a": {"$x": {1.5: None}.get(1.5)}})
            return step(reserve_flight, trip).confirmation

        return record

    one, two = make(), make()
    assert one is not two
    assert (one.name, one.version) == ("again", two.version)


def test_a_plan_may_take_nothing_and_return_anything() -> None:
    @plan
    def daily() -> dict[str, Any]:
        seen = step(look, "x")
        return {"all": [seen, seen.part], "when": "now"}

    assert (daily.input_type, daily.document.input) == (type(None), {"type": "null"})
    assert daily.document.output == {
        "all": [{"$ref": "look"}, {"$ref": "look", "path": ["part"]}],
        "when": "now",
    }


def test_without_hints_a_plan_takes_and_returns_json() -> None:
    @plan
    def loose(trip):  # type: ignore[no-untyped-def]
        return step(reserve_flight, trip.a.b[0])

    assert (loose.input_type, loose.output_type, loose.document.input) == (Any, Flight, {})
    assert nodes(loose)[0]["args"] == {"trip": {"$ref": "input", "path": ["a", "b", 0]}}


def test_actions_decorated_before_they_are_declared_keep_their_parameters() -> None:
    def logged(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return fn(*args, **kwargs)

        return wrapper

    agent = Agent("a")

    @agent.action(undo=None)
    @logged
    async def ring(number: int) -> None: ...

    def call_up() -> None:
        step(ring, 5)

    assert agent.actions["ring"].do.is_async, "calling it gives something to await"
    assert nodes(plan(call_up))[0]["args"] == {"number": 5}
    again = logged(ring)

    def call_again() -> None:
        step(again, 5)

    with refused("ring was decorated again after it was declared; put @agent.action"):
        plan(call_again)


def test_what_is_declared_for_an_action_is_no_setting_of_an_agent() -> None:
    settings: dict[str, Any]
    for settings in ({"probe": look}, {"undo": None}, {"lists": look}, {"reads": True}, {"pivot": True}):
        [name] = settings
        with refused(rf"agent bank: {name}= is declared for each action: @agent.action\(\.\.\., {name}="):
            Agent("bank", **settings)
    with refused("agent bank has no setting 'retries'; it has timeout, settle, keyed, tombstone, retry"):
        Agent("bank", retries=3)  # type: ignore[arg-type]  # it is refused before it is run, too


twin = Agent("desk")


@twin.action(reads=True)
def look_elsewhere() -> None: ...


def empty() -> None: ...
def two_inputs(a: int, b: int) -> None: ...
def star(*a: int) -> None: ...
async def later(a: int) -> None: ...
def generates() -> Iterator[int]:
    yield step(look)


def not_stepped() -> None:
    step(print, "x")


def misspelt_argument() -> None:
    step(reserve_car, trop="x")  # type: ignore[call-overload]


def wrong_arguments() -> None:
    step(reserve_car, "x", "y", "z")  # type: ignore[call-overload]


def twice() -> None:
    step(look)
    step(look)


def uses_nothing() -> None:
    step(count, step(take, 1, None))


def takes_nothing_apart() -> None:
    step(count, step(take, 1, None).nights)


def reserved() -> None:
    step.options(name="undo")(look)


def bad_option() -> None:
    step.options(timeout=0)(look)


def no_option() -> None:
    step.options(timout=3)(look)  # type: ignore[arg-type]  # it is refused before it is run, too


def bad_name() -> None:
    step.options(name="a-b")(look)


def empty_group() -> None:
    with parallel():
        pass


def empty_inner_group() -> None:
    with parallel(), series():
        pass


def pivot_in_group() -> None:
    with parallel():
        step(pay, 1)


def two_pivots() -> None:
    step(pay, 1)
    step.options(name="pay_more")(pay, 1)


def two_agents() -> None:
    step(look)
    step(look_elsewhere)


def wrong_hint(trip: Trip) -> Hotel:
    return step(reserve_flight, trip)  # type: ignore[return-value]


def forgets_choice(trip: Trip) -> Literal["a", "b"]:  # type: ignore[return]
    step(reserve_flight, trip)


def forgets_return(trip: Trip) -> Flight:  # type: ignore[return]
    step(reserve_flight, trip)


def does_nothing(trip: Trip) -> Flight: ...  # type: ignore[empty-body]


def calls_a_helper(nights: int) -> int:
    async def helper() -> int:
        return nights

    return helper()  # type: ignore[return-value]


def wrong_reference(city: str) -> None:
    step(count, city)  # type: ignore[call-overload]


def wrong_result(trip: Trip) -> None:
    step(take, None, step(count, 3))  # type: ignore[call-overload]


def wrong_output() -> int:
    step(look)
    return "x"  # type: ignore[return-value]


def unwritable_output() -> complex:
    step(look)
    return 1j


def unwritable_input(z: complex) -> None:
    step(look)


def lost_hint(trip: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    step(look)


def calls_a_plan(trip: Trip) -> None:
    book_trip(trip)  # type: ignore[operator]


inn = Agent("inn")


@inn.action(reads=True)
async def count(nights: int) -> int:
    return nights


@inn.action(reads=True)
async def take(about: Any, name: str | None) -> None: ...


def fits(city: str) -> float:
    """What may fit is for the type checker to judge, and for the agent when the task runs."""
    nights = step(count, 3)
    step.options(name="a")(take, city, city)
    step.options(name="b")(take, nights, None)
    step.options(name="c")(take, [nights], city)
    return nights


def forgets_step(trip: Trip) -> None:
    step(look)
    reserve_flight(trip)  # type: ignore[unused-coroutine]


def forgets_it_in_a_helper(trip: Trip) -> None:
    def helper() -> None:
        reserve_car(trip, "here")

    step(look)
    helper()


def forgets_it_in_a_step(nights: int) -> None:
    step(take, count(nights), None)


NO_PLANS: list[tuple[Any, str]] = [
    (empty, "plan empty records no step; write step"),
    (two_inputs, "plan two_inputs takes a, b; a plan takes one input, or none"),
    (star, "takes any number of values"),
    (later, "plan later is async; write def"),
    (generates, "generates yields"),
    (lambda: step(look), "a lambda has no name"),
    (not_stepped, r"print is no action of any agent; declare it with @agent.action\(undo=...\)"),
    (misspelt_argument, r"step\(reserve_car, ...\): it takes trip, at, and no 'trop' \("),
    (wrong_arguments, r"step\(reserve_car, ...\): too many positional arguments \(.*trip_agents.py:\d+\)"),
    (twice, r"step 'look' is used twice, .*; name one of them with step.options\(name=...\)"),
    (uses_nothing, r"could read; .*; does its action return anything\? Then write what, as in `-> Booking`"),
    (takes_nothing_apart, "take is None, which has no parts in JSON; does its action return anything"),
    (reserved, "step 'undo': the name is reserved"),
    (bad_option, r"step\(look\): timeout must be above 0"),
    (no_option, r"step.options\(\) has no setting 'timout'; it has name, retry, timeout, deadline"),
    (bad_name, "step 'a-b': a step's name is of letters"),
    (empty_group, r"nothing is recorded in this parallel\(\); put steps in it"),
    (empty_inner_group, r"nothing is recorded in this series\(\)"),
    (pivot_in_group, "pivot 'pay' must stand alone at top level"),
    (two_pivots, "'pay_more' is a second pivot"),
    (
        two_agents,
        r"two agents are called 'desk', one at .*\.py:\d+ with look, pay, the other at .*\.py:\d+ with",
    ),
    (wrong_hint, "plan wrong_hint returns Flight, but its hint is Hotel"),
    (
        forgets_return,
        "plan forgets_return returns nothing, but its hint is Flight; "
        r"write `return step\(...\)`, or correct the hint to None",
    ),
    (
        forgets_choice,
        r"plan forgets_choice returns nothing, but its hint is Literal\['a', 'b'\]; write `return",
    ),
    (does_nothing, "plan does_nothing records no step; write step"),
    (calls_a_helper, r"output is a call of helper, which makes no step; write step\(helper, ...\)"),
    (wrong_reference, "step count: nights takes int, and input is str, which no task could read"),
    (wrong_result, "step take: name takes str | None, and count is int, which no task could read"),
    (wrong_output, "output: Expected `int`, got `str`"),
    (unwritable_output, "plan unwritable_output: its output: type complex cannot be written"),
    (unwritable_input, "plan unwritable_input: its input: type complex cannot be written"),
    (lost_hint, "the type hints of lost_hint cannot be resolved"),
    (forgets_step, r"plan forgets_step calls reserve_flight\(...\), .* write step\(reserve_flight, ...\)"),
    (
        forgets_it_in_a_helper,
        r"plan forgets_it_in_a_helper calls reserve_car\(...\), which .* no step; write",
    ),
    (forgets_it_in_a_step, r"plan forgets_it_in_a_step calls count\(...\), .* write step\(count, ...\)"),
    (calls_a_plan, r"plan book_trip is not run by calling it; submit it: await mg.submit\(book_trip, ...\)"),
]


@pytest.mark.parametrize(("fn", "why"), NO_PLANS)
def test_plans_that_are_refused(fn: Any, why: str) -> None:
    with refused(why):
        plan(fn)


def looks_only() -> str | None:  # type: ignore[return]
    step(look)


def test_a_plan_that_may_return_none_need_not_return() -> None:
    assert plan(looks_only).document.output is None


def test_a_name_that_is_taken_is_told_with_both_lines() -> None:
    first = twice.__code__.co_firstlineno + 1
    said = rf":{first + 1}: plan twice: step 'look' is used twice, and stands at \S*:{first} already; name"
    with pytest.raises(PlanError, match=said):
        plan(twice)


def test_references_that_may_fit_are_taken() -> None:
    assert [each.name for each in plan(fits).plan.steps] == ["count", "a", "b", "c"]


def test_plan_words_stand_in_plans_only() -> None:
    for use, what in (
        (lambda: step(look), "step"),
        (parallel().__enter__, "parallel"),
        (series().__enter__, "series"),
    ):
        with refused(rf"{what}\(\) stands outside of a plan; use it in a function decorated with @plan"):
            use()


def test_a_plan_may_take_its_input_by_name_only() -> None:
    @plan  # type: ignore[arg-type]  # no type can say this
    def looks(*, at: str) -> str:
        step(look)
        return at

    assert looks.input_type is str


def test_a_plan_that_failed_leaves_nothing_behind() -> None:
    def broken() -> None:
        with parallel():
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        plan(broken)
    with refused("stands outside of a plan"):
        step(look)


def test_a_plan_inside_a_plan_is_recorded_on_its_own() -> None:
    inner: list[PlanDefinition[None, None]] = []

    @plan
    def outer() -> None:
        step(look, "outer")

        @plan
        def nested() -> None:
            step(look, "inner")

        inner.append(nested)
        step.options(name="second")(look)

    assert [node["step"] for node in nodes(outer)] == ["look", "second"]
    assert nodes(inner[0])[0]["args"] == {"value": "inner"}
    with refused("stands outside of a plan"):
        copy_context().run(lambda: step(look))


# --- documents written by hand

BY_HAND: dict[str, Any] = {
    "plan": "by_hand",
    "body": {
        "series": [
            {
                "step": "fly",
                "agent": "flight-agent",
                "action": "reserve_flight",
                "args": {"trip": {"$ref": "input"}},
                "undo": "cancel_flight",
                "probe": "find_flight",
            },
            {
                "step": "sleep",
                "agent": "hotel-agent",
                "action": "reserve_hotel",
                "args": {"trip": {"$ref": "input"}, "arrives": {"$ref": "fly", "path": ["arrives"]}},
                "undo": None,
            },
        ]
    },
    "output": {"$ref": "fly"},
}


def by_hand(n: int, **changes: Any) -> dict[str, Any]:
    steps = [dict(one) for one in BY_HAND["body"]["series"]]
    steps[n] |= changes
    return BY_HAND | {"body": {"series": steps}}


def test_a_document_is_a_plan_too() -> None:
    unchecked = PlanDefinition.from_document(json.dumps(BY_HAND))
    assert (unchecked.name, unchecked.actions, unchecked.input_type, unchecked.output_type) == (
        "by_hand",
        (),
        Any,
        Any,
    )
    held = PlanDefinition.from_document(
        BY_HAND, agents=[flights, hotels], input_type=Trip, output_type=Flight
    )
    assert held.version == unchecked.version
    assert [action.name for action in held.actions] == ["reserve_flight", "reserve_hotel"]
    assert (held.input_type, held.output_type) == (Trip, Flight)
    assert held.plan.index_of == {"fly": 0, "sleep": 1}
    again = PlanDefinition.from_document(book_trip.to_json(), agents=[flights, hotels, cars, desk])
    assert again.version == book_trip.version
    assert again.actions == book_trip.actions


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (
            by_hand(0, agent="train-agent"),
            "step 'fly': no agent 'train-agent' is given; given: flight-agent, hotel-agent",
        ),
        (by_hand(0, action="book"), "agent flight-agent has no action 'book'; it has reserve_flight"),
        (
            by_hand(0, undo="cancel"),
            "the undo 'cancel' is unknown; that of flight-agent/reserve_flight is 'cancel_flight'",
        ),
        (
            by_hand(1, probe="find"),
            "the probe 'find' is unknown; that of hotel-agent/reserve_hotel does not exist",
        ),
        (by_hand(0, args={}), "argument 'trip' of flight-agent/reserve_flight is missing; add it to args"),
        (by_hand(0, args={"trip": 1, "seat": 2}), "takes no 'seat'; it takes trip"),
        (BY_HAND | {"output": {"$ref": "nothing"}}, "output refers to 'nothing'"),
        (
            by_hand(1, **{"class": {"keyed": True}}),
            r"step 'sleep': class.keyed is true, and hotel-agent/reserve_hotel is declared with 3600",
        ),
        (by_hand(1, **{"class": {"keyed": 7200}}), r"class.keyed is 7200.0, and .* with 3600"),
        (
            by_hand(1, **{"class": {"keyed": 60, "tombstone": True}}),
            "class.tombstone is true, and hotel-agent/reserve_hotel is declared with false",
        ),
        (by_hand(0, settle=1), "settle is 1.0, and flight-agent/reserve_flight is declared with 10.0"),
        (
            by_hand(0, key={"maxLength": 60}, **{"class": {"keyed": True}}),
            'key is {"prefix":"","maxLength":60,"uuid":false}, and .*"maxLength":255.*: write the same',
        ),
    ],
)
def test_a_document_is_held_against_the_agents(document: dict[str, Any], why: str) -> None:
    with pytest.raises(PlanError, match=why):
        PlanDefinition.from_document(document, agents=[flights, hotels])


def test_a_document_may_count_on_less_than_is_declared() -> None:
    for given in ({}, {"keyed": 60}, {"keyed": True}, {"keyed": True, "tombstone": True}):
        document = by_hand(0, settle=20, timeout=1, **{"class": given})
        assert PlanDefinition.from_document(document, agents=[flights, hotels]).plan.steps[0].settle == 20_000


def test_an_effect_cannot_be_declared_away() -> None:
    step_read = {"step": "fly", "agent": "flight-agent", "action": "reserve_flight", "reads": True}
    document = {"plan": "p", "body": step_read | {"args": {"trip": 1}}}
    with pytest.raises(PlanError, match="has an effect; reads=true would repeat it and never undo it"):
        PlanDefinition.from_document(document, agents=[flights])
