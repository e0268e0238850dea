"""What stands outside because of a task, and what a person can do about it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from makegood.core.document import references
from makegood.core.draft import Draft
from makegood.core.events import (
    NULL,
    Act,
    CancelAsked,
    Inspected,
    Reply,
    Reported,
    ResolveAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
    Verdict,
)
from makegood.core.lanes import FAILED_FOR_GOOD
from makegood.core.machine import fold
from makegood.core.plan import Millis, Plan, StepPlan
from makegood.core.record import (
    ASKS_A_PERSON,
    CERTAINLY_NOT,
    ENDED,
    FORWARD_OPEN,
    OPEN,
    UNDO_OPEN,
    Direction,
    Head,
    Kind,
    Phase,
)
from makegood.errors import ActRefused
from makegood.reading.past import StepPast
from makegood.reading.words import CORRECTED

ASKED_AGAIN = (Phase.PROBE_PLANNED, Phase.CHECK_PLANNED)
OF_UNDOS = (Verdict.UNDONE, Verdict.KEPT, Verdict.LEFT, Verdict.ABSENT, Verdict.DONE)
TO_UNDO = UNDO_OPEN | {Phase.UNDO_STUCK}
NOBODY_WAITS: Mapping[int, str] = MappingProxyType({})
NOBODY = "?"
"""The name under which it is only tried whether an act would be taken."""


def blocking(head: Head) -> list[int]:
    """The steps that only a person can move on."""
    asks = {*ASKS_A_PERSON, Phase.LEFT}
    if head.direction is Direction.FORWARD and head.pivoted:
        asks |= FAILED_FOR_GOOD
    return [step for step, mark in enumerate(head.marks) if mark in asks]


def in_doubt(plan: Plan, head: Head) -> list[int]:
    """The steps of which nobody knows whether they are in effect outside."""
    return [step.index for step in plan.steps if not step.reads and _doubtful(head, step.index)]


def in_effect(plan: Plan, head: Head) -> list[int]:
    """The steps that certainly are in effect outside, and those that were left or kept so."""
    return [step.index for step in plan.steps if not step.reads and _stands(head, step.index)]


def _doubtful(head: Head, step: int) -> bool:
    phase, opened = Phase(head.marks[step]), head.open.get(step)
    if phase is Phase.IDLE and head.beyond:
        return head.state not in ENDED  # it may have been called since the backup that was put back
    if opened is not None and (phase in UNDO_OPEN or phase is Phase.UNDO_STUCK):
        return opened.doubt or opened.fate == Phase.UNKNOWN
    if opened is not None and phase is not Phase.LEFT:
        return opened.doubt or phase is Phase.DOUBT
    return phase is Phase.UNKNOWN


def _stands(head: Head, step: int) -> bool:
    phase = Phase(head.marks[step])
    if phase in UNDO_OPEN or phase is Phase.UNDO_STUCK:
        return not _doubtful(head, step)
    return phase in (Phase.DONE, Phase.SPOILED, Phase.LEFT, Phase.KEPT)


# --- a second effect of one step

_UNSETTLED = OPEN - {Phase.LEFT}
_NOTHING = CERTAINLY_NOT | {Phase.SKIPPED}
_HAPPENED = (Reply.DONE, Reply.SPOILED)


def second_effects(step: StepPast, result: msgspec.Raw | None) -> list[tuple[Millis, Reported]]:
    """Late reports of a settled step that prove an effect which the record holds no plan for.

    `result` is the recorded one. Where a probe or a person told of the effect on record, the first late
    report that may be of that effect is taken for it. What was undone after it came to light is none.
    """
    if step.plan.reads or step.phase in _UNSETTLED:
        return []
    happened = [(at, late) for at, late in step.evidence if late.kind is Kind.DO and late.reply in _HAPPENED]
    if step.phase in _NOTHING:
        return happened
    on_record, others = step.accepted, []
    for at, late in happened if len(step.calls) > 1 else ():
        if not on_record and _fits(late, result):
            on_record = late.attempt
        elif late.attempt != on_record and not _same_by_key(step, late, result):
            others.append((at, late))
    return [(at, late) for at, late in others if late.attempt not in step.undone_late]


def _fits(late: Reported, result: msgspec.Raw | None) -> bool:
    """Whether, by its result, a late report may be of the effect on record."""
    return result is None or late.reply is Reply.SPOILED or bytes(late.result) == bytes(result)


def _same_by_key(step: StepPast, late: Reported, result: msgspec.Raw | None) -> bool:
    """Whether the key made it one effect. A service that forgets keys is believed only on the same result."""
    keyed = step.plan.keyed and not step.unkeyed and step.calls.get(late.attempt) == step.do.round
    return keyed and (step.plan.keyed_for is None or _fits(late, result))


# --- what a person can do


class OpenAct(msgspec.Struct, frozen=True):
    """An act the core would take now; `result`: it must bring the step's result, as a later step uses it;
    `corrects`: in the place of the one on record; `asks`: it has the step's probe asked again; `again`: the
    step is called again, `turns`: the task is undone for it; `after`: the steps that a person must settle
    before anything follows from it."""

    verb: str
    step: str = ""
    verdict: str = ""
    result: bool = False
    corrects: bool = False
    asks: bool = False
    again: bool = False
    turns: bool = False
    after: tuple[str, ...] = ()


def open_acts(
    plan: Plan, task_id: str, head: Head, now: Millis, *, unmade: Mapping[int, str] = NOBODY_WAITS
) -> list[OpenAct]:
    """Every act that would move a task on: tried on the core itself, so that the two never differ.

    `unmade` are the steps whose call waits for an agent that can make it, and why it was handed back.
    """
    found = list(_corrections(plan, task_id, head, now, unmade))
    waiting = dict.fromkeys([*blocking(head), *unmade])
    tries = [(act, event) for step in waiting for act, event in _acts_on(plan, head, step)]
    tries += [(OpenAct("resume"), ResumeAsked(NOBODY)), (OpenAct("cancel"), CancelAsked(NOBODY))]
    known = {(act.step, act.verdict) for act in found}
    for act, event in tries:
        if (act.step, act.verdict) in known:
            continue
        draft = Draft(plan, task_id, head, now)
        if _taken(draft, event):
            found.append(_with_what_follows(act, event, draft, waiting))
        elif isinstance(event, SkipAsked) or act.verdict == Verdict.DONE.value:
            with_result = msgspec.structs.replace(event, given=(NULL,))
            if _taken(Draft(plan, task_id, head, now), with_result):
                found.append(msgspec.structs.replace(act, result=True))
    return found


def _corrections(
    plan: Plan, task_id: str, head: Head, now: Millis, unmade: Mapping[int, str]
) -> Iterator[OpenAct]:
    """Whose results could be corrected, so that these steps' calls can be read."""
    unread = {name for step, why in unmade.items() for name in _unread_results(plan.steps[step], why)}
    for step in plan.steps:
        act = ResolveAsked(step.index, Verdict.DONE, NOBODY, given=(NULL,))
        held = head.marks[step.index] not in FORWARD_OPEN
        if held and step.name in unread and _taken(Draft(plan, task_id, head, now), act):
            yield OpenAct("resolve", step.name, Verdict.DONE.value, result=True, corrects=True)


def _unread_results(step: StepPlan, why: str) -> Iterator[str]:
    """The steps whose results do not fit, by the path in the agent's word: the step itself, or those that a
    parameter is made of."""
    if re.match(rf"the result of {step.name}[.:\[]", why):
        yield step.name
    found = re.match(rf"{re.escape(f'{step.agent}/{step.action}')}\.(\w+)", why)
    if found is not None:
        yield from (name for name, _ in references(step.args.get(found[1])))


def _acts_on(plan: Plan, head: Head, step: int) -> Iterator[tuple[OpenAct, Act]]:
    """The likeliest first: of an undo it is hardly ever asked whether its step happened."""
    name = plan.steps[step].name
    for verdict in OF_UNDOS if head.marks[step] in TO_UNDO else Verdict:
        if verdict is Verdict.DONE and head.marks[step] in CORRECTED:
            continue  # that only brings another result: see _corrections
        yield OpenAct("resolve", name, verdict.value), ResolveAsked(step, verdict, NOBODY)
    yield OpenAct("retry", name), RetryAsked(step, NOBODY)
    yield OpenAct("skip", name), SkipAsked(step, NOBODY)


def _with_what_follows(act: OpenAct, event: Act, draft: Draft, waiting: Iterable[int]) -> OpenAct:
    """The act, taken in `draft`, with what it leads to."""
    match event:
        case RetryAsked(step=step):
            return msgspec.structs.replace(act, asks=draft.phase(step) in ASKED_AGAIN)
        case CancelAsked():
            pivot = () if draft.plan.pivot is None else (draft.step(draft.plan.pivot).name,)
            after = pivot if draft.head.pending else _asked_first(draft, waiting)
            return msgspec.structs.replace(act, after=after)
        case ResolveAsked(step=step, verdict=Verdict.ABSENT) if draft.forward:
            after = _asked_first(draft, waiting)
            fold(draft, Inspected())
            again = draft.phase(step) is Phase.PLANNED
            return msgspec.structs.replace(act, again=again, turns=not draft.forward, after=after)
        case _:
            return act


def _asked_first(draft: Draft, waiting: Iterable[int]) -> tuple[str, ...]:
    """The steps of these that still ask a person, now that an act is taken."""
    return tuple(draft.step(step).name for step in waiting if draft.phase(step) in ASKS_A_PERSON)


def _taken(draft: Draft, act: Act) -> bool:
    try:
        return fold(draft, act)
    except ActRefused:
        return False


def acts_in_words(acts: list[OpenAct]) -> list[str]:
    """As the record lists them: `resolve reserve_car done|absent`, `retry reserve_car`, `cancel`."""
    verdicts: dict[tuple[str, str], list[str]] = {}
    for act in acts:
        verdicts.setdefault((act.verb, act.step), []).append(act.verdict)
    return [" ".join(filter(None, (verb, step, "|".join(said)))) for (verb, step), said in verdicts.items()]
