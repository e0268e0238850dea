"""The plans that are driven through every boundary, and what is wrong in their worlds to begin with."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from makegood.core.document import read_document
from makegood.core.plan import Plan, compile_plan
from makegood.core.record import Kind, TaskState
from makegood.testing.shorthand import (
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
from makegood.testing.simulation.faults import CallFault


@dataclass(frozen=True)
class Scenario:
    """A plan and its world. `script`: what strikes a task's n-th call (from 1) of a step and kind.

    `refuses` and `refuses_undo` name steps whose service says no; `cancel_at` the step during whose call
    somebody cancels; `slow` are seconds that a service takes; `moody` services refuse, are busy or answer
    what cannot be recorded, by chance; `ends` is how a task ends without a doubt left;
    a task starts `starts_in` seconds after it was submitted, and has `deadline` seconds from there;
    `input` is the JSON that tasks are given; `more` is the rest of the plan document; `tasks` is how the
    ids of tasks begin.
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
    starts_in: float = 0
    moody: bool = False
    input: bytes = b"{}"
    tasks: str = "trip"
    more: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def document(self) -> bytes:
        return read_document({"plan": self.name, "body": self.body} | self.more).canonical()

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


FOR_SECONDS = {"class": {"keyed": 15}}
FIVE: tuple[dict[str, Any], ...] = (TOMB, KEYED, PROBED, KEYED_PROBE, TOMB_PROBE)
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
    Scenario(
        "pivot_last",
        series(brief("a", KEYED), brief("b", PROBED, after="a"), brief("c", KEYED, PIVOT, after="b")),
        DONE,
        script={("c", DO, 1): CallFault.ANSWER_LOST},
    ),
    Scenario(
        "pivot_in_doubt",
        series(brief("a", TOMB), brief("b", PROBED, PIVOT), brief("c", KEYED)),
        DONE | BACK,  # cancelled while nobody knows of the pivot
        script={("b", DO, 1): CallFault.LATE},
        cancel_at="b",
    ),
    Scenario(
        "found_late",
        series(brief("a", PROBED), brief("b", KEYED_PROBE, ONCE), brief("c", TOMB)),
        BACK,
        refuses=frozenset("c"),
        script={("a", DO, 1): CallFault.LATE, ("b", DO, 1): CallFault.LATE},
    ),
    Scenario(
        "undo_found_late",
        series(brief("a", KEYED), brief("b", PROBED), brief("c", TOMB)),
        BACK,
        refuses=frozenset("c"),
        script={("b", UNDO, 1): CallFault.LATE, ("a", UNDO, 1): CallFault.LATE},
    ),
    Scenario(
        "forgets_keys",
        series(brief("a", FOR_SECONDS), brief("b", FOR_SECONDS, PROBED), brief("c", TOMB)),
        BACK,
        refuses=frozenset("c"),
        script={("a", DO, 1): CallFault.NO_ANSWER, ("b", DO, 1): CallFault.BUSY},
    ),
    Scenario(
        "wide",
        series(
            parallel(*(brief(name, kind) for name, kind in zip("abcde", FIVE, strict=True))), brief("f", TOMB)
        ),
        BACK,
        refuses=frozenset("f"),
        slow={"b": 0.3, "d": 0.8},
    ),
    Scenario(
        "one_of_many_refused",
        parallel(brief("a", KEYED), series(brief("b", TOMB), brief("c", PROBED)), brief("d", KEYED_PROBE)),
        BACK,
        refuses=frozenset("d"),
        script={("a", DO, 1): CallFault.NO_ANSWER},
        slow={"d": 0.4},
    ),
]
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
