"""What a task has done outside, said of each of its effects: kept, undone, never happened, in doubt, ..."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

from makegood.core.events import decode_row
from makegood.core.keys import derive_key
from makegood.core.plan import Plan
from makegood.core.record import (
    AT_REST,
    FORWARD_OPEN,
    UNDO_OPEN,
    Head,
    Phase,
    TaskState,
    decode_head,
)
from makegood.core.record import Kind as Call
from makegood.core.words import moment
from makegood.reading.opening import AS_STORED, Opener, opened_head, opened_row
from makegood.reading.past import Past, StepPast, Word
from makegood.reading.payloads import text_of
from makegood.reading.proof import Written, digest_at, faults_of
from makegood.reading.standing import in_doubt, in_effect, second_effects
from makegood.reading.view import VERSION_SHOWN, reason_of
from makegood.reading.words import state_name


class Stands(StrEnum):
    """How one outside effect of a task stands."""

    KEPT = "kept"
    """Done, and in effect."""
    UNDONE = "undone"
    NEVER = "neverHappened"
    IN_DOUBT = "inDoubt"
    ACCEPTED = "accepted"
    """In effect or not, it may stand: a named person said so."""
    LEFT = "left"
    """In effect: a named person ordered to go on without undoing it."""
    SKIPPED = "skipped"
    """It had no effect of ours: a named person ordered to go on as if it were done by hand."""
    UNDER_WAY = "underWay"


class End(StrEnum):
    """How a task stands as a whole."""

    COMPLETED = "completed"
    UNDONE = "undone"
    ACCEPTED = "accepted"
    """Undone, save what a named person accepted as standing."""
    UNDER_WAY = "underWay"
    PARKED = "parked"
    """It waits, in plain sight, for a person."""
    UNREADABLE = "unreadable"


class Kind(StrEnum):
    """What a finding is about."""

    RECORD = "record"
    """The record is not what its own history makes of it."""
    SEAL = "seal"
    """The record is not the one that was sealed."""
    HALF_DONE = "halfDone"
    """A task ended, and an effect of it stands otherwise than its end says."""
    DOUBLE = "double"
    """Two effects where one was meant."""
    ORPHAN = "orphan"
    """A service holds what the record does not have in effect."""
    LOSS = "loss"
    """The record has in effect what the service does not hold."""
    NOT_COMPARED = "notCompared"
    """What a service holds could not be learned."""


ABOUT_EFFECTS: Final = frozenset((Kind.HALF_DONE, Kind.DOUBLE, Kind.ORPHAN, Kind.LOSS))
"""Findings that count as half done; the others are about records, or about what could not be learned."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Something that is not as it should be. `version` is the row at which it shows, where there is one."""

    kind: Kind
    what: str
    task_id: str = ""
    step: str = ""
    version: int = 0

    def __str__(self) -> str:
        where = " ".join(filter(None, (self.task_id, self.step)))
        return f"{where}: {self.what}" if where else self.what


class Effect(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One step that has an effect outside.

    `idempotency_key` is that of its current round (of the first, if it was never called), `earlier_keys` are
    those of the rounds before; `attempt` is the last number that any of its calls got. `earlier_words` of
    persons were said before the last word of its agent, of an earlier round perhaps.
    """

    step: str
    agent: str
    action: str
    stands: Stands
    idempotency_key: str
    since: str = ""
    earlier_keys: tuple[str, ...] = ()
    undo_key: str = ""
    attempt: int = 0
    result_known: bool = False
    error: str = ""
    settled_by: str = ""
    settled_as: str = ""
    settled_why: str = ""
    earlier_words: tuple[Word, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Those of all its rounds."""
        return (*self.earlier_keys, self.idempotency_key)


class Statement(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What a task has done outside, and what was found wrong with it. `digest` proves the history it is from.

    `changed_at` is store time of its last change.
    """

    task_id: str
    end: End
    state: str
    plan: str
    plan_version: str
    version: int
    digest: str = ""
    changed_at: str = ""
    reason: str = ""
    effects: tuple[Effect, ...] = ()
    findings: tuple[Finding, ...] = ()


def statement_of(
    written: Written, plan: Plan | None, plan_fault: str = "", *, opener: Opener = AS_STORED
) -> Statement:
    """The statement of a task as it is written; `plan` None, and why, where its plan cannot be trusted.

    Of a record that does not hold together only what can still be read is stated.
    """
    found = [_record(written, plan_fault)] if plan_fault else []
    found += [_record(written, str(fault), fault.version) for fault in faults_of(written, plan)]
    digest = digest_at(written, written.version)
    bare = Statement(
        task_id=written.task_id,
        end=End.UNREADABLE,
        state=_state(written.state),
        plan=written.plan,
        plan_version=written.plan_version[:VERSION_SHOWN],
        version=written.version,
        digest=digest.hex() if digest is not None else "",
        findings=tuple(found),
    )
    if plan is None:
        return bare
    try:
        return _stated(written, plan, opener, bare)
    except Exception:  # a damaged record may be read in any odd way; what is wrong with it has been found
        if not found:
            raise
        return bare


def _record(written: Written, what: str, version: int = 0) -> Finding:
    return Finding(Kind.RECORD, what, written.task_id, version=version)


def _state(state: int) -> str:
    try:
        return state_name(TaskState(state))
    except ValueError:
        return f"{state}"


def _stated(written: Written, plan: Plan, opener: Opener, bare: Statement) -> Statement:
    """What was proved is what is stored; what is told is read of it in clear."""
    head = opened_head(decode_head(written.head), opener)
    rows = [(version, opened_row(decode_row(body), opener)) for version, _, body in written.rows]
    past = Past(plan, rows)
    steps = [step for step in past.steps if not step.plan.reads]
    effects = [_effect(written.task_id, plan, head, past, step) for step in steps]
    amiss = [*_half_done(written, head, steps, effects), *_second_effects(written, plan, past, steps)]
    return msgspec.structs.replace(
        bare,
        end=_end(head, effects),
        changed_at=moment(rows[-1][1].at),
        reason=reason_of(plan, head),
        effects=tuple(effects),
        findings=(*bare.findings, *amiss),
    )


# --- one effect

_STANDS: Final = {
    Phase.IDLE: Stands.NEVER,
    Phase.DOUBT: Stands.IN_DOUBT,
    Phase.DONE: Stands.KEPT,
    Phase.SPOILED: Stands.KEPT,
    Phase.REFUSED: Stands.NEVER,
    Phase.ABSENT: Stands.NEVER,
    Phase.UNKNOWN: Stands.IN_DOUBT,
    Phase.UNRESOLVED: Stands.NEVER,
    Phase.SKIPPED: Stands.SKIPPED,
    Phase.LEFT: Stands.LEFT,
    Phase.UNDONE: Stands.UNDONE,
    Phase.UNDONE_BLIND: Stands.UNDONE,
    Phase.KEPT: Stands.ACCEPTED,
}
"""The settled phases; of the others it depends on what is known, and on whether the task still moves."""


def _stands(plan: Plan, head: Head, step: StepPast) -> Stands:
    if step.phase in _STANDS and not (step.phase is Phase.IDLE and head.beyond):
        return _STANDS[step.phase]
    if step.phase in FORWARD_OPEN | UNDO_OPEN and head.state not in AT_REST:
        return Stands.UNDER_WAY
    if step.plan.index in in_doubt(plan, head):
        return Stands.IN_DOUBT
    return Stands.KEPT if step.plan.index in in_effect(plan, head) else Stands.NEVER


def _effect(task_id: str, plan: Plan, head: Head, past: Past, step: StepPast) -> Effect:
    stands = _stands(plan, head, step)
    first_key = derive_key(task_id, step.plan.name, Call.DO, 1, step.plan.key)
    return Effect(
        step=step.plan.name,
        agent=step.plan.agent,
        action=step.plan.action,
        stands=stands,
        since=moment(step.since) if step.since else "",
        idempotency_key=step.do.key or first_key,
        earlier_keys=tuple(step.do.keys[:-1]),
        undo_key=step.undo.key,
        attempt=step.attempt,
        result_known=step.plan.index in past.values.results,
        error=_error(step, stands),
        settled_by=step.settled_by,
        settled_as=step.settled_as,
        settled_why=step.settled_why,
        earlier_words=tuple(step.earlier_words),
    )


def _error(step: StepPast, stands: Stands) -> str:
    """What its last call said, where that is not history by now."""
    undone_by_a_call = stands is Stands.UNDONE and not step.settled_by
    done = stands is Stands.KEPT and not step.undo.error
    return "" if undone_by_a_call or done else step.lane.error


# --- the task as a whole

_ENDS: Final = {
    TaskState.RUNNING: End.UNDER_WAY,
    TaskState.COMPENSATING: End.UNDER_WAY,
    TaskState.COMPLETED: End.COMPLETED,
    TaskState.COMPENSATED: End.UNDONE,
    TaskState.FAILED: End.PARKED,
}


def _end(head: Head, effects: list[Effect]) -> End:
    accepted = any(effect.stands is Stands.ACCEPTED for effect in effects)
    return End.ACCEPTED if accepted and head.state is TaskState.COMPENSATED else _ENDS[head.state]


def _half_done(
    written: Written, head: Head, steps: list[StepPast], effects: list[Effect]
) -> Iterator[Finding]:
    """What stands otherwise than the task's end says. The core leaves nothing like it behind."""
    fits = {TaskState.COMPLETED: _fits_completed, TaskState.COMPENSATED: _fits_compensated}.get(head.state)
    for step, effect in zip(steps, effects, strict=True):
        if fits is not None and not fits(step, effect.stands):
            what = f"the task is {state_name(head.state)}, but this effect is {effect.stands}"
            yield Finding(Kind.HALF_DONE, what, written.task_id, effect.step)


def _fits_completed(_: StepPast, stands: Stands) -> bool:
    return stands in (Stands.KEPT, Stands.SKIPPED)


def _fits_compensated(step: StepPast, stands: Stands) -> bool:
    """An effect that was declared to need no undo may stand; the pivot may not."""
    needs_no_undo = step.plan.undo is None and not step.plan.pivot
    settled = stands in (Stands.UNDONE, Stands.NEVER, Stands.ACCEPTED, Stands.SKIPPED)
    return settled or (needs_no_undo and stands in (Stands.KEPT, Stands.IN_DOUBT))


def _second_effects(written: Written, plan: Plan, past: Past, steps: list[StepPast]) -> Iterator[Finding]:
    for step in steps:
        for at, late in second_effects(step, past.values.results.get(step.plan.index)):
            result = text_of(plan, step.plan.name, late.result)
            what = (
                f"at {moment(at)}, when it had been settled, call {late.attempt} was reported done as well: "
                f"a second effect may be live at its service, with the result {result}"
            )
            yield Finding(Kind.DOUBLE, what, written.task_id, step.plan.name)
