"""A plan: the document, and the types of its input and output."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar, overload

import msgspec

from makegood.authoring.action import Action
from makegood.authoring.agent import Agent
from makegood.authoring.declaring import parameter_names
from makegood.authoring.hints import admits, hints_of, shown
from makegood.authoring.matching import actions_of
from makegood.authoring.places import here, place_of
from makegood.authoring.references import Reference, origin_of
from makegood.authoring.schemas import untold
from makegood.authoring.secrets import Secrets, secrets_of
from makegood.authoring.templates import template_of
from makegood.authoring.tracing import recording
from makegood.core.document import Document, SeriesNode, check_document, read_document
from makegood.core.plan import Plan, compile_plan
from makegood.core.secrets import covers
from makegood.errors import PayloadError, PlanError
from makegood.payload import Codec, codec_for, schema_of

Input = TypeVar("Input")
Output = TypeVar("Output")


class PlanDefinition(Generic[Input, Output]):
    """A plan that can be submitted: its document, and the actions it calls as far as they are known here.

    `input_type` is NoneType for a plan that takes no input; `place` is the line that it was made in.
    """

    def __init__(
        self,
        document: Document,
        *,
        input_type: Any = Any,
        output_type: Any = Any,
        actions: Iterable[Action] = (),
    ) -> None:
        self.document = document
        self.place = here()
        self.input_type = input_type
        self.output_type = output_type
        self.actions = tuple(actions)

    @staticmethod
    def from_document(
        source: bytes | str | Mapping[str, Any],
        *,
        agents: Iterable[Agent] | None = None,
        input_type: Any = Any,
        output_type: Any = Any,
    ) -> "PlanDefinition[Any, Any]":
        """A plan from a document written by hand, as JSON or already decoded.

        With `agents` given, every step is held against their actions; without, only an agent will find out.
        Raises PlanError naming the place in the document and the way out.
        """
        document = read_document(source)
        actions = () if agents is None else actions_of(document, agents)
        needed = secrets_of(document, actions, input_type=input_type, output_type=output_type)
        _check_hidden(document, needed)
        return PlanDefinition(document, input_type=input_type, output_type=output_type, actions=actions)

    @property
    def name(self) -> str:
        return self.document.plan

    def to_json(self) -> bytes:
        """Its document as JSON with every default filled in, as it is stored; `from_document` takes it."""
        return self.document.canonical()

    @cached_property
    def version(self) -> str:
        """SHA-256 of what `to_json` gives, in hex."""
        return self.document.version

    @cached_property
    def plan(self) -> Plan:
        """The document as the core walks it."""
        return compile_plan(self.document)

    def __repr__(self) -> str:
        return f"<plan {self.name} {self.version[:12]}: {len(self.plan.steps)} steps>"

    if not TYPE_CHECKING:  # to a type checker a plan cannot be called at all

        def __call__(self, *args: object, **kwargs: object) -> NoReturn:
            raise PlanError(
                f"{here()}: plan {self.name} is not run by calling it; submit it: "
                f"await mg.submit({self.name}, ...), or `makegood submit APP:{self.name} INPUT`"
            )


class _Decorator(Protocol):
    @overload
    def __call__(self, fn: Callable[[], Output], /) -> PlanDefinition[None, Output]: ...
    @overload
    def __call__(self, fn: Callable[[Input], Output], /) -> PlanDefinition[Input, Output]: ...


@overload
def plan(fn: Callable[[], Output], /) -> PlanDefinition[None, Output]: ...
@overload
def plan(fn: Callable[[Input], Output], /) -> PlanDefinition[Input, Output]: ...
@overload
def plan(*, name: str | None = None) -> _Decorator: ...


def plan(fn: Any = None, /, *, name: str | None = None) -> Any:
    """Record a function as a plan. It is run here, once, and never again: its steps become the document.

    It takes one parameter, the task's input, or none; what it returns is the task's output.
    Raises PlanError, naming the line, for a plan that could strand a half-state.
    """
    if fn is None:
        return lambda given: _record(given, name)
    return _record(fn, name)


def _record(fn: Any, name: str | None) -> PlanDefinition[Any, Any]:
    parameters = parameter_names(fn, "plan")
    where = f"{place_of(fn)}: plan {name or fn.__name__}"
    if len(parameters) > 1:
        raise PlanError(
            f"{where} takes {', '.join(parameters)}; a plan takes one input, or none: make it one type"
        )
    if inspect.iscoroutinefunction(fn):
        raise PlanError(f"{where} is async; write def: a plan only records its steps and waits for nothing")
    hints = hints_of(fn)
    input_type = hints.get(parameters[0], Any) if parameters else NoneType
    schema = _schema(input_type, where)
    with recording(name or fn.__name__) as current:
        returned = fn(**{name: current.reference("input", input_type) for name in parameters})
        _check_steps(current.body, returned, where)
        output_type = _output_type(returned, hints, where)
        output = template_of(returned, output_type, "output", current)
    actions = current.actions.values()
    document = Document(plan=current.plan, body=current.body, input=schema, output=output)
    document = _check(document, actions, input_type, output_type, place_of(fn))
    return PlanDefinition(document, input_type=input_type, output_type=output_type, actions=actions)


def _check_steps(body: SeriesNode, returned: Any, where: str) -> None:
    """Raises PlanError for a plan without steps; of a coroutine it is said later which call made it."""
    if body == SeriesNode(()) and not inspect.iscoroutine(returned):
        raise PlanError(f"{where} records no step; write step(action, ...) in it")


def _check(
    document: Document, actions: Iterable[Action], input_type: Any, output_type: Any, place: str
) -> Document:
    """The document with its secrets; raises PlanError, naming the place."""
    try:
        secrets = secrets_of(document, actions, input_type=input_type, output_type=output_type)
        schema = untold(document.input, secrets.get("input", ()))
        document = msgspec.structs.replace(document, secrets=secrets, input=schema)
        check_document(document)
    except PlanError as error:
        raise PlanError(f"{place}: {error}") from None
    return document


def _check_hidden(document: Document, needed: Secrets) -> None:
    """A document by hand must hide what the types mark; raises PlanError with what to write."""
    hidden = document.secrets
    if not all(covers(hidden.get(name, ()), path) for name, paths in needed.items() for path in paths):
        everything = msgspec.json.encode({"secrets": needed}).decode()
        raise PlanError(
            f"plan {document.plan}: its document would show what the types of its actions mark as secret; "
            f"add {everything[1:-1]}"
        )


def _schema(input_type: Any, where: str) -> dict[str, Any]:
    """The JSON Schema of the input; empty for a type that has one only in Python."""
    try:
        codec_for(input_type)
    except PayloadError as error:
        raise PlanError(f"{where}: its input: {error}") from None
    return schema_of(input_type)


def _output_type(returned: Any, hints: dict[str, Any], where: str) -> Any:
    """What the plan is declared to return, or else what it returned while it was recorded."""
    recorded = origin_of(returned).hint if isinstance(returned, Reference) else None
    declared = hints.get("return", Any if recorded is None else recorded)
    if recorded is not None and not admits(declared, recorded):
        raise PlanError(
            f"{where} returns {shown(recorded)}, but its hint is {shown(declared)}; correct the hint"
        )
    try:
        codec = codec_for(declared)
    except PayloadError as error:
        raise PlanError(f"{where}: its output: {error}") from None
    if returned is None and not _reads_null(codec):
        raise PlanError(
            f"{where} returns nothing, but its hint is {shown(declared)}; write `return step(...)`, or "
            "correct the hint to None"
        )
    return declared


def _reads_null(codec: Codec) -> bool:
    try:
        codec.decode(b"null")
    except PayloadError:
        return False
    return True
