"""A default of a dataclass is a value like any other: what was read with it is written with it."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from makegood import Agent, Makegood, plan, step
from makegood.payload import codec_for


@dataclass
class Leg:
    city: str
    nights: int = 2
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Tour:
    who: str = "Ada"
    first: Leg | None = None
    legs: tuple[Leg, ...] = ()
    by_name: dict[str, Leg] = field(default_factory=dict)


FULL = b'{"city":"Oslo","nights":2,"notes":[]}'


@pytest.mark.parametrize(
    ("given", "hint", "kept"),
    [
        (b'{"city":"Oslo"}', Leg, FULL),
        (b"{}", Tour, b'{"who":"Ada","first":null,"legs":[],"by_name":{}}'),
        (
            b'{"first":{"city":"Oslo"},"legs":[{"city":"Oslo"}],"by_name":{"x":{"city":"Oslo"}}}',
            Tour,
            b'{"who":"Ada","first":%b,"legs":[%b],"by_name":{"x":%b}}' % (FULL, FULL, FULL),
        ),
        (b'[{"city":"Oslo"}]', list[Leg], b"[%b]" % FULL),
    ],
)
def test_what_was_read_with_a_default_is_written_with_it(given: bytes, hint: Any, kept: bytes) -> None:
    codec = codec_for(hint)
    assert codec.encode(codec.decode(given)) == kept


lamps = Agent("lamps", timeout=5)


@lamps.action(undo=None)
async def count(nights: int) -> int:
    return nights + 1


@plan
def stay(leg: Leg) -> int:
    return step(count, leg.nights)


def test_a_step_is_given_a_default_that_the_input_left_out(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [lamps]) as makegood:
            task = await makegood.submit_json(stay, b'{"city": "Oslo"}')
            assert await task.result(20) == 3
            assert (await task.record())["input"] == {"city": "Oslo", "nights": 2, "notes": []}

    asyncio.run(work())
