"""Type hints: read from functions, compared, and shown in errors."""

import inspect
from collections.abc import Callable, Iterator
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from makegood.authoring.places import place_of
from makegood.errors import PlanError
from makegood.payload import unwrapped

_BUILT_IN_JSON = (bool, int, float, str, list, dict)


def hints_of(fn: Callable[..., Any]) -> dict[str, Any]:
    """A function's hints, strings resolved; raises PlanError for a name that cannot be found."""
    try:
        return get_type_hints(fn, include_extras=True)
    except Exception as error:  # a hint is an expression of the user's and may raise anything
        raise PlanError(
            f"{place_of(fn)}: the type hints of {fn.__name__} cannot be resolved ({error}); define or import "
            "the type at module level, above the plan that uses it, and not only under TYPE_CHECKING"
        ) from None


def members(hint: Any) -> Iterator[Any]:
    """The types a union is made of, unwrapped; a hint that is no union is its only member."""
    hint = unwrapped(hint)
    if get_origin(hint) in (Union, UnionType):
        for member in get_args(hint):
            yield from members(member)
    else:
        yield hint


def is_open(hint: Any) -> bool:
    """Whether a hint says nothing: Any, object, a type variable."""
    return hint is Any or hint is object or isinstance(hint, TypeVar)


def admits_none(hint: Any) -> bool:
    """Whether None is a value of the type. A hint that says nothing is not taken to mean None."""
    return NoneType in members(hint)


def admits(hint: Any, given: Any) -> bool:
    """Whether a parameter with this hint takes every value of the given type; where unsure, yes."""
    accepted = list(members(hint))
    if any(map(is_open, accepted)):
        return True
    return all(any(_takes(one, other) for one in accepted) for other in members(given))


def clash(hint: Any, given: Any) -> bool:
    """Whether no value of the given type can be read as this hint; where unsure, no."""
    accepted, written = _kinds(hint), _kinds(given)
    return None not in accepted | written and not accepted & written


def _kinds(hint: Any) -> set[str | None]:
    """What the values of a type look like in JSON; None for what is not told by the type alone."""
    return {_LOOKS.get(_class_of(member)) for member in members(hint)}


_LOOKS: dict[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    list: "array",
    dict: "object",
}


def _takes(hint: Any, given: Any) -> bool:
    if is_open(given):  # plain JSON arrives
        return _class_of(hint) in _BUILT_IN_JSON
    if hint == given or (hint is float and given is int):
        return True
    one, other = _class_of(hint), _class_of(given)
    if not isinstance(one, type) or not isinstance(other, type):
        return True
    try:
        related = issubclass(other, one)
    except TypeError:  # a protocol or another class that cannot be asked
        return True
    return related and _arguments_agree(get_args(hint), get_args(given))


def _class_of(hint: Any) -> Any:
    return get_origin(hint) or hint


def _arguments_agree(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    if len(one) != len(other) or Ellipsis in one or Ellipsis in other:
        return True
    return all(admits(hint, given) for hint, given in zip(one, other, strict=True))


def shown(hint: Any) -> str:
    """A type as people write it, the same in every process: `list[Flight] | None`."""
    if hint is Ellipsis:
        return "..."
    if isinstance(hint, str):
        return repr(hint)
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(shown(member) for member in get_args(hint))
    if hint is None or hint is NoneType:
        return "None"
    if get_origin(hint) is not None:
        return f"{_name(get_origin(hint))}[{', '.join(map(shown, get_args(hint)))}]"
    return _name(hint)


def _name(hint: Any) -> str:
    if inspect.isclass(hint):
        return hint.__qualname__
    return getattr(hint, "__name__", None) or repr(hint).removeprefix("typing.")
