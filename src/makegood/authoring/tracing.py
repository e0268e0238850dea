"""Recording a plan: what step(), parallel() and series() do while the plan's function runs, once."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Never, ParamSpec, TypeVar, overload

import msgspec

from makegood.authoring.action import Action
from makegood.authoring.agent import Agent, Seconds, action_of, checked_node
from makegood.authoring.guarding import recorded_now
from makegood.authoring.places import here
from makegood.authoring.references import Origin, Reference
from makegood.authoring.templates import template_of
from makegood.core.document import Node, ParallelNode, Retry, SeriesNode, StepNode, Template
from makegood.errors import PlanError

P = ParamSpec("P")
R = TypeVar("R")


class Recording:
    """One run of a plan's function: the parts recorded so far, and the actions they call."""

    def __init__(self, plan: str) -> None:
        self.plan = plan
        self.actions: dict[str, Action] = {}
        self._agents: dict[str, Agent] = {}
        self._groups: list[list[Node]] = [[]]
        self._steps: dict[str, str] = {}
        """The line of each step, by its name."""

    @property
    def body(self) -> SeriesNode:
        return SeriesNode(tuple(self._groups[0]))

    def reference(self, name: str, hint: Any) -> Any:
        """What stands for the value of a step, or of the input."""
        return Reference(Origin(self, name, (), hint))

    def add_action(self, action: Action) -> None:
        """Note that the plan calls an action; raises PlanError if its types do not go together."""
        known = self._agents.setdefault(action.agent.name, action.agent)
        if known is not action.agent:
            raise PlanError(
                f"{here()}: two agents are called {known.name!r}, one at {known.place} with {_names(known)}, "
                f"the other at {action.agent.place} with {_names(action.agent)}; make them one, or give one "
                "another name"
            )
        if action.full_name not in self.actions:
            action.check_types()
            self.actions[action.full_name] = action

    def add_step(self, node: StepNode) -> None:
        """Append a step to the innermost group; raises PlanError where its name is taken."""
        if node.step in self._steps:
            raise PlanError(
                f"{here()}: plan {self.plan}: step {node.step!r} is used twice, and stands at "
                f"{self._steps[node.step]} already; name one of them with step.options(name=...)"
            )
        self._steps[node.step] = here()
        self._groups[-1].append(node)

    @contextmanager
    def group(self, kind: type[ParallelNode] | type[SeriesNode], name: str) -> Iterator[None]:
        """Record everything inside as one part."""
        place = here()
        self._groups.append([])
        try:
            yield
        finally:
            parts = self._groups.pop()
        if not parts:
            raise PlanError(f"{place}: nothing is recorded in this {name}; put steps in it, or take it away")
        self._groups[-1].append(kind(tuple(parts)))


@contextmanager
def recording(plan: str) -> Iterator[Recording]:
    """Record what is called inside, for a plan of this name."""
    current = Recording(plan)
    token = recorded_now.set(current)
    try:
        yield current
    finally:
        recorded_now.reset(token)


def _current(what: str) -> Recording:
    current = recorded_now.get()
    if current is None:
        raise PlanError(
            f"{here()}: {what} stands outside of a plan; use it in a function decorated with @plan, "
            "which records it. To run an action at once, call it"
        )
    return current


class Step:
    """Records a call of an action; see step()."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    @overload
    def __call__(self, action: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, action: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def __call__(self, action: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Record a step that calls the action with these arguments; returns a reference to its result.

        Raises PlanError, with the line, for what is no declared action and for arguments it does not take.
        """
        current = _current("step()")
        declared = _declared(action)
        current.add_action(declared)
        node = self._node(declared)
        given = _bound(declared, args, kwargs)
        types = declared.parameter_types
        templates: dict[str, Template] = {
            name: template_of(value, types[name], f"step {node.step}: {name}", current)
            for name, value in given.items()
        }
        current.add_step(msgspec.structs.replace(node, args=templates))
        return current.reference(node.step, declared.result_type)

    def options(
        self,
        *,
        name: str | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        deadline: Seconds | None = None,
        **misplaced: Never,
    ) -> "Step":
        """The same for a step with its own name, retries, timeout of a call, or deadline over all calls.

        Raises PlanError for a setting that a step does not have.
        """
        if misplaced:
            raise PlanError(
                f"{here()}: step.options() has no setting {min(misplaced)!r}; it has name, retry, timeout, "
                "deadline"
            )
        options = {"step": name, "retry": retry, "timeout": timeout, "deadline": deadline}
        return Step(**self._options | {key: given for key, given in options.items() if given is not None})

    def _node(self, action: Action) -> StepNode:
        options = {
            key: given.total_seconds() if isinstance(given, timedelta) else given
            for key, given in self._options.items()
        }
        return checked_node(f"{here()}: step({action.name})", msgspec.structs.replace(action.node, **options))


step = Step()
"""`step(action, *args, **kwargs)` in a plan: call the action, when a task runs, and refer to its result.

`step.options(name=..., retry=..., timeout=..., deadline=...)(action, ...)` says more about this one step.
"""


@contextmanager
def parallel() -> Iterator[None]:
    """Each part directly inside is a branch, and all branches run at the same time."""
    with _current("parallel()").group(ParallelNode, "parallel()"):
        yield


@contextmanager
def series() -> Iterator[None]:
    """The parts inside run one after the other; inside parallel(), together they are one branch."""
    with _current("series()").group(SeriesNode, "series()"):
        yield


def _declared(action: Any) -> Action:
    declared = action_of(action)
    if declared is not None:
        return declared
    inner = getattr(action, "__wrapped__", None)
    if inner is not None and action_of(inner) is not None:
        raise PlanError(
            f"{here()}: {action.__name__} was decorated again after it was declared; "
            "put @agent.action(...) on top of the other decorators"
        )
    name = getattr(action, "__name__", repr(action))
    raise PlanError(
        f"{here()}: {name} is no action of any agent; declare it with @agent.action(undo=...), "
        "and pass the function itself, not a call of it"
    )


def _bound(action: Action, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, defaults filled in: a task keeps what it was recorded with."""
    signature = inspect.signature(action.fn)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())
    if odd := [] if takes_any else [name for name in kwargs if name not in signature.parameters]:
        known = ", ".join(signature.parameters) or "nothing"
        raise PlanError(
            f"{here()}: step({action.name}, ...): it takes {known}, and no {odd[0]!r} ({action.do.place})"
        )
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise PlanError(f"{here()}: step({action.name}, ...): {error} ({action.do.place})") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def _names(agent: Agent) -> str:
    return ", ".join(agent.actions) or "no actions"
