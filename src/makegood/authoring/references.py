"""References: what stands in a plan for a value that will be known only when a task runs.

To a type checker a reference is the value. While the plan is recorded it can be taken apart by attribute,
key and index, and passed on; whatever else is tried with it is refused, with the line and the way out.
"""

from collections.abc import Callable
from types import NoneType
from typing import Any, NamedTuple, NoReturn

from makegood.authoring.places import here
from makegood.authoring.shapes import IN_AN_ACTION, NoPart, part_by_attribute, part_by_key
from makegood.errors import PlanError
from makegood.payload import Part, at

_DECIDE = "a plan is recorded once and has no branches; decide inside an action"
_WHOLE = "pass the whole list to one step, or take single items by index"


class Origin(NamedTuple):
    """Where a referred value comes from. `recording` is the plan's own object, which no other plan has."""

    recording: object
    name: str
    path: tuple[str | int, ...]
    hint: Any

    def __str__(self) -> str:
        return at(self.name, self.path)

    @property
    def doubt(self) -> str:
        """What to ask, behind a complaint, of a step whose action is declared to return nothing."""
        if self.hint is not NoneType or self.path or self.name == "input":
            return ""
        return "; does its action return anything? Then write what, as in `-> Booking`"


class Reference:
    """A value of a later task: a step's result, the input, or a part of one. No attribute is its own."""

    __slots__ = ("_origin",)

    _origin: Origin

    def __init__(self, origin: Origin) -> None:
        object.__setattr__(self, "_origin", origin)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            return object.__getattribute__(self, name)
        return _part(self, lambda hint: part_by_attribute(hint, name))

    def __getitem__(self, key: Any) -> Any:
        if type(key) not in (str, int):
            raise _refusal(
                self, f"be taken apart by {type(key).__name__}", "use a key or an index that is fixed"
            )
        return _part(self, lambda hint: part_by_key(hint, key))

    def __repr__(self) -> str:
        return f"<reference {origin_of(self)}>"

    def __copy__(self) -> "Reference":
        return self

    def __deepcopy__(self, memo: object) -> "Reference":
        return self


def origin_of(reference: Reference) -> Origin:
    """Where a reference comes from, past its own attributes."""
    origin: Origin = object.__getattribute__(reference, "_origin")
    return origin


def _part(reference: Reference, find: Callable[[Any], Part]) -> Reference:
    origin = origin_of(reference)
    try:
        part = find(origin.hint)
    except NoPart as reason:
        raise PlanError(f"{here()}: {origin} {reason}{origin.doubt}") from None
    return Reference(origin._replace(path=(*origin.path, part.key), hint=part.hint))


def _refusal(reference: Reference, what: str, way_out: str) -> PlanError:
    return PlanError(
        f"{here()}: {origin_of(reference)} is known only when a task runs, so it cannot {what} in a plan; "
        f"{way_out}"
    )


_REFUSED = {
    ("be used as a condition", _DECIDE): "bool",
    ("be compared", _DECIDE): "eq ne lt le gt ge",
    ("be searched", _DECIDE): "contains",
    ("be hashed", "use it as a value, not as a key or in a set"): "hash",
    ("be looped over", _WHOLE): "iter next reversed aiter anext",
    ("be counted", _WHOLE): "len length_hint",
    ("be made text", IN_AN_ACTION): "str format bytes fspath",
    ("be made a number", IN_AN_ACTION): "int float complex index round trunc floor ceil",
    ("be computed with", IN_AN_ACTION): (
        "add radd iadd sub rsub isub mul rmul imul matmul rmatmul imatmul truediv rtruediv itruediv "
        "floordiv rfloordiv ifloordiv mod rmod imod divmod rdivmod pow rpow ipow lshift rlshift ilshift "
        "rshift rrshift irshift and rand iand or ror ior xor rxor ixor neg pos abs invert"
    ),
    ("be called", "it has no methods here; " + IN_AN_ACTION): "call",
    ("be awaited", "step() has given it to you already; drop the await"): "await",
    ("be used in a with statement", IN_AN_ACTION): "enter exit aenter aexit",
    ("be changed", "build a new value: build(Model, field=...)"): "setattr delattr setitem delitem",
    ("be pickled", "a plan's document is what is stored of it"): "reduce reduce_ex getstate",
}


def _refuse(name: str, what: str, way_out: str) -> None:
    def refused(self: Reference, *_: object, **__: object) -> NoReturn:
        raise _refusal(self, what, way_out)

    setattr(Reference, f"__{name}__", refused)


for (_what, _way_out), _names in _REFUSED.items():
    for _name in _names.split():
        _refuse(_name, _what, _way_out)
