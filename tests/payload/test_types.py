"""Every type that a user may write comes back equal, or is refused with the path of what cannot."""

import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as dc_field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest
import typing_extensions as extensions

from makegood.errors import PayloadError
from makegood.payload import codec_for, schema_of
from tests.payload.models import (
    Address,
    Card,
    Cash,
    Cat,
    Colour,
    Dog,
    Everything,
    Options,
    Parcel,
    Pet,
    Pets,
    Point,
    Row,
    Scalars,
    Seat,
    Size,
    Tree,
)

SCALARS = Scalars(
    text="\0 \u202e \U0001f600",
    number=2**70,
    real=-0.0,
    flag=True,
    raw=b"\x00\xff",
    exact=Decimal("1.10"),
    moment=datetime(1, 1, 1, tzinfo=UTC),
    day=date(9999, 12, 31),
    clock=time(23, 59, 59, 999999),
    length=timedelta(days=-1, microseconds=3),
    id=UUID(int=5),
    colour=Colour.BLUE,
    size=Size.LARGE,
    word=3,
)
ADDRESS = Address(
    streetName="Elm", since=datetime(2026, 1, 1, tzinfo=UTC), tags=frozenset("abcdef"), price=Decimal("1.10")
)
EVERYTHING = Everything(
    scalars=SCALARS,
    pay=Cash(Decimal("9.99")),
    rows=[Row(1, "a"), Row(2)],
    seats={"a": Seat(3, taken_by="me")},
    where=(Point(1.5), Point(2.0, 3.0)),
    pair=(1, "x"),
    options={"meal": "late"},
    pets=[Pet(animal=Cat(lives=3)), Pet(animal=Dog(name="Rex"), owners=[ADDRESS])],
    by_day={date(2026, 1, 1): {3, 1, 2}},
    words=frozenset("ab"),
    tree=Tree(1, [Tree(2), Tree(3, [Tree(4)])]),
    parcel=Parcel(1.5, ADDRESS),
    anything={"a": [1, None, 2.5]},
)
KEPT: list[tuple[Any, Any]] = [
    (EVERYTHING, Everything),
    ([EVERYTHING], list[Everything]),
    (SCALARS, Scalars),
    (SCALARS, Scalars | None),
    (ADDRESS, Address),
    ({"home": ADDRESS}, dict[str, Address | None]),
    (Pet(animal=Dog(name="x")), Pet),
    (Pets([Cat(), Dog()]), Pets),
    (Parcel(2.0), Parcel),
    ((Parcel(2.0, ADDRESS), 1), tuple[Parcel, int]),
    (Seat(0), Seat),
    ({Size.LARGE: 1}, dict[Size, int]),
    ({Size.LARGE, Size.SMALL}, set[Size]),
    ({Colour.RED, Colour.BLUE}, set[Colour]),
    (frozenset({1, "1", None}), frozenset[int | str | None]),
    ({"a": {Card("2"), Card("1")}}, dict[str, set[Card | Cash]]),
    ({1: [{b"b", b"a"}]}, dict[int, list[set[bytes]]]),
    (Tree("x", [Tree("y")]), Tree[str]),
    (Tree(ADDRESS, [Tree(ADDRESS)]), Tree[Address]),
    (Card("1"), Card | Cash | None),
    (1.5, Decimal | float),
    ([Row(1), Row(2, "b")], list[Row]),
]


@pytest.mark.parametrize(
    ("value", "hint"), KEPT, ids=[f"{n} {str(hint)[:40]}" for n, (_, hint) in enumerate(KEPT)]
)
def test_kept_exactly(value: Any, hint: Any) -> None:
    codec = codec_for(hint)
    raw = codec.encode(value)
    back = codec.decode(raw)
    assert back == value
    assert type(back) is type(value)
    assert codec.encode(back) == raw
    assert codec.convert(msgspec.json.decode(raw)) == value


class Homes(msgspec.Struct):
    home: list[Address]
    rate: Decimal


def test_equal_models_are_equal_bytes() -> None:
    """The order of a set is another in every process."""
    assert codec_for(Address).encode(ADDRESS) == (
        b'{"streetName":"Elm","since":"2026-01-01T00:00:00Z","tags":["a","b","c","d","e","f"],"price":"1.10"}'
    )
    assert codec_for(Parcel).encode(Parcel(2)) == codec_for(Parcel).encode(Parcel(2.0))


def test_a_model_lends_its_schema() -> None:
    assert schema_of(Address)["properties"].keys() == {"streetName", "since", "tags", "price"}
    made = schema_of(list[Pet])
    assert {"Address", "Cat", "Dog"} <= made["$defs"].keys()


class Badge(pydantic.BaseModel, frozen=True):
    word: str = pydantic.Field(alias="Word")
    marks: frozenset[str] = frozenset()


class Board(pydantic.BaseModel):
    """Sets of models, in models, in a dict."""

    badges: dict[int, frozenset[Badge]]
    pairs: list[tuple[int, set[bytes]]] = pydantic.Field(alias="thePairs")


def test_sets_in_models_have_an_order_wherever_they_lie() -> None:
    badges = frozenset({Badge(Word="b", marks=frozenset("zyx")), Badge(Word="a")})
    board = Board(badges={7: badges}, thePairs=[(1, {b"b", b"a"})])
    raw = codec_for(Board).encode(board)
    assert raw == (
        b'{"badges":{"7":[{"Word":"a","marks":[]},{"Word":"b","marks":["x","y","z"]}]},'
        b'"thePairs":[[1,["a","b"]]]}'
    )
    assert codec_for(Board).decode(raw) == board


@pydantic.dataclasses.dataclass(frozen=True)
class Stamp:
    """Written as a dataclass by its fields' names, whatever its constructor calls them."""

    word: str = pydantic.Field(alias="Word", max_length=3)
    sizes: list[int] = pydantic.Field(default_factory=list)
    more: "Stamp | None" = None


@pydantic.dataclasses.dataclass(slots=True)
class Slotted:
    n: int = pydantic.Field(ge=0)
    m: int = 5


def test_a_pydantic_dataclass_validates_what_is_read() -> None:
    codec = codec_for(list[Stamp])
    stamps = [Stamp(Word="a", more=Stamp(Word="b", sizes=[1]))]
    raw = codec.encode(stamps)
    assert raw == b'[{"word":"a","sizes":[],"more":{"word":"b","sizes":[1],"more":null}}]'
    assert codec.decode(raw) == stamps
    assert codec.decode(b'[{"word":"a"}]') == [Stamp(Word="a")]
    with pytest.raises(PayloadError, match="String should have at most 3 characters"):
        codec.decode(b'[{"word":"abcd"}]')
    with pytest.raises(PayloadError, match="Field required"):
        codec.convert([{"sizes": [1]}])
    assert codec_for(Slotted).decode(b'{"n":1}') == Slotted(1, 5)
    with pytest.raises(PayloadError, match="greater than or equal to 0"):
        codec_for(Slotted).decode(b'{"n":-1}')


def test_who_uses_neither_library_imports_neither() -> None:
    program = """
import sys
from dataclasses import dataclass
from makegood import Agent, plan, step
from makegood.payload import codec_for

@dataclass
class Trip:
    who: str

codec_for(list[Trip]).decode(codec_for(list[Trip]).encode([Trip("ann")]))
print([name for name in ("pydantic", "pydantic_core", "attr", "attrs") if name in sys.modules])
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


# --- refused, with the path


class Private(pydantic.BaseModel):
    shown: int
    _kept: int = pydantic.PrivateAttr(default=1)


class Left(pydantic.BaseModel):
    out: int = pydantic.Field(default=1, exclude=True)


class Hidden(pydantic.BaseModel):
    password: pydantic.SecretStr


@dataclass
class Uncompared:
    rate: float | None = dc_field(default=None, compare=False)


@attrs.define
class Uncounted:
    rate: float | None = attrs.field(default=None, eq=False)


def made(make: Callable[[], Any], **fields: Any) -> Any:
    """A value with fields that its class would not have taken."""
    value = make()
    for name, given in fields.items():
        object.__setattr__(value, name, given)
    return value


def private() -> Private:
    model = Private(shown=1)
    model._kept = 2
    return model


NAN = math.nan
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "NaN in a model": (
        Parcel(1.0, Address.model_construct(street="x", price=NAN)),
        Parcel,
        r"^input\.to\.price",
    ),
    "infinity in an attrs class": ([Seat(1, taken_by=math.inf)], list[Seat], r"^input\[0\]\.taken_by"),  # type: ignore[arg-type]
    "a lone surrogate in a model": (
        [Address.model_construct(street="\ud800")],
        list[Address],
        r"^input\[0\]\.street holds half",
    ),
    "a naive moment in a model": (
        Pet(animal=Cat(), owners=[Address(streetName="x", since=datetime(2026, 1, 1))]),  # noqa: DTZ001
        Pet,
        r"^input\.owners\[0\]\.since is a datetime without a time zone",
    ),
    "a naive moment as a key": (
        {NAIVE: 1},
        dict[datetime, int],
        r"^input \(a key\) is a datetime",
    ),
    "a naive moment in a set": ({NAIVE}, set[datetime], r"^input\[0\] is a datetime"),
    "seconds in an offset": (
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(seconds=1))),
        datetime,
        "^input cannot be kept exactly",
    ),
    "nothing for a model": (None, Pet, "^input: Input should be an object, got null$"),
    "a model's wrong type": ([Cat.model_construct(lives="9")], list[Cat], r"^input\[0\]\.lives"),
    "a model that is not valid any more": (
        made(Cat, lives=-1),
        Cat,
        r"^input\.lives: Input should be greater",
    ),
    "the same of a dataclass": (
        made(lambda: Parcel(1.0), weight=-1.0),
        Parcel,
        r"^input\.weight: Input should",
    ),
    "an attrs class's validator": (made(lambda: Seat(1), row=-1), Seat, "^input: 'row' must be >= 0"),
    "a subclass": (Private(shown=1), Cat, "^input cannot be kept exactly"),
    "a private attribute": (private(), Private, r"^input\._kept cannot be kept exactly: int 2 .* as int 1"),
    "a field left out": (Left(out=2), Left, r"^input\.out cannot be kept exactly"),
    "a pydantic secret": (
        Hidden(password=pydantic.SecretStr("x")),
        Hidden,
        r"^input\.password cannot be kept",
    ),
    "a field left out when compared": (
        Uncompared(math.inf),
        Uncompared,
        r"^input\.rate cannot be kept exactly",
    ),
    "the same of an attrs class": (Uncounted(math.inf), Uncounted, r"^input\.rate cannot be kept exactly"),
    "a key that a TypedDict has not": ({"meal": "x", "sauce": 1}, Options, "^input cannot be kept"),
    "a tuple too long": ((1, "a", 2), tuple[int, str], "^input"),
    "past what a float can hold": (2**70 + 1, float, "^input"),
    "a float for an int": (1.5, int, "^input: Expected `int`"),
    "a string for an enum": (
        "red",
        Colour,
        "^input cannot be kept exactly: str 'red' .*; give Colour.RED",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_its_path(case: str) -> None:
    value, hint, why = REFUSED[case]
    with pytest.raises(PayloadError, match=why):
        codec_for(hint).encode(value, "input")


BLUE_OR_RED = "Invalid enum value 'pink'; it is one of 'blue', 'red'"
COLOURS_AS_KEYS = dict[str, dict[Colour, int]]
MANY = Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]


@pytest.mark.parametrize(
    ("hint", "json", "said"),
    [
        (list[Colour], '["pink"]', f"input[0]: {BLUE_OR_RED}"),
        (tuple[int, Colour | None], '[1, "pink"]', f"input[1]: {BLUE_OR_RED}"),
        (list[Tree[Colour]], '[{"item": "pink"}]', f"input[0].item: {BLUE_OR_RED}"),
        (COLOURS_AS_KEYS, '{"a": {"pink": 1}}', f"input[...]: {BLUE_OR_RED}".replace(";", " as a key;")),
        (MANY, "0", "input: Invalid enum value 0; it is one of 1, 2, 3, 4, 5, 6, 7, 8, ... (13 in all)"),
    ],
    ids=str,
)
def test_what_an_enum_allows_is_told(hint: Any, json: str, said: str) -> None:
    with pytest.raises(PayloadError) as refused:
        codec_for(hint).decode(json.encode(), "input")
    assert str(refused.value) == said


def test_digits_that_a_model_would_be_given_rounded_are_refused() -> None:
    for text in ("12345678901234567.89", "0.123456789012345678901234567890"):
        raw = b'{"home":[{"streetName":"Elm","price":%s}],"rate":%s}' % (text.encode(), text.encode())
        with pytest.raises(PayloadError, match=r"^input\.home\[0\]\.price: a number of more digits"):
            codec_for(Homes).decode(raw, "input")
        [there] = codec_for(Homes).decode(raw.replace(text.encode(), b'"%s"' % text.encode())).home
        assert there.price == Decimal(text)


def test_a_pydantic_secret_is_not_told_when_it_is_refused() -> None:
    with pytest.raises(PayloadError) as refused:
        codec_for(Hidden).encode(Hidden(password=pydantic.SecretStr("hunter2")))
    assert "hunter2" not in str(refused.value)


T = TypeVar("T")


@pydantic.dataclasses.dataclass(config=pydantic.ConfigDict(extra="allow"))
class Loose:
    name: str


class Odd:
    pass


@dataclass
class Holds(Generic[T]):
    it: T


@dataclass
class Lost:
    where: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


class Generally(Protocol[T]):
    it: T


@dataclass
class Formal(Generally[int]):
    more: "Formal | None" = None


Items = extensions.TypeVarTuple("Items")


@dataclass
class Several(Generic[*Items]):
    them: int


Alias = extensions.TypeAliasType("Alias", str)
Listed = extensions.TypeAliasType("Listed", list[T], type_params=(T,))


@dataclass
class Renamed:
    name: str
    given: Alias
    more: "Renamed | None" = None


class Inside(msgspec.Struct):
    them: dict[str, Renamed | None]


class Modelled(pydantic.BaseModel):
    given: Alias
    listed: Listed[int]


ALIAS = "type alias Alias cannot be written as JSON, except in a pydantic model; write the type itself"

IN_VAIN: dict[str, tuple[Any, str]] = {
    "dataclasses": (
        Scalars | Everything,
        r"cannot be told apart in JSON; .* msgspec.Struct classes with tag=True",
    ),
    "dataclasses, nested": (Holds[list[Scalars | Everything]], "cannot be told apart"),
    "an attrs class and a dataclass": (Seat | Scalars, "cannot be told apart"),
    "models": (
        Annotated[Cat | Dog, pydantic.Field(discriminator="kind")],
        r"a model of its own \(RootModel\)",
    ),
    "a model and a number": (list[Cat | int], "cannot be told apart"),
    "two texts": (str | UUID, "cannot be told apart"),
    "a class of one's own": (Odd, "^type Odd cannot be written as JSON"),
    "the same inside": (Holds[dict[str, Odd]], "^type Odd cannot be written as JSON"),
    "a callable": (Callable[[], int], "cannot be written as JSON"),
    "JSON as it comes": (list[msgspec.Raw], "nobody has looked at; declare Any"),
    "what takes anything and keeps it not": (Holds[Loose], "the extras are not written; make it a BaseModel"),
    "a generic Protocol": (
        Formal,
        "^type Formal cannot be written as JSON; write its fields in a class .* without a generic Protocol",
    ),
    "the same in a field": (Holds[list[Formal]], "^Holds.it: type Formal cannot be written as JSON"),
    "variadic": (Several[int, str], "^type Several cannot be .* a TypeVarTuple among its bases"),
    "a type alias": (Alias, f"^{ALIAS}.* Alias: TypeAlias = "),
    "a generic one": (Listed[int], "^type alias Listed cannot"),
    "the same in a list": (list[Alias | None], f"^{ALIAS}"),
    "the same as a field": (Renamed, f"^Renamed.given: {ALIAS}"),
    "a field deep in a type": (Inside, f"^Renamed.given: {ALIAS}"),
    "a name that is not there": (Lost, "name 'Nowhere' is not defined"),
}


@pytest.mark.parametrize("case", IN_VAIN)
def test_refused_when_it_is_declared(case: str) -> None:
    hint, why = IN_VAIN[case]
    with pytest.raises(PayloadError, match=why):
        codec_for(hint)


def test_a_type_alias_works_in_a_pydantic_model() -> None:
    codec = codec_for(Modelled)
    model = Modelled(given="x", listed=[1])
    assert codec.decode(codec.encode(model)) == model
