"""A plan as a Mermaid flowchart: whole arrows go forward, dashed lines to each undo, thick arrows undo."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from makegood.core.plan import Part, Plan, Series
from makegood.drawing.rows import Group, Step, is_undone, marks, rows, title
from makegood.reading.words import one_line


class Ends(NamedTuple):
    """Where arrows enter and leave what stands for a part."""

    entry: str
    exit: str


def mermaid(plan: Plan) -> str:
    """The flowchart's text."""
    forward = _Lane("f", "-->", backward=False, node=lambda step: f"s{step}")
    undo = _Lane("b", "==>", backward=True, node=lambda step: f"u{step}" if is_undone(plan, step) else None)
    forward.draw(plan.body)
    undo.draw(plan.body)
    lines = [*_nodes(plan), *forward.lines, *undo.lines]
    return "\n".join(["flowchart TD", f"  accTitle: plan {title(plan)}", *[f"  {line}" for line in lines]])


class _Lane:
    """The arrows of one direction. Branches that run at the same time stand between a fork and a join."""

    def __init__(self, prefix: str, arrow: str, *, backward: bool, node: Callable[[int], str | None]) -> None:
        self.lines: list[str] = []
        self._prefix, self._arrow, self._backward, self._node = prefix, arrow, backward, node
        self._groups = 0

    def draw(self, part: Part) -> Ends | None:
        """Add the arrows inside a part; None where nothing of it is in this lane."""
        if isinstance(part, int):
            node = self._node(part)
            return None if node is None else Ends(node, node)
        if isinstance(part, Series):
            parts = reversed(part.parts) if self._backward else part.parts
            return self._chain([ends for inner in parts if (ends := self.draw(inner))])
        return self._fork([ends for branch in part.branches if (ends := self.draw(branch))])

    def _chain(self, parts: list[Ends]) -> Ends | None:
        for one, next_one in pairwise(parts):
            self.lines.append(f"{one.exit} {self._arrow} {next_one.entry}")
        return Ends(parts[0].entry, parts[-1].exit) if parts else None

    def _fork(self, branches: list[Ends]) -> Ends | None:
        if len(branches) < 2:
            return branches[0] if branches else None
        self._groups += 1
        fork, join = f"{self._prefix}{self._groups}", f"{self._prefix}{self._groups}x"
        self.lines += [f'{fork}(["{Group.PARALLEL.value}"])', f'{join}((" "))']
        for branch in branches:
            self.lines.append(f"{fork} {self._arrow} {branch.entry}")
            self.lines.append(f"{branch.exit} {self._arrow} {join}")
        return Ends(fork, join)


def _nodes(plan: Plan) -> Iterator[str]:
    for row in rows(plan):
        if isinstance(row, Step):
            yield from _step(row)


def _step(row: Step) -> Iterator[str]:
    n, details = row.plan.index, ", ".join(marks(row.plan))
    label = f'"{_escaped(row.plan.name)}<br/>{_escaped(details)}"'
    yield f"s{n}{{{{{label}}}}}" if row.plan.pivot else f"s{n}[{label}]"
    if row.order:
        yield f'u{n}["{row.order}. {_escaped(row.way_back)}"]'
    elif not row.plan.pivot and not row.plan.reads:
        yield f'u{n}("{_escaped(row.way_back)}")'
    else:
        return
    yield f"s{n} -.- u{n}"


def _escaped(text: str) -> str:
    """Text that Mermaid takes for nothing else."""
    return re.sub(r"[^\w ,./()-]", lambda found: f"#{ord(found[0])};", one_line(text))
