"""Numbers of which no type says how to read them: a float keeps some 17 digits, and more are refused."""

import re
from collections.abc import Iterator
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec

from makegood.payload.parts import at

_ROUNDED = "a number of more digits than a float keeps; write it as text, as a Decimal is written"
EXACT = 2**53
"""Up to which a float keeps every int."""
_KEY_LEFT_OUT = re.escape("[...]")


def kept_float(digits: str) -> float:
    """A number where anything may stand, or in a model, which may ask for a Decimal.

    Raises ValueError where a float would lose some of its digits.
    """
    if _rounds(Decimal(digits)):
        raise ValueError(_ROUNDED)
    return float(digits)


def told_where(error: Exception, raw: bytes) -> Exception:
    """The same error; that of `kept_float` with the keys that msgspec leaves out of its path."""
    if not isinstance(error, msgspec.ValidationError):
        return error
    said, _, path = str(error).partition(" - at `$")
    if said != _ROUNDED:
        return error
    told = re.compile(re.escape(path.removesuffix("`")).replace(_KEY_LEFT_OUT, ".+"))
    json = msgspec.json.Decoder(float_hook=Decimal).decode(raw)
    return next(
        (ValueError(f"{said} - at `${full}`") for full in _rounded(json) if told.fullmatch(full)), error
    )


def rounded_int(given: Any, kept: Any, where: str) -> tuple[str, int, float] | None:
    """The first int in decoded JSON for which a float stands in the JSON of what was made of it, and no equal
    one: its path, itself, and the float."""
    if isinstance(given, int) and isinstance(kept, float):
        return None if given == kept else (where, given, kept)
    for path, one, other in _side_by_side(given, kept, where):
        found = rounded_int(one, other, path)
        if found is not None:
            return found
    return None


def _side_by_side(given: Any, kept: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(given, dict) and isinstance(kept, dict):
        yield from ((at(where, (key,)), given[key], kept[key]) for key in given if key in kept)
    elif isinstance(given, list) and isinstance(kept, list):
        yield from ((at(where, (n,)), *pair) for n, pair in enumerate(zip(given, kept, strict=False)))


def holds_large_int(json: Any) -> bool:
    """Whether there is an int in decoded JSON that a float may not keep."""
    if isinstance(json, dict):
        return any(map(holds_large_int, json.values()))
    if isinstance(json, list):
        return any(map(holds_large_int, json))
    return isinstance(json, int) and abs(json) > EXACT


def _rounds(number: Decimal) -> bool:
    kept = float(number)
    return not isfinite(kept) or Decimal(repr(kept)) != number


def _rounded(json: Any) -> Iterator[str]:
    """The paths of the numbers that a float would round."""
    left = [("", json)]
    while left:
        where, part = left.pop()
        if isinstance(part, Decimal) and _rounds(part):
            yield where
        inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        left += [(at(where, (key,)), one) for key, one in inner]
