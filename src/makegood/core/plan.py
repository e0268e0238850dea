"""The plan as the core walks it: steps numbered in written order, the structure as a small tree."""

import hashlib
from functools import cached_property

import msgspec

from makegood.core.document import (
    Document,
    KeyForm,
    Node,
    ParallelNode,
    Retry,
    SeriesNode,
    StepNode,
    Template,
    UndoRetry,
    read_document,
    references,
    step_nodes,
)
from makegood.core.secrets import Path
from makegood.errors import PlanError

Millis = int
"""Milliseconds: a moment of store time since 1970-01-01 UTC, or a length of time."""


class StepPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One step with everything the core decides with; lengths of time in milliseconds."""

    index: int
    name: str
    agent: str
    action: str
    args: dict[str, Template]
    undo: str | None
    probe: str | None
    reads: bool
    pivot: bool
    keyed: bool
    keyed_for: Millis | None
    tombstone: bool
    timeout: Millis
    settle: Millis
    key: KeyForm
    retry: Retry
    undo_retry: UndoRetry
    asks: int
    deadline: Millis | None

    @property
    def life(self) -> Millis:
        """The longest a call can matter: nothing reaches the service later than this after the claim."""
        return self.timeout + self.settle


class Series(msgspec.Struct, frozen=True):
    parts: tuple["Part", ...]


class Parallel(msgspec.Struct, frozen=True):
    branches: tuple["Part", ...]


Part = int | Series | Parallel
"""A step's index, or a group of parts."""


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A compiled plan document."""

    name: str
    version: str
    steps: tuple[StepPlan, ...]
    body: Part
    output: Template
    pivot: int | None
    secrets: dict[str, tuple[Path, ...]] = {}

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Step numbers by name."""
        return {step.name: step.index for step in self.steps}

    @cached_property
    def readers_of(self) -> dict[str, frozenset[int]]:
        """By its name, the numbers of the steps that refer to a step's result, or to the "input"."""
        readers: dict[str, frozenset[int]] = {}
        for step in self.steps:
            for name, _ in references(step.args):
                readers[name] = readers.get(name, frozenset()) | {step.index}
        return readers

    def reads_of(self, step: int) -> frozenset[int]:
        """The numbers of the steps to whose results a step refers."""
        names = {name for name, _ in references(self.steps[step].args)}
        return frozenset(self.index_of[name] for name in names - {"input"})

    @cached_property
    def used_results(self) -> frozenset[str]:
        """Names of the steps whose result another step or the output refers to."""
        return frozenset(self.readers_of) | {name for name, _ in references(self.output)}


def compile_plan(document: Document) -> Plan:
    """Number the steps and turn seconds into milliseconds."""
    nodes = list(step_nodes(document.body))
    index_of = {node.step: n for n, node in enumerate(nodes)}
    return Plan(
        name=document.plan,
        version=document.version,
        steps=tuple(_step_plan(n, node) for n, node in enumerate(nodes)),
        body=_part(document.body, index_of),
        output=document.output,
        pivot=next((n for n, node in enumerate(nodes) if node.pivot), None),
        secrets=document.secrets,
    )


_WAY_OUT = "restore it from a backup, or remove it from the store's plans and submit the same plan once more"


def pinned_plan(version: str, document: bytes | None) -> Plan:
    """The plan with this version, from the document a store keeps under it.

    Raises PlanError where it has none, or one that is not what its tasks are pinned to by that hash.
    """
    if document is None:
        raise PlanError(f"the store has no plan {version[:12]}, though a task runs it; {_WAY_OUT}")
    if hashlib.sha256(document).hexdigest() != version:
        raise PlanError(
            f"the document of plan {version[:12]} in the store was changed or damaged; {_WAY_OUT}"
        )
    try:
        return compile_plan(read_document(document))
    except RecursionError:
        raise PlanError(f"the document of plan {version[:12]} is nested too deep; {_WAY_OUT}") from None


def _part(node: Node, index_of: dict[str, int]) -> Part:
    match node:
        case StepNode():
            return index_of[node.step]
        case SeriesNode():
            return Series(tuple(_part(part, index_of) for part in node.series))
        case ParallelNode():
            return Parallel(tuple(_part(part, index_of) for part in node.parallel))


def _step_plan(index: int, node: StepNode) -> StepPlan:
    keyed = node.class_.keyed
    return StepPlan(
        index=index,
        name=node.step,
        agent=node.agent,
        action=node.action,
        args=node.args,
        undo=node.undo if isinstance(node.undo, str) else None,
        probe=node.probe,
        reads=node.reads,
        pivot=node.pivot,
        keyed=bool(keyed),
        keyed_for=None if isinstance(keyed, bool) else millis(keyed),
        tombstone=node.class_.tombstone,
        timeout=millis(node.timeout),
        settle=millis(node.settle),
        key=node.key,
        retry=node.retry,
        undo_retry=node.undo_retry,
        asks=node.asks,
        deadline=None if node.deadline is None else millis(node.deadline),
    )


def millis(seconds: float) -> Millis:
    """Whole milliseconds, rounded up, so that no length of time becomes nothing."""
    return int(-(-seconds * 1000 // 1))
