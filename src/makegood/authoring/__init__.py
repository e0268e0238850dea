"""What a user writes: agents with their actions, and plans, which become documents."""

from makegood.authoring.action import Action
from makegood.authoring.agent import Agent
from makegood.authoring.plans import PlanDefinition, plan
from makegood.authoring.probing import NOT_THERE, NotThere, There
from makegood.authoring.templates import build
from makegood.authoring.tracing import parallel, series, step
from makegood.core.document import KeyForm

__all__ = [
    "NOT_THERE",
    "Action",
    "Agent",
    "KeyForm",
    "NotThere",
    "PlanDefinition",
    "There",
    "build",
    "parallel",
    "plan",
    "series",
    "step",
]
