"""Which type inside a type JSON cannot hold: slow and careful, walked only when one is refused."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args, get_origin

import msgspec
from msgspec import inspect as types

from makegood.errors import PayloadError, in_words
from makegood.payload.faults import ambiguous, unsupported
from makegood.payload.fields import fields_of
from makegood.payload.foreign import read
from makegood.payload.hints import alternatives, is_alias


class _Fault(NamedTuple):
    hint: Any
    error: Exception
    field: str = ""
    """As `Order.card`; empty where the type is of no field."""


def unfit(hint: Any, error: Exception) -> PayloadError:
    """The error for a type of which a library says that it cannot hold it, whatever the library raised.

    Names the innermost type at fault, the field that it is of, and the way out.
    """
    fault = _innermost(_Fault(hint, error)) or _Fault(hint, error)
    return PayloadError(f"{fault.field}: {_said(fault)}" if fault.field else _said(fault))


def _said(fault: _Fault) -> str:
    name = _name(fault.hint)
    if is_alias(fault.hint):
        return (
            f"type alias {name} cannot be written as JSON, except in a pydantic model; write the type itself "
            f"in its place, or declare the alias as one that is the type itself: {name}: TypeAlias = ..."
        )
    if not isinstance(fault.error, TypeError | ValueError | RuntimeError):
        return (
            f"type {name} cannot be written as JSON; write its fields in a class of its own, without a "
            f"generic Protocol or a TypeVarTuple among its bases ({in_words(fault.error)})"
        )
    text = ambiguous if "Type unions" in str(fault.error) else unsupported
    return f"{text(f'type {name}')} ({fault.error})"


def _name(hint: Any) -> str:
    cls = get_origin(hint) or hint
    if is_alias(hint):
        return str(cls.__name__)
    return cls.__qualname__ if _fields(hint) or isinstance(hint, type) else repr(hint)


def _innermost(fault: _Fault, within: tuple[Any, ...] = ()) -> _Fault | None:
    """The fault behind a fault; None if it is only that of a type that it lies in."""
    within = (*within, fault.hint)
    behind = [*_behind(fault)]
    others = (one for one in behind if one.hint not in within)
    found = next(filter(None, (_innermost(one, within) for one in others)), None)
    return found or (None if any(one.hint in within for one in behind) else fault)


def _behind(fault: _Fault) -> Iterator[_Fault]:
    for field, part in _parts(fault.hint):
        try:
            msgspec.json.Decoder(part, dec_hook=read)
            types.type_info(part)
        except Exception as error:
            yield _Fault(part, error, field or fault.field)


def _parts(hint: Any) -> Iterator[tuple[str, Any]]:
    """The types that a type is made of, each with its field."""
    cls = get_origin(hint) or hint
    if is_alias(hint):
        return
    yield from (("", other) for other in alternatives(hint))
    if isinstance(cls, type) and issubclass(cls, Iterable):
        yield from (("", item) for item in get_args(hint) if item is not Ellipsis)
    yield from ((f"{cls.__qualname__}.{name}", part.hint) for name, part in _fields(hint).items())


def _fields(hint: Any) -> dict[str, Any]:
    try:
        return fields_of(hint) or {}
    except Exception:  # of a type at fault, that is no wonder
        return {}
