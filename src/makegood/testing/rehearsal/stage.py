"""What a user says of a rehearsal: how services really are, what they answer, whose functions are run."""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from inspect import unwrap
from types import ModuleType
from typing import Any

import msgspec

from makegood.authoring.action import Action
from makegood.authoring.agent import Agent, action_of
from makegood.authoring.plans import PlanDefinition
from makegood.core.plan import StepPlan, millis
from makegood.core.record import Kind
from makegood.errors import PlanError
from makegood.payload import codec_for
from makegood.testing.rehearsal.mistakes import watched

Declared = Agent | Callable[..., Any]
"""An agent, meaning all its actions, or the function of one action."""


@dataclass
class Truth:
    """How the service of one action really is; None: as declared."""

    keyed: bool | float | None = None
    tombstone: bool | None = None
    settle: float | None = None
    slow: float = 0.0

    def of(self, step: StepPlan) -> StepPlan:
        """The step, with its service as it really is."""
        changed: dict[str, Any] = {}
        if self.keyed is not None:
            known = None if isinstance(self.keyed, bool) else millis(self.keyed)
            changed |= {
                "keyed": bool(self.keyed),
                "keyed_for": known,
                "tombstone": step.tombstone and bool(self.keyed),
            }
        if self.tombstone is not None:
            changed["tombstone"] = self.tombstone
        if self.settle is not None:
            changed["settle"] = millis(self.settle)
        return msgspec.structs.replace(step, **changed)


@dataclass
class Rehearsal:
    """Put one at the top level of a module that is rehearsed, or of one named by `--stage`.

    Without a word, every service is as its agent declares it, answers what fits, and none of your functions
    is called.
    """

    _truths: dict[str, Truth] = field(default_factory=dict, init=False)
    _answers: dict[str, list[msgspec.Raw]] = field(default_factory=dict, init=False)
    _refuses: set[Callable[..., Any]] = field(default_factory=set, init=False)
    _own: dict[tuple[str, str], Action] = field(default_factory=dict, init=False)
    _alone: set[Callable[..., Any]] = field(default_factory=set, init=False)
    _input: list[Any] = field(default_factory=list, init=False)

    # --- what a user says

    def runs(self, *what: Declared) -> None:
        """Run these agents' own functions (do, undo and probe), against fake services, in place of simulated
        ones. A function that reaches no fake service, or has a mistake in it, ends the rehearsal. Raises
        PlanError for what is no agent and no action."""
        self._own |= _watched(what)

    def calls_nobody(self, *functions: Callable[..., Any]) -> None:
        """These own functions, actions or undos, call no service by design, as a pure computation does. Of an
        action it is said for its undo as well."""
        self._alone.update(map(unwrap, functions))

    def service(
        self,
        what: Declared,
        *,
        keyed: bool | float | None = None,
        tombstone: bool | None = None,
        settle: float | None = None,
        slow: float = 0.0,
    ) -> None:
        """Say how a simulated service really is, where that is not what is declared. Seconds."""
        for action in _actions([what]):
            self._truths[action.full_name] = Truth(keyed, tombstone, settle, slow)

    def answers(self, action: Callable[..., Any], *results: Any) -> None:
        """Say what an action's simulated service answers: the first time, the second; the last goes on."""
        [found] = _actions([action])
        codec, where = found.result_codec, f"the result of {found.name}"
        self._answers[found.full_name] = [msgspec.Raw(codec.encode(result, where)) for result in results]

    def refuses(self, *functions: Callable[..., Any]) -> None:
        """The simulated services of these actions, or of these undos, say no."""
        self._refuses.update(functions)

    def input(self, value: Any) -> None:
        """What the plan is given, in place of an input made up from its type."""
        self._input[:] = [value]

    # --- what a rehearsal asks

    def running(self, agents: Iterable[Agent]) -> "Rehearsal":
        """The same, with the own functions of these agents run as well."""
        also = copy(self)
        also._own = self._own | _watched(agents)
        return also

    @property
    def expects_refusal(self) -> bool:
        """Whether a service was told to say no, so that a plan may fail with no trouble."""
        return bool(self._refuses)

    def own(self) -> dict[tuple[str, str], Action]:
        """Actions to be played as they are, by agent and action."""
        return self._own

    def cast(self, plan: PlanDefinition[Any, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The plan's actions whose own functions are run, and those that are simulated, as "agent/action"."""
        is_own = {_full_name(step): (step.agent, step.action) in self._own for step in plan.plan.steps}
        return (
            tuple(name for name in is_own if is_own[name]),
            tuple(name for name in is_own if not is_own[name]),
        )

    def must_call(self, step: StepPlan, kind: Kind) -> bool:
        """Whether the step's do or undo is run, and is to reach a fake service."""
        action = self._own.get((step.agent, step.action))
        if action is None or unwrap(action.do.fn) in self._alone:
            return False
        return kind is Kind.DO or (action.undo is not None and unwrap(action.undo.fn) not in self._alone)

    def step(self, declared: StepPlan) -> StepPlan:
        """A step, with its service as it really is."""
        return self._truth(declared).of(declared)

    def slow(self, step: StepPlan) -> float:
        """How many seconds the step's service takes."""
        return self._truth(step).slow

    def answer(self, step: StepPlan, number: int) -> msgspec.Raw | None:
        """The result that was said for the step's n-th effect, from 1; None: nothing was said."""
        said = self._answers.get(_full_name(step), [])
        return said[min(number, len(said)) - 1] if said else None

    def refused(self, plan: PlanDefinition[Any, Any]) -> tuple[frozenset[str], frozenset[str]]:
        """The names of the steps whose do is refused, and of those whose undo is."""
        dos = {a.full_name for a in plan.actions if a.fn in self._refuses}
        undos = {a.full_name for a in plan.actions if a.undo is not None and a.undo.fn in self._refuses}
        steps = plan.plan.steps
        return (
            frozenset(step.name for step in steps if _full_name(step) in dos),
            frozenset(step.name for step in steps if _full_name(step) in undos),
        )

    def given(self, plan: PlanDefinition[Any, Any]) -> bytes | None:
        """The input that was said, as JSON, or None. Raises PayloadError if the plan cannot take it."""
        return codec_for(plan.input_type).encode(self._input[0], "input") if self._input else None

    def _truth(self, step: StepPlan) -> Truth:
        return self._truths.get(_full_name(step), Truth())


def staged(stage: Rehearsal | ModuleType | None, agents: Iterable[Agent]) -> Rehearsal:
    """The rehearsal that is given, or that a module says, with these agents' own functions run as well.

    Raises PlanError for what is neither.
    """
    said = stage_of(stage, must=True) if isinstance(stage, ModuleType) else stage
    if said is not None and not isinstance(said, Rehearsal):
        raise PlanError(f"stage={said!r} is no Rehearsal; give one, or the module that has one")
    return (said or Rehearsal()).running(agents)


def stage_of(module: ModuleType, *, must: bool) -> Rehearsal | None:
    """The rehearsal that a module says at its top level.

    Raises PlanError where it says more than one, or none though it `must`.
    """
    found = {id(thing): thing for thing in vars(module).values() if isinstance(thing, Rehearsal)}
    if len(found) > 1:
        raise PlanError(f"{module.__name__}: there are {len(found)} Rehearsals in it; say it all to one")
    if must and not found:
        raise PlanError(f"{module.__name__}: there is no Rehearsal in it; make one at its top level")
    return next(iter(found.values()), None)


def _full_name(step: StepPlan) -> str:
    return f"{step.agent}/{step.action}"


def _watched(what: Iterable[Declared]) -> dict[tuple[str, str], Action]:
    """The actions that are meant, by agent and action, as a rehearsal runs them."""
    return {(action.agent.name, action.name): watched(action) for action in _actions(what)}


def _actions(what: Iterable[Declared]) -> Iterator[Action]:
    for one in what:
        action = action_of(one)
        if isinstance(one, Agent):
            yield from one.actions.values()
        elif action is not None:
            yield action
        else:
            raise PlanError(f"{one!r} is no agent, and no function that an agent declared as its action")
