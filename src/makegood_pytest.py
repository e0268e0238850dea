"""Fixtures for tests of plans; nothing of makegood is imported before one of them is used.

def test_a_crash_costs_nothing(makegood_play):
    task = makegood_play(book_trip, crash_after("reserve_hotel"))
    assert_settled(task)
    assert task.state == "Completed"
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from makegood.testing.rehearsal.fakes import FakeService
    from makegood.testing.rehearsal.performance import Performance, TurnedClock
    from makegood.testing.rehearsal.report import Report


@pytest.fixture
def makegood_store(tmp_path: Path) -> str:
    """The URL of a fresh store, for `Makegood(makegood_store, agents=[...])`."""
    return f"sqlite:///{tmp_path / 'makegood.db'}"


@pytest.fixture
def makegood_clock() -> "Iterator[TurnedClock]":
    """The clock of this test's performances: `makegood_clock.advance(3600)` is an hour, and takes no time."""
    from makegood.testing.rehearsal.performance import TurnedClock

    with TurnedClock() as clock:
        yield clock


@pytest.fixture
def makegood_play(makegood_clock: "TurnedClock") -> "Callable[..., Performance]":
    """Begin a task: `makegood_play(plan, crash_after("step"), input=..., agents=[...])`; see Performance."""
    from makegood.testing.rehearsal.performance import Performance

    def play(plan: Any, *strikes: Any, **given: Any) -> Performance:
        __tracebackhide__ = True
        return Performance(makegood_clock, plan, *strikes, **given)

    return play


@pytest.fixture
def makegood_service() -> "Callable[..., FakeService]":
    """Make a service behind a bad network: `makegood_service("hotels", keyed=True)`; see FakeService."""
    from makegood.testing.rehearsal.fakes import FakeService

    return FakeService


@pytest.fixture
def makegood_rehearse() -> "Callable[..., Report]":
    """Rehearse a plan: `assert makegood_rehearse(plan, agents=[...]).kept`; see makegood.testing.rehearse."""
    from makegood.testing.rehearsal.rehearse import rehearse

    return rehearse
