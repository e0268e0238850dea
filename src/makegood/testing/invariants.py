"""What must hold at every commit, and when the world has settled. S1 to S14 name the invariants."""

from makegood.core import machine
from makegood.core.document import Retry, UndoRetry
from makegood.core.draft import Draft
from makegood.core.events import (
    Claimed,
    EvidenceFiled,
    HandedBack,
    Moved,
    Offered,
    Reply,
    Reported,
    Row,
    Surfaced,
    TaskMoved,
)
from makegood.core.legal import LEGAL, LEGAL_STATES
from makegood.core.plan import Millis, Parallel, Part, Plan, Series, StepPlan
from makegood.core.record import (
    CALL_OF,
    IN_EFFECT,
    KIND_OF,
    OFFER_OF,
    PLANNED,
    REPORTED,
    UNDO_OPEN,
    Direction,
    Head,
    Kind,
    Open,
    Phase,
    TaskState,
    decode_head,
    encode_head,
)
from makegood.reading.proof import refold
from makegood.testing.observer import Observer, Run

NOTHING_LEFT = frozenset(
    (
        Phase.IDLE,
        Phase.REFUSED,
        Phase.ABSENT,
        Phase.UNRESOLVED,
        Phase.SKIPPED,
        Phase.UNDONE,
        Phase.UNDONE_BLIND,
    )
)
"""Phases of which the record says: nothing of this step is in effect outside."""


def check_commit(run: Run, before: Head | None, draft: Draft, world: Observer) -> None:
    """One commit: moves, keys, numbers, order, parking and due time. Raises AssertionError."""
    _moves_are_legal(before, draft, world)
    run.numbers.take(draft.facts)
    machine.due(draft.plan, draft.head)
    if before is not None:
        _claims_are_due(run, draft, world)
        _keeps_policy(before, draft)
        assert draft.head.attempt >= before.attempt, "S5: the attempt counter fell"
    parks = (
        draft.head.state is TaskState.FAILED and before is not None and before.state is not draft.head.state
    )
    if parks and not world.frozen:
        flying = [step.name for step in run.plan.steps if world.may_land(run, step.index)]
        assert not flying, f"parked while a call of {flying} may still land"


def check_replay(run: Run, before: Head | None, draft: Draft) -> None:
    """S14: the events of a row, folded again at its moment, give the same facts and head, bit for bit."""
    stored = None if before is None else decode_head(run.stored)
    again = refold(draft.plan, draft.task_id, stored, Row(draft.now, "", draft.facts))
    assert encode_head(again.head) == encode_head(draft.head), "S14: another head on replay"


def _moves_are_legal(before: Head | None, draft: Draft, world: Observer) -> None:
    """S10: every move of a step and of the task is in the tables."""
    state = TaskState.RUNNING if before is None else before.state
    marks = bytearray(len(draft.marks)) if before is None else bytearray(before.marks)
    for fact in draft.facts:
        match fact:
            case TaskMoved(state=to):
                assert (state, to) in LEGAL_STATES, f"S10: {state.name} -> {to.name}"
                state = to
            case Moved(step=step, phase=phase):
                _legal(marks, step, phase, world)
                assert phase not in UNDO_OPEN or draft.step(step).undo, "S7: an undo where there is none"
            case Offered(step=step):
                _legal(marks, step, OFFER_OF[Phase(marks[step])], world)
            case Claimed(step=step):
                _legal(marks, step, CALL_OF[Phase(marks[step])], world)
            case _:
                pass
    assert (state, bytes(marks)) == (draft.head.state, bytes(draft.marks)), "the facts do not tell the moves"


def _legal(marks: bytearray, step: int, to: Phase, world: Observer) -> None:
    move = (marks[step], int(to))
    assert move in LEGAL, f"S10: {Phase(marks[step]).name} -> {to.name}"
    world.moves.add(move)
    marks[step] = to


def _claims_are_due(run: Run, draft: Draft, world: Observer) -> None:
    """S3, S7, S8, S9: who may begin a call, judged on the record it begins on."""
    for claim in [fact for fact in draft.facts if isinstance(fact, Claimed)]:
        plan, kind = run.plan.steps[claim.step], KIND_OF[draft.phase(claim.step)]
        if kind is Kind.DO:
            assert draft.head.direction is Direction.FORWARD, "S9: a forward claim after the turn"
            assert draft.head.start_at <= draft.now, "a call of a task that is to start later"
        if kind is not Kind.PROBE and not plan.keyed and not plan.reads and not world.frozen:
            assert not world.in_flight(run, claim.step), (
                f"S3: two calls of {plan.name} under way, without keys"
            )
        if kind is Kind.UNDO:
            told = draft.head.restored_at or _called(run, claim.step)
            assert told, f"S7: {plan.name} is undone though never called"
            _in_order(run, draft, claim.step)
            _no_forward_call(run, world)


def _keeps_policy(before: Head, draft: Draft) -> None:
    """L3: no more tries than the policy grants, pauses not shorter and not much longer than it says."""
    marks = bytearray(before.marks)
    for fact in draft.facts:
        if isinstance(fact, Moved):
            retried = marks[fact.step] in REPORTED and fact.phase in PLANNED
            marks[fact.step] = fact.phase
            opened, step = draft.head.open.get(fact.step), draft.step(fact.step)
            if retried and opened is not None and opened.retries > 0:
                undo = fact.phase is Phase.UNDO_PLANNED
                _paces(step.undo_retry if undo else step.retry, opened, fact.until - draft.now, draft)
                again = opened.retries + 1
                assert undo or draft.head.pivoted or again <= step.retry.attempts, f"L3: try {again}"


def _paces(policy: Retry | UndoRetry, opened: Open, pause: Millis, draft: Draft) -> None:
    longest = max(policy.cap, AFTER_PIVOT_SECONDS if draft.head.pivoted else 0)
    seconds = min(longest, policy.delay * policy.factor ** min(opened.retries - 1, 60))
    at_once = opened.retries == 1 and opened.doubt
    assert at_once or pause >= int(min(seconds, policy.cap) * 1000), f"L3: a pause of {pause} ms only"
    floor = max(0, opened.not_before - draft.now)
    assert pause <= max(floor, seconds * 1250 + 1), f"L3: a pause of {pause} ms"


AFTER_PIVOT_SECONDS = 600


def _called(run: Run, step: int) -> bool:
    """Whether a do of this step was claimed and not handed back."""
    dos = {f.attempt for row in run.rows for f in row.facts if isinstance(f, Offered) and f.kind is Kind.DO}
    claims = {f.attempt for row in run.rows for f in row.facts if isinstance(f, Claimed) and f.step == step}
    back = {f.attempt for row in run.rows for f in row.facts if isinstance(f, HandedBack)}
    return bool(dos & claims - back)


def _in_order(run: Run, draft: Draft, step: int) -> None:
    late = (EvidenceFiled, Surfaced)
    surfaced = {fact.step for row in run.rows for fact in row.facts if isinstance(fact, late)}
    surfaced |= {fact.step for fact in draft.facts if isinstance(fact, late)}
    for later in after(run.plan, step) - surfaced:
        mark = draft.marks[later]
        undone = mark not in UNDO_OPEN and not (mark in IN_EFFECT and run.plan.steps[later].undo)
        assert undone or later == step, f"S8: {run.plan.steps[step].name} before {run.plan.steps[later].name}"


def _no_forward_call(run: Run, world: Observer) -> None:
    """S9: forward calls that may be under way were waited out, unless their service is proof against them."""
    for flight in [] if world.frozen else world.flights_of(run.task_id):
        if flight.message.kind is Kind.DO and flight.on_its_way:
            service = run.services[flight.step]
            proof = (
                service.tombstone
                or service.step.reads
                or service.knows(flight.message.key, world.services_now)
            )
            assert proof or service.step.undo is None, f"S9: an undo while {service.step.name} is on its way"


def after(plan: Plan, step: int) -> set[int]:
    """The steps that stand after a step in the plan's structure."""

    def steps(part: Part) -> set[int]:
        match part:
            case Series(parts=parts) | Parallel(branches=parts):
                return set().union(*(steps(inner) for inner in parts))
            case number:
                return {number}

    def found(part: Part) -> set[int]:
        match part:
            case Series(parts=parts):
                at = next(n for n, inner in enumerate(parts) if step in steps(inner))
                return found(parts[at]).union(*(steps(later) for later in parts[at + 1 :]))
            case Parallel(branches=branches):
                return found(next(branch for branch in branches if step in steps(branch)))
            case _:
                return set()

    return found(plan.body)


# --- when nothing moves any more


def check_ledgers(run: Run) -> None:
    """S3: never a second booking, at any moment."""
    for service in run.services:
        assert service.most_live <= 1, f"S3: {service.step.name} was booked twice"


def check_settled(run: Run, world: Observer) -> None:
    """S1: how the task stands is how its services stand."""
    head = run.head
    assert head.state in (TaskState.COMPLETED, TaskState.COMPENSATED, TaskState.FAILED), "S1: it did not end"
    check_ledgers(run)
    for service, mark in zip(run.services, head.marks, strict=True):
        live, name, phase = len(service.live(run.task_id)), service.step.name, Phase(mark)
        nobody_knows = head.beyond and phase is Phase.IDLE and head.state is TaskState.FAILED
        if phase in NOTHING_LEFT and not nobody_knows:
            assert live == 0, f"S1: {name} is {phase.name} and in effect"
        if head.state is TaskState.COMPLETED:
            assert phase in (Phase.DONE, Phase.SKIPPED), f"S1: completed with {name} {phase.name}"
            assert phase is Phase.SKIPPED or service.step.reads or live == 1, (
                f"S1: {name} is done and not there"
            )
        if head.state is TaskState.COMPENSATED and service.step.undo is not None:
            assert live == 0 or phase is Phase.KEPT, f"S1: compensated with {name} {phase.name} in effect"
        if head.state is TaskState.COMPENSATED:
            assert not (service.step.pivot and live) or phase is Phase.KEPT, "S1: compensated after its pivot"
    if run.cancelled:
        assert head.state is not TaskState.COMPLETED, "S13: cancelled, and completed"


def check_nothing_silent(run: Run) -> None:
    """Where calls outlive their bound: a late effect whose report came is undone, in the record, or parked.

    (A double is what the bound is there to prevent: one step's record cannot hold two effects.)
    """
    told = [f for row in run.rows for f in row.facts if isinstance(f, Reported) and f.kind is Kind.DO]
    for step, (service, mark) in enumerate(zip(run.services, run.head.marks, strict=True)):
        results = {bytes(f.result) for f in told if f.step == step and f.reply is Reply.DONE}
        for effect in service.live(run.task_id) if service.most_live == 1 else ():
            if Phase(mark) in NOTHING_LEFT:
                assert bytes(effect.result) not in results, (
                    f"S6: {service.step.name} {Phase(mark).name}: silent"
                )


def parks_for_cause(run: Run, may_refuse: bool) -> None:
    """P1: a task is parked for what only a person can settle, and for nothing else.

    `may_refuse`: its services may have said no.
    """
    causes = [_asks_a_person(run, step, may_refuse) for step in run.plan.steps]
    assert any(causes), f"P1: parked for nothing: {list(run.head.marks)} {run.head.reason}"


def _asks_a_person(run: Run, step: StepPlan, may_refuse: bool) -> bool:
    head, service = run.head, run.services[step.index]
    opened, phase = head.open.get(step.index), Phase(head.marks[step.index])
    may_refuse = may_refuse or service.refuses
    blind = not step.reads and step.probe is None and (not step.keyed or step.keyed_for is not None)
    asked_in_vain = opened is not None and opened.asks >= step.asks
    unkeyed = opened is not None and opened.unkeyed
    match phase:
        case Phase.DOUBT:
            out_of_tries = opened is not None and opened.retries + 1 >= step.retry.attempts
            no_way_back = head.pivoted or step.pivot
            cut_off_late = step.pivot and opened is not None and opened.late > 0
            in_vain = no_way_back and (out_of_tries or may_refuse or cut_off_late)
            return blind or asked_in_vain or unkeyed or in_vain
        case Phase.UNDO_STUCK:
            out_of_time = step.undo_retry.within < FOR_EVER
            return blind or asked_in_vain or unkeyed or out_of_time or service.refuses_undo
        case Phase.REFUSED | Phase.ABSENT | Phase.UNRESOLVED | Phase.SPOILED:
            return head.pivoted and may_refuse
        case _:
            return phase is Phase.LEFT


FOR_EVER = 1e8
"""Seconds: an undo with so long a policy does not run out of time here."""
