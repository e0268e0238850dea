"""What must be known of a type before a value of it is written."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import inspect as types

from makegood.errors import PayloadError
from makegood.payload.faults import unsupported


@dataclass
class Traits:
    """`several_forms`: equal values may be written differently, as 1 and 1.0."""

    holds_any: bool = False
    holds_sets: bool = False
    several_forms: bool = False


def traits_of(hint: Any) -> Traits:
    """Look through a type and all types inside it; raises PayloadError if JSON cannot hold one of them."""
    traits = Traits()
    try:
        msgspec.json.Decoder(hint)
        for kind in _inside(types.type_info(hint), set()):
            if isinstance(kind, types.CustomType) and kind.cls is not object:
                raise PayloadError(unsupported(f"type {kind.cls.__qualname__}"))
            traits.holds_any |= isinstance(kind, types.AnyType | types.CustomType)
            traits.holds_sets |= isinstance(kind, types.SetType | types.FrozenSetType)
            traits.several_forms |= isinstance(kind, types.FloatType | types.DecimalType)
    except NameError as error:
        raise PayloadError(f"type {hint!r}: {error}; define it where the hint can see it") from None
    except (TypeError, ValueError, RuntimeError) as error:
        raise PayloadError(f"{unsupported(f'type {hint!r}')} ({error})") from None
    return traits


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
