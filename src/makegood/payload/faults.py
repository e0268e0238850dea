"""Why a value cannot be kept as JSON, and where in it: slow and careful, walked only after a failure."""

from collections.abc import Iterable, Iterator
from datetime import datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec

from makegood.errors import PayloadError
from makegood.payload.foreign import fields_at_fault, is_model, written
from makegood.payload.parts import at, field_names, parts
from makegood.payload.schemas import choices_at
from makegood.payload.secrets import NO_MARKS, Marks, marks_of

CHOICES_TOLD = 8
"""How many of the values that an enum allows are told."""


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


def inexact(path: str, given: int | Decimal, kept: float, where: str, marks: Marks) -> PayloadError:
    """The error for a number in the place of a float that cannot be equal to it."""
    hidden = marks.hides(path.removeprefix(where))
    if isinstance(given, Decimal):
        said = "a number that is too small for a float would be read as 0; declare Decimal"
    elif hidden:
        said = "an int would be read as a float, which is not equal; declare int or Decimal"
    else:
        said = f"int {given} would be read as float {kept!r}, which is not equal; declare int or Decimal"
    return PayloadError(f"{marks.shown(path, where)}: {said}")


def unencodable(value: Any, where: str, error: Exception, marks: Marks) -> PayloadError:
    """The error for a value that could not be written: names the innermost part that is at fault.

    Nothing is said of what the value is where it could tell what is marked as secret.
    """
    if isinstance(error, RecursionError):
        return PayloadError(f"{where} is nested too deeply, or holds itself; pass a flatter value")
    path = where
    while (part := _part_at_fault(value, path)) is not None:
        path, value, error = part
    hidden = marks.hides(path.removeprefix(where))
    where = marks.shown(path, where)
    why = "" if hidden else f" ({_one_line(error)})"
    if isinstance(error, UnicodeEncodeError):
        half = "" if hidden else f" ({value!r:.60})"
        return PayloadError(f"{where} holds half of a surrogate pair{half}, which is no text")
    if isinstance(value, dict):
        return PayloadError(f"{where}: {error}; the keys of a JSON object are strings")
    if type(error).__module__.startswith("pydantic"):
        return PayloadError(f"{where}: its pydantic model cannot write it as JSON{why}")
    if type(value) is int:
        return PayloadError(f"{where} is an int of too many digits{why}; pass it as a string")
    return PayloadError(f"{where}: {unsupported(f'an object of type {type(value).__qualname__}')}")


def unreadable(where: str, error: Exception, marks: Marks = NO_MARKS, hint: Any = None) -> PayloadError:
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
    if text.startswith("Invalid enum value"):
        text += _choices(hint, path, keys=text.endswith(" as a key"))
    return PayloadError(f"{marks.shown(where + path, where)}: {text}{_hint(text)}")


def _hint(text: str) -> str:
    """What helps beside a message of msgspec's."""
    return next((hint for words, hint in _HINTS.items() if words in text), "")


def _choices(hint: Any, path: str, *, keys: bool) -> str:
    """What may stand at a path, or be a key there: of an enum or a Literal."""
    told = [repr(value) for value in choices_at(hint, path, keys=keys)]
    more = f", ... ({len(told)} in all)" if len(told) > CHOICES_TOLD else ""
    return f"; it is one of {', '.join(told[:CHOICES_TOLD])}{more}" if told else ""


_HINTS = {
    "`float`, got `null`": "; NaN and infinity have no JSON",
    "Invalid decimal": ', write it as "12.50"',
    "Invalid RFC3339 encoded datetime": ', write it as "2027-01-31T09:30:00Z"',
    "Invalid RFC3339 encoded date": ', write it as "2027-01-31"; a datetime has its day as date()',
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
        hidden = marks.hides(path.removeprefix(where)) or _holds_secret(one)
        return _lost(one, two, marks.shown(path, where), tactful=hidden)
    return None


def _differences(given: Any, back: Any, where: str, exact: bool) -> Iterator[tuple[str, Any, Any]]:
    pairs = _pairs(given, back, where, exact)
    if pairs is not None:
        for path, one, two in pairs:
            yield from _differences(one, two, path, exact)
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


def _pairs(given: Any, back: Any, where: str, exact: bool) -> list[tuple[str, Any, Any]] | None:
    """The parts of two containers of one form side by side, with their paths; None if they are not that."""
    names = field_names(given)
    if names and type(given) is type(back):
        return [(at(where, (name,)), getattr(given, name, None), getattr(back, name, None)) for name in names]
    if isinstance(given, dict) and isinstance(back, dict) and given.keys() == back.keys():
        keys = [(f"{where} (a key)", key, twin) for key, twin in _twins(given, back)]
        return keys + [(at(where, (key,)), given[key], back[key]) for key in given]
    if isinstance(given, set | frozenset) and given == back:
        twins = _twins(given, back)
    elif isinstance(given, list | tuple) and isinstance(back, list | tuple) and len(given) == len(back):
        if exact and not isinstance(given, type(back)):
            return None
        twins = zip(given, back, strict=True)
    else:
        return None
    return [(at(where, (n,)), *pair) for n, pair in enumerate(twins)]


def _twins(given: Iterable[Any], back: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Equal hashable values of two sets, which may still be of different types."""
    known = {one: one for one in back}
    return ((one, known[one]) for one in given)


def _same_leaf(given: Any, back: Any) -> bool:
    if isinstance(given, datetime | time) and isinstance(back, datetime | time):
        # In the hour that a clock is set back, aware times of different zones never compare equal.
        same_clock = bool(given.replace(tzinfo=None) == back.replace(tzinfo=None))
        return same_clock and given.utcoffset() == back.utcoffset()
    return not _by_luck(given, back) and bool(given == back)


def _by_luck(given: Any, back: Any) -> bool:
    """Whether it is the value's luck if they are equal, as 1.5 is equal to a Decimal and 0.1 to none."""
    one, other = (isinstance(value, Decimal) for value in (given, back))
    return one != other and isinstance(back if one else given, float)


def _lost(given: Any, back: Any, where: str, *, tactful: bool) -> str:
    said = f"{where} cannot be kept exactly:"
    one, other = map(_type_of if tactful else _named, (given, back))
    if isinstance(given, datetime | time) and _in_odd_minutes(given.utcoffset()):
        return f"{said} its UTC offset is not in whole minutes, as it must be in JSON; give it in UTC"
    if one == other:
        return f"{said} {one} " + ("would be read back as another" if tactful else "is never equal to itself")
    way_out = "declare the type that it has, or give a value that JSON can hold"
    if isinstance(given, float) and isinstance(back, Decimal):
        way_out = 'a float has no exact digits, write Decimal("12.50")'
    elif isinstance(back, Enum) and not tactful:
        way_out = f"give {type(back).__qualname__}.{back.name}"
    return f"{said} {one} would be read back as {other}; {way_out}"


def _in_odd_minutes(offset: timedelta | None) -> bool:
    return offset is not None and bool(offset % timedelta(minutes=1))


def _holds_secret(value: Any) -> bool:
    """Whether a value that no type announced holds what its own type marks."""
    return marks_of(type(value)).any or any(_holds_secret(part) for _, part in parts(value, ""))


def _type_of(value: Any) -> str:
    return type(value).__qualname__


def _named(value: Any) -> str:
    text, name = repr(value), _type_of(value)
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return short if value is None or text.startswith(name) else f"{name} {short}"
