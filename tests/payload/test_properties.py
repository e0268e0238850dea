"""Generated values of generated nested types come back from the stores as they were given."""

import asyncio
from collections.abc import Sequence
from dataclasses import make_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from makegood import Agent, Makegood, plan, step
from makegood.payload import codec_for
from tests.payload.models import Colour, Size

VALUES = 2_400
"""How many generated values go through each store."""
BATCH = 40
"""How many values of one type go through at a time, one task each."""


class Typed(NamedTuple):
    """A type, and values of it."""

    hint: Any
    values: "st.SearchStrategy[Any]"
    hashable: bool = False


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["", "\0", "$ref", "\u202e"]
)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-11))])
MOMENTS = st.datetimes(timezones=ZONES) | st.sampled_from(
    [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-0.0, 5e-324, 1e308])
LEAVES = [
    Typed(str, TEXT, True),
    Typed(int, st.integers() | st.sampled_from([2**70, -(2**70)]), True),
    Typed(float, FLOATS, True),
    Typed(bool, st.booleans(), True),
    Typed(bytes, st.binary(max_size=8), True),
    Typed(Decimal, st.decimals(allow_nan=False, allow_infinity=False), True),
    Typed(datetime, MOMENTS, True),
    Typed(date, st.dates(), True),
    Typed(time, st.times(), True),
    Typed(timedelta, st.timedeltas(), True),
    Typed(UUID, st.uuids(), True),
    Typed(Colour, st.sampled_from(Colour), True),
    Typed(Size, st.sampled_from(Size), True),
    Typed(Literal["a", 3, None], st.sampled_from(["a", 3, None])),
    Typed(type(None), st.none()),
]
KEYS = [leaf for leaf in LEAVES if leaf.hint in (str, int, bytes, date, datetime, UUID, Colour, Size)]
IN_MODELS = [leaf for leaf in LEAVES if leaf.hint is not bytes]
"""A text is what pydantic makes of bytes."""


def lists(inner: Typed) -> Typed:
    return Typed(list[inner.hint], st.lists(inner.values, max_size=3))  # type: ignore[name-defined]


def tuples(inner: Typed) -> Typed:
    return Typed(tuple[inner.hint, ...], st.lists(inner.values, max_size=3).map(tuple))  # type: ignore[name-defined]


def pairs(inner: Typed) -> Typed:
    return Typed(tuple[int, inner.hint], st.tuples(st.integers(), inner.values))  # type: ignore[name-defined]


def optional(inner: Typed) -> Typed:
    return Typed(inner.hint | None, st.none() | inner.values, inner.hashable)


def structs(inner: Typed) -> Typed:
    return _made(lambda fields: msgspec.defstruct("S", list(fields.items()), rename="camel"), inner)


def tagged(inner: Typed) -> Typed:
    one = msgspec.defstruct("One", [("part_of", inner.hint)], tag=True)
    two = msgspec.defstruct("Two", [("n", int)], tag=True)
    return Typed(one | two, st.builds(one, part_of=inner.values) | st.builds(two, n=st.integers()))


def arrays(inner: Typed) -> Typed:
    return _made(lambda fields: msgspec.defstruct("A", list(fields.items()), array_like=True), inner)


def dataclasses(inner: Typed) -> Typed:
    return _made(lambda fields: make_dataclass("D", list(fields.items())), inner)


def attrs_classes(inner: Typed) -> Typed:
    return _made(
        lambda fields: attrs.make_class("T", {n: attrs.field(type=h) for n, h in fields.items()}), inner
    )


def named_tuples(inner: Typed) -> Typed:
    make: Any = NamedTuple
    return _made(lambda fields: make("N", list(fields.items())), inner)


def typed_dicts(inner: Typed) -> Typed:
    make: Any = TypedDict
    fields = {"part_of": inner.hint, "n": int}
    return Typed(make("K", fields), st.fixed_dictionaries({"part_of": inner.values, "n": st.integers()}))


def models(inner: Typed) -> Typed:
    def make(fields: dict[str, Any]) -> Any:
        declared: dict[str, Any] = {name: (hint, ...) for name, hint in fields.items()}
        return pydantic.create_model("M", **declared)

    return _made(make, inner)


def validated(inner: Typed) -> Typed:
    return _made(
        lambda fields: pydantic.dataclasses.dataclass(make_dataclass("V", list(fields.items()))), inner
    )


def _made(make: Any, inner: Typed) -> Typed:
    cls = make({"part_of": inner.hint, "n": int})
    return Typed(cls, st.builds(cls, part_of=inner.values, n=st.integers()))


def dicts(key: Typed, inner: Typed) -> Typed:
    return Typed(dict[key.hint, inner.hint], st.dictionaries(key.values, inner.values, max_size=3))  # type: ignore[name-defined]


def sets(item: Typed) -> Typed:
    return Typed(set[item.hint], st.sets(item.values, max_size=4))  # type: ignore[name-defined]


def frozen(item: Typed) -> Typed:
    return Typed(frozenset[item.hint], st.frozensets(item.values, max_size=4))  # type: ignore[name-defined]


AROUND = [
    lists,
    tuples,
    pairs,
    optional,
    structs,
    tagged,
    arrays,
    dataclasses,
    attrs_classes,
    named_tuples,
    typed_dicts,
]


@st.composite
def types(draw: st.DrawFn) -> Typed:
    """A type of one to four layers; those of pydantic are innermost, where the library knows all of them."""
    made = draw(
        st.sampled_from(IN_MODELS).map(models) | st.sampled_from([*LEAVES]) | st.sampled_from(KEYS).map(sets)
    )
    made = draw(st.sampled_from([made, validated(made)]))
    for _ in range(draw(st.integers(0, 3))):
        wrap: Any = draw(st.sampled_from([*AROUND, "dict", "set"]))
        if wrap == "dict":
            made = dicts(draw(st.sampled_from(KEYS)), made)
        elif wrap == "set":
            made = frozen(made) if made.hashable else lists(made)
        elif wrap is optional and made.hint in (type(None), LEAVES[-2].hint):
            continue
        else:
            made = wrap(made)
    return made


@st.composite
def batches(draw: st.DrawFn) -> tuple[Any, list[Any]]:
    """A type, and BATCH values of it."""
    made = draw(types())
    return made.hint, draw(st.lists(made.values, min_size=BATCH, max_size=BATCH))


async def there_and_back(store: str, hint: Any, values: Sequence[Any]) -> list[Any]:
    """What comes out of tasks that were given these values, and of their one action."""
    agent, given = Agent("mirror", keyed=True), list[Any]()

    async def mirror(value: Any) -> Any:
        given.append(value)
        return value

    def look(value: Any) -> Any:
        return step(mirror, value)

    mirror.__annotations__ = look.__annotations__ = {"value": hint, "return": hint}
    agent.action(reads=True)(mirror)
    async with Makegood(store, agents=[agent]) as mg:
        tasks = await mg.submit_many(plan(look), values)
        results = [await task.result(30) for task in tasks]
    assert len(given) == len(values)
    return results


counted: dict[str, int] = {"memory": 0, "sqlite": 0}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_generated_values_come_back(kind: str, tmp_path: Path) -> None:
    store = "memory:" if kind == "memory" else f"sqlite:///{tmp_path}/t.db"

    @settings(
        max_examples=VALUES // BATCH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(batches())
    def run(batch: tuple[Any, list[Any]]) -> None:
        hint, values = batch
        codec = codec_for(hint)
        raws = [codec.encode(value) for value in values]
        results = asyncio.run(there_and_back(store, hint, values))
        assert results == values
        assert [codec.encode(result) for result in results] == raws
        counted[kind] += len(values)

    run()
    assert counted[kind] >= 2_000
