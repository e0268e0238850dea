"""What a rehearsal found: a row for each run, and each broken promise with the shortest story of it."""

from collections import Counter
from typing import Any, Final

import msgspec

from makegood.core.record import CERTAINLY_NOT, Kind, Phase, TaskState
from makegood.reading.standing import blocking, in_doubt, in_effect
from makegood.reading.words import state_name
from makegood.testing.rehearsal.cases import Strike, place
from makegood.testing.rehearsal.judging import Broken, broken
from makegood.testing.rehearsal.promises import Promise
from makegood.testing.rehearsal.telling import Line, story
from makegood.testing.rehearsal.trial import Trial

WORST_FIRST: Final = tuple(Promise)
UNDONE: Final = frozenset((Phase.UNDONE, Phase.UNDONE_BLIND))


class Fault(msgspec.Struct, frozen=True):
    """A fault: at the n-th call of a step's `do`, `undo` or `probe`."""

    step: str
    call: str
    nth: int
    fault: str

    @property
    def where(self) -> str:
        """The call in words."""
        return place(self.step, Kind[self.call.upper()], self.nth)


class Row(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One run: what struck it, and how its steps stand in the end, by name.

    `cancelled`: somebody cancelled it during the call of the step named. `waits_for` says of each step that
    only a person can move on why that is so.
    """

    faults: tuple[Fault, ...]
    ends: str
    cancelled: str = ""
    in_effect: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()
    never_happened: tuple[str, ...] = ()
    in_doubt: tuple[str, ...] = ()
    waits_for: dict[str, str] = {}
    broken: tuple[Broken, ...] = ()


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A broken promise: in how many runs, and the shortest story that leads to it."""

    broken: Broken
    times: int
    faults: tuple[Fault, ...]
    cancelled: str
    story: tuple[Line, ...]

    def __str__(self) -> str:
        runs = "1 run" if self.times == 1 else f"{self.times} runs"
        return f"BROKEN, in {runs}: {self.broken}"

    @property
    def trouble(self) -> str:
        """What leads to it, in words."""
        cancelled = [f"cancelled during {self.cancelled}"] if self.cancelled else []
        told = cancelled + [f"{fault.where} {fault.fault}" for fault in self.faults]
        return "; ".join(told) or "no trouble"


class Report(msgspec.Struct, frozen=True, rename="camel"):
    """All of a rehearsal. `virtual_seconds` is how long its runs took by their own clocks.

    `own_functions` are the plan's actions, as "agent/action", whose own functions were run; the services of
    those that are `simulated` were.
    """

    plan: str
    plan_version: str
    rows: tuple[Row, ...]
    own_functions: tuple[str, ...]
    simulated: tuple[str, ...]
    broken: tuple[Finding, ...]
    virtual_seconds: float

    @property
    def kept(self) -> bool:
        """Whether no promise was broken."""
        return not self.broken

    @property
    def ends(self) -> dict[str, int]:
        """How many runs ended how."""
        return dict(Counter(row.ends for row in self.rows))

    @property
    def cast(self) -> str:
        """Who played, in one line."""
        own, simulated = (", ".join(names) or "none" for names in (self.own_functions, self.simulated))
        return f"own functions run: {own}; simulated: {simulated}"

    def document(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {"tried": len(self.rows), "ends": self.ends} | dict(msgspec.to_builtins(self))

    def __str__(self) -> str:
        if self.kept:
            return f"{self.plan}: {len(self.rows)} runs, and no promise was broken"
        return "\n\n".join([*self.told(), f"broken promises: {len(self.broken)}"])

    __repr__ = __str__  # what a failed assert shows

    def told(self) -> list[str]:
        """The broken promises, the worst first, with their stories; those of one run share its story."""
        found: dict[str, list[Finding]] = {}
        for finding in self.broken:
            found.setdefault(finding.trouble, []).append(finding)
        return [
            "\n".join([*map(str, alike), f"  {trouble}:", *(f"  {line}" for line in alike[0].story)])
            for trouble, alike in found.items()
        ]


class Findings:
    """Gathers runs; keeps of each broken promise the run with the fewest faults and the shortest story."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.virtual_seconds = 0.0
        self._found: dict[tuple[str, str], Finding] = {}

    def add(self, trial: Trial) -> None:
        """Take in a run that has been played."""
        row = row_of(trial)
        self.rows.append(row)
        self.virtual_seconds += trial.world.seconds_played
        for one in row.broken:
            self._add(one, row, trial)

    def _add(self, one: Broken, row: Row, trial: Trial) -> None:
        best = self._found.get((one.promise, one.step))
        times = 1 if best is None else best.times + 1
        if best is None or len(row.faults) <= len(best.faults):
            found = Finding(one, times, row.faults, row.cancelled, tuple(story(trial)))
            best = found if best is None else min(best, found, key=_length)
        self._found[one.promise, one.step] = msgspec.structs.replace(best, times=times)

    def findings(self) -> tuple[Finding, ...]:
        """Each broken promise, the worst first; of one sort, the simplest to follow first."""
        return tuple(sorted(self._found.values(), key=_weight))


def _weight(finding: Finding) -> tuple[int, tuple[int, int]]:
    return WORST_FIRST.index(finding.broken.promise), _length(finding)


def _length(finding: Finding) -> tuple[int, int]:
    return len(finding.faults), len(finding.story)


def row_of(trial: Trial) -> Row:
    """A run as a row."""
    plan, head = trial.plan.plan, trial.head
    names = [step.name for step in plan.steps]
    marks = list(zip(names, head.marks, strict=True))
    parked = blocking(head) if head.state is TaskState.FAILED else ()
    return Row(
        faults=tuple(map(_fault, trial.case.strikes)),
        ends=state_name(head.state),
        cancelled=trial.case.cancel_at,
        in_effect=tuple(names[n] for n in in_effect(plan, head)),
        undone=tuple(name for name, mark in marks if mark in UNDONE),
        never_happened=tuple(name for name, mark in marks if mark in CERTAINLY_NOT),
        in_doubt=tuple(names[n] for n in in_doubt(plan, head)),
        waits_for={names[n]: trial.why(n) for n in parked},
        broken=tuple(broken(trial)),
    )


def _fault(strike: Strike) -> Fault:
    return Fault(strike.step, strike.kind.name.lower(), strike.nth, strike.what)
