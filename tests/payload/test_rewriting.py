"""Secrets in pydantic models that write other JSON than their types say: all that is rewritten is hidden."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import pydantic
import pytest
from pydantic_core import core_schema
from typing_extensions import TypedDict

from makegood import Agent, Secret, plan, step
from makegood.authoring.secrets import secret_paths
from makegood.core.secrets import hide
from makegood.payload import codec_for

Hidden = Annotated[str, Secret]
Split = pydantic.BeforeValidator(lambda given: given.split(",") if isinstance(given, str) else given)
Joined = pydantic.PlainSerializer(lambda given: ",".join(given))
Wrapped = pydantic.WrapSerializer(lambda given, write: ",".join(write(given)))


class Card(pydantic.BaseModel):
    number: Hidden = "told"


def card_of(given: Any) -> Any:
    return {"number": given} if isinstance(given, str) else given


# --- a field is


class BySerializer(pydantic.BaseModel):
    item: str = "tea"
    it: Card

    @pydantic.field_serializer("it")
    def _write(self, it: Card) -> str:
        return it.number

    _read = pydantic.field_validator("it", mode="before")(card_of)


class OfAny(pydantic.BaseModel):
    it: Card

    @pydantic.field_serializer("*", mode="wrap")
    def _write(self, it: Card, write: Any) -> str:
        return str(write(it)["number"])

    _read = pydantic.field_validator("it", mode="before")(card_of)


class Plainly(pydantic.BaseModel):
    item: str = "tea"
    it: Annotated[list[Hidden], Joined, Split]


class DeepIn(pydantic.BaseModel):
    item: str = "tea"
    it: dict[str, tuple[int, Annotated[list[Hidden], Wrapped, Split]]]


class InText(pydantic.BaseModel):
    item: str = "tea"
    it: list[pydantic.Json[Card]]


@pytest.mark.filterwarnings("ignore:`json_encoders`")
def test_by_encoders_of_the_model() -> None:
    class Encoded(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(json_encoders={list: ",".join})
        it: Annotated[list[Hidden], Split]

    assert seen(Encoded, Encoded(it=["s3cret"])) == {"it": "***"}


@pydantic.dataclasses.dataclass
class Aliased:
    number: Hidden = pydantic.Field(alias="theNumber")


class Row(NamedTuple):
    aliased: Aliased


class HoldsAliased(pydantic.BaseModel):
    item: str = "tea"
    it: Aliased


class HoldsRow(pydantic.BaseModel):
    item: str = "tea"
    it: Row


@dataclasses.dataclass
class Annotation:
    number: Annotated[str, pydantic.Field(alias="theNumber"), Secret]


class HoldsAnnotation(pydantic.BaseModel):
    item: str = "tea"
    it: list[Annotation]


class Named(TypedDict):
    default: Hidden


class Generating(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(alias_generator=lambda name: f"the_{name}", populate_by_name=True)
    it: Named


class InDict(TypedDict):
    default: Annotated[list[Hidden], Joined, Split]
    type: int


class HoldsDict(pydantic.BaseModel):
    item: str = "tea"
    it: InDict


# --- all of a model is


class Flat(pydantic.BaseModel):
    it: Card

    @pydantic.model_serializer
    def _write(self) -> dict[str, str]:
        return {"number": self.it.number}

    @pydantic.model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        return {"it": given} if "number" in given else given


class Copied(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="ignore")
    number: Hidden

    @pydantic.model_serializer(mode="wrap")
    def _write(self, write: Any) -> Any:
        return {**write(self), "copy": self.number}


class Inherited(Copied):
    more: int = 1


class Dumped(pydantic.BaseModel):
    number: Hidden

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"it": self.number}

    @pydantic.model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        return {"number": given["it"]} if "it" in given else given


class OwnSchema(pydantic.BaseModel):
    number: Hidden

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        writes = core_schema.plain_serializer_function_ser_schema(lambda it: it.number)
        return core_schema.no_info_before_validator_function(card_of, handler(source), serialization=writes)


class Further(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[list[Hidden], Joined, Split]]


class Root(pydantic.RootModel[Annotated[list[Hidden], Joined, Split]]): ...


class RootField(pydantic.RootModel[list[Hidden]]):
    @pydantic.field_serializer("root")
    def _write(self, root: list[str]) -> str:
        return ",".join(root)

    _read = pydantic.field_validator("root", mode="before")(
        lambda given: given.split(",") if isinstance(given, str) else given
    )


class Holder(pydantic.BaseModel):
    item: str = "tea"
    it: list[Flat]


# --- none of it is


class Kept(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(defer_build=True)
    sequence: Sequence[Hidden]
    mapping: Mapping[str, Hidden]
    validated: Annotated[dict[str, Hidden], pydantic.WrapValidator(lambda given, read: read(given))]
    any: pydantic.SerializeAsAny[Card]
    upper: Annotated[str, pydantic.PlainSerializer(str.upper), pydantic.BeforeValidator(str.lower)] = "seen"

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def copy_of(self) -> str:
        return self.any.number


class Itself(pydantic.BaseModel):
    whole: Annotated[str, Secret, pydantic.PlainSerializer(str.upper), pydantic.BeforeValidator(str.lower)]
    item: str = "tea"
    more: "list[Itself]" = []


IN_A_FIELD = {"item": "tea", "it": "***"}
CASES: dict[str, tuple[Any, Any]] = {
    "a field_serializer": (BySerializer(it=Card(number="s3cret")), IN_A_FIELD),
    "one for all fields": (OfAny(it=Card(number="s3cret")), {"it": "***"}),
    "a PlainSerializer": (Plainly(it=["s3cret", "s3cret"]), IN_A_FIELD),
    "a WrapSerializer, deep in the type": (DeepIn(it={"a": (1, ["s3cret"])}), IN_A_FIELD),
    "JSON in a text": (InText.model_validate({"it": ['{"number":"s3cret"}']}), IN_A_FIELD),
    "an alias in a pydantic dataclass": (HoldsAliased(it=Aliased(theNumber="s3cret")), IN_A_FIELD),
    "an alias in a NamedTuple": (HoldsRow(it=Row(Aliased(theNumber="s3cret"))), IN_A_FIELD),
    "an alias in a dataclass": (HoldsAnnotation(it=[Annotation("s3cret")]), IN_A_FIELD),
    "an alias_generator": (Generating(it={"default": "s3cret"}), {"the_it": "***"}),
    "in a TypedDict": (HoldsDict(it={"default": ["s3cret"], "type": 1}), IN_A_FIELD),
    "a model_serializer": (Flat(it=Card(number="s3cret")), "***"),
    "one that copies": (Copied(number="s3cret"), "***"),
    "one of a base": (Inherited(number="s3cret"), "***"),
    "a model_dump": (Dumped(number="s3cret"), "***"),
    "a schema of its own": (OwnSchema(number="s3cret"), "***"),
    "extra fields": (Further.model_validate({"a": ["s3cret"]}), "***"),
    "a root": (Root(["s3cret"]), "***"),
    "a field_serializer of a root": (RootField(["s3cret"]), "***"),
    "models that are rewritten": (Holder(it=[Flat(it=Card(number="s3cret"))]), IN_A_FIELD),
    "what keeps its form": (
        Kept(
            sequence=["s3cret"], mapping={"a": "s3cret"}, validated={"a": "s3cret"}, any=Card(number="s3cret")
        ),
        {
            "sequence": ["***"],
            "mapping": {"a": "***"},
            "validated": {"a": "***"},
            "any": {"number": "***"},
            "upper": "SEEN",
        },
    ),
    "a field that is marked itself": (
        Itself(whole="s3cret", more=[Itself(whole="s3cret")]),
        {"whole": "***", "item": "tea", "more": ["***"]},
    ),
}


def seen(hint: Any, value: Any) -> Any:
    """What a view shows of a value."""
    return hide(json.loads(codec_for(hint).encode(value)), secret_paths(hint))


@pytest.mark.parametrize("case", CASES)
def test_what_is_rewritten_is_hidden_as_a_whole(case: str) -> None:
    value, shown = CASES[case]
    assert seen(type(value), value) == shown


shop = Agent("shop", keyed=True)


@shop.action(reads=True)
async def use(it: InText) -> None: ...


def test_the_document_has_no_default_of_a_secret_in_a_text() -> None:
    @plan
    def spend(it: InText) -> None:
        step(use, it)

    assert "contentSchema" in str(spend.document.input)
    assert "told" not in spend.document.canonical().decode()
