"""Defaults of dataclasses: what is read from JSON owns them, so that it is written with them again."""

import dataclasses
from typing import Any

from makegood.payload.foreign import is_validated_dataclass
from makegood.payload.parts import field_names


def leaves_defaults_out(cls: Any) -> bool:
    """Whether msgspec leaves a default of this class to the class, and does not write it then."""
    return (
        isinstance(cls, type)
        and dataclasses.is_dataclass(cls)
        and not is_validated_dataclass(cls)
        and any(field.default is not dataclasses.MISSING for field in dataclasses.fields(cls))
    )


def own_defaults(value: Any) -> None:
    """Have each dataclass in a value that was just read hold its defaults itself, in the fields' order."""
    if isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = [*value]
    else:
        if leaves_defaults_out(type(value)):
            _own(value)
        parts = [getattr(value, name, None) for name in field_names(value)]
    for part in parts:
        own_defaults(part)


def _own(value: Any) -> None:
    own = getattr(value, "__dict__", None)
    names = [field.name for field in dataclasses.fields(value)]
    if own is not None and not own.keys() >= {*names}:
        held = {name: getattr(value, name) for name in names if hasattr(value, name)} | own
        own.clear()
        own.update(held)
