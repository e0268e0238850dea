"""Plans for the tests of the core: every shape, every service class, short lives and few tries."""

from typing import Any

from makegood.core.document import read_document
from makegood.core.plan import Plan, compile_plan
from makegood.testing.shorthand import (
    BARE,
    FOR_A_MINUTE,
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

TIMEOUT, SETTLE = 10_000, 5_000
LIFE = TIMEOUT + SETTLE


def plan_of(body: dict[str, Any], name: str = "trip", output: Any = None) -> Plan:
    return compile_plan(read_document({"plan": name, "body": body, "output": output}))


BODIES = {
    "one_step": step("a", KEYED),
    "straight": series(step("a", TOMB), step("b", KEYED), step("c", PROBED)),
    "unkeyed": series(step("a", PROBED), step("b", PROBED), step("c", KEYED_PROBE)),
    "parallel": series(
        step("a", TOMB), parallel(step("b", KEYED), step("c", PROBED), step("d", TOMB)), step("e", KEYED)
    ),
    "nested": series(
        step("a", KEYED),
        parallel(
            series(step("b", TOMB), step("c", PROBED)),
            series(step("d", KEYED), parallel(step("e", KEYED_PROBE), step("f", TOMB_PROBE))),
        ),
        step("g", KEYED),
    ),
    "pivot_first": series(step("a", KEYED_PROBE, PIVOT), step("b", KEYED), step("c", PROBED, undo=None)),
    "pivot_middle": series(
        step("a", TOMB), step("b", PROBED, PIVOT), parallel(step("c", KEYED), step("d", PROBED, undo=None))
    ),
    "pivot_last": series(step("a", KEYED), step("b", PROBED), step("c", KEYED, PIVOT)),
    "pivot_bare": series(step("a", TOMB), step("b", BARE, PIVOT), step("c", BARE, undo=None)),
    "undo_refused": series(step("a", KEYED), step("b", KEYED_PROBE), step("c", TOMB)),
    "no_undo": series(step("a", KEYED, undo=None), step("b", PROBED, undo=None), step("c", KEYED)),
    "reads": series(step("a", READS), step("b", TOMB), parallel(step("c", READS), step("d", KEYED))),
    "neither": series(step("a", BARE), parallel(step("b", BARE), step("c", KEYED)), step("d", TOMB)),
    "doubtful": parallel(step("a", BARE), step("b", KEYED), step("c", TOMB), step("d", FOR_A_MINUTE)),
    "step_deadline": series(step("a", TOMB), step("b", KEYED, deadline=20), step("c", PROBED, deadline=30)),
    "forgets_keys": series(
        step("a", FOR_A_MINUTE),
        step("b", FOR_A_MINUTE_PROBE),
        parallel(step("c", FOR_A_MINUTE), step("d", TOMB)),
    ),
    "forgetful_pivot": series(
        step("a", FOR_A_MINUTE), step("b", FOR_A_MINUTE, PIVOT), step("c", FOR_A_MINUTE)
    ),
}

PLANS = {name: plan_of(body, name) for name, body in BODIES.items()}
REFUSE_UNDO = {"undo_refused": {"a", "b"}}
"""Steps, by plan, whose service refuses to undo for as long as nobody sees to it."""
