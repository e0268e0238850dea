"""Values and JSON of strangers: kept exactly, or refused by PayloadError. More with MAKEGOOD_HOSTILE=N."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from random import Random
from typing import Any, NoReturn
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makegood.errors import PayloadError
from makegood.payload import MissingPath, codec_for, resolve
from tests.hostile.scale import JSON, examples, mutated, nested


class Colour(Enum):
    RED = "red"


@dataclass
class Leg:
    price: Decimal
    colour: Colour
    at: datetime | None = None


@dataclass
class Trip:
    legs: list[Leg]
    tags: dict[str, int]
    inner: "Trip | None" = None


TRIP = b'{"legs":[{"price":"1.50","colour":"red","at":"2026-01-01T00:00:00Z"}],"tags":{"a":1},"inner":null}'
SOUND: list[tuple[Any, bytes]] = [
    (Any, b'{"a":[1,-2.5,"x",null,true,{"b":[]}]}'),
    (Trip, TRIP),
    (dict[int, float], b'{"1":1.5,"-2":1e300}'),
    (set[int], b"[1,2,3]"),
    (tuple[int, str], b'[1,"x"]'),
    (bytes, b'"aGVsbG8="'),
    (UUID, b'"12345678-1234-5678-1234-567812345678"'),
    (Decimal, b'"1.10"'),
    (datetime, b'"2026-03-29T02:30:00+01:00"'),
    (date, b'"2024-02-29"'),
    (time, b'"23:59:59.999999"'),
    (timedelta, b'"P1DT7200S"'),
    (int, b"12345678901234567890123"),
    (float, b"-0.0"),
]


def read_back(hint: Any, raw: bytes) -> None:
    """Bytes that are read are written, and read again, as the same value."""
    codec = codec_for(hint)
    try:
        value = codec.decode(raw)
        kept = codec.encode(value)
    except PayloadError:
        return
    assert codec.decode(kept) == value


@pytest.mark.parametrize(("hint", "raw"), SOUND, ids=[str(hint) for hint, _ in SOUND])
@examples(40)
@given(noise=st.binary(max_size=20), value=JSON, chance=st.randoms(use_true_random=False))
def test_any_bytes(hint: Any, raw: bytes, noise: bytes, value: Any, chance: Random) -> None:
    assert codec_for(hint).encode(codec_for(hint).decode(raw)) == raw
    read_back(hint, noise)
    read_back(hint, json.dumps(value).encode())
    read_back(hint, mutated(raw, chance))


# --- values


class Mute(Exception):
    """Cannot even say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


def refuse(*_: Any) -> NoReturn:
    raise Mute


class NoWords:
    __str__ = __repr__ = refuse


class NoItems(dict[str, Any]):
    __iter__ = items = keys = values = refuse


@dataclass
class NeverCompared:
    x: Any
    __eq__ = refuse


@dataclass
class NeverMade:
    x: int

    def __post_init__(self) -> None:
        if self.x > 1:
            raise Mute


@dataclass
class Chain:
    next: "Chain | None" = None


def chain(length: int) -> Chain:
    made = Chain()
    for _ in range(length):
        made = Chain(made)
    return made


def never_made() -> NeverMade:
    made = NeverMade(1)
    made.x = 2
    return made


def ring() -> Chain:
    made = Chain()
    made.next = made
    return made


def holds_itself() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def counting() -> Iterator[int]:
    yield 1


KEPT: dict[str, tuple[Any, Any]] = {
    "past 64 bits": (2**70, int),
    "400 digits": (-(10**400), Any),
    "minus nothing": (-0.0, float),
    "the least float": (5e-324, float),
    "NUL": ({"\0": "\0"}, Any),
    "a key without characters": ({"": ""}, Any),
    "a long key": ({"k" * 10**6: 1}, Any),
    "right to left, and emoji": ("\u202e\U0001f600", str),
    "200 deep": (nested(200), Any),
    "infinite, exactly": (Decimal("Infinity"), Decimal),
    "the first day": (datetime(1, 1, 1, tzinfo=UTC), datetime),
    "the longest time": (timedelta.max, timedelta),
    "a long chain": (chain(150), Chain),
}
NOT_KEPT: dict[str, tuple[Any, Any, str]] = {
    "NaN": (float("nan"), Any, "float nan would be read back as None"),
    "NaN, hinted": ([float("nan")], list[float], "NaN and infinity have no JSON"),
    "5000 digits": (10**5000, Any, "^input is an int of too many digits .*; pass it as a string"),
    "5000 digits, inside": ({"a": [10**5000]}, Any, r"^input.a\[0\] is an int of too many digits"),
    "half a surrogate pair": (["\ud800"], Any, r"^input\[0\] holds half of a surrogate pair"),
    "half a surrogate pair as a key": ({"\udfff": 1}, Any, "a key.*half of a surrogate pair"),
    "itself": (holds_itself(), Any, "holds itself"),
    "itself, hinted": (ring(), Chain, "holds itself"),
    "a chain too long": (chain(5_000), Chain, "nested too deep"),
    "too deep": (nested(100_000), Any, "nested too deep"),
    "100 MB": ("x" * 10**8, str, "100,000,002 bytes"),
    "10 million numbers": ([1] * 10**7, list[int], "20,000,001 bytes"),
    "keys that meet": ({1: 1, "1": 2}, Any, "read back as"),
    "an object without words": (
        [NoWords()],
        Any,
        r"^input\[0\]: an object of type NoWords cannot be written",
    ),
    "a dict that cannot be walked": (
        NoItems(a=object()),
        Any,
        "^input: Encoding objects of type object is unsupported",
    ),
    "what cannot be compared": (NeverCompared(1), NeverCompared, "^input cannot be read as its type: Mute"),
    "what cannot be made again": (never_made(), NeverMade, "^input cannot be read as its type: Mute"),
    "a generator": (counting(), list[int], "an object of type generator"),
}


@pytest.mark.parametrize("case", KEPT)
def test_odd_but_kept(case: str) -> None:
    value, hint = KEPT[case]
    back = codec_for(hint).decode(codec_for(hint).encode(value))
    assert (back, repr(back)) == (value, repr(value))


@pytest.mark.parametrize("case", NOT_KEPT)
def test_refused_with_the_reason(case: str) -> None:
    value, hint, why = NOT_KEPT[case]
    with pytest.raises(PayloadError, match=why):
        codec_for(hint).encode(value, "input")


# --- templates


PATHS = st.lists(st.text(max_size=3) | st.integers() | st.sampled_from(["a", 0, -1, 2**70]), max_size=5)


@examples(200)
@given(JSON, PATHS)
def test_a_path_leads_to_what_is_there_or_is_named(value: Any, path: list[Any]) -> None:
    expected = value
    for part in path:
        fits = isinstance(expected, dict) and part in expected
        fits |= (
            isinstance(expected, list) and isinstance(part, int) and -len(expected) <= part < len(expected)
        )
        if not fits:
            with pytest.raises(MissingPath, match="is not there"):
                resolve({"$ref": "input", "path": path}, {"input": value})
            return
        expected = expected[part]
    assert resolve({"$ref": "input", "path": path}, {"input": value}) is expected
