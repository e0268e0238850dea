"""Values of every kind go through a plan, the store, the history, the command line and an undo, unchanged."""

import asyncio
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest

from makegood import Agent, Compensated, Makegood, Refused, build, plan, step
from makegood.errors import PayloadError, PlanError
from makegood.payload import codec_for
from makegood.store.memory import MemoryStore
from tests.cli.terminal import Shell
from tests.payload.models import Address, Card, Cash, Everything, Parcel, Pet, Pets, Seat, Tree
from tests.payload.test_types import ADDRESS, EVERYTHING

shop = Agent("shop", keyed=True)
seen: dict[str, Any] = {}


async def give_back(order: Everything | None, given: Everything) -> None:
    seen["undone"] = order, given


@shop.action(undo=give_back)
async def take(given: Everything) -> Everything:
    seen["taken"] = given
    return given


@shop.action(reads=True)
async def look(home: Address, seat: Seat, street: str, parcel: Parcel | None, tree: Tree[int]) -> Pet:
    seen["looked"] = home, seat, street, parcel, tree
    return EVERYTHING.pets[1]


@shop.action(undo=None)
async def refuse(pet: Pet, pay: Card | Cash) -> Pet:
    seen["refused"] = pet, pay
    raise Refused("no")


@plan
def everywhere(given: Everything) -> Pet:
    order = step(take, given)
    owner = order.pets[1].owners[0]
    pet = step(look, owner, order.seats["a"], owner.street, order.parcel, order.tree.children[1])
    return step(refuse, pet, given.pay)


def url(kind: str, folder: Path) -> Any:
    return MemoryStore() if kind == "memory" else f"sqlite:///{folder}/tasks.db"


def test_a_plan_knows_the_names_that_models_have_in_json() -> None:
    steps = everywhere.document.body.series  # type: ignore[union-attr]
    assert steps[1].args["street"] == {"$ref": "take", "path": ["pets", 1, "owners", 0, "streetName"]}  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_every_call_gets_the_very_values(kind: str, tmp_path: Path) -> None:
    async def main() -> list[dict[str, Any]]:
        async with Makegood(url(kind, tmp_path), agents=[shop]) as mg:
            task = await mg.submit(everywhere, EVERYTHING, task_id="t")
            with pytest.raises(Compensated):
                await task.result(20)
            await mg.submit(everywhere, EVERYTHING, task_id="t")  # the same once more is the same task
            return await task.history()

    seen.clear()
    history = asyncio.run(main())
    assert seen == {
        "taken": EVERYTHING,
        "looked": (ADDRESS, Seat(3, taken_by="me"), "Elm", Parcel(1.5, ADDRESS), Tree(3, [Tree(4)])),
        "refused": (EVERYTHING.pets[1], Cash(Decimal("9.99"))),
        "undone": (EVERYTHING, EVERYTHING),
    }
    told = [fact[name] for fact in history for name in ("input", "result") if name in fact]
    assert [codec_for(Everything).convert(value) for value in told[:2]] == [EVERYTHING, EVERYTHING]


def test_json_from_outside_is_the_same_task_as_the_value() -> None:
    async def main() -> None:
        codec = codec_for(Everything)
        async with Makegood("memory:") as mg:
            await mg.submit(everywhere, EVERYTHING, task_id="t")
            await mg.submit_json(everywhere, codec.encode(EVERYTHING), task_id="t")
            given = msgspec.json.decode(codec.encode(EVERYTHING))
            given["pets"][1]["owners"][0]["street"] = "x"
            with pytest.raises(
                PayloadError, match=r"^input\.pets\[1\]\.owners\[0\]\.street: plan everywhere takes no"
            ):
                await mg.submit_json(everywhere, msgspec.json.encode(given), task_id="t")

    asyncio.run(main())


def test_the_output_is_what_was_returned(tmp_path: Path) -> None:
    @plan
    def looking(given: Everything) -> Pet:
        return step(look, given.pets[1].owners[0], given.seats["a"], "x", None, given.tree)

    async def main() -> Pet:
        async with Makegood(url("sqlite", tmp_path), agents=[shop]) as mg:
            return await (await mg.submit(looking, EVERYTHING, task_id="t")).result(20)

    assert asyncio.run(main()) == EVERYTHING.pets[1]
    shown = json.loads(Shell(tmp_path).ok("show", "t", "--json", "--store", "sqlite:///tasks.db"))
    assert codec_for(Everything).convert(shown["input"]) == EVERYTHING
    assert codec_for(Pet).convert(shown["output"]) == EVERYTHING.pets[1]


# --- models with references in them


@shop.action(reads=True)
async def hold(home: Address, seat: Seat, parcel: Parcel) -> None:
    seen["held"] = home, seat, parcel


def test_a_model_is_built_of_references(tmp_path: Path) -> None:
    @plan
    def building(given: Everything) -> None:
        home = build(Address, street=given.scalars.text, since=ADDRESS.since, tags=frozenset("ba"))  # type: ignore[call-arg]
        seat = build(Seat, row=given.pair[0], taken_by=given.pair[1])
        step(hold, home, seat, build(Parcel, weight=given.scalars.real, to=home))

    args = building.document.body.series[0].args  # type: ignore[union-attr]
    assert args["home"] == {
        "streetName": {"$ref": "input", "path": ["scalars", "text"]},
        "since": "2026-01-01T00:00:00Z",
        "tags": ["a", "b"],
    }

    async def main() -> None:
        async with Makegood(url("memory", tmp_path), agents=[shop]) as mg:
            given = replace(EVERYTHING, scalars=replace(EVERYTHING.scalars, real=3.0, text="Elm"))
            await (await mg.submit(building, given)).result(20)

    asyncio.run(main())
    home = Address(streetName="Elm", since=ADDRESS.since, tags=frozenset("ab"))
    assert seen["held"] == (home, Seat(1, taken_by="x"), Parcel(3.0, home))


def test_literal_fields_are_written_as_the_model_writes_them() -> None:
    @plan
    def adopting(given: Everything) -> None:
        step(take_pets, [build(Pet, animal=given.pets[0].animal, owners=[ADDRESS])])

    body: Any = adopting.document.body
    [pet] = body.series[0].args["part"]
    assert pet["owners"] == msgspec.json.decode(codec_for(list[Address]).encode([ADDRESS]))
    address: Any = Address

    def wrong(given: str) -> None:
        step(take_pet, build(address, street=5, since=given))

    with pytest.raises(PlanError, match=r"step take_pet: part\.street cannot be written by Address"):
        plan(wrong)


class Blob(pydantic.BaseModel):
    data: bytes = b""


@dataclass
class Raw:
    data: bytes


class Shelf(pydantic.BaseModel):
    """Bytes, in all kinds of places."""

    blobs: list[Blob] = []
    chunks: dict[str, list[bytes]] = {}
    raw: Raw | None = None
    waits: "timedelta | None" = None


class Boxes(pydantic.BaseModel):
    boxes: list[Parcel] = []


@shop.action(reads=True)
async def read(blob: Blob, raw: bytes, pets: Pets, boxes: Boxes) -> None: ...


UNDECIDABLE: dict[str, tuple[Any, str]] = {
    "bytes": (
        lambda g: step(read, g, g.data, Pets([]), Boxes()),
        "pydantic writes its 'data' in a way of its own",
    ),
    "no field": (
        lambda g: step(read, g, b"", Pets([]), g.none),
        "Blob, which has no field 'none'",
    ),
}


@pytest.mark.parametrize("case", UNDECIDABLE)
def test_a_part_that_would_be_read_otherwise_is_refused(case: str) -> None:
    body, why = UNDECIDABLE[case]

    def blobs(given: Blob) -> None:
        body(given)

    with pytest.raises(PlanError, match=why):
        plan(blobs)


@shop.action(reads=True)
async def take_part(part: Any) -> None: ...


@shop.action(reads=True)
async def take_pet(part: Address) -> None: ...


@shop.action(reads=True)
async def take_pets(part: list[Pet]) -> None: ...


PATHS: dict[str, tuple[Any, list[str | int]]] = {
    "a field of an attrs class": (lambda given: given.seats["a"].taken_by, ["seats", "a", "taken_by"]),
    "a field under its alias": (
        lambda given: given.pets[0].owners[0].street,
        ["pets", 0, "owners", 0, "streetName"],
    ),
    "a field of a pydantic dataclass": (lambda given: given.parcel.to.price, ["parcel", "to", "price"]),
    "a field of a generic": (lambda given: given.tree.children[0].item, ["tree", "children", 0, "item"]),
    "a place in a NamedTuple": (lambda given: given.where[0].y, ["where", 0, 1]),
    "a place in an array": (lambda given: given.rows[0].text, ["rows", 0, 1]),
    "a key of a TypedDict": (lambda given: given.options["meal"], ["options", "meal"]),
}


@pytest.mark.parametrize("case", PATHS)
def test_a_reference_leads_into_every_kind_of_model(case: str) -> None:
    part, path = PATHS[case]

    def taking(given: Everything) -> None:
        step(take_part, part(given))

    body: Any = plan(taking).document.body
    assert body.series[0].args == {"part": {"$ref": "input", "path": path}}


LEADS_NOWHERE: dict[str, tuple[Any, str]] = {
    "attrs": (
        lambda given: given.seats["a"].colum,
        "is Seat, which has no field 'colum'; its fields: row, colour",
    ),
    "pydantic": (
        lambda given: given.pets[0].owner,
        "is Pet, which has no field 'owner'; its fields: animal, owners",
    ),
    "a generic's argument": (lambda given: given.tree.item.x, "tree.item is int, which has no parts in JSON"),
}


@pytest.mark.parametrize("case", LEADS_NOWHERE)
def test_a_field_that_is_not_there_is_named(case: str) -> None:
    part, why = LEADS_NOWHERE[case]

    def taking(given: Everything) -> None:
        step(take_part, part(given))

    with pytest.raises(PlanError, match=why):
        plan(taking)


@shop.action(reads=True)
async def fill(shelf: Shelf) -> bytes:
    return b""


@shop.action(reads=True)
async def keep(blob: Blob) -> None: ...


UNREADABLE: dict[str, tuple[Any, str]] = {
    "bytes in a list": (
        lambda s: step(take_part, s.chunks["a"][0]),
        "writes its 'chunks' in a way of its own",
    ),
    "bytes in a dataclass": (lambda s: step(take_part, s.raw), "writes its 'raw' in a way of its own"),
    "bytes in a model": (lambda s: step(take_part, s.blobs[0].data), "writes its 'data' in a way of its own"),
    "a length of time": (lambda s: step(take_part, s.waits), "writes its 'waits' in a way of its own"),
    "bytes for a model": (
        lambda s: step(keep, build(Blob, data=step(fill, s))),
        "which Blob reads in its own way",
    ),
    "the same, deeper": (
        lambda s: step(fill, build(Shelf, chunks={"a": [step(fill, s)]})),
        "which Shelf reads in",
    ),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_two_libraries_write_differently_is_never_mixed(case: str) -> None:
    body, why = UNREADABLE[case]

    def mixing(shelf: Shelf) -> None:
        body(shelf)

    with pytest.raises(PlanError, match=why):
        plan(mixing)


def test_a_root_model_has_no_fields() -> None:
    with pytest.raises(PlanError, match=r"input is Pets, a RootModel, which has no fields in JSON"):

        @plan
        def rooted(given: Pets) -> None:
            step(read, Blob(), b"", given, Boxes(boxes=given.root))  # type: ignore[arg-type, call-overload]
