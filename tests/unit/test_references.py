"""References: what may be done with a value that is known only later, and what is refused, on which line."""

import copy
import enum
import json
import math
import operator
import os
import pickle
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypedDict, TypeVar

import msgspec
import pytest

from makegood.authoring import Agent, PlanDefinition, build, parallel, plan, step
from makegood.errors import PlanError

Item = TypeVar("Item")
RowId = NewType("RowId", int)


class Class(enum.Enum):
    ECONOMY = "economy"


@dataclass
class Leg:
    price: float
    gate: str | None = None

    @property
    def dear(self) -> bool:
        return self.price > 100


class Seat(msgspec.Struct, rename="camel"):
    row_number: int
    near: "list[Seat]" = msgspec.field(default_factory=list)


class Cell(msgspec.Struct, array_like=True, tag="cell"):
    row: int
    text: str


class Sparse(msgspec.Struct, omit_defaults=True):
    needed: int
    spare: int = 0


class Train(msgspec.Struct, tag=True):
    number: int
    platform: int


class Bus(msgspec.Struct, tag=True, rename={"number": "line"}):
    number: int
    stop: str
    platform: int = 0


class Point(NamedTuple):
    x: float
    y: float


class Meals(TypedDict):
    first: str


@dataclass
class Box:
    side: int
    volume: int = field(init=False)

    def __post_init__(self) -> None:
        self.volume = self.side**3


@dataclass
class Page(Generic[Item]):
    items: list[Item]


@dataclass
class Flight:
    confirmation: str
    arrives: datetime
    legs: list[Leg]
    pair: tuple[Leg, Seat]
    by_name: dict[str, Leg]
    by_row: Mapping[int, Leg]
    seat: Annotated[Seat | None, msgspec.Meta(description="taken")]
    cell: Cell
    sparse: Sparse
    ride: Train | Bus
    where: Point
    meals: Meals
    class_: Class
    way: Literal["there", "back"]
    tags: set[str]
    anything: Any
    back: "Flight | None"
    page: Page[Leg]
    row: RowId
    nothing: None


agent = Agent("agent")


@agent.action(reads=True)
def fly() -> Flight:
    raise AssertionError("it is declared, never called")


@agent.action(reads=True)
def take(value: Any) -> None: ...


@agent.action(reads=True)
def untyped(value): ...  # type: ignore[no-untyped-def]


def recorded(use: Callable[[Flight], Any]) -> Any:
    """The template that a use of the flight becomes, as an argument of the next step."""

    def book() -> None:
        step(take, use(step(fly)))

    nodes = json.loads(plan(book).document.canonical())["body"]["series"]
    return nodes[1]["args"]["value"]


PATHS: list[tuple[Callable[[Flight], Any], list[Any]]] = [
    (lambda f: f.confirmation, ["confirmation"]),
    (lambda f: f["confirmation"], ["confirmation"]),  # type: ignore[index]
    (lambda f: f.legs[0].price, ["legs", 0, "price"]),
    (lambda f: f.legs[-1].gate, ["legs", -1, "gate"]),
    (lambda f: f.pair[1].row_number, ["pair", 1, "rowNumber"]),
    (lambda f: f.by_name["two words"].price, ["by_name", "two words", "price"]),
    (lambda f: f.by_row[7].price, ["by_row", "7", "price"]),
    (lambda f: f.seat.near[0].row_number, ["seat", "near", 0, "rowNumber"]),  # type: ignore[union-attr]
    (lambda f: f.seat["rowNumber"], ["seat", "rowNumber"]),  # type: ignore[index]
    (lambda f: f.cell.text, ["cell", 2]),
    (lambda f: f.sparse.needed, ["sparse", "needed"]),
    (lambda f: f.ride.platform, ["ride", "platform"]),
    (lambda f: f.ride["line"], ["ride", "line"]),  # type: ignore[index]
    (lambda f: f.where.y, ["where", 1]),
    (lambda f: f.where[1], ["where", 1]),
    (lambda f: f.meals["first"], ["meals", "first"]),
    (lambda f: f.anything.a["b"][0].c, ["anything", "a", "b", 0, "c"]),
    (lambda f: f.back.back.legs, ["back", "back", "legs"]),  # type: ignore[union-attr]
    (lambda f: f.page.items[3], ["page", "items", 3]),
    (lambda f: f.anything.items, ["anything", "items"]),
    (lambda f: f.anything._origin, ["anything", "_origin"]),
]


@pytest.mark.parametrize(("use", "path"), PATHS)
def test_a_path_is_that_of_the_json(use: Callable[[Flight], Any], path: list[Any]) -> None:
    assert recorded(use) == {"$ref": "fly", "path": path}


def test_the_result_of_an_action_without_hints_has_any_part() -> None:
    def book() -> None:
        step.options(name="last")(take, step(untyped, 1).a[2]["b"])

    nodes = json.loads(plan(book).document.canonical())["body"]["series"]
    assert nodes[1]["args"]["value"] == {"$ref": "untyped", "path": ["a", 2, "b"]}


NO_PARTS: list[tuple[Callable[[Flight], Any], str]] = [
    (lambda f: f.gate, "fly is Flight, which has no field 'gate'; its fields: confirmation, arrives, legs"),  # type: ignore[attr-defined]
    (
        lambda f: f.legs[0].dear,
        "fly.legs[0] is Leg, and what its .dear gives is known only when a task runs; do it inside",
    ),
    (lambda f: f.legs.price, "fly.legs is list[Leg], which has no fields"),  # type: ignore[attr-defined]
    (lambda f: f.legs["x"], "fly.legs is list[Leg], which has no key 'x'"),  # type: ignore[call-overload]
    (lambda f: f.pair[2], "fly.pair is tuple[Leg, Seat], which has no index 2"),  # type: ignore[misc]
    (lambda f: f.by_name.x, "fly.by_name is dict[str, Leg], which has no fields"),  # type: ignore[attr-defined]
    (
        lambda f: f.by_name.items(),
        "fly.by_name is dict[str, Leg], and what its .items gives is known only when",
    ),
    (lambda f: f.seat["row_number"], "fly.seat is Seat, which has no field 'row_number'"),  # type: ignore[index]
    (lambda f: f.sparse.spare, "fly.sparse is Sparse, which leaves 'spare' out of its JSON where it has"),
    (lambda f: f.ride.number, "fly.ride is Train | Bus, which keeps it under different keys"),
    (lambda f: f.ride.wheels, "fly.ride is Train, which has no field 'wheels'"),  # type: ignore[union-attr]
    (lambda f: f.meals["second"], "fly.meals is Meals, which has no field 'second'; its fields: first"),  # type: ignore[typeddict-item]
    (
        lambda f: f.arrives.year,
        "fly.arrives is datetime, and what its .year gives is known only when a task runs; do",
    ),
    (
        lambda f: f.confirmation[0],
        "fly.confirmation is str, which has no parts in JSON, no fields and no items; pass the whole of it",
    ),
    (lambda f: f.class_.value, "fly.class_ is Class, which has no parts in JSON"),
    (
        lambda f: f.way.upper(),
        "fly.way is Literal['there', 'back'], and what its .upper gives is known only when",
    ),
    (lambda f: f.tags.pop(), "fly.tags is set[str], and what its .pop gives is known only when a task runs"),
    (lambda f: f.row.real, "fly.row is int, and what its .real gives is known only when a task runs"),
    (lambda f: f.nothing.x, "fly.nothing is None, which has no parts in JSON"),  # type: ignore[attr-defined]
    (lambda f: f.legs[:1], "cannot be taken apart by slice in a plan; use a key or an index that is fixed"),
    (lambda f: f.legs[f.row], "cannot be taken apart by Reference in a plan"),
]


@pytest.mark.parametrize(("use", "why"), NO_PARTS)
def test_a_part_that_the_type_has_not_is_refused_at_once(use: Callable[[Flight], Any], why: str) -> None:
    with pytest.raises(PlanError, match=re.escape(why)) as refused:
        recorded(use)
    assert_names_the_line_of(use, refused.value)


def assert_names_the_line_of(use: Callable[..., Any], error: PlanError) -> None:
    line = use.__code__.co_firstlineno
    assert f"{Path(__file__).name}:{line}: " in str(error)


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (bool, "used as a condition"),
    (lambda f: f or 1, "used as a condition"),
    (lambda f: not f, "used as a condition"),
    (lambda f: f == 1, "compared"),
    (lambda f: 1 == f, "compared"),  # noqa: SIM300
    (lambda f: f != 1, "compared"),
    (lambda f: f < 1, "compared"),
    (lambda f: f >= 1, "compared"),
    (lambda f: f in [1], "compared"),
    (lambda f: max(f, 1), "compared"),
    (lambda f: 1 in f, "searched"),
    (lambda f: {f: 1}, "hashed"),
    (lambda f: {f}, "hashed"),
    (list, "looped over"),
    (lambda f: [*f], "looped over"),
    (reversed, "looped over"),
    (next, "looped over"),
    (aiter, "looped over"),
    (len, "counted"),
    (operator.length_hint, "counted"),
    (str, "made text"),
    (lambda f: f"{f}", "made text"),
    (lambda f: f"{f:>10}", "made text"),
    (lambda f: "%s" % f, "made text"),  # noqa: UP031
    (lambda f: "{}".format(f), "made text"),  # noqa: UP032
    (bytes, "made text"),
    (os.fspath, "made text"),
    (int, "made a number"),
    (float, "made a number"),
    (complex, "made a number"),
    (round, "made a number"),
    (math.floor, "made a number"),
    (range, "made a number"),
    (lambda f: "abc"[f], "made a number"),
    (lambda f: f + 1, "computed with"),
    (lambda f: 1 + f, "computed with"),
    (lambda f: "a" + f, "computed with"),
    (lambda f: [1] + f, "computed with"),
    (lambda f: f - f, "computed with"),
    (lambda f: f * 2, "computed with"),
    (lambda f: f / 2, "computed with"),
    (lambda f: f // 2, "computed with"),
    (lambda f: f % 2, "computed with"),
    (lambda f: f**2, "computed with"),
    (lambda f: divmod(f, 2), "computed with"),
    (lambda f: f @ f, "computed with"),
    (lambda f: f & 1, "computed with"),
    (lambda f: f | 1, "computed with"),
    (lambda f: f ^ 1, "computed with"),
    (lambda f: f << 1, "computed with"),
    (lambda f: f >> 1, "computed with"),
    (lambda f: -f, "computed with"),
    (lambda f: +f, "computed with"),
    (lambda f: ~f, "computed with"),
    (abs, "computed with"),
    (lambda f: f.__iadd__(1), "computed with"),
    (lambda f: f(), "called"),
    (lambda f: f.anything.get("x", 1), "called"),
    (lambda f: f.__await__(), "awaited"),
    (lambda f: f.__enter__(), "used in a with statement"),
    (lambda f: setattr(f, "price", 1), "changed"),
    (lambda f: delattr(f, "price"), "changed"),
    (lambda f: operator.setitem(f, 0, 1), "changed"),
    (lambda f: operator.delitem(f, 0), "changed"),
    (pickle.dumps, "pickled"),
]


@pytest.mark.parametrize(("use", "what"), REFUSED)
def test_what_needs_the_value_is_refused_with_line_and_way_out(use: Callable[[Any], Any], what: str) -> None:
    with pytest.raises(
        PlanError, match=rf"\d: fly\S* is known only when a task runs, so it cannot be {what}.*; "
    ) as refused:
        recorded(lambda flight: use(flight))
    if hasattr(use, "__code__"):
        assert_names_the_line_of(use, refused.value)


def test_it_may_be_shown_while_a_plan_is_debugged() -> None:
    shown: list[str] = []
    recorded(lambda f: [shown.append(repr(f.legs[0].price)), f.legs])  # type: ignore[func-returns-value]
    assert shown == ["<reference fly.legs[0].price>"]


def test_a_reference_stands_anywhere_in_a_value() -> None:
    ref = {"$ref": "fly", "path": ["confirmation"]}
    assert recorded(lambda f: [1, {"a": f.confirmation}]) == [1, {"a": ref}]
    assert recorded(lambda f: {"a": [[f.confirmation]], "$b": 1}.pop("a")) == [[ref]]


def test_copies_of_values_keep_their_references() -> None:
    ref = {"$ref": "fly", "path": ["confirmation"]}
    assert recorded(lambda f: copy.deepcopy([f.confirmation])) == [ref]
    assert recorded(lambda f: copy.copy(f.confirmation)) == ref


# --- values that hold references, for parameters with a type


@dataclass
class Ticket:
    leg: Leg
    holder: str
    seats: tuple[Seat, ...] = ()
    cell: Cell | None = None
    ride: Train | Bus | None = None
    until: datetime | None = None


@agent.action(reads=True)
def issue(
    ticket: Ticket,
    many: tuple[Ticket, ...] = (),
    note: dict[str, Any] | None = None,
    boxes: dict[str, Box] | None = None,
) -> Page[Leg]:
    raise AssertionError("it is declared, never called")


def issued(use: Callable[[Flight], Any], name: str = "ticket") -> Any:
    def book() -> None:
        flight = step(fly)
        given: Any = {"ticket": Ticket(Leg(1.0), "x"), name: use(flight)}
        step(issue, **given)

    return json.loads(plan(book).document.canonical())["body"]["series"][1]["args"][name]


def test_dataclasses_and_structs_are_written_as_their_json() -> None:
    leg = {"$ref": "fly", "path": ["legs", 0]}
    name = {"$ref": "fly", "path": ["confirmation"]}
    rest: dict[str, Any] = {"seats": [], "cell": None, "ride": None, "until": None}
    assert issued(lambda f: Ticket(f.legs[0], f.confirmation)) == {"leg": leg, "holder": name, **rest}
    assert issued(lambda f: replace(Ticket(f.legs[0], "me"), holder="you")) == {
        "leg": leg,
        "holder": "you",
        **rest,
    }
    number: Any = {"$ref": "fly", "path": ["cell", 1]}
    seats = issued(lambda f: Ticket(Leg(2), "x", (Seat(f.cell.row, [Seat(1)]),)))["seats"]
    assert seats == [{"rowNumber": number, "near": [{"rowNumber": 1, "near": []}]}]
    assert issued(lambda f: Ticket(Leg(2), "x", cell=Cell(4, f.confirmation)))["cell"] == ["cell", 4, name]
    bus = issued(lambda f: Ticket(Leg(2), "x", ride=Bus(5, f.confirmation)))["ride"]
    assert bus == {"type": "Bus", "line": 5, "stop": name, "platform": 0}


def test_literals_beside_references_are_written_by_their_own_types() -> None:
    ticket = issued(
        lambda f: Ticket(Leg(2), f.confirmation, until=datetime.fromisoformat("2026-01-01T00:00:00Z"))
    )
    assert ticket["until"] == "2026-01-01T00:00:00Z"
    assert ticket["leg"] == {"price": 2.0, "gate": None}
    many = issued(lambda f: (Ticket(Leg(3), f.confirmation), Ticket(Leg(4), "x")), "many")
    assert [one["leg"]["price"] for one in many] == [3.0, 4.0]


def test_build_knows_the_model() -> None:
    leg = {"$ref": "fly", "path": ["legs", 0]}
    ticket = issued(lambda f: build(Ticket, leg=f.legs[0], holder="me"))
    assert ticket == {"leg": leg, "holder": "me"}
    cell = issued(lambda f: Ticket(f.legs[0], "me", cell=build(Cell, text=f.confirmation, row=1)))["cell"]
    assert cell == ["cell", 1, {"$ref": "fly", "path": ["confirmation"]}]
    assert issued(lambda f: {"box": build(Box, side=f.row)}, "boxes") == {
        "box": {"side": {"$ref": "fly", "path": ["row"]}}
    }
    for use, why in BAD_BUILDS:
        with pytest.raises(PlanError, match=why):
            issued(use)


BAD_BUILDS: list[tuple[Callable[[Flight], Any], str]] = [
    (lambda f: build(Ticket, leg=f.legs[0]), "build\\(Ticket, ...\\) is not given the field 'holder'"),  # type: ignore[call-arg]
    (lambda f: build(Ticket, legs=f.legs), "Ticket has no field 'legs'; its fields: leg"),  # type: ignore[call-arg]
    (lambda f: build(Ticket, f.legs[0], "me"), "its fields by name"),
    (lambda f: build(str, f), "takes a dataclass"),
    (lambda f: build(Cell, row=1), "is not given the field 'text'"),  # type: ignore[call-arg]
    (lambda f: build(Ticket, leg=f.legs[0], holder="me").holder, "is the value that you gave to build"),
]

REFUSED_VALUES: list[tuple[Callable[[Flight], Any], str, str]] = [
    (lambda f: Leg(1), "ticket", "step issue: ticket: Object missing required field `leg`"),
    (
        lambda f: Leg(1, f.confirmation),
        "ticket",
        "ticket is a Leg with references in it, but .* type is Ticket",
    ),
    (
        lambda f: {"x": Leg(1, f.confirmation)},
        "note",
        r"note.x is a Leg with references .* declare the parameter as Leg",
    ),
    (lambda f: {"x": (1, f.confirmation)}, "note", r"note.x would be read back as a list"),
    (lambda f: {"x": {1: f.confirmation}}, "note", r"note.x holds references, so its keys must be strings"),
    (lambda f: {"$x": f.confirmation}, "note", r"without a leading \$, not '\$x'"),
    (lambda f: {"x": [math.nan, f.confirmation]}, "note", r"note.x\[0\] cannot be kept exactly: float nan"),
    (lambda f: {"x": [object(), f.confirmation]}, "note", r"note.x\[0\]: an object of type object"),
]


@pytest.mark.parametrize(("use", "name", "why"), REFUSED_VALUES)
def test_values_that_cannot_be_written_are_refused_with_their_path(
    use: Callable[[Flight], Any], name: str, why: str
) -> None:
    with pytest.raises(PlanError, match=why) as refused:
        issued(use, name)
    assert Path(__file__).name in str(refused.value)


def test_a_value_that_holds_itself_is_refused() -> None:
    def knot(flight: Flight) -> list[Any]:
        value: list[Any] = [flight.confirmation]
        value.append(value)
        return value

    with pytest.raises(PlanError, match="nested too deeply, or holds itself"):
        recorded(knot)


def test_keys_with_a_dollar_are_kept_as_they_are() -> None:
    assert issued(lambda _: {"a": {"$ref": "x"}}, "note") == {"a": {"$lit": {"$ref": "x"}}}


def test_a_call_that_was_meant_to_be_a_step_says_so() -> None:
    async def look_up() -> str:
        return "x"

    with pytest.raises(
        PlanError, match=r"value is a call of look_up, which makes no step; write step\(look_up"
    ):
        recorded(lambda _: look_up())


# --- whose value it is


def test_a_reference_of_another_plan_is_refused() -> None:
    kept: list[Flight] = []

    @plan
    def first() -> None:
        kept.append(step(fly))

    def second() -> None:
        step(take, kept[0].confirmation)

    with pytest.raises(PlanError, match=r"refers to fly.confirmation, which belongs to another plan"):
        plan(second)


def test_a_reference_into_a_sibling_branch_is_refused() -> None:
    def forked() -> None:
        with parallel():
            flight = step(fly)
            step(take, flight.confirmation)

    with pytest.raises(
        PlanError, match=r"step 'take' refers to the result of 'fly', .* not a sibling branch"
    ):
        plan(forked)


def test_the_whole_input_its_parts_and_the_output() -> None:
    @plan
    def book(seat: Seat) -> int:
        step(take, seat)
        step.options(name="again")(take, seat.near[0])
        return seat.row_number

    assert isinstance(book, PlanDefinition)
    written = json.loads(book.document.canonical())
    assert [part["args"]["value"] for part in written["body"]["series"]] == [
        {"$ref": "input"},
        {"$ref": "input", "path": ["near", 0]},
    ]
    assert written["output"] == {"$ref": "input", "path": ["rowNumber"]}
