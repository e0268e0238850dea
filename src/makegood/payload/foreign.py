"""Models of pydantic, known by how they look: who does not use the library pays nothing for it.

A BaseModel is written and read by itself, in the form of its own JSON. A pydantic dataclass is written like
any dataclass, and what is read is validated by it afterwards.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from makegood.payload.parts import field_names, parts


def is_model(cls: Any) -> bool:
    """Whether a class is a pydantic model."""
    return isinstance(cls, type) and hasattr(cls, "__pydantic_validator__") and hasattr(cls, "model_fields")


def is_root_model(cls: Any) -> bool:
    """Whether a class is a pydantic model whose JSON is that of its one field."""
    return is_model(cls) and bool(getattr(cls, "__pydantic_root_model__", False))


def is_validated_dataclass(cls: Any) -> bool:
    """Whether a class is a dataclass of pydantic."""
    return isinstance(cls, type) and hasattr(cls, "__pydantic_validator__") and not is_model(cls)


def keeps_undeclared(cls: Any) -> bool:
    """Whether it is such a dataclass, and takes what it does not declare: none of that would be written."""
    return is_validated_dataclass(cls) and getattr(cls, "__pydantic_config__", {}).get("extra") == "allow"


def written(value: Any) -> Any:
    """A model as JSON values, equal models alike. Raises TypeError for anything else, and whatever a model
    raises that cannot be written."""
    if not is_model(type(value)):
        raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
    return _ordered(value, value.model_dump(mode="json", by_alias=True, round_trip=True, warnings="error"))


def read(cls: Any, json: Any) -> Any:
    """A model from JSON values; raises ValueError, which names the path within it as msgspec does."""
    if not is_model(cls):
        return json
    try:
        return cls.model_validate_json(msgspec.json.encode(json))
    except ValueError as error:
        raise ValueError("".join(_told(error, cls, json))) from None


def field_as_written(model: Any, name: str, value: Any) -> Any:
    """The JSON values that a field of a model is written as; raises whatever the model raises that cannot."""
    made = model.model_construct(**{name: value})
    [json] = made.model_dump(mode="json", by_alias=True, include={name}, warnings="error").values()
    return _ordered(value, json)


def schema(cls: Any) -> dict[str, Any]:
    """The JSON Schema of a model. Raises TypeError where it has none."""
    if not is_model(cls):
        raise TypeError(f"{cls} has no JSON Schema")
    try:
        made: dict[str, Any] = cls.model_json_schema()
    except Exception as error:
        raise TypeError(f"{cls} has no JSON Schema: {error}") from None
    return made


def fields_at_fault(model: Any) -> Iterator[tuple[str, Exception]]:
    """The fields that a model cannot write, each with the reason."""
    for name in type(model).model_fields:
        try:
            msgspec.json.encode(model.model_dump(mode="json", include={name}, warnings="error"))
        except Exception as error:
            yield name, error


def validate(value: Any) -> None:
    """Have every pydantic dataclass in a value look at its fields, in place. Raises ValueError as `read`."""
    for _, part in parts(value, ""):
        validate(part)
    if is_validated_dataclass(type(value)):
        _validate_fields(value)


def _validate_fields(value: Any) -> None:
    from pydantic_core import ArgsKwargs  # certainly there, as it has made this very class

    cls: Any = type(value)
    fields = {name: (info, getattr(value, name)) for name, info in cls.__pydantic_fields__.items()}
    given = {
        _name_of(name, info): part
        for name, (info, part) in fields.items()
        # A field that was not given is its own description now, which msgspec took for its default.
        if not isinstance(part, type(info))
    }
    try:
        cls.__pydantic_validator__.validate_python(ArgsKwargs((), given), self_instance=value)
    except ValueError as error:
        raise ValueError("".join(_told(error))) from None


def _name_of(name: str, info: Any) -> str:
    """The name under which a field is to be given."""
    return info.validation_alias if isinstance(info.validation_alias, str) else name


def _told(error: Any, cls: Any = None, json: Any = None) -> Iterator[str]:
    """The first complaint, without the value it is about, and its path; of a model, what it does not know."""
    if not hasattr(error, "errors"):
        yield str(error)
        return
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    unknown = _unknown(cls, json, first["loc"]) if first["type"] == "missing" else ()
    hint = f"; {', '.join(unknown)} given, which it does not have" if unknown else ""
    if json is None and is_model(cls) and not path:
        hint = ", got null"  # for which there is no name in a complaint about the type
    yield f"{first['msg']}{hint} - at `${path}`"


def _unknown(cls: Any, json: Any, loc: Sequence[str | int]) -> list[str]:
    """The fields given beside a missing one that its model does not have, as far as the model is plain."""
    if not is_model(cls) or not isinstance(json, dict) or cls.model_config.get("extra") == "allow":
        return []
    names = {known: info for name, info in cls.model_fields.items() for known in (name, _name_of(name, info))}
    if len(loc) > 1:
        inner = names.get(str(loc[0]))
        return _unknown(inner and inner.annotation, json.get(loc[0]), loc[1:])
    told = all(isinstance(info.validation_alias, str | None) for info in names.values())
    return [name for name in json if name not in names] if told else []


def _ordered(value: Any, json: Any) -> Any:
    """The JSON of a value, with the items of its sets in an order that is the same for equal sets."""
    if is_root_model(type(value)):
        return _ordered(value.root, json)
    if isinstance(value, list | tuple | set | frozenset) and isinstance(json, list):
        items = [_ordered(one, other) for one, other in zip(value, json, strict=False)]
        return sorted(items, key=msgspec.json.encode) if isinstance(value, set | frozenset) else items
    if isinstance(value, dict) and isinstance(json, dict):
        pairs = zip(value.values(), json.items(), strict=False)
        return {key: _ordered(one, other) for one, (key, other) in pairs}
    if isinstance(json, dict):
        fields = {_name_in_json(value, name): getattr(value, name, None) for name in field_names(value)}
        return {key: _ordered(fields.get(key), other) for key, other in json.items()}
    return json


def _name_in_json(value: Any, name: str) -> str:
    """The name under which a field of a model, or of a dataclass in one, is written."""
    info: Any = getattr(type(value), "__pydantic_fields__", {}).get(name)
    return name if info is None else info.serialization_alias or info.alias or name
