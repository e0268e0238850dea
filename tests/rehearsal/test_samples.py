"""Values made up for a rehearsal fit their types, differ where they can, and hold what is referred to."""

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest

from makegood.errors import PayloadError
from makegood.payload import Secret, codec_for, schema_of
from makegood.testing.rehearsal.made_up import fitting
from makegood.testing.rehearsal.samples import Path, sample, with_paths


class Colour(Enum):
    RED = "red"


@dataclass
class Tree:
    name: str
    parent: "Tree | None" = None


class Card(msgspec.Struct, tag=True):
    number: int


class Cash(msgspec.Struct, tag=True):
    amount: int


@dataclass
class Shop:
    hours: Annotated[list[time], Secret]
    branches: "list[Shop]"


Small = Annotated[int, msgspec.Meta(ge=3, le=5)]
Short = Annotated[str, msgspec.Meta(min_length=12, max_length=14)]


@pytest.mark.parametrize(
    "hint",
    [
        str, int, float, bool, bytes, None, date, timedelta, Decimal, UUID, Colour, Tree, Small, Short,
        list[int], dict[str, int], tuple[int, str], set[str], Literal["x"], str | None, int | str, list[Tree],
    ],
    ids=str,
)  # fmt: skip
def test_a_sample_fits_its_type(hint: Any) -> None:
    for number in (1, 2, 61, 100):
        codec_for(hint).convert(sample(schema_of(hint), number))


@dataclass
class Order:
    at: datetime
    shop: Shop
    opens: time
    pay: "Card | Cash | None" = None
    trees: list[Tree] = field(default_factory=list)
    spare: tuple[int, Tree | None] = (1, None)
    notes: dict[str, datetime] = field(default_factory=dict)


@pytest.mark.parametrize(
    "path",
    [
        ("at",), ("shop", "hours"), ("shop", "branches", 1, "branches", 0, "hours"), ("pay",),
        ("pay", "amount"), ("trees", 2, "parent", "name"), ("trees", -2), ("spare", 1, "name"),
        ("notes", "tea"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_made_up_fits_its_type_and_holds_what_is_referred_to(path: Path) -> None:
    """Defaults give way; a text without a format is a moment here, and a time of day there."""
    schema = schema_of(Order)
    made = msgspec.json.decode(fitting(codec_for(Order), schema, [path], 1))
    for part in path:
        made = made[part]
    assert made not in (None, "made up 1")
    assert msgspec.json.decode(fitting(codec_for(Order), schema, [], 1))["pay"] is None


def test_what_cannot_be_made_up_is_named() -> None:
    @dataclass
    class Coded:
        at: datetime
        code: Annotated[str, msgspec.Meta(pattern="^a$")]

    with pytest.raises(PayloadError, match=r"^value\.code: Expected `str` matching"):
        fitting(codec_for(Coded), schema_of(Coded), [], 1)


def test_samples_differ() -> None:
    for hint in (str, int, UUID, Decimal, Tree):
        assert sample(schema_of(hint), 1) != sample(schema_of(hint), 2)


def test_a_type_without_a_schema_has_none() -> None:
    class Strange:
        pass

    assert schema_of(Strange) == {}
    assert sample({}) is None


def test_every_path_that_is_referred_to_is_there() -> None:
    made = with_paths({"a": 1, "rows": [5]}, [("b", "c"), ("rows", 2, "id"), ("a",), ("last", -1)], "made up")
    assert made["a"] == 1
    assert made["b"]["c"] == made["rows"][2]["id"] == made["last"][-1] == "made up"
    assert made["rows"][0] == 5
    assert with_paths(None, [()], "made up") == "made up"


def test_a_moment_has_a_form_of_its_own() -> None:
    made = sample(schema_of(Annotated[datetime, msgspec.Meta(tz=True)]), 3)
    assert codec_for(datetime).convert(made).tzinfo is not None
