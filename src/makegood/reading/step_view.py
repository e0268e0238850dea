"""A step as the exported record shows it."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from makegood.core.events import Reply, Reported
from makegood.core.keys import derive_key
from makegood.core.plan import Millis, Plan
from makegood.core.record import CALLED, FORWARD_OPEN, UNDO_OPEN, Head, Kind, Open, Phase
from makegood.core.values import Values
from makegood.core.words import moment
from makegood.reading.past import Lane, StepPast
from makegood.reading.payloads import value_of
from makegood.reading.waiting import waiting_document, waiting_of
from makegood.reading.words import valued


class Shown(NamedTuple):
    """How a phase is exported. Empty: what the forward lane's end says; no outcome while that is open."""

    state: str
    outcome: str
    compensation: str


_ON_ITS_WAY = Shown("Running", "", "NotStarted")
_BEING_UNDONE = Shown("", "", "Running")

SHOWN: Final[Mapping[Phase, Shown]] = {
    Phase.IDLE: Shown("NotStarted", "none", "NotStarted"),
    **dict.fromkeys(FORWARD_OPEN, _ON_ITS_WAY),
    Phase.DOUBT: Shown("Running", "unknown", "NotStarted"),
    Phase.DONE: Shown("Completed", "done", "NotStarted"),
    Phase.SPOILED: Shown("Failed", "done", "NotStarted"),
    Phase.REFUSED: Shown("Failed", "refused", "NotStarted"),
    Phase.ABSENT: Shown("Failed", "absent", "NotStarted"),
    Phase.UNKNOWN: Shown("Failed", "unknown", "NotStarted"),
    Phase.UNRESOLVED: Shown("Failed", "none", "NotStarted"),
    Phase.SKIPPED: Shown("Skipped", "", "NotStarted"),
    **dict.fromkeys(UNDO_OPEN, _BEING_UNDONE),
    Phase.UNDO_STUCK: Shown("", "", "Failed"),
    Phase.LEFT: Shown("", "", "Failed"),
    Phase.UNDONE: Shown("", "undone", "Completed"),
    Phase.UNDONE_BLIND: Shown("", "undone", "Completed"),
    Phase.KEPT: Shown("", "kept", "Failed"),
}
_HANDED_OUT: Final = {
    Phase.OFFERED: "offered",
    Phase.CALLED: "called",
    Phase.UNDO_OFFERED: "offered",
    Phase.UNDO_CALLED: "called",
}


def shown(step: StepPast, opened: Open | None) -> Shown:
    """How a step is exported. What was never called shows as not begun, whatever phase it is in."""
    phase, fate = SHOWN[step.phase], SHOWN[step.fate]
    state, outcome = phase.state or fate.state, phase.outcome or fate.outcome
    if step.phase in FORWARD_OPEN:
        state = "Running" if step.do.called else "NotStarted"
        outcome = _open_outcome(step, opened)
    elif step.phase is Phase.SKIPPED and step.do.called and outcome == "none":
        outcome = "absent"
    return Shown(state, outcome, phase.compensation if step.undo.called else "NotStarted")


def _open_outcome(step: StepPast, opened: Open | None) -> str:
    if not step.do.called:
        return "none"
    return "unknown" if opened is not None and opened.doubt else ""


def step_document(
    plan: Plan, task_id: str, head: Head, step: StepPast, values: Values, now: Millis
) -> dict[str, Any]:
    """The step's fields: the pattern's first, then ours."""
    node, opened = step.plan, head.open.get(step.plan.index)
    said = shown(step, opened)
    fields: dict[str, Any] = {"name": node.name, "agent": node.agent, "state": said.state}
    fields |= _pattern_fields(task_id, head, step, Kind.DO)
    if node.index in values.results:
        fields["result"] = value_of(plan, node.name, values.results[node.index])
    settled = {"settledBy": step.settled_by, "settledAs": step.settled_as}
    fields |= valued({"outcome": said.outcome} | settled | {"action": node.action})
    fields |= _our_fields(head, step, Kind.DO) | valued(
        {
            "deadline": moment(opened.deadline) if opened is not None and opened.deadline else "",
            "waiting": _waiting(plan, head, step, now),
            "evidence": [_evidence(plan, at, report) for at, report in step.evidence],
        }
    )
    if node.undo is not None:
        fields["compensation"] = (
            {"state": said.compensation}
            | _pattern_fields(task_id, head, step, Kind.UNDO)
            | {"action": node.undo}
            | _our_fields(head, step, Kind.UNDO)
        )
    return fields


def _waiting(plan: Plan, head: Head, step: StepPast, now: Millis) -> dict[str, str] | None:
    waiting = waiting_of(plan, head, step.plan.index, now)
    if waiting is None:
        return None
    since = waiting.since or step.since
    return waiting_document(plan, msgspec.structs.replace(waiting, since=since, step=None))


# --- the fields that both ways of a step have


def _lane(step: StepPast, kind: Kind) -> Lane:
    return step.undo if kind is Kind.UNDO else step.do


def _round(head: Head, step: StepPast, kind: Kind) -> int:
    rounds = head.undo_rounds if kind is Kind.UNDO else head.rounds
    return rounds.get(step.plan.index, 1)


def _pattern_fields(task_id: str, head: Head, step: StepPast, kind: Kind) -> dict[str, Any]:
    lane = _lane(step, kind)
    return valued(
        {
            "idempotencyKey": _key(task_id, step, kind, _round(head, step, kind)),
            "completeBy": moment(lane.complete_by) if lane.complete_by else "",
            "retryCount": lane.retries,
        }
    )


def _key(task_id: str, step: StepPast, kind: Kind, round_: int) -> str:
    """The recorded key; for a round that has not been offered yet, the one it will get."""
    lane = _lane(step, kind)
    if lane.key and lane.round == round_:
        return lane.key
    return derive_key(task_id, step.plan.name, kind, round_, step.plan.key)


def _our_fields(head: Head, step: StepPast, kind: Kind) -> dict[str, Any]:
    """`attempt` of the step itself is the last that any of its calls got: the fence."""
    lane, opened = _lane(step, kind), head.open.get(step.plan.index)
    attempt = lane.attempt if kind is Kind.UNDO else step.attempt
    is_open = lane is step.lane and step.phase in FORWARD_OPEN | UNDO_OPEN
    held = opened is not None and is_open and step.phase in CALLED
    return valued(
        {
            "attempt": attempt or None,
            "round": _round(head, step, kind) if attempt else None,
            "phase": _HANDED_OUT.get(step.phase, "between") if is_open else "",
            "leaseUntil": moment(opened.due) if opened is not None and held else "",
            "error": "" if _ended_well(step, kind) else lane.error,
            "probeError": "" if _ended_well(step, kind) else lane.asked,
        }
    )


def _ended_well(step: StepPast, kind: Kind) -> bool:
    """Whether the lane came to its good end, so that earlier errors of it are history."""
    if kind is Kind.UNDO:
        return step.phase in (Phase.UNDONE, Phase.UNDONE_BLIND, Phase.KEPT)
    return step.fate is Phase.DONE or step.phase is Phase.SKIPPED


def _evidence(plan: Plan, at: Millis, report: Reported) -> dict[str, Any]:
    fields = {
        "at": moment(at),
        "attempt": report.attempt,
        "kind": report.kind.name.lower(),
        "reply": report.reply.value,
        "error": report.error,
    }
    if report.reply is Reply.DONE:
        return valued(fields) | {"result": value_of(plan, plan.steps[report.step].name, report.result)}
    return valued(fields)
