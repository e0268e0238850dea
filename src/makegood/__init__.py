"""makegood: jobs of several remote calls that complete, or are undone, or stand in plain sight."""

from makegood.agents.call import call
from makegood.agents.classify import raise_for_status
from makegood.authoring import (
    NOT_THERE,
    Agent,
    NotThere,
    PlanDefinition,
    There,
    build,
    parallel,
    plan,
    series,
    step,
)
from makegood.client import Makegood, Task
from makegood.core.document import Retry, UndoRetry
from makegood.errors import (
    CannotTell,
    Compensated,
    Failed,
    MakegoodError,
    Refused,
    StillRunning,
    Transient,
    Unknown,
)
from makegood.payload import Secret

__version__ = "0.1.0"
"""The version in pyproject.toml, to be had without a look at the installation."""

__all__ = [
    "NOT_THERE",
    "Agent",
    "CannotTell",
    "Compensated",
    "Failed",
    "Makegood",
    "MakegoodError",
    "NotThere",
    "PlanDefinition",
    "Refused",
    "Retry",
    "Secret",
    "StillRunning",
    "Task",
    "There",
    "Transient",
    "UndoRetry",
    "Unknown",
    "build",
    "call",
    "parallel",
    "plan",
    "raise_for_status",
    "series",
    "step",
]
