"""What a type looks like as JSON: which parts a value has, under which keys."""

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import NoneType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)
from uuid import UUID

import msgspec

from makegood.authoring.hints import is_open, members, shown, unwrapped
from makegood.errors import PlanError
from makegood.payload import is_model, is_root_model


class NoPart(Exception):
    """A value of this type has no such part; the text says why, and which parts it has."""


class Part(NamedTuple):
    """A part's key in the JSON and its type. `omitted`: left out of the JSON where it has its default.

    `foreign`: another library writes its JSON, which for some types is not what we would read.
    """

    key: str | int
    hint: Any
    required: bool = True
    omitted: bool = False
    foreign: bool = False


_WITHOUT_PARTS: tuple[type, ...] = (bool, int, float, str, bytes, bytearray, NoneType, enum.Enum)
_WITHOUT_PARTS += (Decimal, UUID, date, datetime, time, timedelta)
_KEY_MARKS = (Required, NotRequired)
_WRITTEN_OTHERWISE = (bytes, bytearray, timedelta)
"""Of these pydantic makes other JSON than msgspec."""


def fields_of(hint: Any) -> dict[str, Part] | None:
    """The fields of a dataclass, Struct, NamedTuple, TypedDict, attrs class or pydantic model by name.

    None if it has no fixed fields.
    """
    cls = get_origin(hint) or hint
    if not isinstance(cls, type):
        return None
    if is_model(cls):
        return None if is_root_model(cls) else _model_fields(cls)
    fields = _fields(cls)
    arguments = dict(zip(getattr(cls, "__parameters__", ()), get_args(hint), strict=False))
    if fields is None or not arguments:
        return fields
    return {name: part._replace(hint=_filled(part.hint, arguments)) for name, part in fields.items()}


def _fields(cls: Any) -> dict[str, Part] | None:
    if issubclass(cls, msgspec.Struct):
        return _struct_fields(cls)
    if is_typeddict(cls):
        required: frozenset[str] = vars(cls)["__required_keys__"]
        return {name: Part(name, part, name in required) for name, part in _hints(cls).items()}
    if dataclasses.is_dataclass(cls) and isinstance(cls, type):
        hints = _hints(cls)
        return {f.name: Part(f.name, hints[f.name], _is_required(cls, f)) for f in dataclasses.fields(cls)}
    if hasattr(cls, "__attrs_attrs__"):
        hints = _hints(cls)
        return {f.name: Part(f.name, hints.get(f.name, Any), _is_given(f)) for f in cls.__attrs_attrs__}
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        hints = _hints(cls)
        return {name: Part(n, hints.get(name, Any)) for n, name in enumerate(cls._fields)}
    return None


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


def _hints(cls: type) -> dict[str, Any]:
    try:
        hints = get_type_hints(cls, include_extras=True)
    except Exception as error:  # a hint is an expression of the user's and may raise anything
        raise PlanError(
            f"the type hints of {cls.__qualname__} cannot be resolved ({error}); "
            "define its types at module level, above the plan that uses them"
        ) from None
    return {
        name: get_args(hint)[0] if get_origin(hint) in _KEY_MARKS else hint for name, hint in hints.items()
    }


def _struct_fields(cls: type[msgspec.Struct]) -> dict[str, Part]:
    config = cls.__struct_config__
    first = 1 if config.tag is not None else 0
    hints = _hints(cls)
    return {
        field.name: Part(
            first + n if config.array_like else field.encode_name,
            hints[field.name],
            field.required,
            omitted=config.omit_defaults and not field.required,
        )
        for n, field in enumerate(msgspec.structs.fields(cls))
    }


def _model_fields(cls: Any) -> dict[str, Part]:
    """The fields of a pydantic model, under the names that its JSON has."""
    return {
        name: Part(
            info.serialization_alias or info.alias or name,
            Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation,
            info.is_required(),
            foreign=True,
        )
        for name, info in cls.model_fields.items()
    }


def _filled(hint: Any, arguments: Mapping[Any, Any]) -> Any:
    """The hint of a field of a generic class, with the types that the class was given."""
    if isinstance(hint, TypeVar):
        return arguments.get(hint, hint)
    open_ = getattr(hint, "__parameters__", ())
    return hint[tuple(arguments.get(one, one) for one in open_)] if open_ and get_args(hint) else hint


def _is_given(attribute: Any) -> bool:
    """Whether an attribute of an attrs class has to be given when one is made."""
    return attribute.init and repr(attribute.default) == "NOTHING"


def _is_required(cls: Any, field: "dataclasses.Field[Any]") -> bool:
    by_pydantic = getattr(cls, "__pydantic_fields__", {}).get(field.name)
    if by_pydantic is not None:
        return bool(by_pydantic.is_required())
    missing = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    return field.init and missing


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
    if fields is not None:
        return _field(member, fields, name, fields.get(name))
    _refuse_without_parts(member)
    cls = get_origin(member) or member
    if is_model(cls):
        raise NoPart(f"is {shown(member)}, a RootModel, which has no fields in JSON; pass the whole of it")
    if isinstance(cls, type) and issubclass(cls, Mapping | Sequence):
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
    if isinstance(cls, type) and issubclass(cls, Sequence):
        return _element(member, cls, arguments, key)
    return Part(key, Any)


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


def _refuse_without_parts(member: Any) -> None:
    cls = get_origin(unwrapped(member)) or member
    if cls is Literal or (isinstance(cls, type) and issubclass(cls, _WITHOUT_PARTS)):
        raise NoPart(f"is {shown(member)}, which has no parts in JSON")
    if isinstance(cls, type) and issubclass(cls, Set):
        raise NoPart(f"is {shown(member)}, which has no order and no keys; use a list")
