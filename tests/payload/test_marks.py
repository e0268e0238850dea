"""Where a type marks a secret: in every way to write a type, and in the schema that a plan's document has."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, TypedDict, TypeVar

import attrs
import msgspec
import pydantic
import pytest
import typing_extensions as extensions

from makegood import Agent, Secret, plan, step
from makegood.authoring.secrets import secret_paths
from makegood.errors import PayloadError, PlanError
from makegood.payload import codec_for

Hidden = Annotated[str, Secret]
T = TypeVar("T")
U = TypeVar("U")
Bound = TypeVar("Bound", bound=Hidden)
Default = extensions.TypeVar("Default", default=Hidden)


class Personal(Secret):
    """A mark of one's own."""


class Health(Personal): ...


Card = extensions.TypeAliasType("Card", Hidden)
Many = extensions.TypeAliasType("Many", list[T], type_params=(T,))


@dataclass
class Envelope(Generic[T]):
    body: T


@dataclass
class CardOrder(Envelope[Hidden]):
    item: str = "tea"


@dataclass
class ManyOrders(CardOrder):
    amount: int = 1


@dataclass
class Two(Generic[T, U]):
    one: T
    other: list[U]


@dataclass
class Swapped(Two[U, T], Generic[T, U]):
    more: int = 0


class StructEnvelope(msgspec.Struct, Generic[T]):
    body: T


class StructOrder(StructEnvelope[Hidden]):
    item: str = "tea"


@attrs.define
class AttrsEnvelope(Generic[T]):
    body: T


@attrs.define
class AttrsOrder(AttrsEnvelope[Hidden]):
    item: str = "tea"


class DictEnvelope(TypedDict, Generic[T]):
    body: T


class DictOrder(DictEnvelope[Hidden]):
    item: str


class Extended(extensions.TypedDict):
    body: extensions.NotRequired[Hidden]


class Lasting(extensions.TypedDict):
    body: extensions.Required[extensions.ReadOnly[Hidden]]


class Nested(pydantic.BaseModel):
    body: Card
    extended: Extended


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


class Further(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Hidden]


class FurtherWords(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    __pydantic_extra__: "dict[str, list[Hidden]]"


@dataclass
class Fixed:
    body: Final[Hidden]
    count: ClassVar[Hidden] = ""


@dataclass
class BoundBox(Generic[Bound]):
    body: Bound


@dataclass
class DefaultBox(Generic[Default]):
    body: Default


@dataclass
class Open(CardOrder):
    body: str
    seen: ClassVar[list[Hidden]]


MARKED: list[tuple[Any, set[tuple[Any, ...]]]] = [
    (list[int | str], set()),
    (Page[int], set()),
    (Page[Hidden], {("items", "*")}),
    (Card, {()}),
    (list[Card | None], {("*",)}),
    (Many[Hidden], {("*",)}),
    (CardOrder, {("body",)}),
    (ManyOrders, {("body",)}),
    (Swapped[int, Hidden], {("one",)}),
    (Swapped[Hidden, int], {("other", "*")}),
    (StructOrder, {("body",)}),
    (AttrsOrder, {("body",)}),
    (DictOrder, {("body",)}),
    (Extended, {("body",)}),
    (Lasting, {("body",)}),
    (Nested, {("body",), ("extended", "body")}),
    (Further, {("*",)}),
    (FurtherWords, {("*", "*")}),
    (Fixed, {("body",)}),
    (Annotated[str, Personal], {()}),
    (Annotated[str, Personal()], {()}),
    (list[Annotated[str, "x", Health]], {("*",)}),
    (Page[Annotated[str, Health]], {("items", "*")}),
    (BoundBox, {("body",)}),
    (BoundBox[Any], set()),
    (DefaultBox, {("body",)}),
    (Collection[Hidden], {("*",)}),
    (pydantic.RootModel[Card], {()}),
]


@pytest.mark.parametrize(("hint", "paths"), MARKED, ids=[str(hint)[:60] for hint, _ in MARKED])
def test_a_mark_is_found_however_the_type_is_written(hint: Any, paths: set[Any]) -> None:
    assert secret_paths(hint) == paths


Letter = Annotated[Literal["a", "b"], Secret]
LetterAlias = extensions.TypeAliasType("LetterAlias", Letter)


@dataclass
class LetterOrder(Envelope[Letter]):
    item: str = "tea"


class LetterModel(pydantic.BaseModel):
    body: LetterAlias


class FurtherLetters(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Letter]


@pytest.mark.parametrize("hint", [LetterOrder, LetterModel, FurtherLetters])
def test_nor_does_an_error_tell_more_of_it(hint: Any) -> None:
    with pytest.raises(PayloadError, match=r"^input.*: what it holds does not fit its type$"):
        codec_for(hint).decode(b'{"body":"c"}', "input")


class Envoy(Generic[T]):
    """A type that only pydantic can read, because it says how."""

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        return {"type": "any"}


class Sent(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    code: Hidden
    envoy: Envoy[Hidden]


def test_a_mark_of_which_the_place_in_json_is_unknown_is_refused() -> None:
    with pytest.raises(PlanError, match=r"Envoy\[.*\] marks a secret, .* mark all of it: Annotated\[Envoy"):
        secret_paths(Sent)


# --- the same walk leads references into them

shop = Agent("shop", keyed=True)


class Renamed(msgspec.Struct, rename="camel"):
    my_item: int


class Written(pydantic.BaseModel):
    my_item: Annotated[int, pydantic.Field(alias="myItem")]


class Cart(pydantic.BaseModel):
    items: list[extensions.TypeAliasType("Alias", Written)]  # type: ignore[valid-type]  # one of a library's


Item = TypeVar("Item", bound=Renamed)


@dataclass
class Box(Generic[Item]):
    item: Item


@shop.action(reads=True)
async def count(number: int) -> None: ...


PATHS: dict[str, tuple[Any, Any, list[str | int]]] = {
    "a base with its variables in another order": (Swapped[str, int], lambda it: it.one, ["one"]),
    "a list in such a base": (Swapped[int, str], lambda it: it.other[0], ["other", 0]),
    "an alias": (Cart, lambda it: it.items[0].my_item, ["items", 0, "myItem"]),
    "a bound variable": (Box, lambda it: it.item.my_item, ["item", "myItem"]),
    "a Collection": (Collection[Renamed], lambda it: it[0].my_item, [0, "myItem"]),
}


@pytest.mark.parametrize("case", PATHS)
def test_a_reference_leads_into_it(case: str) -> None:
    hint, part, path = PATHS[case]

    def counts(given: Any) -> None:
        step(count, part(given))

    counts.__annotations__ = {"given": hint, "return": None}
    body: Any = plan(counts).document.body
    assert body.series[0].args == {"number": {"$ref": "input", "path": path}}


# --- no schema tells one


class Pair(msgspec.Struct, array_like=True, tag=True, frozen=True):
    name: str = "seen-1"
    code: Hidden = "told-1"


class Named(pydantic.BaseModel):
    number: Annotated[str, Secret, pydantic.Field(alias="theNumber", examples=["told-2"])] = "told-3"
    holder: Annotated[str, pydantic.Field(examples=["seen-2"])] = "seen-3"


class Chosen(pydantic.BaseModel):
    word: Annotated[str, Secret, pydantic.Field(validation_alias=pydantic.AliasChoices("one", "word"))] = (
        "told-4"
    )


class Wallet(pydantic.BaseModel):
    chosen: Chosen = Chosen()
    named: Named = Named.model_validate({"theNumber": "told-5"})
    all: list[Named] = [Named.model_validate({"theNumber": "told-6"})]
    by_name: dict[str, Hidden] = {"ann": "told-7"}
    both: tuple[str, Hidden] = ("seen", "told-8")
    none: Hidden | None = None
    label: str = "seen-4"


class Purse(msgspec.Struct):
    wallet: Wallet
    pair: Pair = Pair(code="told-9")
    whole: Annotated[Pair, Secret] = Pair("told-10", "told-11")
    words: Annotated[list[str], Secret, msgspec.Meta(examples=[["told-12"]])] = []
    word: Annotated[str, msgspec.Meta(examples=["told-13"])] = "told-14"
    label: str = "seen-5"


@shop.action(reads=True)
async def use(purse: Purse, word: Hidden) -> None: ...


def test_the_document_has_no_default_and_no_example_of_a_secret() -> None:
    @plan
    def spend(purse: Purse) -> None:
        step(use, purse, purse.word)

    document = spend.document.canonical().decode()
    assert "told" not in document
    # The name of the first Pair is left out, too: one schema is of both.
    assert [n for n in range(1, 6) if f"seen-{n}" in document] == [2, 3, 4, 5]
    assert spend.document.input["$defs"]["Purse"]["required"] == ["wallet"]
