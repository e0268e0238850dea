"""The fields that a class has in JSON, whichever library it is of."""

import dataclasses
import inspect
from typing import Annotated, Any, NamedTuple, get_origin

import msgspec

from makegood.payload.foreign import is_model, is_root_model
from makegood.payload.hints import field_hints, is_typed_dict
from makegood.payload.rewriting import Rewritten, rewriting


class Part(NamedTuple):
    """A part's key in the JSON and its type. `omitted`: left out of the JSON where it has its default.

    `foreign`: another library writes its JSON, which for some types is not what we would read.
    """

    key: str | int
    hint: Any
    required: bool = True
    omitted: bool = False
    foreign: bool = False


def fields_of(hint: Any) -> dict[str, Part] | None:
    """The fields of a dataclass, Struct, NamedTuple, TypedDict, attrs class or pydantic model by name.

    None if it has no fixed fields. Raises PlanError where a hint of theirs cannot be resolved.
    """
    cls = get_origin(hint) or hint
    if not isinstance(cls, type):
        return None
    if is_model(cls):
        return None if is_root_model(cls) else _model_fields(cls)
    if issubclass(cls, msgspec.Struct):
        return _struct_fields(cls, field_hints(hint))
    if is_typed_dict(cls):
        required: frozenset[str] = vars(cls)["__required_keys__"]
        return {name: Part(name, one, name in required) for name, one in field_hints(hint).items()}
    if dataclasses.is_dataclass(cls):
        hints = field_hints(hint)
        return {f.name: Part(f.name, hints[f.name], _is_required(cls, f)) for f in dataclasses.fields(cls)}
    if hasattr(cls, "__attrs_attrs__"):
        hints = field_hints(hint)
        return {f.name: Part(f.name, hints.get(f.name, Any), _is_given(f)) for f in cls.__attrs_attrs__}
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        hints = field_hints(hint)
        return {name: Part(n, hints.get(name, Any)) for n, name in enumerate(cls._fields)}
    return None


def further_fields(hint: Any) -> Any:
    """The hint of the dict of what a pydantic model takes beside its fields; None if it takes nothing."""
    if not is_model(hint) or hint.model_config.get("extra") != "allow":
        return None
    for base in hint.__mro__:
        written = inspect.get_annotations(base).get("__pydantic_extra__")
        if written is not None:
            alone = {"__annotations__": {"further": written}, "__module__": base.__module__}
            return field_hints(type(base.__name__, (), alone))["further"]
    return None


def _struct_fields(cls: type[msgspec.Struct], hints: dict[str, Any]) -> dict[str, Part]:
    config = cls.__struct_config__
    first = 1 if config.tag is not None else 0
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
    rewritten = rewriting(cls).fields
    said = {
        name: [*info.metadata, *[Rewritten] * (name in rewritten)] for name, info in cls.model_fields.items()
    }
    return {
        name: Part(
            info.serialization_alias or info.alias or name,
            Annotated[info.annotation, *said[name]] if said[name] else info.annotation,
            info.is_required(),
            foreign=True,
        )
        for name, info in cls.model_fields.items()
    }


def _is_given(attribute: Any) -> bool:
    """Whether an attribute of an attrs class has to be given when one is made."""
    return attribute.init and repr(attribute.default) == "NOTHING"


def _is_required(cls: Any, field: "dataclasses.Field[Any]") -> bool:
    by_pydantic = getattr(cls, "__pydantic_fields__", {}).get(field.name)
    if by_pydantic is not None:
        return bool(by_pydantic.is_required())
    missing = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    return field.init and missing
