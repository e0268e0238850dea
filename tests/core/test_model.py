"""The protocol's own small model and the core, each explored to the last interleaving: the same verdicts.

Both walk one step through the same small world: a network that delays, reorders and loses, two retries, one
crash, a cancel or a step that runs out of tries. The model's guards are what the core reads off the service's
class. Without a guard the model fails; so must the core, where a plan promises what no service keeps.
"""

from typing import Any, NamedTuple

import pytest

from makegood.core.record import TaskState
from makegood.testing.shorthand import BARE, KEYED, KEYED_PROBE, PROBED, TOMB, TOMB_PROBE, step
from tests.core import small_model, small_world
from tests.core.plans import plan_of
from tests.core.small_model import Guards
from tests.core.small_world import Truth

AT_ONCE: dict[str, Any] = {
    "retry": {"attempts": 3, "delay": 0},
    "undoRetry": {"delay": 0, "within": 3600},
    "asks": 6,
}
CLEAN = frozenset((TaskState.COMPLETED, TaskState.COMPENSATED))


class Case(NamedTuple):
    """A class as a plan declares it, the service as it is, and the model's guards that say the same."""

    declared: dict[str, Any]
    truth: Truth
    guards: Guards
    wrong_in_model: str = ""
    wrong_in_core: str = ""


HOLDS = {
    "tombstone": Case(TOMB, Truth(keyed=True, tombstone=True), Guards(keyed=True, tombstone=True)),
    "keyed": Case(KEYED, Truth(keyed=True), Guards(keyed=True, quiesce_undo=True)),
    "probed": Case(PROBED, Truth(), Guards(probe=True, quiesce_retry=True, quiesce_undo=True)),
    "neither": Case(BARE, Truth(), Guards(parks=True)),
}
TWICE, ORPHAN = "booked twice", "undone, and there"
FAILS = {
    "not keyed, said to be": Case(KEYED, Truth(), Guards(quiesce_undo=True), TWICE, TWICE),
    "no tombstones, said to leave them": Case(TOMB, Truth(keyed=True), Guards(keyed=True), ORPHAN, ORPHAN),
    "keyed, lands after settle": Case(KEYED | {"settle": 0}, Truth(True), Guards(keyed=True), ORPHAN, ORPHAN),
    "probed, lands after settle": Case(PROBED | {"settle": 0}, Truth(), Guards(probe=True), TWICE, ORPHAN),
}


@pytest.mark.parametrize("name", HOLDS)
def test_what_the_model_proves_of_a_class_the_core_keeps(name: str) -> None:
    case = HOLDS[name]
    assert small_model.explore(case.guards)[0] == ""
    seen = small_world.explore(plan_of(step("a", case.declared, AT_ONCE)), case.truth)
    assert seen.wrong == ""
    assert seen.worlds > 100
    assert seen.ends == (CLEAN | {TaskState.FAILED} if name == "neither" else CLEAN)


@pytest.mark.parametrize("name", FAILS)
def test_a_promise_that_the_service_does_not_keep_is_found_out_in_both(name: str) -> None:
    case = FAILS[name]
    assert small_model.explore(case.guards)[0] == case.wrong_in_model
    seen = small_world.explore(plan_of(step("a", case.declared, AT_ONCE)), case.truth)
    assert seen.wrong == case.wrong_in_core


@pytest.mark.parametrize(
    ("declared", "truth"), [(KEYED_PROBE, Truth(keyed=True)), (TOMB_PROBE, Truth(True, True))]
)
def test_a_probe_beside_a_key_costs_no_promise(declared: dict[str, Any], truth: Truth) -> None:
    seen = small_world.explore(plan_of(step("a", declared, AT_ONCE)), truth)
    assert (seen.wrong, seen.ends) == ("", CLEAN)


def test_the_model_without_fencing_fails() -> None:
    """A late report marks as done what is being undone: so the attempt number is no ornament."""
    assert small_model.explore(Guards(fence=False, keyed=True, tombstone=True))[0] == "done, and not there"
