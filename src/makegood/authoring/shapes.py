"""What a type looks like as JSON: which parts a value has, under which keys."""

import enum
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

from makegood.authoring.hints import is_open, members, shown
from makegood.payload import Part, fields_of, is_model, is_root_model, unwrapped


class NoPart(Exception):
    """A value of this type has no such part; the text says why, and which parts it has."""


_WITHOUT_PARTS: tuple[type, ...] = (bool, int, float, str, bytes, bytearray, NoneType, enum.Enum)
_WITHOUT_PARTS += (Decimal, UUID, date, datetime, time, timedelta)
IN_AN_ACTION = "do it inside an action; for a value of its own, in a step declared with reads=True"
_WRITTEN_OTHERWISE = (bytes, bytearray, timedelta)
"""Of these pydantic makes other JSON than msgspec."""


def part_by_attribute(hint: Any, name: str) -> Part:
    """The part that `value.name` means; raises NoPart."""
    return _part_of_members(hint, lambda member: _attribute(member, name))


def part_by_key(hint: Any, key: str | int) -> Part:
    """The part that `value[key]` means; raises NoPart."""
    return _part_of_members(hint, lambda member: _item(member, key))


def written_otherwise(hint: Any, seen: tuple[Any, ...] = ()) -> bool:
    """Whether pydantic writes a value of this type, or a part of one, in a way of its own."""
    for one in members(hint):
        if one in _WRITTEN_OTHERWISE:
            return True
        if one in seen or is_model(one):  # a model in a model writes its parts itself in any case
            continue
        parts = [part.hint for part in (fields_of(one) or {}).values()]
        if any(written_otherwise(part, (*seen, one)) for part in (*get_args(one), *parts)):
            return True
    return False


def _part_of_members(hint: Any, find: Callable[[Any], Part]) -> Part:
    """A part of a union is a part of those of its members that have it, under one key; None has no parts."""
    parts: list[Part] = []
    reasons: list[str] = []
    some = list(members(hint))
    for member in [one for one in some if one is not NoneType] or some:
        try:
            parts.append(find(member))
        except NoPart as reason:
            reasons.append(str(reason))
    if not parts:
        raise NoPart(reasons[0])
    if len({part.key for part in parts}) > 1:
        raise NoPart(f"is {shown(hint)}, which keeps it under different keys; use the key: value['key']")
    return Part(parts[0].key, parts[0].hint if len(parts) == 1 else Any)


def _attribute(member: Any, name: str) -> Part:
    if is_open(member):
        return Part(name, Any)
    fields = fields_of(member)
    if fields is None or name not in fields:
        _refuse_behaviour(member, name)
    if fields is not None:
        return _field(member, fields, name, fields.get(name))
    _refuse_without_parts(member)
    cls = get_origin(member) or member
    if is_model(cls):
        raise NoPart(f"is {shown(member)}, a RootModel, which has no fields in JSON; pass the whole of it")
    if _is_sequence(cls) or (isinstance(cls, type) and issubclass(cls, Mapping)):
        raise NoPart(f"is {shown(member)}, which has no fields; use an index or a key: value[...]")
    return Part(name, Any)


def _item(member: Any, key: str | int) -> Part:
    if is_open(member):
        return Part(key, Any)
    fields = fields_of(member)
    if fields is not None:
        return _field(member, fields, key, next((part for part in fields.values() if part.key == key), None))
    _refuse_without_parts(member)
    cls = get_origin(member) or member
    arguments = get_args(member)
    if isinstance(cls, type) and issubclass(cls, Mapping):
        # Every key is a string in JSON.
        return Part(str(key), arguments[1] if arguments else Any)
    if _is_sequence(cls):
        return _element(member, cls, arguments, key)
    return Part(key, Any)


def _is_sequence(cls: Any) -> bool:
    return cls is Collection or (isinstance(cls, type) and issubclass(cls, Sequence))


def _field(member: Any, fields: dict[str, Part], name: str | int, part: Part | None) -> Part:
    if part is None:
        known = ", ".join(fields) or "none"
        raise NoPart(f"is {shown(member)}, which has no field {name!r}; its fields: {known}")
    if part.omitted:
        raise NoPart(
            f"is {shown(member)}, which leaves {name!r} out of its JSON where it has its default "
            "(omit_defaults=True); make the field required, or the class omit_defaults=False"
        )
    if part.foreign and written_otherwise(part.hint):
        raise NoPart(
            f"is {shown(member)}, and pydantic writes its {name!r} in a way of its own; pass the whole "
            "model, or declare the field as str"
        )
    return part


def _element(member: Any, cls: type, arguments: tuple[Any, ...], key: str | int) -> Part:
    if not isinstance(key, int):
        raise NoPart(f"is {shown(member)}, which has no key {key!r}; use an index")
    if not arguments:
        return Part(key, Any)
    if issubclass(cls, tuple) and Ellipsis not in arguments:
        if not -len(arguments) <= key < len(arguments):
            raise NoPart(f"is {shown(member)}, which has no index {key}")
        return Part(key, arguments[key])
    return Part(key, arguments[0])


def _refuse_behaviour(member: Any, name: str) -> None:
    """Refuse a method, or whatever else a value has in Python and not in its JSON."""
    cls = get_origin(unwrapped(member)) or member
    known = get_args(member) if cls is Literal else [cls]
    if any(hasattr(one, name) for one in known) and not is_root_model(cls):
        raise NoPart(
            f"is {shown(member)}, and what its .{name} gives is known only when a task runs; {IN_AN_ACTION}"
        )


def _refuse_without_parts(member: Any) -> None:
    cls = get_origin(unwrapped(member)) or member
    if cls is Literal or (isinstance(cls, type) and issubclass(cls, _WITHOUT_PARTS)):
        instead = "" if cls is NoneType else ", no fields and no items; pass the whole of it"
        raise NoPart(f"is {shown(member)}, which has no parts in JSON{instead}")
    if isinstance(cls, type) and issubclass(cls, Set):
        raise NoPart(f"is {shown(member)}, which has no order and no keys; use a list")
