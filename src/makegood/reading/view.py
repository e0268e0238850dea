"""The exported record: the pattern's document, made of the head and the append rows."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from makegood.core.events import Row
from makegood.core.plan import Millis, Plan
from makegood.core.record import Direction, Head, Phase, TaskState
from makegood.core.secrets import hide, secrets_in
from makegood.core.words import moment
from makegood.errors import PayloadError
from makegood.reading.past import Past
from makegood.reading.payloads import value_of
from makegood.reading.standing import acts_in_words, blocking, in_doubt, in_effect, open_acts
from makegood.reading.step_view import step_document
from makegood.reading.waiting import Waiting, task_waiting, waiting_document
from makegood.reading.words import news_of, reason_said, state_name, valued

VERSION_SHOWN = 12
"""Hexadecimal digits of a plan's version that are shown."""

Resolve = Callable[[Any, Mapping[str, Any]], Any]
"""Fills a template in from decoded values; raises PayloadError. The core itself looks into no payload."""


def record_of(
    plan: Plan,
    task_id: str,
    head: Head,
    rows: Iterable[tuple[int, Row]],
    *,
    now: Millis,
    resolve: Resolve,
) -> dict[str, Any]:
    """The whole record as JSON values: the pattern's names, then ours. Fields without a value are absent.

    A Completed task shows its `output`, or why there is none (`outputError`).
    """
    past = Past(plan, rows)
    record = summary_of(plan, task_id, head, now) | _task_fields(plan, head, past)
    waiting = task_waiting(plan, head, now)
    if waiting is not None:
        record["waiting"] = waiting_document(plan, dated(waiting, past))
    if head.state is TaskState.COMPLETED:
        record |= _output(plan, past, resolve)
    if head.state is TaskState.FAILED:
        record |= _parked(plan, task_id, head, now)
    steps = [step_document(plan, task_id, head, step, past.values, now) for step in past.steps]
    arguments = arguments_of(plan, past, resolve)
    return record | {"steps": [step | arguments.get(step["name"], {}) for step in steps]}


def summary_of(plan: Plan, task_id: str, head: Head, now: Millis) -> dict[str, Any]:
    """What lists show of a task; it is read off the head alone."""
    waiting = task_waiting(plan, head, now)
    summary = {
        "taskId": task_id,
        "state": state_name(head.state),
        "createdAt": moment(head.created_at),
        "plan": plan.name,
        "planVersion": plan.version[:VERSION_SHOWN],
        "tags": head.tags,
        "paused": head.paused,
        "reason": reason_of(plan, head),
        "waiting": None if waiting is None else waiting_document(plan, waiting),
    }
    return valued(summary)


def dated(waiting: Waiting, past: Past) -> Waiting:
    """The same with the moment it began, where the head does not hold it."""
    if waiting.since:
        return waiting
    since = past.paused[0] if waiting.on == "pause" and past.paused else past.moved_at
    return msgspec.structs.replace(waiting, since=since)


def _task_fields(plan: Plan, head: Head, past: Past) -> dict[str, Any]:
    fields = {"deadline": moment(head.deadline) if head.deadline else "", "tags": past.tags}
    return valued(fields) | {"input": value_of(plan, "input", past.values.input)}


def arguments_of(plan: Plan, past: Past, resolve: Resolve) -> dict[str, dict[str, Any]]:
    """By step, what its calls were given, for whoever looks for their effect at the service.

    A step is left out that was never called, or refers to what a recorded result does not have.
    """
    known = _known(plan, past)
    given: dict[str, dict[str, Any]] = {}
    for step in past.steps:
        if step.do.called:
            with suppress(PayloadError):
                arguments = resolve(step.plan.args, known)
                given[step.plan.name] = {
                    "arguments": hide(arguments, secrets_in(step.plan.args, plan.secrets))
                }
    return given


def _output(plan: Plan, past: Past, resolve: Resolve) -> dict[str, Any]:
    try:
        output = output_of(plan, past, resolve)
    except PayloadError as error:
        return {"outputError": str(error)}
    return {"output": hide(output, secrets_in(plan.output, plan.secrets))}


def output_of(plan: Plan, past: Past, resolve: Resolve) -> Any:
    """A Completed task's output in clear, as JSON values; raises PayloadError where it has none."""
    return resolve(plan.output, _known(plan, past))


def _known(plan: Plan, past: Past) -> dict[str, Any]:
    raw = {"input": past.values.input} | {plan.steps[n].name: raw for n, raw in past.values.results.items()}
    return {name: msgspec.json.decode(payload) for name, payload in raw.items()}


def reason_of(plan: Plan, head: Head) -> str:
    """Why the task stands where it stands: what parked it, and why it was on its way back, if it was."""
    if head.state is TaskState.COMPLETED:
        return ""
    if head.state is not TaskState.FAILED:
        return reason_said(head.reason)
    stuck = "; ".join(f"{plan.steps[step].name}: {stuck_on(plan, head, step)}" for step in blocking(head))
    if not _undoing(head) or not head.reason:
        return stuck
    return f"{stuck}; the task was being undone ({reason_said(head.reason)})"


def stuck_on(plan: Plan, head: Head, step: int) -> str:
    """Why only a person can move this step on."""
    phase, opened = Phase(head.marks[step]), head.open.get(step)
    last = f" ({news_of(opened)})" if opened is not None and news_of(opened) else ""
    if phase is Phase.DOUBT:
        return f"only a person can tell whether it happened{last}"
    if phase is Phase.UNDO_STUCK:
        return f"its undo {plan.steps[step].undo} cannot be finished{last}"
    if phase is Phase.LEFT:
        return "a person left it in effect"
    return f"it failed for good after the point of no return ({reason_said(head.reason)})"


def _undoing(head: Head) -> bool:
    return head.direction is Direction.UNDO


def _parked(plan: Plan, task_id: str, head: Head, now: Millis) -> dict[str, Any]:
    def names(steps: list[int]) -> list[str]:
        return [plan.steps[step].name for step in steps]

    return {
        "direction": "undo" if _undoing(head) else "forward",
        "blocking": names(blocking(head)),
        "inEffect": names(in_effect(plan, head)),
        "inDoubt": names(in_doubt(plan, head)),
        "acts": acts_in_words(open_acts(plan, task_id, head, now)),
    }
