"""Values made up for a rehearsal fit their types, differ where they can, and hold what is referred to."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest

from makegood.payload import codec_for, schema_of
from makegood.testing.rehearsal.samples import sample, with_paths


class Colour(Enum):
    RED = "red"


@dataclass
class Tree:
    name: str
    parent: "Tree | None" = None


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
