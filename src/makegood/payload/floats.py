"""Numbers of which no type says how to read them: a float keeps some 17 digits, and more are refused."""

import re
from collections.abc import Iterator
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec

from makegood.payload.parts import at

_ROUNDED = "a number of more digits than a float keeps; write it as text, as a Decimal is written"
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
