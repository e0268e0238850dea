"""Type hints, taken apart. Whatever looks through types does it by these functions, so that all see the same.

What typing_extensions has of its own is known by its name: nobody needs it installed.
"""

import inspect
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    NewType,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from makegood.errors import PlanError
from makegood.payload.foreign import is_root_model

_SAID_OF_FIELDS = frozenset({"Required", "NotRequired", "ReadOnly", "Final", "ClassVar"})
_NO_FIELDS = frozenset({"ClassVar", "InitVar"})


def unwrapped(hint: Any) -> Any:
    """What a hint stands for: without Annotated, NewType, aliases, and what is said of a field."""
    while (inner := _inner(hint)) is not hint:
        hint = inner
    return hint


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The hints that a hint stands for, each for the whole of a value: what it wraps, the members of a union.

    Empty for one that stands for itself.
    """
    inner = _inner(hint)
    if inner is not hint:
        return (inner,)
    if get_origin(hint) in (Union, UnionType):
        return get_args(hint)
    if isinstance(hint, TypeVar):
        return (*hint.__constraints__, getattr(hint, "__default__", None))
    if is_root_model(hint):
        info = hint.model_fields["root"]
        return (Annotated[info.annotation, None, *info.metadata],)
    return ()


def filled(hint: Any, given: Mapping[Any, Any]) -> Any:
    """A hint with what its type variables are given."""
    if isinstance(hint, TypeVar):
        return given.get(hint, hint)
    variables = getattr(hint, "__parameters__", ())
    return hint[tuple(given.get(one, one) for one in variables)] if variables and get_args(hint) else hint


def is_typed_dict(cls: Any) -> bool:
    """Whether a class is a TypedDict, of typing or of typing_extensions."""
    return isinstance(cls, type) and issubclass(cls, dict) and hasattr(cls, "__total__")


def is_alias(hint: Any) -> bool:
    """Whether a hint is a type alias that is an object of its own: `type X = ...`, or a TypeAliasType."""
    return type(get_origin(hint) or hint).__name__ == "TypeAliasType"


def field_hints(hint: Any) -> dict[str, Any]:
    """The hints of a class's fields by name, in generic bases with what their type variables are given.

    Raises PlanError where one cannot be resolved.
    """
    cls = get_origin(hint) or hint
    given = _given(hint)
    not_inherited = (base for base in given if isinstance(base, type) and base not in cls.__mro__)
    found: dict[str, Any] = {}
    copied: dict[str, Any] = {}
    for base in (*not_inherited, *reversed(cls.__mro__)):
        own = inspect.get_annotations(base)
        hints = _resolved(base) if own else {}
        for name, written in own.items():
            # A TypedDict does not inherit from its bases: it has copies of their fields.
            if not is_typed_dict(base) or copied.get(name) != written:
                found[name] = filled(hints[name], given.get(base, {}))
            copied[name] = written
    return {name: _of_field(one) for name, one in found.items() if _said(one) not in _NO_FIELDS}


def _inner(hint: Any) -> Any:
    """A hint without its outermost wrapping; the same where it has none."""
    if isinstance(hint, NewType):
        return hint.__supertype__
    if is_alias(hint):
        alias = get_origin(hint) or hint
        return filled(_value_of(alias), dict(zip(alias.__type_params__, get_args(hint), strict=False)))
    if get_origin(hint) is Annotated or _said(hint) in _SAID_OF_FIELDS:
        return get_args(hint)[0]
    if isinstance(hint, TypeVar) and hint.__bound__ is not None:
        return hint.__bound__
    return NoneType if hint is None else hint


def _value_of(alias: Any) -> Any:
    try:
        return alias.__value__
    except Exception as error:  # as in a hint
        raise PlanError(f"the type alias {alias} cannot be resolved ({error})") from None


def _said(hint: Any) -> str:
    return getattr(get_origin(hint), "_name", None) or type(hint).__name__


def _of_field(hint: Any) -> Any:
    while _said(hint) in _SAID_OF_FIELDS:
        hint = get_args(hint)[0]
    return hint


def _resolved(cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls, include_extras=True)
    except Exception as error:  # a hint is an expression of the user's and may raise anything
        raise PlanError(
            f"the type hints of {cls.__qualname__} cannot be resolved ({error}); "
            "define its types at module level, above the plan that uses them"
        ) from None


def _given(hint: Any) -> dict[Any, dict[Any, Any]]:
    """What the type variables of each class are given that this one is made of; bases come first."""
    cls = get_origin(hint) or hint
    variables = getattr(cls, "__parameters__", ())  # of some built-in classes a descriptor
    own = dict(zip(variables, get_args(hint), strict=False)) if isinstance(variables, tuple) else {}
    found: dict[Any, dict[Any, Any]] = {}
    for base in _bases(cls):
        found = _given(filled(base, own)) | found
    return found | {cls: own}


def _bases(cls: Any) -> Iterator[Any]:
    """The bases of a class as they are written, with their brackets."""
    written = vars(cls).get("__orig_bases__", cls.__bases__) if isinstance(cls, type) else ()
    yield from (base for base in written if get_origin(base) not in (Generic, Protocol))
