"""All the rules, in the order in which their findings are told."""

from collections.abc import Callable, Iterator

from makegood.checking import doubts, payloads, times, ways_back
from makegood.checking.finding import Broken, Finding, Said, Setting, Severity
from makegood.core.plan import StepPlan

RULES: tuple[Callable[[Setting, StepPlan], Said], ...] = (
    *ways_back.RULES,
    *doubts.RULES,
    *times.RULES,
    *payloads.RULES,
)


def check(setting: Setting) -> list[Finding]:
    """What could strand a task of this plan, step by step as it is written; then of the plan as a whole."""
    return list(_findings(setting))


def _findings(setting: Setting) -> Iterator[Finding]:
    for step in setting.plan.steps:
        for rule in RULES:
            yield from _finding(setting, step.name, rule.__name__, rule(setting, step))
    yield from _finding(setting, "", times.task_deadline.__name__, times.task_deadline(setting))


def _finding(setting: Setting, step: str, rule: str, said: Said) -> Iterator[Finding]:
    if said is not None:
        severity = Severity.BROKEN if isinstance(said, Broken) else Severity.NOTE
        yield Finding(severity, setting.plan.name, step, _camel(rule), said.what, said.way_out)


def _camel(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(map(str.title, more))
