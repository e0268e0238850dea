"""An action as it is declared: the call, its way back, how to ask for it, and what plans pin of it."""

import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, get_args, get_origin

import msgspec

from makegood.authoring.hints import admits, admits_none, hints_of, is_open, members, shown
from makegood.authoring.listing import Held
from makegood.authoring.places import place_of
from makegood.authoring.probing import NotThere, There
from makegood.core.document import StepNode
from makegood.errors import PayloadError, PlanError
from makegood.payload import Codec, codec_for, outline_of, unwrapped

if TYPE_CHECKING:
    from makegood.authoring.agent import Agent


class Function(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A user's function. `takes`: the names of the action's parameters that it is given, by keyword.

    An undo is given the result first, by position, which is not in `takes`.
    """

    fn: Callable[..., Any]
    takes: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.fn.__name__

    @cached_property
    def place(self) -> str:
        return place_of(self.fn)

    @cached_property
    def is_async(self) -> bool:
        """Whether calling it gives something to await; otherwise it runs in a thread."""
        return inspect.iscoroutinefunction(self.fn) or inspect.iscoroutinefunction(inspect.unwrap(self.fn))

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.fn).parameters

    @cached_property
    def hints(self) -> dict[str, Any]:
        """Type hints by parameter name and `return`; raises PlanError if they cannot be resolved."""
        return hints_of(self.fn)

    def hint(self, name: str) -> Any:
        """The hint of one parameter, or of "return"; Any where there is none."""
        return self.hints.get(name, Any)


class Action(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """One kind of call to one service. `node`: what every step of it pins, but for its name and arguments.

    `lists` tells what the service holds of it and of the other actions that name the same function.
    """

    agent: "Agent"
    do: Function
    undo: Function | None
    probe: Function | None
    lists: Function | None = None
    node: StepNode

    @property
    def name(self) -> str:
        return self.node.action

    @property
    def full_name(self) -> str:
        """`agent/action`, unique among all agents."""
        return f"{self.node.agent}/{self.node.action}"

    @property
    def fn(self) -> Callable[..., Any]:
        return self.do.fn

    def __repr__(self) -> str:
        return f"<action {self.full_name} at {self.do.place}>"

    # --- types

    @cached_property
    def result_type(self) -> Any:
        """The type its results are stored and read with; Any where there is no hint."""
        return self.do.hint("return")

    @cached_property
    def parameter_types(self) -> dict[str, Any]:
        """The type of each parameter by name; Any where there is no hint."""
        return {name: self.do.hint(name) for name in self.do.takes}

    @cached_property
    def result_may_be_none(self) -> bool:
        """Whether its type admits None, so that its probe must answer There(value) or NOT_THERE."""
        return admits_none(self.result_type)

    @cached_property
    def result_codec(self) -> Codec:
        return _codec(self.do, "return", self.result_type)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The values of parameters that need not be given."""
        given = ((name, self.do.parameters[name].default) for name in self.do.takes)
        return {name: default for name, default in given if default is not inspect.Parameter.empty}

    @cached_property
    def signature_hash(self) -> str:
        """12 hex digits over the name, the parameters, whether each has a default, and all types, with the
        fields of the classes in them."""
        parameters = ", ".join(
            f"{name}{'?' if name in self.defaults else ''}: {outline_of(hint)}"
            for name, hint in self.parameter_types.items()
        )
        text = f"{self.name}({parameters}) -> {outline_of(self.result_type)}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def arguments(self, builtins: Mapping[str, Any]) -> dict[str, Any]:
        """Every parameter's value by name from decoded JSON; raises PayloadError if they do not fit.

        Parameters that are not given have their defaults. The values may share parts with what was given.
        """
        if not builtins.keys() <= self.parameter_types.keys():
            unknown = min(builtins.keys() - self.parameter_types.keys())
            known = ", ".join(self.do.takes) or "none"
            raise PayloadError(
                f"{self.full_name} has no parameter {unknown!r}; it has {known}; nothing that a task holds "
                "is dropped, so keep the parameter until such tasks have ended"
            )
        for name in self.parameter_types:
            if name not in builtins and name not in self.defaults:
                raise PayloadError(
                    f"{self.full_name} is given no {name!r}, a parameter which this task is older than: give "
                    "it a default"
                )
        given: dict[str, Any] = self._arguments_codec.convert(builtins, self.full_name)
        return self.defaults | given

    @cached_property
    def _arguments_codec(self) -> Codec:
        """All parameters as one object, so that a call's arguments are read in one go."""
        hints = {
            name: NotRequired[hint] if name in self.defaults else hint
            for name, hint in self.parameter_types.items()
        }
        make: Any = TypedDict  # to a type checker its fields must stand in the source
        return Codec(make("Arguments", hints))

    # --- checks that need the types

    def check_types(self) -> None:
        """Refuse types that cannot be written as JSON, or that the undo or the probe does not share.

        Raises PlanError, also where a hint cannot be resolved.
        """
        _ = self.result_codec
        for name, hint in self.parameter_types.items():
            _codec(self.do, name, hint)
        if self.undo is not None:
            self._check_undo(self.undo)
        if self.probe is not None:
            self._check_shared(self.probe, "probe")
            self._check_probe(self.probe)
        if self.lists is not None:
            _check_lists(self.lists)

    def _check_undo(self, undo: Function) -> None:
        self._check_shared(undo, "undo")
        first = next(iter(undo.parameters))
        hint = undo.hint(first)
        if not admits(hint, self.result_type):
            raise PlanError(
                f"{undo.place}: undo {undo.name} takes {first}: {shown(hint)}, but {self.do.name} "
                f"({self.do.place}) returns {shown(self.result_type)}; the two must be one type"
            )
        if not admits(hint, None):
            raise PlanError(
                f"{undo.place}: the result is not known to undo {undo.name} when the call's answer was lost; "
                f"write {first}: {shown(hint)} | None, and undo by key or by the other parameters then"
            )

    def _check_shared(self, function: Function, role: str) -> None:
        for name in function.takes:
            hint, given = function.hint(name), self.parameter_types[name]
            if not admits(hint, given):
                raise PlanError(
                    f"{function.place}: {role} {function.name} takes {name}: {shown(hint)}, but "
                    f"{self.do.name} ({self.do.place}) takes {name}: {shown(given)}; give both one type"
                )

    def _check_probe(self, probe: Function) -> None:
        answers = list(members(probe.hint("return")))
        explicit = [one for one in answers if one is NotThere or _is_there(one)]
        if self.result_may_be_none and len(explicit) != len(answers):
            raise PlanError(
                f"{probe.place}: the result of {self.do.name} may be None, so None from probe {probe.name} "
                f"would be in doubt; return There(value) or NOT_THERE, and write its hint: "
                f"-> There[{shown(self.result_type)}] | NotThere"
            )
        for answer in answers:
            kept = _value_of(answer)
            if not is_open(kept) and not admits(self.result_type, kept):
                raise PlanError(
                    f"{probe.place}: probe {probe.name} may return {shown(answer)}, but {self.do.name} "
                    f"({self.do.place}) returns {shown(self.result_type)}; a probe returns the same result, "
                    "or None where nothing is there"
                )


def _check_lists(lists: Function) -> None:
    hint = lists.hint("return")
    if not is_open(hint) and Held not in get_args(unwrapped(hint)):
        raise PlanError(
            f"{lists.place}: lists: {lists.name} returns {shown(hint)}; it returns or yields Held items: "
            "-> list[Held], or AsyncIterator[Held] where it is an async def that yields"
        )


def _value_of(answer: Any) -> Any:
    """The result in a probe's answer; Any where there is none in it."""
    if answer in (NotThere, NoneType):
        return Any
    return next(iter(get_args(answer)), Any) if _is_there(answer) else answer


def _is_there(hint: Any) -> bool:
    return hint is There or get_origin(hint) is There


def _codec(function: Function, name: str, hint: Any) -> Codec:
    try:
        return codec_for(hint)
    except PayloadError as error:
        what = "result" if name == "return" else f"parameter {name!r}"
        raise PlanError(f"{function.place}: {what} of {function.name}: {error}") from None
