"""Why a value cannot be kept as JSON, and where in it: slow and careful, walked only after a failure."""

from collections.abc import Iterator
from datetime import datetime, time
from typing import Any

import msgspec

from makegood.errors import PayloadError
from makegood.payload.foreign import fields_at_fault, is_model, written
from makegood.payload.parts import at, field_names, parts
from makegood.payload.secrets import NO_MARKS, Marks


def unsupported(what: str) -> str:
    """The text for a type that has no JSON."""
    return (
        f"{what} cannot be written as JSON; use a dataclass, a msgspec.Struct, a pydantic or attrs model, a "
        "TypedDict, or built-in and standard library types such as str, int, float, list, dict, datetime, "
        "Decimal, UUID and Enum"
    )


def ambiguous(what: str) -> str:
    """The text for a union whose members look alike in JSON."""
    return (
        f"{what} is a union of types that cannot be told apart in JSON; declare one of them, or make them "
        "msgspec.Struct classes with tag=True; a union of pydantic models goes, with its discriminator, into "
        "a model of its own (RootModel)"
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


def naive(where: str) -> PayloadError:
    """The error for a moment without a time zone."""
    return PayloadError(
        f"{where} is a datetime without a time zone, which is another moment on every machine; give it one, "
        'as datetime.now(UTC) and "2027-01-31T09:30:00Z" have it'
    )


def unencodable(value: Any, where: str, error: Exception, marks: Marks) -> PayloadError:
    """The error for a value that could not be written: names the innermost part that is at fault.

    Nothing is said of what the values are where some are marked as secret.
    """
    if isinstance(error, RecursionError):
        return PayloadError(f"{where} is nested too deeply, or holds itself; pass a flatter value")
    path = where
    while (part := _part_at_fault(value, path)) is not None:
        path, value, error = part
    where = marks.shown(path, where)
    why = "" if marks.any else f" ({_one_line(error)})"
    if isinstance(error, UnicodeEncodeError):
        half = "" if marks.any else f" ({value!r:.60})"
        return PayloadError(f"{where} holds half of a surrogate pair{half}, which is no text")
    if isinstance(value, dict):
        return PayloadError(f"{where}: {error}; the keys of a JSON object are strings")
    if type(value) is int:
        return PayloadError(f"{where} is an int of too many digits{why}; pass it as a string")
    if type(error).__module__.startswith("pydantic"):
        return PayloadError(f"{where}: its pydantic model cannot write it as JSON{why}")
    return PayloadError(f"{where}: {unsupported(f'an object of type {type(value).__qualname__}')}")


def unreadable(where: str, error: Exception, marks: Marks = NO_MARKS) -> PayloadError:
    """The error for JSON that does not fit its hint, the path in it put first, under the name people know.

    The reason is left out where it could tell what is marked as secret.
    """
    if isinstance(error, RecursionError):
        return PayloadError(f"{where} is nested too deeply; pass a flatter value")
    if not isinstance(error, msgspec.MsgspecError | UnicodeError | ValueError):
        why = type(error).__name__ if marks.any else _said(error)
        return PayloadError(f"{where} cannot be read as its type: {why}")
    # Messages end with "- at `$.legs[3].price`", or "- at `key` in `$.legs`"; the innermost path is first.
    text, *tails = str(error).split(" - at `")
    path = ""
    for tail in reversed(tails):
        if tail.startswith("key` in `"):
            text, tail = f"{text} as a key", tail.removeprefix("key` in `")
        path += tail.removesuffix("`").removeprefix("$")
    if marks.hides(path) and not text.startswith(_ABOUT_TYPES):
        text = "what it holds does not fit its type"
    return PayloadError(f"{marks.shown(where + path, where)}: {text}{_hint(text)}")


def _hint(text: str) -> str:
    """What helps beside a message of msgspec's."""
    return next((hint for words, hint in _HINTS.items() if words in text), "")


_HINTS = {
    "`float`, got `null`": "; NaN and infinity have no JSON",
    "Invalid decimal": ', write it as "12.50"',
    "Invalid RFC3339 encoded datetime": ', write it as "2027-01-31T09:30:00Z"',
    "Invalid RFC3339 encoded date": ', write it as "2027-01-31"',
    "Invalid RFC3339 encoded time": ', write it as "09:30:00"',
    "Invalid ISO8601 duration": ', write it as "PT90S"',
    "Invalid UUID": ', write it as "6f1c1e4e-9f4b-4a52-8f0e-2b3c4d5e6f70"',
}


_ABOUT_TYPES = ("Expected `", "Object missing required field `", "Field required")
"""How messages begin that tell nothing of a value."""


def first_difference(given: Any, back: Any, where: str, *, exact: bool, marks: Marks) -> str | None:
    """What of a value would not come back from JSON as it was, or None.

    A tuple for which a list comes back is kept where the hint asks for a sequence, but not (`exact`) where
    no hint says what it is.
    """
    for path, one, two in _differences(given, back, where, exact):
        return _lost(one, two, marks.shown(path, where), tactful=marks.any)
    return None


def _differences(given: Any, back: Any, where: str, exact: bool) -> Iterator[tuple[str, Any, Any]]:
    pairs = _pairs(given, back, exact)
    if pairs is not None:
        for key, one, two in pairs:
            yield from _differences(one, two, at(where, (key,)), exact)
    elif not _same_leaf(given, back):
        yield where, given, back


def _part_at_fault(value: Any, where: str) -> tuple[str, Any, Exception] | None:
    if is_model(type(value)):
        faults = ((at(where, (name,)), getattr(value, name, None), e) for name, e in fields_at_fault(value))
        return next(faults, None)
    try:
        inner = list(parts(value, where))
    except Exception:  # a container of the user's own may fail while it is walked
        return None
    for path, part in inner:
        try:
            msgspec.json.encode(part, enc_hook=written)
        except Exception as error:
            return path, part, error
    return None


def _one_line(error: Exception) -> str:
    """What an error says, cut short."""
    return " ".join(_said(error).split())[:200]


def _said(error: Exception) -> str:
    """What a user's own type raised: it may not be able to say it."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _pairs(given: Any, back: Any, exact: bool) -> list[tuple[Any, Any, Any]] | None:
    """The parts of two containers of one form side by side, with their keys; None if they are not that."""
    names = field_names(given)
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


def _lost(given: Any, back: Any, where: str, *, tactful: bool) -> str:
    if tactful:
        return f"{where} cannot be kept exactly: it would be read back as something else"
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
