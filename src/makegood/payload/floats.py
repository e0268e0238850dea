"""Numbers of which no type says how to read them: a float keeps some 17 digits, and more are refused."""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, NamedTuple

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
    if _rounds(_exact(digits)):
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
    full_paths = (full for full in _rounded(exact_json(raw)) if told.fullmatch(full))
    return next((ValueError(f"{said} - at `${full}`") for full in full_paths), error)


def exact_json(raw: bytes) -> Any:
    """Decoded JSON, with a Decimal for each number that is no int."""
    return msgspec.json.Decoder(float_hook=_exact).decode(raw)


class Changed(NamedTuple):
    """A number in JSON for which another would be read: an int that no float is, or one too small for any."""

    path: str
    given: int | Decimal
    kept: float


def changed_number(given: Any, kept: Any, where: str) -> Changed | None:
    """The first such number in `exact_json`; `kept` is the decoded JSON of what was made of it."""
    if isinstance(given, int | Decimal) and isinstance(kept, float):
        return Changed(where, given, kept) if _changes(given, kept) else None
    for path, one, other in _side_by_side(given, kept, where):
        found = changed_number(one, other, path)
        if found is not None:
            return found
    return None


def changed_in_sets(given: Any, kept: Any, where: str) -> Changed | None:
    """The same where both hold sets, which have another order in each: a number is taken to be kept if it
    stands anywhere."""
    leaves = {leaf for _, leaf in _leaves(kept, where)}
    floats = {leaf: leaf for leaf in leaves if isinstance(leaf, float)}
    for path, one in _leaves(given, where):
        if isinstance(one, int | Decimal) and one not in leaves and str(one) not in leaves:
            nearest = floats.get(float(Decimal(one)))
            if nearest is not None and _changes(one, nearest):
                return Changed(path, one, nearest)
    return None


def _changes(given: int | Decimal, kept: float) -> bool:
    """Whether a float is another number; of decimals it is near enough, but for 0."""
    return given != kept and (isinstance(given, int) or not kept)


def _leaves(json: Any, where: str) -> Iterator[tuple[str, Any]]:
    """What in decoded JSON has no parts, each with its path."""
    if isinstance(json, dict | list):
        for key, part in json.items() if isinstance(json, dict) else enumerate(json):
            yield from _leaves(part, at(where, (key,)))
    else:
        yield where, json


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


def _exact(digits: str) -> Decimal:
    """The number; NaN for one that is beyond what even a Decimal holds."""
    try:
        return Decimal(digits)
    except InvalidOperation:
        return Decimal("NaN")


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
