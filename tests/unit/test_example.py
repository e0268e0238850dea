"""The trip as a user writes it: it loads with the core install alone, and it is short."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from makegood.authoring.loading import load_app

TRIP = Path(__file__).parent.parent.parent / "examples" / "trip.py"
LINES_MAX = 20


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def counted(source: str, functions: set[str], plans: set[str]) -> list[str]:
    """The lines of agents and plans, and of `def` and decorators; bodies, types and imports not counted."""
    lines = source.splitlines()
    found: list[str] = []
    for node in ast.parse(source).body:
        first, last = node.lineno, node.end_lineno or node.lineno
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in functions | plans:
            first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
            last = last if node.name in plans else node.body[0].lineno - 1
        elif not (isinstance(node, ast.Assign) and "Agent(" in ast.unparse(node.value)):
            continue
        found += [line for line in lines[first - 1 : last] if line.strip()]
    return found


@pytest.mark.usefixtures("imports")
def test_the_trip_loads_and_takes_at_most_20_lines() -> None:
    app = load_app(str(TRIP))
    assert list(app.agents) == ["flight-agent", "hotel-agent", "car-agent"]
    plan = app.plans["book_trip"]
    assert [node.name for node in plan.plan.steps] == ["reserve_flight", "reserve_hotel", "reserve_car"]
    functions = {
        f.name for action in plan.actions for f in (action.do, action.undo, action.probe) if f is not None
    }
    lines = counted(TRIP.read_text(), functions, set(app.plans))
    assert len(lines) <= LINES_MAX, "\n".join(lines)
    assert {"@plan", "def find_car() -> Car | None:"} <= set(lines)
