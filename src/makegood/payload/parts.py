"""The parts of a Python value, each with its path: items of containers, fields of models of any library."""

import dataclasses
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec


def at(where: str, path: tuple[str | int, ...]) -> str:
    """A path as people write it: `input.legs[3].price`."""
    return where + "".join(f".{part}" if _plain_name(part) else f"[{part!r}]" for part in path)


def field_names(value: Any) -> tuple[str, ...]:
    """The names of the fields of a dataclass, a Struct, an attrs class or a pydantic model."""
    cls = type(value)
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value))
    if hasattr(cls, "__attrs_attrs__"):
        return tuple(field.name for field in cls.__attrs_attrs__)
    if hasattr(cls, "__pydantic_validator__"):
        return (*vars(value), *(value.__pydantic_extra__ or ()), *(value.__pydantic_private__ or ()))
    return ()


def parts(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """The parts of a value, none of one that is whole; the keys of a dict are parts as well."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield f"{where} (a key)", key
            yield at(where, (key,)), part
    elif isinstance(value, list | tuple | set | frozenset):
        for n, part in enumerate(value):
            yield at(where, (n,)), part
    else:
        for name in field_names(value):
            yield at(where, (name,)), getattr(value, name, None)


def naive_moment(value: Any, where: str) -> str | None:
    """The path of a datetime without a time zone, if there is one."""
    if isinstance(value, datetime):
        return where if value.tzinfo is None else None
    return next(filter(None, (naive_moment(part, path) for path, part in parts(value, where))), None)


def _plain_name(part: str | int) -> bool:
    return isinstance(part, str) and part.isidentifier()
