"""What is checked when an action is declared: its functions, and that every name is one it has."""

import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from makegood.authoring.action import Function
from makegood.authoring.guarding import guarded
from makegood.authoring.places import here, place_of
from makegood.errors import PlanError

_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only; remove the '/'",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values; take one list",
    inspect.Parameter.VAR_KEYWORD: "takes any names; name the parameters, or take one dict",
}

OF_DECORATORS = frozenset(("wrapper", "_wrapper", "wrapped", "_wrapped", "inner", "_inner", "decorated"))
"""How decorators call the function that they put in the place of another."""


def read_action(fn: Any) -> Function:
    """The function of an action, guarded; raises PlanError if its calls could not be recorded by name."""
    names = parameter_names(fn, "action")
    return Function(guarded(fn), tuple(names))


def read_undo(fn: Any, action: Function) -> Function:
    """The undo of an action: the result first, then any of the action's parameters; raises PlanError."""
    names = parameter_names(fn, f"undo of {action.name}")
    if not names:
        raise PlanError(
            f"{place_of(fn)}: undo {fn.__name__} takes nothing; its first parameter is the result of "
            f"{action.name}, or None when that is not known"
        )
    return _sharing(fn, names[1:], action, "undo", ", after the result,")


def read_probe(fn: Any, action: Function) -> Function:
    """The probe of an action: any of the action's parameters; raises PlanError."""
    return _sharing(fn, parameter_names(fn, f"probe of {action.name}"), action, "probe", "")


def read_lister(fn: Any) -> Function:
    """A listing function: takes nothing, and may yield; raises PlanError."""
    _check_plain_function(fn, "lists")
    for name in inspect.signature(fn).parameters:
        raise PlanError(
            f"{place_of(fn)}: lists: {fn.__name__} takes {name!r}, but it is given nothing: it lists all "
            "that the service holds"
        )
    return Function(fn, ())


def _sharing(fn: Any, names: Iterable[str], action: Function, role: str, after: str) -> Function:
    takes = tuple(names)
    for name in takes:
        if name not in action.takes:
            known = ", ".join(action.takes) or "none"
            raise PlanError(
                f"{place_of(fn)}: {role} {fn.__name__} takes {name!r}, which is no parameter of "
                f"{action.name} ({action.place}); it is given{after} the action's parameters by name: {known}"
            )
    return Function(fn, takes)


def parameter_names(fn: Any, role: str) -> list[str]:
    """A plain function's parameters; raises PlanError if arguments could not be given to it by name."""
    _check_plain_function(fn, role)
    _check_returns(fn, role)
    parameters = inspect.signature(fn).parameters.values()
    for parameter in parameters:
        if parameter.kind in _KINDS:
            raise PlanError(
                f"{place_of(fn)}: {role}: parameter {parameter.name!r} of {fn.__name__} "
                f"{_KINDS[parameter.kind]}: arguments are recorded by name"
            )
    return [parameter.name for parameter in parameters]


def _check_plain_function(fn: Any, role: str) -> None:
    if not inspect.isfunction(fn):
        raise PlanError(
            f"{here()}: {role}: {fn!r} is no plain function; write a def or async def at module level "
            "that calls it"
        )
    if fn.__name__ == "<lambda>":
        raise PlanError(f"{place_of(fn)}: {role}: a lambda has no name to be recorded under; write a def")
    if fn.__name__ in OF_DECORATORS and not hasattr(fn, "__wrapped__") and _calls_another(fn):
        raise PlanError(
            f"{place_of(fn)}: {role}: a function is recorded under its name, and {fn.__name__!r} is what a "
            "decorator calls its own: put functools.wraps(...) on that, so that the name is the function's"
        )


def _calls_another(fn: Any) -> bool:
    """Whether it was made around another function."""
    for cell in fn.__closure__ or ():
        with suppress(ValueError):  # nothing is in it yet
            if inspect.isfunction(cell.cell_contents):
                return True
    return False


def _check_returns(fn: Any, role: str) -> None:
    plain: Callable[..., Any] = inspect.unwrap(fn)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise PlanError(
            f"{place_of(fn)}: {role}: {fn.__name__} yields; it must make its one call and return the result"
        )
