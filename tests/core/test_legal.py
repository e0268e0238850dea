"""The table of legal moves: what it does not list is refused, and what it lists is really reached."""

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from types import ModuleType

import pytest

from makegood.core.draft import Draft
from makegood.core.legal import LEGAL, LEGAL_STATES, IllegalMove
from makegood.core.record import (
    ASKS_A_PERSON,
    CERTAINLY_NOT,
    FORWARD_OPEN,
    IN_EFFECT,
    OPEN,
    UNDO_OPEN,
    Head,
    Open,
    Phase,
    TaskState,
)
from makegood.testing.shorthand import KEYED, step
from tests.core import scripts
from tests.core.plans import plan_of
from tests.core.test_walks import walk

PLAN = plan_of(step("a", KEYED))
SCRIPTED = [
    import_module(f"tests.core.test_{name}")
    for name in ("acts", "correcting", "doubt", "due", "evidence", "lanes", "restoring", "retry")
]
WALKED = 500


def draft_in(phase: Phase, state: TaskState = TaskState.RUNNING) -> Draft:
    opened = {0: Open(attempt=3)} if phase in OPEN else {}
    return Draft(PLAN, "t", Head(marks=bytearray([phase]), state=state, open=opened), 1_000)


@pytest.mark.parametrize("phase", Phase)
def test_every_move_of_a_step_that_is_not_in_the_table_is_refused(phase: Phase) -> None:
    for to in Phase:
        draft = draft_in(phase)
        if (phase, to) in LEGAL:
            draft.move(0, to, 2_000)
            assert draft.phase(0) is to
            assert (0 in draft.head.open) == (to in OPEN)
        else:
            with pytest.raises(IllegalMove, match=f"step a: {phase.name} -> {to.name}"):
                draft.move(0, to)
            assert draft.phase(0) is phase
            assert draft.facts == []


def test_every_move_of_a_task_that_is_not_in_the_table_is_refused() -> None:
    for state, to in product(TaskState, TaskState):
        draft = draft_in(Phase.IDLE, state)
        if (state, to) in LEGAL_STATES:
            draft.task(to)
            assert draft.head.state is to
        else:
            with pytest.raises(IllegalMove, match=f"task: {state.name} -> {to.name}"):
                draft.task(to)
            assert draft.head.state is state


def test_every_phase_is_in_the_table_and_can_be_reached() -> None:
    reached = {int(Phase.IDLE)}
    while more := {to for start, to in LEGAL if start in reached} - reached:
        reached |= more
    assert reached == set(Phase)


def test_every_phase_is_of_one_kind() -> None:
    settled = {Phase.IDLE, Phase.SKIPPED, Phase.UNDONE, Phase.UNDONE_BLIND, Phase.KEPT, Phase.LEFT}
    kinds = (FORWARD_OPEN, UNDO_OPEN, ASKS_A_PERSON, CERTAINLY_NOT, IN_EFFECT, settled)
    assert sorted(phase for kind in kinds for phase in kind) == sorted(Phase)


def test_a_completed_task_and_a_kept_step_never_move_again() -> None:
    assert not [to for start, to in LEGAL_STATES if start is TaskState.COMPLETED]
    assert not [to for start, to in LEGAL if start == Phase.KEPT]


def test_the_table_lists_nothing_that_does_not_happen() -> None:
    """Every listed move is made by some random walk or some test of its own."""
    made = set(scripts.MOVES)
    for seed in range(WALKED):
        made |= walk(seed).moves
    for module in SCRIPTED:
        for test in scripted(module):
            test()
    made |= scripts.MOVES
    assert not made - LEGAL
    assert [f"{Phase(start).name} -> {Phase(to).name}" for start, to in sorted(LEGAL - made)] == []


def scripted(module: ModuleType) -> Iterator[Callable[[], None]]:
    """The tests of a module that need nothing given."""
    for name, test in vars(module).items():
        if name.startswith("test_") and callable(test) and not inspect.signature(test).parameters:
            yield test
