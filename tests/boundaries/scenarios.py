"""The plans that are driven through every boundary, and what is wrong in their worlds to begin with."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from makegood.core.document import read_document
from makegood.core.plan import Plan, compile_plan
from makegood.core.record import Kind, TaskState
from tests.boundaries.faults import CallFault
from tests.core.plans import (
    BARE,
    FOR_A_MINUTE_PROBE,
    KEYED,
    KEYED_PROBE,
    PIVOT,
    PROBED,
    READS,
    TOMB,
    TOMB_PROBE,
    parallel,
    series,
    step,
)


@dataclass(frozen=True)
class Scenario:
    """A plan and its world. `script`: what strikes a task's n-th call (from 1) of a step and kind.

    `refuses` and `refuses_undo` name steps whose service says no; `cancel_at` the step during whose call
    somebody cancels; `slow` are seconds that a service takes; `ends` is how a task ends without a doubt left.
    """

    name: str
    body: dict[str, Any]
    ends: frozenset[TaskState]
    refuses: frozenset[str] = frozenset()
    refuses_undo: frozenset[str] = frozenset()
    script: dict[tuple[str, Kind, int], CallFault] = field(default_factory=dict)
    cancel_at: str = ""
    slow: dict[str, float] = field(default_factory=dict)
    deadline: float = 0

    @cached_property
    def document(self) -> bytes:
        return read_document({"plan": self.name, "body": self.body}).canonical()

    @cached_property
    def compiled(self) -> Plan:
        return compile_plan(read_document(self.document))


DO, UNDO, PROBE = Kind.DO, Kind.UNDO, Kind.PROBE
DONE = frozenset({TaskState.COMPLETED})
BACK = frozenset({TaskState.COMPENSATED})
PARKED = frozenset({TaskState.FAILED})


def brief(name: str, *given: dict[str, Any], after: str = "", **more: Any) -> dict[str, Any]:
    """A step of two seconds, given the result of an earlier one; no jump of a clock ends its undo's tries."""
    args = {"args": {"wish": {"$ref": after}}} if after else {}
    patient = {"timeout": 2, "settle": 1, "asks": 5, "undoRetry": {"within": 9e8}}
    return step(name, patient, *given, args, **more)


ONCE = {"retry": {"attempts": 1}}

SCENARIOS = [
    Scenario(
        "straight",
        series(
            brief("a", TOMB),
            brief("b", KEYED, after="a"),
            brief("c", PROBED, after="b"),
            brief("d", BARE, after="a"),
        ),
        DONE,
    ),
    Scenario(
        "refused",
        series(
            brief("a", TOMB),
            brief("b", KEYED),
            brief("c", PROBED),
            brief("d", KEYED_PROBE, after="c"),
            brief("e", KEYED),
        ),
        BACK,
        refuses=frozenset("e"),
    ),
    Scenario(
        "group",
        series(
            brief("a", TOMB),
            parallel(brief("b", KEYED, after="a"), brief("c", PROBED), brief("d", TOMB)),
            brief("e", KEYED, after="c"),
        ),
        BACK,
        refuses=frozenset("e"),
    ),
    Scenario(
        "branch_refused",
        series(
            brief("a", KEYED),
            parallel(
                series(brief("b", TOMB), brief("c", PROBED, after="b")),
                series(brief("d", KEYED), parallel(brief("e", KEYED_PROBE), brief("f", TOMB_PROBE))),
            ),
        ),
        BACK,
        refuses=frozenset("f"),
        slow={"c": 0.5},
    ),
    Scenario(
        "pivot_first",
        series(brief("a", KEYED_PROBE, PIVOT), brief("b", KEYED, after="a"), brief("c", PROBED, undo=None)),
        DONE,
    ),
    Scenario(
        "pivot_middle",
        series(
            brief("a", TOMB),
            brief("b", PROBED, PIVOT),
            parallel(brief("c", KEYED), brief("d", PROBED, undo=None)),
        ),
        DONE | BACK,  # cancelled while the pivot is called: it turns if that proves absent
        cancel_at="b",
        slow={"b": 0.5},
    ),
    Scenario(
        "no_undo",
        series(
            brief("a", KEYED, undo=None), brief("b", PROBED, undo=None), brief("c", KEYED), brief("d", TOMB)
        ),
        BACK,
        refuses=frozenset("d"),
    ),
    Scenario(
        "reads",
        series(
            brief("a", READS), brief("b", TOMB, after="a"), parallel(brief("c", READS), brief("d", KEYED))
        ),
        DONE,
    ),
    Scenario(
        "undo_fails",
        series(brief("a", KEYED), brief("b", PROBED), brief("c", TOMB)),
        PARKED,
        refuses=frozenset("c"),
        refuses_undo=frozenset("b"),
    ),
    Scenario(
        "neither",
        series(brief("a", BARE), parallel(brief("b", BARE), brief("c", KEYED)), brief("d", TOMB)),
        BACK,
        refuses=frozenset("d"),
    ),
    Scenario(
        "cancelled",
        series(brief("a", TOMB), parallel(brief("b", KEYED), brief("c", PROBED)), brief("d", KEYED)),
        BACK,
        cancel_at="b",
        slow={"b": 0.5, "c": 1.0},
    ),
    Scenario(
        "doubted",
        series(brief("a", KEYED), brief("b", PROBED), brief("c", KEYED_PROBE, ONCE)),
        BACK,
        script={("b", DO, 1): CallFault.NO_ANSWER, ("c", DO, 1): CallFault.ANSWER_LOST},
    ),
    Scenario(
        "absent",
        series(brief("a", PROBED), brief("b", KEYED_PROBE, ONCE)),
        BACK,
        script={("a", DO, 1): CallFault.REQUEST_LOST, ("b", DO, 1): CallFault.REQUEST_LOST},
    ),
    Scenario(
        "undo_doubted",
        series(brief("a", KEYED), brief("b", PROBED), brief("c", TOMB)),
        BACK,
        refuses=frozenset("c"),
        script={("b", UNDO, 1): CallFault.ANSWER_LOST, ("a", UNDO, 1): CallFault.NO_ANSWER},
    ),
    Scenario(
        "deadline",
        series(brief("a", TOMB), brief("b", KEYED), brief("c", FOR_A_MINUTE_PROBE), brief("d", TOMB)),
        BACK | DONE,  # whoever should see to the deadline may be late
        slow={"b": 1.0, "c": 1.0, "d": 1.5},
        deadline=2.5,
    ),
]
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
