"""Why a value cannot be kept as JSON, and where in it: slow and careful, walked only after a failure."""

import dataclasses
from collections.abc import Iterator
from datetime import datetime, time
from typing import Any

import msgspec

from makegood.errors import PayloadError


def at(where: str, path: tuple[str | int, ...]) -> str:
    """A path as people write it: `input.legs[3].price`."""
    return where + "".join(f".{part}" if _plain_name(part) else f"[{part!r}]" for part in path)


def unsupported(what: str) -> str:
    """The text for a type that has no JSON."""
    return (
        f"{what} cannot be written as JSON; use a dataclass, a msgspec.Struct, a TypedDict, or built-in and "
        "standard library types such as str, int, float, list, dict, datetime, Decimal, UUID and Enum"
    )


def too_large(where: str, size: int, limit: int) -> PayloadError:
    """The error for a payload that takes too many bytes."""
    return PayloadError(
        f"{where} takes {size:,} bytes as JSON; a payload may take {limit:,}: "
        "keep the data where it is and pass its address"
    )


def too_deep(where: str, limit: int) -> PayloadError:
    """The error for a payload that is nested too deep."""
    return PayloadError(f"{where} is nested deeper than {limit} levels; make it flatter, a list of parts say")


def unencodable(value: Any, where: str, error: Exception) -> PayloadError:
    """The error for a value that could not be written: names the innermost part that is at fault."""
    if isinstance(error, RecursionError):
        return PayloadError(f"{where} is nested too deeply, or holds itself; pass a flatter value")
    while (part := _part_at_fault(value, where)) is not None:
        where, value, error = part
    if isinstance(error, UnicodeEncodeError):
        return PayloadError(f"{where} holds half of a surrogate pair ({value!r:.60}), which is no text")
    if isinstance(value, dict):
        return PayloadError(f"{where}: {error}; the keys of a JSON object are strings")
    if type(value) is int:
        return PayloadError(f"{where} is an int of too many digits ({error}); pass it as a string")
    return PayloadError(f"{where}: {unsupported(f'an object of type {type(value).__qualname__}')}")


def unreadable(where: str, error: Exception) -> PayloadError:
    """The error for JSON that does not fit its hint, the path in it put first, under the name people know."""
    if isinstance(error, RecursionError):
        return PayloadError(f"{where} is nested too deeply; pass a flatter value")
    if not isinstance(error, msgspec.MsgspecError | UnicodeError):
        return PayloadError(f"{where} cannot be read as its type: {_said(error)}")
    # msgspec ends its messages with "- at `$.legs[3].price`", or "- at `key` in `$.legs`".
    text, _, tail = str(error).partition(" - at `")
    if tail.startswith("key` in `"):
        text, tail = f"{text} as a key", tail.removeprefix("key` in `")
    why = "; NaN and infinity have no JSON" if "`float`, got `null`" in text else ""
    return PayloadError(f"{where}{tail.removesuffix('`').removeprefix('$')}: {text}{why}")


def first_difference(given: Any, back: Any, where: str, *, exact: bool) -> str | None:
    """What of a value would not come back from JSON as it was, or None.

    A tuple for which a list comes back is kept where the hint asks for a sequence, but not (`exact`) where
    no hint says what it is.
    """
    pairs = _pairs(given, back, exact)
    if pairs is None:
        return None if _same_leaf(given, back) else _lost(given, back, where)
    differences = (first_difference(one, two, at(where, (key,)), exact=exact) for key, one, two in pairs)
    return next(filter(None, differences), None)


def _plain_name(part: str | int) -> bool:
    return isinstance(part, str) and part.isidentifier()


def _part_at_fault(value: Any, where: str) -> tuple[str, Any, Exception] | None:
    try:
        parts = list(_parts(value, where))
    except Exception:  # a container of the user's own may fail while it is walked
        return None
    for path, part in parts:
        try:
            msgspec.json.encode(part)
        except Exception as error:
            return path, part, error
    return None


def _parts(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """The parts of a container, each with its path."""
    if isinstance(value, dict):
        for key, part in value.items():
            if isinstance(key, str):
                yield f"{where} (a key)", key
            yield at(where, (key,)), part
    elif isinstance(value, list | tuple | set | frozenset):
        for n, part in enumerate(value):
            yield at(where, (n,)), part
    else:
        for name in _field_names(value):
            yield at(where, (name,)), getattr(value, name, None)


def _said(error: Exception) -> str:
    """What a user's own type raised: it may not be able to say it."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _field_names(value: Any) -> tuple[str, ...]:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value))
    return ()


def _pairs(given: Any, back: Any, exact: bool) -> list[tuple[Any, Any, Any]] | None:
    """The parts of two containers of one form side by side, with their keys; None if they are not that."""
    names = _field_names(given)
    if names and type(given) is type(back):
        return [(name, getattr(given, name, None), getattr(back, name, None)) for name in names]
    if isinstance(given, dict) and isinstance(back, dict) and given.keys() == back.keys():
        return [(key, given[key], back[key]) for key in given]
    both = isinstance(given, list | tuple) and isinstance(back, list | tuple)
    if both and len(given) == len(back) and (isinstance(given, type(back)) or not exact):
        return [(n, *pair) for n, pair in enumerate(zip(given, back, strict=True))]
    return None


def _same_leaf(given: Any, back: Any) -> bool:
    if isinstance(given, datetime | time) and isinstance(back, datetime | time):
        # In the hour that a clock is set back, aware times of different zones never compare equal.
        same_clock = bool(given.replace(tzinfo=None) == back.replace(tzinfo=None))
        return same_clock and given.utcoffset() == back.utcoffset()
    return bool(given == back)


def _lost(given: Any, back: Any, where: str) -> str:
    if repr(given) == repr(back):
        return f"{where} cannot be kept exactly: {_named(given)} is never equal to itself"
    return (
        f"{where} cannot be kept exactly: {_named(given)} would be read back as {_named(back)}; "
        "declare the type that it has, or give a value that JSON can hold"
    )


def _named(value: Any) -> str:
    text, name = repr(value), type(value).__qualname__
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return short if value is None or text.startswith(name) else f"{name} {short}"
