"""Agents and actions: what they become, what is refused with line and way out, which types go together."""

import asyncio
import functools
import inspect
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import RootModel

from makegood.authoring import NOT_THERE, Action, Agent, NotThere, There, plan, step
from makegood.authoring.probing import probe_answer
from makegood.core.document import KeyForm, Retry, ServiceClass, StepNode, UndoRetry
from makegood.errors import PayloadError
from tests.unit.trip_agents import (
    Charter,
    Flight,
    Hotel,
    Trip,
    cancel_car,
    cancel_flight,
    cars,
    desk,
    find_flight,
    flights,
    hotels,
    refused,
    reserve_flight,
    reserve_hotel,
)

# --- agents and actions


def test_an_action_stays_the_function_it_was() -> None:
    assert reserve_hotel(Trip("ann"), datetime.fromisoformat("2026-01-01")) == Hotel("ann 2026 3")
    assert asyncio.run(reserve_flight(Trip("ann"))).confirmation == "ann"
    assert reserve_hotel.__name__ == "reserve_hotel"
    assert inspect.iscoroutinefunction(reserve_flight)
    assert not inspect.iscoroutinefunction(reserve_hotel)
    assert pickle.loads(pickle.dumps(reserve_flight)) is reserve_flight


def test_an_action_knows_its_functions() -> None:
    action = flights.actions["reserve_flight"]
    assert isinstance(action, Action)
    assert (action.agent, action.name, action.full_name) == (
        flights,
        "reserve_flight",
        "flight-agent/reserve_flight",
    )
    assert action.fn is reserve_flight
    assert action.do.is_async
    assert action.undo is not None
    assert (action.undo.fn, action.undo.takes, action.undo.is_async) == (cancel_flight, ("trip",), True)
    assert action.probe is not None
    assert (action.probe.fn, action.probe.takes) == (find_flight, ("trip",))
    assert (action.parameter_types, action.result_type) == ({"trip": Trip}, Flight)
    assert not action.result_may_be_none
    hotel = hotels.actions["reserve_hotel"]
    assert not hotel.do.is_async
    assert hotel.undo is not None
    assert hotel.undo.takes == ()
    assert hotel.probe is None
    assert hotel.defaults == {"stars": 3}
    assert desk.actions["look"].parameter_types == {"value": Any}


def test_an_actions_settings_are_its_agents_unless_it_says_otherwise() -> None:
    flight, hotel = flights.actions["reserve_flight"].node, hotels.actions["reserve_hotel"].node
    assert (flight.timeout, flight.settle, flight.class_) == (10.0, 10.0, ServiceClass(True, True))
    assert (hotel.timeout, hotel.settle, hotel.asks) == (30.0, 2.0, 3)
    assert (hotel.class_, hotel.retry) == (ServiceClass(3600.0), Retry(attempts=3))
    car = cars.actions["reserve_car"].node
    assert (car.settle, car.key, car.undo_retry) == (0.5, KeyForm(uuid=True), UndoRetry())
    assert desk.actions["pay"].node.timeout == 60.0
    undo: Callable[[Action], Any] = lambda action: action.node.undo  # noqa: E731
    assert undo(cars.actions["reserve_car"]) == "cancel_car"
    assert undo(desk.actions["pay"]) is msgspec.UNSET


def test_arguments_come_from_json_with_defaults_and_types() -> None:
    hotel = hotels.actions["reserve_hotel"]
    given = hotel.arguments({"trip": {"who": "ann"}, "arrives": "2026-01-01T00:00:00Z"})
    assert given == {
        "trip": Trip("ann"),
        "arrives": datetime.fromisoformat("2026-01-01T00:00:00Z"),
        "stars": 3,
    }
    with pytest.raises(
        PayloadError, match=r"^hotel-agent/reserve_hotel.trip: Object missing required field `who`"
    ):
        hotel.arguments({"trip": {}, "arrives": "2026-01-01T00:00:00Z"})
    with pytest.raises(
        PayloadError, match=r"has no parameter 'stern'; it has trip, arrives, stars; .* keep the parameter"
    ):
        hotel.arguments({"stern": 4})
    with pytest.raises(
        PayloadError, match=r"^hotel-agent/reserve_hotel is given no 'arrives', .*: give it a default$"
    ):
        hotel.arguments({"trip": {"who": "ann"}})


def test_the_signature_hash_knows_names_and_types() -> None:
    def one(trip: Trip) -> Flight | None: ...
    def two(trip: Trip) -> "Flight | None": ...
    def other_name(travel: Trip) -> Flight | None: ...
    def other_type(trip: Hotel) -> Flight | None: ...
    def other_result(trip: Trip) -> Flight: ...  # type: ignore[empty-body]
    def with_default(trip: Trip | None = None) -> Flight | None: ...

    hashes = [signature_of(fn) for fn in (one, two, other_name, other_type, other_result, with_default)]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 5
    assert all(len(digits) == 12 and int(digits, 16) >= 0 for digits in hashes)


def form_of(*fields: Any, size: str = "small", **options: Any) -> Any:
    """The class Order as a deployment may have it; it holds a class and an enum of its own."""
    line: Any = msgspec.defstruct("Line", [("size", Enum("Size", {"ONE": size})), *fields])
    return msgspec.defstruct("Order", [("lines", list[line] | None)], **options)


FORMS = {
    "first": form_of(("item", str)),
    "another type": form_of(("item", int)),
    "another name": form_of(("article", str)),
    "a field more": form_of(("item", str), ("gift", bool)),
    "a default": form_of(("item", str, "none")),
    "a value of an enum": form_of(("item", str), size="large"),
    "a tag": form_of(("item", str), tag=True),
    "an array": form_of(("item", str), array_like=True),
}


def test_the_signature_hash_knows_the_fields_of_classes() -> None:
    """As two deployments have them: of one name, and in two forms."""

    def declared(order: Any) -> str:
        def pack(orders: Any) -> None: ...

        pack.__annotations__["orders"] = dict[str, order]
        return signature_of(pack)

    assert len({declared(order) for order in FORMS.values()}) == len(FORMS)
    assert declared(form_of(("item", str))) == declared(FORMS["first"])


class Tree(RootModel[dict[str, "Tree"]]): ...


@dataclass
class Branch:
    trees: "dict[str, Tree | Branch | None]"


def test_the_signature_hash_of_classes_that_hold_themselves() -> None:
    def grow(branch: Branch) -> Tree: ...  # type: ignore[empty-body]
    def grow_fully(branch: Branch) -> Branch: ...  # type: ignore[empty-body]

    assert signature_of(grow) == "39a3b5df96b7", "in every process"
    assert signature_of(grow_fully) != "39a3b5df96b7"


def signature_of(fn: Callable[..., Any]) -> str:
    agent = Agent("a")
    agent.action(undo=None, name="same")(fn)
    return agent.actions["same"].signature_hash


def test_what_a_probe_answers_has_one_form() -> None:
    assert probe_answer(None) is NOT_THERE
    assert probe_answer(NOT_THERE) is NOT_THERE
    assert probe_answer("x") == There("x")
    assert probe_answer(There(None)) == There(None)
    assert probe_answer(0) == There(0)


class Calls:
    def method(self, trip: Trip) -> None: ...


def positional(trip: Trip, /) -> None: ...
def any_number(*trips: Trip) -> None: ...
def any_names(**trips: Trip) -> None: ...
def yields(trip: Trip) -> Iterator[int]:
    yield 1


async def yields_later(trip: Trip) -> AsyncIterator[int]:
    yield 1


def decorated(fn: Any) -> Any:
    """As one that forgets functools.wraps."""

    async def wrapper(*, trip: Trip) -> Any:
        return await fn(trip)

    return wrapper


NO_ACTIONS: list[tuple[Any, str]] = [
    (
        decorated(yields_later),
        "'wrapper' is what a decorator calls its own: put functools.wraps",
    ),
    (lambda trip: None, "a lambda has no name to be recorded under; write a def"),
    (print, "is no plain function; write a def"),
    (Calls().method, "is no plain function; write a def"),
    (Calls, "is no plain function"),
    (functools.partial(positional, Trip("x")), "is no plain function"),
    (positional, "parameter 'trip' of positional is positional-only; remove the '/'"),
    (any_number, "parameter 'trips' of any_number takes any number of values; take one list"),
    (any_names, "parameter 'trips' of any_names takes any names; name the parameters, or take one dict"),
    (yields, "yields yields; it must make its one call and return the result"),
    (yields_later, "yields_later yields; it must make its one call"),
    (reserve_flight, "reserve_flight is the action flight-agent/reserve_flight already"),
]


@pytest.mark.parametrize(("fn", "why"), NO_ACTIONS)
def test_what_cannot_be_an_action(fn: Any, why: str) -> None:
    agent = Agent("a")
    with refused(why):
        agent.action(undo=None)(fn)
    assert agent.actions == {}
    if fn is not reserve_flight:
        with refused(why):
            agent.action(undo=None, probe=fn)(lambda_free(Trip))


def lambda_free(_: type) -> Callable[[Trip], None]:
    """A fresh function each time, since a function is one action only."""

    def book(trip: Trip) -> None: ...

    return book


def takes_nothing() -> None: ...
def takes_more(result: None, trip: Trip, price: int) -> None: ...
def asks_more(trip: Trip, price: int) -> None: ...


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "give it exactly one of undo=function, undo=None"),
        ({"reads": False}, "give it exactly one of"),
        ({"undo": None, "reads": True}, "give it exactly one of"),
        ({"undo": cancel_car, "pivot": True}, "give it exactly one of"),
        ({"undo": None, "colour": 1}, "an action has no option 'colour'; it has undo, reads, pivot, name"),
        ({"undo": None, "name": "a b"}, r"action 'a b': an action's name is of letters"),
        ({"undo": None, "name": 5}, r"action 5: an action's name is of letters"),
        (
            {"undo": takes_nothing},
            "undo takes_nothing takes nothing; its first parameter is the result of book",
        ),
        (
            {"undo": takes_more},
            r"undo takes_more takes 'price', which is no parameter of book .* after the result",
        ),
        ({"undo": None, "probe": asks_more}, r"probe asks_more takes 'price', .* parameters by name: trip"),
        ({"undo": "cancel"}, "'cancel' is no plain function"),
        ({"undo": None, "timeout": 0}, r"agent a: action 'book': timeout must be above 0"),
        (
            {"undo": None, "timeout": "9"},
            "agent a: action 'book': timeout= takes seconds or a timedelta, as in timeout=30; "
            "Expected float, got str",
        ),
        ({"undo": None, "settle": timedelta(seconds=-1)}, "settle must be 0 or more"),
        ({"undo": None, "tombstone": True}, "tombstone=True needs keyed=True"),
        ({"undo": None, "asks": 0}, "asks must be above 0"),
        (
            {"undo": None, "retry": 3},
            "retry= takes a Retry, as in retry=Retry\\(attempts=3\\); Expected object, got int",
        ),
        (
            {"undo": None, "retry": Retry(attempts="3")},  # type: ignore[arg-type]
            r"retry= takes a Retry, .*; attempts: Expected int, got str",
        ),
    ],
)
def test_declarations_that_are_refused(options: dict[str, Any], why: str) -> None:
    agent = Agent("a")
    with refused(why):
        agent.action(**options)(lambda_free(Trip))
    assert agent.actions == {}


def test_a_bare_decorator_and_a_second_action_of_a_name_are_refused() -> None:
    agent = Agent("a")
    with refused(r"write @a.action\(...\) with undo="):
        agent.action(lambda_free(Trip))  # type: ignore[call-overload]
    agent.action(undo=None)(lambda_free(Trip))
    with refused(rf"agent a has an action 'book', at \S*{Path(__file__).name}:\d+; give one"):
        agent.action(undo=None)(lambda_free(Trip))
    agent.action(undo=None, name="book_again")(lambda_free(Trip))
    assert list(agent.actions) == ["book", "book_again"]


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("a b", {}, r"an agent's name is of letters .*, digits, _, . and -, begins .* at most 60 characters"),
        ("1a", {}, "an agent's name is of letters"),
        ("a" * 61, {}, "an agent's name is of letters"),
        (None, {}, "agent None"),
        ("a", {"timeout": -1}, "agent a: timeout must be above 0"),
        ("a", {"keyed": 0.0}, "agent a: class.keyed must be above 0"),
        ("a", {"tombstone": True}, "agent a: tombstone=True needs keyed=True"),
        ("a", {"key": KeyForm(max_length=3)}, "agent a: key.maxLength must be 16 or more"),
        (
            "a",
            {"key": KeyForm(prefix="shop-eu-", max_length=20)},
            "key.maxLength must be 24 or more with its",
        ),
        ("a", {"key": KeyForm(prefix="shop\n")}, "use printable ASCII"),
        ("a", {"undo_retry": UndoRetry(within=0)}, "agent a: undoRetry.within must be above 0"),
    ],
)
def test_agents_that_are_refused(name: Any, settings: dict[str, Any], why: str) -> None:
    with refused(why):
        Agent(name, **settings)


# --- types, checked when a plan is made of the action


def undo_wrong(flight: Hotel | None) -> None: ...
def undo_certain(flight: Flight) -> None: ...
def undo_base(flight: object) -> None: ...
def undo_any(flight, trip): ...  # type: ignore[no-untyped-def]


def undo_other(flight: Flight | None, trip: Hotel) -> None: ...
def probe_other(trip: Hotel) -> Flight | None: ...
def probe_wrong(trip: Trip) -> Hotel | None: ...
def probe_there(trip: Trip) -> There[Flight] | NotThere: ...  # type: ignore[empty-body]
def probe_there_wrong(trip: Trip) -> There[Hotel] | NotThere: ...  # type: ignore[empty-body]
def probe_sub(trip: Trip) -> Charter | None: ...
def probe_plain(trip): ...  # type: ignore[no-untyped-def]


TYPES: list[tuple[Any, dict[str, Any], str]] = [
    (
        Flight,
        {"undo": undo_wrong},
        r"undo_wrong takes flight: Hotel \| None, but book .* returns Flight; the two must",
    ),
    (Flight, {"undo": undo_certain}, r"is not known to undo undo_certain .* write flight: Flight \| None"),
    (Flight, {"undo": undo_other}, r"undo undo_other takes trip: Hotel, but book .* takes trip: Trip"),
    (Flight, {"undo": undo_base}, ""),
    (Flight, {"undo": undo_any}, ""),
    (Charter, {"undo": cancel_flight}, ""),
    (Any, {"undo": cancel_flight}, r"cancel_flight takes flight: Flight \| None, but book .* returns Any"),
    (Flight, {"undo": None, "probe": probe_other}, "probe probe_other takes trip: Hotel"),
    (
        Flight,
        {"undo": None, "probe": probe_wrong},
        r"probe probe_wrong may return Hotel, but book .* returns Flight",
    ),
    (Flight, {"undo": None, "probe": probe_there_wrong}, r"may return There\[Hotel\], but"),
    (Flight, {"undo": None, "probe": probe_there}, ""),
    (Flight, {"undo": None, "probe": probe_sub}, ""),
    (Flight, {"undo": None, "probe": probe_plain}, ""),
    (
        Flight | None,
        {"undo": None, "probe": find_flight},
        r"may be None, .* -> There\[Flight \| None\] \| NotThere",
    ),
    (
        Flight | None,
        {"undo": None, "probe": probe_plain},
        "may be None, so None from probe probe_plain would be in doubt",
    ),
    (Flight | None, {"undo": None, "probe": probe_there}, ""),
    (None, {"undo": None, "probe": find_flight}, "may be None"),
    (Any, {"undo": None, "probe": find_flight}, ""),
    (complex, {"undo": None}, "result of book: type complex cannot be written as JSON; use a dataclass"),
    (Awaitable[Flight], {"undo": None}, "result of book: type Awaitable cannot be written as JSON"),
    (
        "Nowhere",
        {"undo": None},
        r"the type hints of book cannot be resolved \(name 'Nowhere' is not defined\); define",
    ),
    ("Decimal", {"undo": None}, "not only under TYPE_CHECKING"),
]


@pytest.mark.parametrize(("result", "options", "why"), TYPES)
def test_types_are_checked_when_a_plan_is_made(result: Any, options: dict[str, Any], why: str) -> None:
    agent = Agent("a")
    action = lambda_free(Trip)
    action.__annotations__["return"] = result
    agent.action(**options)(action)

    def book(trip: Trip) -> None:
        step(action, trip)

    if why:
        with refused(why):
            plan(book)
    else:
        assert len(plan(book).actions) == 1


def test_a_parameter_that_has_no_json_is_refused() -> None:
    agent = Agent("a")

    @agent.action(undo=None)
    def draw(canvas: complex) -> None: ...

    def paint() -> None:
        step(draw, 1)

    with refused("parameter 'canvas' of draw: type complex cannot be written"):
        plan(paint)


def test_a_node_is_all_that_a_step_pins() -> None:
    node = cars.actions["reserve_car"].node
    assert node == StepNode(
        step="reserve_car",
        agent="car-agent",
        action="reserve_car",
        undo="cancel_car",
        settle=0.5,
        key=KeyForm(uuid=True),
    )
