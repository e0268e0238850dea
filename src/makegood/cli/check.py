"""`check`: what could strand a task, before it runs."""

from collections.abc import Iterable, Sequence

import click
import msgspec

from makegood.authoring.action import Action
from makegood.authoring.agent import Agent
from makegood.authoring.loading import AnyPlan, load_app
from makegood.checking import Finding, Setting, Severity, check
from makegood.cli import output
from makegood.cli.given import LENGTHS, Length
from makegood.cli.look import json_option
from makegood.cli.planned import is_document, plan_of_document
from makegood.core.document import StepNode
from makegood.core.plan import millis
from makegood.drawing import title
from makegood.errors import PlanError
from makegood.reading.view import VERSION_SHOWN
from makegood.runtime.engine import GRACE

WIDTHS = (8, 0)
"""Of a finding's severity, with its indent, and the rest."""


@click.command("check")
@click.argument("apps", metavar="APP...", nargs=-1, required=True)
@click.option(
    "--deadline",
    type=Length(min=0, min_open=True),
    metavar="TIME",
    help=f"Hold the plans against a deadline for the whole task. {LENGTHS}.",
)
@json_option
def check_plans(apps: Sequence[str], deadline: float | None, as_json: bool) -> int:
    """What could strand a task, before it runs.

    Of every plan in APP, step by step: what is parked when an answer is lost, keys that are forgotten before
    the last try, undo that cannot be finished, times and deadlines that cannot hold, what must not fail after
    the pivot, actions that no agent in APP has, or that do not say their types. Each finding says what would
    happen, and the way out.

    APP may also be a file PLAN.json with a plan document; it is held against the agents of the others.

    Exits 1 if anything is `broken`: what is declared cannot hold. A `note` is known and safe: where a call
    goes wrong, a person may be asked.
    """
    agents, plans = _found(apps)
    findings = {plan: _check(plan, agents, deadline) for plan in plans}
    broken = sum(found.severity is Severity.BROKEN for each in findings.values() for found in each)
    if as_json:
        output.document(_document(findings, broken))
    else:
        for plan, found in findings.items():
            _show(plan, found)
        output.data(f"broken: {broken}")
    return output.COULD_NOT if broken else output.OK


def _found(apps: Sequence[str]) -> tuple[list[Agent], list[AnyPlan]]:
    """The agents and plans of all apps, each once. Raises PlanError where there is no plan."""
    named = [app for app in apps if not is_document(app)]
    loaded = [load_app(app) for app in named]
    agents = list(dict.fromkeys(agent for app in named for agent in _agents_beside(app)))
    plans = [plan for app in loaded for plan in app.plans.values()]
    plans += [plan_of_document(app, agents or None) for app in apps if is_document(app)]
    if not plans:
        raise PlanError(
            f"{', '.join(apps)}: no plan is found there, so there is nothing to check; name an app with one"
        )
    once: dict[tuple[str, str], AnyPlan] = {}
    for plan in plans:
        once.setdefault((plan.name, plan.version), plan)
    return agents, list(once.values())


def _agents_beside(app: str) -> Iterable[Agent]:
    """The agents found there; where a plan alone is named (app.py:book), those of its module."""
    return (load_app(app).agents or load_app(app.partition(":")[0]).agents).values()


def _check(plan: AnyPlan, agents: Iterable[Agent], deadline: float | None) -> list[Finding]:
    actions = {action.full_name: action for agent in agents for action in agent.actions.values()}
    setting = Setting(
        plan=plan.plan,
        actions=frozenset(actions),
        untyped={name: _untyped(action) for name, action in actions.items()},
        promised={name: _promised(action.node) for name, action in actions.items()},
        grace=millis(GRACE),
        deadline=None if deadline is None else millis(deadline),
    )
    return check(setting)


def _promised(node: StepNode) -> str:
    """What is declared against doubt, as a plan document writes it."""
    promised: dict[str, object] = {"class": node.class_} if node.class_.keyed else {}
    promised |= {"probe": node.probe} if node.probe else {}
    return msgspec.json.encode(promised).decode()[1:-1]


def _untyped(action: Action) -> list[str]:
    return [name for name in (*action.do.takes, "return") if name not in action.do.hints]


def _show(plan: AnyPlan, found: Sequence[Finding]) -> None:
    """A plan's findings, the broken ones first; what is said of several steps is said once."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for each in sorted(found, key=lambda finding: finding.severity is not Severity.BROKEN):
        said.setdefault((each.severity.value, each.what, each.way_out), []).append(each.step or "the task")
    output.data(f"{title(plan.plan)}: {_count(len(plan.plan.steps), 'step')}")
    for (severity, what, way_out), steps in said.items():
        output.row((f"  {severity}", f"{', '.join(steps)}: {what}"), WIDTHS)
        output.row(("", f"way out: {way_out}"), WIDTHS)
    if found:
        output.data("")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _document(findings: dict[AnyPlan, list[Finding]], broken: int) -> dict[str, object]:
    return {
        "plans": [{"plan": plan.name, "planVersion": plan.version[:VERSION_SHOWN]} for plan in findings],
        "findings": [finding for found in findings.values() for finding in found],
        "broken": broken,
    }


COMMANDS = (check_plans,)
