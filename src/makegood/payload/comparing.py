"""Whether two payloads are the same JSON, and where they are not."""

from collections.abc import Iterator
from typing import Any

import msgspec

from makegood.payload.codec import codec_for
from makegood.payload.parts import at


def canonical(raw_json: bytes) -> bytes:
    """The same JSON with sorted keys and no spaces; raises PayloadError if it is no JSON."""
    return msgspec.json.encode(codec_for(Any).decode(raw_json, "payload"), order="sorted")


def differing_paths(one: bytes, other: bytes, where: str = "input") -> list[str]:
    """The paths at which two JSON payloads differ; empty exactly when their canonical forms are equal."""
    any_codec = codec_for(Any)
    return list(_differing(any_codec.decode(one, where), any_codec.decode(other, where), where))


def _differing(one: Any, other: Any, where: str) -> Iterator[str]:
    match one, other:
        case dict(), dict():
            keys: Any = sorted(one.keys() | other.keys())
        case list(), list():
            one, other = dict(enumerate(one)), dict(enumerate(other))
            keys = range(max(len(one), len(other)))
        case _:
            if msgspec.json.encode(one, order="sorted") != msgspec.json.encode(other, order="sorted"):
                yield where
            return
    for key in keys:
        path = at(where, (key,))
        if key in one and key in other:
            yield from _differing(one[key], other[key], path)
        else:
            yield path
