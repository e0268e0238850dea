"""What a rule finds, and what it is given to look at."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import msgspec

from makegood.core.plan import Millis, Plan, StepPlan


class Severity(Enum):
    """How bad a finding is."""

    BROKEN = "broken"
    NOTE = "note"


class Broken(NamedTuple):
    """What is declared cannot hold, or the task is certain to stand still."""

    what: str
    way_out: str


class Note(NamedTuple):
    """Known and safe: where a call goes wrong a person may be asked, or an effect may stay."""

    what: str
    way_out: str


Said = Broken | Note | None
"""What a rule says of a step: what would happen to a task there, and the way out."""


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """What a rule said of a step ("": of the plan as a whole)."""

    severity: Severity
    plan: str
    step: str
    rule: str
    what: str
    way_out: str


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A plan, and where it is to run.

    `actions` are those of the agents given, as "agent/action"; `untyped` says, by the same name, what of an
    action has no type: its parameters by name, and "return"; `promised` what its agent declares against
    doubt, as a plan document writes it. `grace` is how long a process that is told to end gives its running
    calls; `deadline` is the task's, if it gets one.
    """

    plan: Plan
    actions: frozenset[str]
    untyped: Mapping[str, Sequence[str]] = {}
    promised: Mapping[str, str] = {}
    grace: Millis
    deadline: Millis | None = None

    @property
    def way_back_ends(self) -> int:
        """The number of the first step that compensation never undoes: the pivot's, or one past the last."""
        return len(self.plan.steps) if self.plan.pivot is None else self.plan.pivot

    def undoes(self, step: StepPlan) -> bool:
        """Whether compensation ever calls an undo of this step."""
        return step.undo is not None and step.index < self.way_back_ends
