"""What the agents of one process can do, and why a call of a task is not among it."""

from collections.abc import Iterable, Mapping

from makegood.authoring.action import Action, Function
from makegood.authoring.agent import Agent
from makegood.core.plan import StepPlan
from makegood.core.record import Kind


class Repertoire:
    """The actions of these agents."""

    def __init__(self, agents: Iterable[Agent]) -> None:
        self._actions: Mapping[tuple[str, str], Action] = {
            (agent.name, name): action for agent in agents for name, action in agent.actions.items()
        }

    @property
    def signatures(self) -> dict[str, str]:
        """ "agent/action" with the action's signature hash."""
        return {action.full_name: action.signature_hash for action in self._actions.values()}

    def action_of(self, step: StepPlan) -> Action | None:
        """The action that a step calls, if it is here."""
        return self._actions.get((step.agent, step.action))

    def makes(self, step: StepPlan, kind: Kind) -> bool:
        """Whether this kind of the step's call can be made here."""
        action = self.action_of(step)
        return action is not None and not lack(action, step, kind)


def function_of(action: Action, kind: Kind) -> Function | None:
    """The user's function for this kind of call."""
    return {Kind.DO: action.do, Kind.UNDO: action.undo, Kind.PROBE: action.probe}[kind]


def lack(action: Action, step: StepPlan, kind: Kind) -> str:
    """Why the action has not the function that a step is pinned to, and what to do; empty where it has.

    A function of another name may be another act: to refund in place of to cancel, say.
    """
    if kind is Kind.DO:
        return ""
    pinned = step.undo if kind is Kind.UNDO else step.probe
    function, what = function_of(action, kind), kind.name.lower()
    if function is not None and function.name == pinned:
        return ""
    instead = f"has the {what} {function.name}" if function is not None else f"has no {what}"
    return (
        f"{action.full_name} {instead}, and this task began with the {what} {pinned}: declare it as "
        f"{what}={pinned} until such tasks have ended, or run the code that does beside this"
    )
