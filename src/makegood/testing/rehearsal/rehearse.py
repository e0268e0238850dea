"""`rehearse`: a plan through every failure and crash at every call, in virtual time."""

from collections import Counter
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from makegood.authoring.agent import Agent
from makegood.authoring.plans import PlanDefinition
from makegood.core.record import Kind
from makegood.reading.view import VERSION_SHOWN
from makegood.testing.rehearsal.cases import Case, cases, undisturbed
from makegood.testing.rehearsal.made_up import MadeUp
from makegood.testing.rehearsal.outside import closed
from makegood.testing.rehearsal.own import check
from makegood.testing.rehearsal.report import Findings, Report
from makegood.testing.rehearsal.stage import Rehearsal, staged
from makegood.testing.rehearsal.to_the_point import to_the_point
from makegood.testing.rehearsal.trial import Trial


@to_the_point
@closed()
def rehearse(
    plan: PlanDefinition[Any, Any],
    *,
    agents: Iterable[Agent] = (),
    stage: Rehearsal | ModuleType | None = None,
    input: Any = None,
    input_json: bytes | None = None,
    pairs: bool = False,
) -> Report:
    """Play a plan with no fault, with every single one and, if asked, with every two.

    `agents` are those whose own functions are run, against fake services; the others are simulated as they
    are declared. `stage` (a Rehearsal, or the module that has it) says more. `input` is what the plan is
    given, `input_json` the same as JSON; without either it is made up. `pairs`: also every two faults. Raises
    PlanError where an own function reaches for anything but a fake service, or for none, or has a mistake in
    it; PlanError, PayloadError for what the plan cannot be given.
    """
    said = staged(stage, agents)
    made_up, findings = MadeUp(plan, said), Findings()
    given = made_up.input(input, input_json)

    def play(case: Case) -> Trial:
        trial = Trial(plan, case, said, made_up, given).play()
        check(trial)
        if not trial.missed:
            findings.add(trial)
        return trial

    calls: Counter[tuple[str, Kind]] = Counter()
    for case in undisturbed(plan.plan):
        calls |= play(case).requests
    for case in cases(plan.plan, calls, pairs=pairs):
        play(case)
    own, simulated = said.cast(plan)
    return Report(
        plan=plan.name,
        plan_version=plan.version[:VERSION_SHOWN],
        rows=tuple(findings.rows),
        own_functions=own,
        simulated=simulated,
        broken=findings.findings(),
        virtual_seconds=round(findings.virtual_seconds, 1),
    )
