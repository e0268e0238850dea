"""What must be known of a type before a value of it is written or read."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect as types

from makegood.errors import MakegoodError, PayloadError
from makegood.payload.defaults import leaves_defaults_out
from makegood.payload.faults import unsupported
from makegood.payload.foreign import is_model, is_validated_dataclass, keeps_undeclared, read
from makegood.payload.forms import Form, form_of
from makegood.payload.secrets import Marks, marks_of
from makegood.payload.unfit import unfit


class Traits(msgspec.Struct):
    """`several_forms`: equal values may be written differently, as 1 and 1.0. `partly_equal`: values that
    are equal may differ, in a field that is left out when they are compared, or in the type of a key.
    `form`: what must be found in its JSON."""

    holds_any: bool = False
    holds_sets: bool = False
    holds_moments: bool = False
    holds_validated: bool = False
    holds_defaults: bool = False
    holds_decimals: bool = False
    holds_floats: bool = False
    several_forms: bool = False
    partly_equal: bool = False
    form: Form | None = None
    marks: Marks = Marks()


def traits_of(hint: Any) -> Traits:
    """Look through a type and all types inside it; raises PayloadError if JSON cannot hold one of them."""
    traits = Traits()
    try:
        msgspec.json.Decoder(hint, dec_hook=read)
        kind = types.type_info(hint)
        for inner in _inside(kind, set()):
            _note(traits, inner)
        traits.form = form_of(kind)
        traits.marks = marks_of(hint)
    except NameError as error:
        raise PayloadError(f"type {hint!r}: {error}; define it where the hint can see it") from None
    except MakegoodError:
        raise
    except Exception as error:  # a library may fail on a type in any way
        raise unfit(hint, error) from None
    return traits


def _note(traits: Traits, kind: types.Type) -> None:
    cls = getattr(kind, "cls", None)
    model = is_model(cls)
    if isinstance(kind, types.CustomType) and not model and cls is not object:
        raise PayloadError(unsupported(f"type {kind.cls.__qualname__}"))
    if isinstance(kind, types.RawType):
        raise PayloadError("type msgspec.Raw is JSON that nobody has looked at; declare Any in its place")
    if cls is not None and keeps_undeclared(cls):
        raise PayloadError(
            f"type {cls.__qualname__}: of a pydantic dataclass with extra='allow' the extras are not "
            "written; make it a BaseModel, which keeps them, or declare the fields"
        )
    traits.holds_any |= isinstance(kind, types.AnyType | types.CustomType) and not model
    traits.holds_sets |= isinstance(kind, types.SetType | types.FrozenSetType)
    traits.holds_moments |= model or isinstance(kind, types.DateTimeType)
    traits.holds_validated |= is_validated_dataclass(cls)
    traits.holds_defaults |= leaves_defaults_out(cls)
    traits.holds_decimals |= isinstance(kind, types.DecimalType)
    traits.holds_floats |= isinstance(kind, types.FloatType)
    traits.several_forms |= model or isinstance(kind, types.FloatType | types.DecimalType)
    traits.partly_equal |= _compares_partly(cls) or _has_inexact_keys(kind)


def _compares_partly(cls: Any) -> bool:
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    attributes = getattr(cls, "__attrs_attrs__", ())
    return not all(field.compare for field in fields) or not all(field.eq for field in attributes)


def _has_inexact_keys(kind: types.Type) -> bool:
    return isinstance(kind, types.DictType) and isinstance(kind.key_type, types.FloatType | types.DecimalType)


def _inside(kind: types.Type, seen: set[Any]) -> Iterator[types.Type]:
    """A type and every type inside it, each class once."""
    cls = getattr(kind, "cls", None)
    if cls in seen:
        return
    if cls is not None:
        seen.add(cls)
    yield kind
    for name in kind.__struct_fields__:
        value = getattr(kind, name)
        for part in value if isinstance(value, tuple) else (value,):
            inner = part.type if isinstance(part, types.Field) else part
            if isinstance(inner, types.Type):
                yield from _inside(inner, seen)
