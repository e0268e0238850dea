"""Sound plans of every shape, as they are declared: none of their functions is ever called."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NoReturn

from makegood import Agent, PlanDefinition, parallel, plan, series, step

keyed = Agent("keyed", keyed=True)
buries = Agent("buries", keyed=True, tombstone=True)
asked = Agent("asked")
neither = Agent("neither")


@dataclass
class Leg:
    number: int
    price: Decimal
    leaves: datetime


@dataclass
class Order:
    day: date
    legs: list[Leg]
    note: str | None = None


def never() -> NoReturn:
    raise AssertionError("a rehearsal calls no function that it was not told to")


def undo(result: object) -> None:
    never()


def find() -> Any:
    never()


@keyed.action(undo=undo)
def one(order: Order, price: Decimal = Decimal(1)) -> Leg:
    never()


@buries.action(undo=undo)
def two(order: Order, leaves: datetime) -> list[Leg]:
    never()


@asked.action(undo=undo, probe=find)
def three(order: Order) -> dict[str, int]:
    never()


@neither.action(undo=undo)
def four(order: Order) -> str:
    never()


@keyed.action(reads=True)
def look(order: Order) -> Leg:
    never()


@keyed.action(pivot=True)
def point(order: Order) -> str:
    never()


@keyed.action(undo=None)
def mail(order: Order, text: str) -> None:
    never()


@plan
def five(order: Order) -> dict[str, Any]:
    first = step(one, order)
    second = step(two, order, leaves=first.leaves)
    step(three, order)
    step.options(name="one_more")(one, order, price=second[0].price)
    last = step.options(name="the_last")(three, order)
    return {"number": second[0].number, "last": last["anything"]}


@plan
def groups(order: Order) -> None:
    seen = step(look, order)
    with parallel():
        step(one, order, price=seen.price)
        with series():
            step(three, order)
            step.options(name="deeper")(two, order, leaves=seen.leaves)
    step(four, order)


@plan
def pivoted(order: Order) -> str:
    step(one, order)
    text = step(point, order)
    step(mail, order, text=text)
    return text


by_hand = PlanDefinition.from_document(
    {
        "plan": "by_hand",
        "body": {
            "series": [
                {"step": "a", "agent": "x", "action": "a", "undo": "un_a", "class": {"keyed": True}},
                {
                    "step": "b",
                    "agent": "y",
                    "action": "b",
                    "args": {
                        "deep": {"$ref": "a", "path": ["rows", 2, "id"]},
                        "who": {"$ref": "input", "path": ["who"]},
                    },
                    "undo": None,
                },
            ]
        },
        "output": {"$ref": "b"},
    }
)
PLANS = (five, groups, pivoted, by_hand)
