"""The types that the tests of payloads are about: every kind that a user may write."""

import enum
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar
from uuid import UUID

import attrs
import msgspec
import pydantic

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Options(TypedDict, total=False):
    meal: str
    bags: int


class Card(msgspec.Struct, tag="card", frozen=True):
    number: str


class Cash(msgspec.Struct, tag="cash", frozen=True):
    amount: Decimal


class Row(msgspec.Struct, array_like=True, frozen=True):
    n: int
    text: str = ""


@dataclass
class Scalars:
    """Every type that stands in one place of the JSON."""

    text: str
    number: int
    real: float
    flag: bool
    raw: bytes
    exact: Decimal
    moment: datetime
    day: date
    clock: time
    length: timedelta
    id: UUID
    colour: Colour
    size: Size
    word: Literal["a", "b", 3]
    nothing: None = None


@dataclass
class Tree(Generic[T]):
    """Generic, and holding itself."""

    item: T
    children: "list[Tree[T]]" = field(default_factory=list)


@attrs.define
class Seat:
    row: int = attrs.field(validator=attrs.validators.ge(0))
    colour: Colour = Colour.RED
    taken_by: str | None = None


class Address(pydantic.BaseModel):
    """A model of pydantic, with names of its own in JSON."""

    street: str = pydantic.Field(alias="streetName", min_length=1)
    since: datetime | None = None
    tags: frozenset[str] = frozenset()
    price: Decimal = Decimal(0)


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = pydantic.Field(default=9, ge=0)


class Dog(pydantic.BaseModel):
    kind: Literal["dog"] = "dog"
    name: str = ""


class Pet(pydantic.BaseModel):
    """A union told apart by its discriminator, in a model of its own."""

    animal: Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]
    owners: "list[Address]" = []


class Pets(pydantic.RootModel[list[Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]]]):
    """A model that is its list."""


@pydantic.dataclasses.dataclass
class Parcel:
    weight: float = pydantic.Field(gt=0)
    to: Address | None = None


@dataclass
class Everything:
    """Each kind of model inside of another."""

    scalars: Scalars
    pay: Card | Cash
    rows: list[Row]
    seats: dict[str, Seat]
    where: tuple[Point, ...]
    pair: tuple[int, str]
    options: Options
    pets: list[Pet]
    by_day: dict[date, set[int]]
    words: frozenset[str]
    tree: Tree[int]
    parcel: Parcel | None = None
    anything: Any = None
