"""Types that change under running tasks: submitted by the old code, continued by the new."""

import asyncio
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict, is_typeddict

import attrs
import msgspec
import pydantic
import pytest

from makegood import Agent, Makegood, PlanDefinition, plan, step
from makegood.payload import UnknownField, codec_for

Fields = dict[str, Any]
"""Types by name; with a default in a pair."""
OLD: Fields = {"who": str, "seats": (int, 1)}
MORE = OLD | {"meal": (str | None, None)}
LESS: Fields = {"who": str}
NEEDS: Fields = {"who": str, "passport": str, "seats": (int, 1)}
KINDS = ["dataclass", "struct", "attrs", "pydantic", "typeddict"]


def trip_of(kind: str, fields: Fields) -> Any:
    """A type called Trip, made by one of the libraries."""
    pairs = {name: given if isinstance(given, tuple) else (given,) for name, given in fields.items()}
    match kind:
        case "dataclass":
            return make_dataclass("Trip", [(name, *given) for name, given in pairs.items()])
        case "struct":
            return msgspec.defstruct("Trip", [(name, *given) for name, given in pairs.items()])
        case "attrs":
            defaults = {name: (*given, attrs.NOTHING)[1] for name, given in pairs.items()}
            made = {name: attrs.field(type=pairs[name][0], default=defaults[name]) for name in pairs}
            return attrs.make_class("Trip", made)
        case "pydantic":
            declared: dict[str, Any] = {name: (p[0], (*p, ...)[1]) for name, p in pairs.items()}
            return pydantic.create_model("Trip", **declared)
    hints = {name: NotRequired[p[0]] if len(p) > 1 else p[0] for name, p in pairs.items()}
    make: Any = TypedDict
    return make("Trip", hints)


class Code(NamedTuple):
    """One version of an app: its agents, and its plan."""

    air: Agent
    hotel: Agent
    plan: PlanDefinition[Any, Any]


def app(trip: Any) -> Code:
    """The version whose type is this. Each call hands back what it was given, and so does the undo."""
    air, hotel = Agent("air", keyed=True), Agent("hotel", keyed=True)

    async def cancel(booked: Any, trip: Any) -> None: ...

    async def book(trip: Any) -> Any:
        return trip

    async def stay(trip: Any, booked: Any) -> Any:
        return booked

    def travel(given: Any) -> Any:
        return step(stay, given, step(book, given))

    cancel.__annotations__ = {"booked": trip | None, "trip": trip, "return": None}
    book.__annotations__ = {"trip": trip, "return": trip}
    stay.__annotations__ = {"trip": trip, "booked": trip, "return": trip}
    travel.__annotations__ = {"given": trip, "return": trip}
    air.action(undo=cancel)(book)
    hotel.action(undo=None)(stay)
    return Code(air, hotel, plan(travel))


async def begun(store: str, old: Code, given: Any) -> None:
    """A task submitted by old code, which has done its first step and waits for the hotel's agent."""
    async with Makegood(store, agents=[old.air]) as mg:
        task = await mg.submit(old.plan, given, task_id="t")
        while (await task.record())["steps"][0]["state"] != "Completed":
            await asyncio.sleep(0.01)


async def waits(store: str, agents: list[Agent]) -> str:
    """What `why` says once a call was handed back by this code."""
    async with Makegood(store, agents=agents) as mg:
        async with asyncio.timeout(10):
            while "handed" not in (said := await mg.task("t").why()):
                await asyncio.sleep(0.01)
    return said


def given_to(trip: Any) -> Any:
    return {"who": "ann", "seats": 2} if is_typeddict(trip) else trip(who="ann", seats=2)


@pytest.mark.parametrize("kind", KINDS)
def test_an_optional_field_may_be_added(kind: str, tmp_path: Path) -> None:
    store, old, new = f"sqlite:///{tmp_path}/t.db", trip_of(kind, OLD), trip_of(kind, MORE)

    async def main() -> Any:
        await begun(store, app(old), given_to(old))
        async with Makegood(store, agents=[*app(new)[:2]]) as mg:
            assert await mg.task("t").wait(10) == "Completed"
            again = await mg.submit(app(old).plan, given_to(old), task_id="t")  # the old client, once more
            return (await again.record())["output"]

    output = asyncio.run(main())
    assert {name: output[name] for name in OLD} == {"who": "ann", "seats": 2}
    assert output.get("meal") is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_was_removed_is_not_dropped(kind: str, tmp_path: Path) -> None:
    store, old = f"sqlite:///{tmp_path}/t.db", trip_of(kind, OLD)

    async def main() -> str:
        await begun(store, app(old), given_to(old))
        said = await waits(store, [*app(trip_of(kind, LESS))[:2]])
        async with Makegood(store, agents=[*app(old)[:2]]) as mg:  # the way out: the field is there again
            await mg.task("t").retry()
            assert await mg.task("t").wait(10) == "Completed"
        return said

    said = asyncio.run(main())
    assert ".seats: Trip has no such field" in said
    assert "nothing that a task holds is dropped, so keep the field until such tasks have ended" in said


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_is_needed_now_says_so(kind: str, tmp_path: Path) -> None:
    store, old = f"sqlite:///{tmp_path}/t.db", trip_of(kind, OLD)

    async def main() -> str:
        await begun(store, app(old), given_to(old))
        said = await waits(store, [*app(trip_of(kind, NEEDS))[:2]])
        needed = trip_of(kind, NEEDS | {"passport": (str, "")})
        async with Makegood(store, agents=[*app(needed)[:2]]) as mg:  # the way out: it has a default
            await mg.task("t").retry()
            assert await mg.task("t").wait(10) == "Completed"
        return said

    said = asyncio.run(main())
    assert "passport" in said
    assert "give the field a default for tasks that are older" in said


def test_an_undo_that_cannot_read_the_result_waits_as_well(tmp_path: Path) -> None:
    store, old = f"sqlite:///{tmp_path}/t.db", trip_of("dataclass", OLD)

    async def main() -> str:
        await begun(store, app(old), given_to(old))
        async with Makegood(store) as mg:
            await mg.task("t").cancel()
        said = await waits(store, [*app(trip_of("dataclass", LESS))[:2]])
        async with Makegood(store, agents=[*app(old)[:2]]) as mg:
            await mg.task("t").retry()
            assert await mg.task("t").wait(10) == "Compensated"
        return said

    assert "seats: Trip has no such field" in asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_reads_an_output_drops_nothing_either(kind: str) -> None:
    codec = codec_for(trip_of(kind, LESS))
    with pytest.raises(UnknownField, match=r"^output\.seats: Trip has no such field"):
        codec.convert({"who": "ann", "seats": 2}, "output")
    with pytest.raises(UnknownField, match=r"^output\.seats: Trip has no such field"):
        codec.decode(b'{"who":"ann","seats":2}', "output")


class Leaf(msgspec.Struct, tag=True):
    x: int
    more: "list[Leaf]" = []


class Pair(msgspec.Struct, tag=True, array_like=True):
    x: int


class Twig(NamedTuple):
    x: int
    leaf: Leaf | None = None


LEAF = {"type": "Leaf", "x": 1}


@pytest.mark.parametrize(
    ("hint", "json", "path"),
    [
        (list[Leaf], [LEAF, LEAF | {"y": 1}], "value[1].y"),
        (dict[str, Leaf | None], {"a": None, "b": LEAF | {"y": 1}}, "value.b.y"),
        (tuple[int, Leaf], [1, LEAF | {"y": 1}], "value[1].y"),
        (tuple[Leaf, ...] | None, [LEAF, LEAF | {"y": 1}], "value[1].y"),
        (Leaf, LEAF | {"more": [LEAF | {"more": [LEAF, LEAF | {"y": 1}]}]}, "value.more[0].more[1].y"),
        (Twig, [1, LEAF | {"y": 1}], "value[1].y"),
        (Twig, [1, LEAF, 2], "value[2]"),
        (list[Pair | None], [None, ["Pair", 1, 2]], "value[1][2]"),
        (Leaf | int, LEAF | {"y": 1}, "value.y"),
    ],
)
def test_wherever_the_field_lies_its_path_is_told(hint: Any, json: Any, path: str) -> None:
    with pytest.raises(UnknownField) as unknown:
        codec_for(hint).convert(json)
    assert unknown.value.path == path
