"""A plan document held against the agents that will make its calls."""

from collections.abc import Iterable
from math import inf

import msgspec

from makegood.authoring.action import Action
from makegood.authoring.agent import Agent
from makegood.core.document import Document, ServiceClass, StepNode, step_nodes
from makegood.errors import PlanError


def actions_of(document: Document, agents: Iterable[Agent]) -> tuple[Action, ...]:
    """The actions that a document's steps call, each once; raises PlanError for what the agents lack."""
    by_name = {agent.name: agent for agent in agents}
    found: dict[str, Action] = {}
    for node in step_nodes(document.body):
        where = f"plan {document.plan}: step {node.step!r}"
        action = _action(node, by_name, where)
        _check_way_back(node, action, where)
        _check_promises(node, action, where)
        _check_arguments(node, action, where)
        found[action.full_name] = action
    return tuple(found.values())


def _action(node: StepNode, agents: dict[str, Agent], where: str) -> Action:
    agent = agents.get(node.agent)
    if agent is None:
        raise PlanError(f"{where}: no agent {node.agent!r} is given; given: {_listed(agents)}")
    action = agent.actions.get(node.action)
    if action is None:
        raise PlanError(
            f"{where}: agent {agent.name} has no action {node.action!r}; it has {_listed(agent.actions)}"
        )
    return action


def _check_way_back(node: StepNode, action: Action, where: str) -> None:
    for role, named, known in (
        ("undo", node.undo, action.node.undo),
        ("probe", node.probe, action.node.probe),
    ):
        if isinstance(named, str) and named != known:
            has = f"is {known!r}" if isinstance(known, str) else "does not exist"
            raise PlanError(f"{where}: the {role} {named!r} is unknown; that of {action.full_name} {has}")
    if node.reads and not action.node.reads:
        raise PlanError(
            f"{where}: action {action.full_name} has an effect; reads=true would repeat it and never undo it"
        )


def _check_promises(node: StepNode, action: Action, where: str) -> None:
    """Refuse what says more of a service than its agent does: calls would be repeated that must not be, or
    be thought over while they can still arrive."""
    declared = action.node
    if node.reads or declared.reads:
        return
    tomb, lasts = node.class_.tombstone, _lasts(node.class_)
    for key, said, known, too_much in (
        ("class.keyed", node.class_.keyed, declared.class_.keyed, lasts > _lasts(declared.class_)),
        (
            "class.tombstone",
            tomb,
            declared.class_.tombstone,
            tomb and not declared.class_.tombstone,
        ),
        ("settle", node.settle, declared.settle, node.settle < declared.settle),
        ("key", node.key, declared.key, lasts > 0 and node.key != declared.key),
    ):
        if too_much:
            given, wanted = (msgspec.json.encode(value).decode() for value in (said, known))
            raise PlanError(
                f"{where}: {key} is {given}, and {action.full_name} is declared with {wanted}; what a "
                "service promises is its agent's to say: write the same"
            )


def _lasts(promised: ServiceClass) -> float:
    """For how many seconds a key is remembered."""
    return inf if promised.keyed is True else float(promised.keyed)


def _check_arguments(node: StepNode, action: Action, where: str) -> None:
    action.check_types()
    for name in node.args:
        if name not in action.do.takes:
            raise PlanError(
                f"{where}: action {action.full_name} takes no {name!r}; it takes {_listed(action.do.takes)}"
            )
    for name in action.do.takes:
        if name not in node.args and name not in action.defaults:
            raise PlanError(f"{where}: argument {name!r} of {action.full_name} is missing; add it to args")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
