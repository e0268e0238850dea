"""Who plays in a simulated world: services, and agents whose functions each make one call to them."""

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, Signature
from typing import Any

from msgspec.structs import replace

from makegood.agents.call import call
from makegood.authoring.action import Action, Function
from makegood.authoring.agent import Agent
from makegood.core.document import StepNode
from makegood.core.plan import StepPlan
from makegood.core.record import Kind
from makegood.testing.services import Service
from makegood.testing.simulation.network import Network, SimulatedService
from makegood.testing.simulation.scenarios import Scenario

Cast = Callable[[Scenario, Network], tuple[list[Service], list[Agent]]]
"""Who plays in a world: a service for each step of the scenario's plan, and agents that call them."""


def simulated(scenario: Scenario, network: Network) -> tuple[list[Service], list[Agent]]:
    """Services that are what the plan declares them to be, and agents for them."""
    services = [SimulatedService(step, scenario) for step in scenario.compiled.steps]
    return list(services), agents_for(services, network)


def agents_for(
    services: Iterable[SimulatedService], network: Network, own: Mapping[tuple[str, str], Action] = {}
) -> list[Agent]:
    """The agents of these services' steps. `own`: actions, by agent and action, to play as they are."""
    by_step = {service.step.name: service for service in services}
    agents: dict[str, Agent] = {}
    for service in by_step.values():
        step = service.step
        agent = agents.setdefault(step.agent, Agent(step.agent))
        if step.action not in agent.actions:
            takes = sorted(
                {name for other in by_step.values() if _same(other.step, step) for name in other.step.args}
            )
            played = own.get((step.agent, step.action))
            agent.actions[step.action] = played or _action(agent, step, takes, by_step, network)
    return list(agents.values())


def _same(one: StepPlan, other: StepPlan) -> bool:
    return (one.agent, one.action) == (other.agent, other.action)


def _action(
    agent: Agent, step: StepPlan, takes: list[str], services: Mapping[str, SimulatedService], network: Network
) -> Action:
    """An action as a user would write it: three functions that each make one call, to the step's service."""

    async def do(**given: Any) -> Any:
        service = services[call().step]
        network.wishes(service, call(), given)
        return await network.call(service, Kind.DO)

    async def undo(result: Any) -> None:
        await network.call(services[call().step], Kind.UNDO, result)

    async def probe() -> Any:
        return await network.call(services[call().step], Kind.PROBE)

    return Action(
        agent=agent,
        do=_function(do, step.action, takes),
        undo=_function(undo, step.undo) if step.undo else None,
        probe=_function(probe, step.probe) if step.probe else None,
        lists=None,
        node=StepNode(step=step.action, agent=step.agent, action=step.action),
    )


def renamed(agents: Iterable[Agent], complaints: list[str]) -> list[Agent]:
    """The same agents in a version whose undos and probes have other names; none of these may be called."""

    async def other(*_: Any) -> None:
        complaints.append(
            f"S4: {call().task_id} {call().step}: a function is called that is not the pinned one"
        )

    version = []
    for agent in agents:
        copy = Agent(agent.name)
        for name, action in agent.actions.items():
            undo, probe = (
                Function(other, ()) if function else None for function in (action.undo, action.probe)
            )
            copy.actions[name] = replace(action, undo=undo, probe=probe)
        version.append(copy)
    return version


def _function(fn: Any, name: str, takes: Iterable[str] = ()) -> Function:
    """A function under the name that the plan knows it by; its parameters go by keyword."""
    fn.__name__ = name
    if takes:
        fn.__signature__ = Signature([Parameter(n, Parameter.KEYWORD_ONLY, default=None) for n in takes])
    return Function(fn, tuple(takes))
