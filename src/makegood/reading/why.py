"""Why a task stands where it stands, in words: what `makegood why` prints."""

from collections.abc import Iterable, Iterator, Mapping

from makegood.core.events import Row
from makegood.core.plan import Millis, Plan, StepPlan
from makegood.core.record import (
    BY_KEY,
    ENDED,
    FORWARD_OPEN,
    UNDO_OPEN,
    Direction,
    Head,
    News,
    Open,
    Phase,
    TaskState,
)
from makegood.core.words import moment
from makegood.reading.past import Past, StepPast
from makegood.reading.payloads import text_of
from makegood.reading.standing import NOBODY_WAITS, OpenAct, in_doubt, in_effect, open_acts, second_effects
from makegood.reading.step_view import shown
from makegood.reading.under_way import Alive, open_steps, unclaimed, unread_of
from makegood.reading.view import VERSION_SHOWN, dated, reason_of
from makegood.reading.waiting import Waiting, awaited, task_waiting
from makegood.reading.words import VERDICTS, because, one_line, state_name

MEANING = VERDICTS | {
    "kept": "its effect may stand; it counts as settled",
    "left": "go on without it; it stays listed as in effect, and the task stays Failed",
    "retry": "try it again now, counting from the start",
    "skip": "go on as if it were done by hand",
    "cancel": "undo what was done",
    "resume": "lift its pause; it goes on once nothing else blocks it",
}
OUTCOMES = {
    "none": "never called",
    "done": "done",
    "refused": "refused",
    "absent": "certainly did not happen",
    "unknown": "may have happened",
    "undone": "undone",
    "kept": "kept as it is",
}


def why(
    plan: Plan,
    task_id: str,
    head: Head,
    rows: Iterable[tuple[int, Row]],
    *,
    now: Millis,
    alive: Alive | None = None,
) -> str:
    """What it waits for, since and until when, what happens next, and what a person can do; or how it ended.

    `alive` None: nothing is said of who is missing.
    """
    past = Past(plan, rows)
    lines = [f"{task_id} is {state_name(head.state)} (plan {plan.name} {plan.version[:VERSION_SHOWN]})"]
    reason = reason_of(plan, head)
    if reason:
        lines.append(f"  because    {reason}")
    waiting = task_waiting(plan, head, now)
    if waiting is not None:
        lines += _waits(plan, dated(waiting, past))
    if head.state in ENDED:
        lines += _ended(plan, head, past)
    elif head.state is TaskState.FAILED:
        lines += _parked(plan, task_id, head, past, now)
    else:
        lines += _remarks(plan, task_id, head, past, now)
        lines += open_steps(plan, task_id, head, past, now, alive)
        lines += _ways_out(plan, task_id, head, past, now, alive)
    return "\n".join(map(one_line, lines))


def _waits(plan: Plan, waiting: Waiting) -> Iterator[str]:
    yield f"  waits for  {awaited(plan, waiting)}"
    if waiting.since:
        yield f"  since      {moment(waiting.since)}"
    if waiting.until:
        yield f"  until      {moment(waiting.until)}"
    yield f"  next       {waiting.next}"


def _remarks(plan: Plan, task_id: str, head: Head, past: Past, now: Millis) -> Iterator[str]:
    """What holds for the task as a whole, whatever its steps wait for."""
    if head.paused:
        yield from _paused(past)
        yield f"`makegood resume {task_id}` lets it go on."
    if head.pending and plan.pivot is not None:
        yield f"It is to be undone: {head.pending}."
        yield f"Before that it must be known whether {plan.steps[plan.pivot].name}, its pivot, happened."
    yield from _deadlines(plan, head, now)
    for at, step in past.announced:
        whose = "Its deadline" if step < 0 else f"The deadline of {plan.steps[step].name}"
        yield f"{whose} was found passed at {moment(at)}; past the point of no return the task only goes on."


def _deadlines(plan: Plan, head: Head, now: Millis) -> Iterator[str]:
    """What comes of it if it is not done in time, as long as it may be undone for that."""
    if head.pivoted or head.pending or head.direction is Direction.UNDO:
        return
    once = "as soon as a process sees to it"
    if head.state is TaskState.FAILED:
        once = "once what is asked is settled"
    elif head.paused:
        once = "once it is resumed"
    if head.deadline and not head.deadline_heard:
        yield _deadline("Its deadline", head.deadline, now, once)
    for step, opened in head.open.items():
        if opened.deadline and head.marks[step] in FORWARD_OPEN:
            whose = f"The deadline of {plan.steps[step].name}"
            yield _deadline(whose, opened.deadline, now, once)


def _deadline(whose: str, at: Millis, now: Millis, once: str) -> str:
    if at > now:
        return f"{whose} is {moment(at)}: if it is not done by then, what was done is undone."
    return f"{whose} passed at {moment(at)}: what was done is undone, {once}."


def _paused(past: Past) -> Iterator[str]:
    if past.paused is not None:
        at, asked = past.paused
        yield f"Paused by {asked.by} at {moment(at)}{because(asked.why)}."


# --- it has ended


def _ended(plan: Plan, head: Head, past: Past) -> Iterator[str]:
    yield f"It ended at {moment(past.moved_at)}."
    yield from _list("Its steps", [(step.plan.name, _how_it_ended(step, head)) for step in past.steps])
    for step in past.steps:
        yield from _second_effects(plan, step, past)


def _second_effects(plan: Plan, step: StepPast, past: Past) -> Iterator[str]:
    """Late evidence of another effect beside the one on record: there is no plan for it, so it is told."""
    for at, report in second_effects(step, past.values.results.get(step.plan.index)):
        yield (
            f"Look at {step.plan.name}: at {moment(at)}, when it had been settled, call {report.attempt} was "
            f"reported done as well. A second effect may be live at its service, with the result "
            f"{text_of(plan, step.plan.name, report.result)}."
        )


def _how_it_ended(step: StepPast, head: Head) -> str:
    said = shown(step, head.open.get(step.plan.index))
    if step.phase is Phase.SKIPPED:
        return f"skipped by {step.settled_by}"
    if step.settled_as:
        return f"{VERDICTS[step.settled_as]}, says {step.settled_by}"
    error = step.do.error if said.outcome in ("refused", "absent", "none") else ""
    return OUTCOMES[said.outcome] + because(error)


def _list(title: str, entries: list[tuple[str, str]]) -> Iterator[str]:
    """A titled list in two columns; nothing at all when it is empty."""
    if entries:
        yield ""
        yield title
    width = max((len(left) for left, _ in entries), default=0)
    for left, right in entries:
        yield f"  {left:{width}}  {right}".rstrip()


# --- it is parked


def _parked(plan: Plan, task_id: str, head: Head, past: Past, now: Millis) -> Iterator[str]:
    yield from _paused(past)
    yield from _deadlines(plan, head, now)
    yield from _outside(plan, task_id, head, past)
    yield from _acts(plan, task_id, head, now)


def _outside(plan: Plan, task_id: str, head: Head, past: Past) -> Iterator[str]:
    """What stands at the services, and by which keys it is found there."""
    steps, doubtful = past.steps, in_doubt(plan, head)
    standing = [(steps[n].plan.name, _standing(steps[n])) for n in in_effect(plan, head)]
    yield from _list("In effect outside", standing)
    yield from _list("In doubt", [(steps[n].plan.name, _doubt(steps[n], head.open.get(n))) for n in doubtful])
    called = [steps[n].plan.name for n in doubtful if steps[n].do.called]
    if called:
        name = called[0] if len(called) == 1 else "NAME"
        yield f"`makegood show {task_id} --step {name}` tells with what it was called."


def _acts(
    plan: Plan, task_id: str, head: Head, now: Millis, unmade: Mapping[int, str] = NOBODY_WAITS
) -> Iterator[str]:
    open_to_you = open_acts(plan, task_id, head, now, unmade=unmade)
    acts = [(_command(task_id, act), _means(plan, head, act)) for act in open_to_you]
    yield from _list('What you can do (with --why "..." the history keeps your reason)', acts)
    if any(act.result for act in open_to_you):
        yield "JSON is what the step's action returns; APP is the app that has it, and checks it by its type."


def _standing(step: StepPast) -> str:
    undo = f"undo {step.plan.undo}" if step.plan.undo else "no undo"
    outcome = "kept" if step.phase is Phase.KEPT else "left" if step.phase is Phase.LEFT else "done"
    over = ", whose time is over" if step.undo.unread and step.phase is Phase.UNDO_STUCK else ""
    return f"{outcome}, key {step.do.key}; {undo}{over}{because(step.undo.error)}"


def _doubt(step: StepPast, opened: Open | None) -> str:
    """Which call nobody knows the outcome of, and why nobody can find out."""
    if opened is None:
        return "it may have been called since the backup that was put back"
    undo = step.phase is Phase.UNDO_STUCK or step.phase in UNDO_OPEN
    lane, what = (step.undo, f"undo {step.plan.undo}, ") if undo else (step.do, "")
    why_in_doubt = "it is to be called again"
    if step.phase not in BY_KEY:
        why_in_doubt = _why_in_doubt(step.plan, opened, lane.asked)
    return f"{what}key {lane.key}: {lane.error or 'no answer'}; {why_in_doubt}"


def _why_in_doubt(step: StepPlan, opened: Open, asked: str) -> str:
    """`asked` is what its probe said last."""
    if opened.news is News.CANNOT_TELL:
        return f"{step.probe} could not tell{because(asked)}, asked {opened.asks} times"
    if opened.news is News.REFUSED:
        return "a later call was refused, but an earlier one brought no answer"
    if opened.unkeyed:
        return "a call ran without its key, so it cannot be repeated"
    if step.keyed:
        return "its tries are used up" if step.keyed_for is None else "the service may no longer know its key"
    if step.probe:
        return f"{step.probe} has not been asked"
    return f"{step.agent} declares neither keys nor a probe, so it can be neither repeated nor asked about"


def _command(task_id: str, act: OpenAct) -> str:
    result = "--result JSON --app APP" if act.result else ""
    return " ".join(filter(None, ("makegood", act.verb, task_id, act.step, act.verdict, result)))


def _means(plan: Plan, head: Head, act: OpenAct) -> str:
    if act.corrects:
        return "put this result in the place of the recorded one"
    step = plan.steps[plan.index_of[act.step]] if act.step else None
    are = "is" if len(act.after) == 1 else "are"
    first = f", once {' and '.join(act.after)} {are} settled" if act.after else ""
    if act.again and step is not None:
        resumed = " and the task is resumed" if first else ", once the task is resumed"
        return f"{MEANING[act.verdict]}: {step.action} is called again{first}{resumed if head.paused else ''}"
    if act.turns:
        return f"{MEANING[act.verdict]}: what was done is undone{first}"
    if act.asks and step is not None:
        return f"ask {step.probe} again now"
    if act.verdict == "done" and step is not None and head.direction is Direction.UNDO:
        return "it happened, and " + (f"{step.undo} undoes it" if step.undo else "stays: it has no undo")
    if act.verb == "cancel" and not (in_doubt(plan, head) or in_effect(plan, head)):
        return f"end it; as it stands, nothing is to be undone{first}"
    needed = "; its result is used" if act.result else ""
    return MEANING[act.verdict or act.verb] + needed + first


# --- it is under way


def _ways_out(
    plan: Plan, task_id: str, head: Head, past: Past, now: Millis, alive: Alive | None
) -> Iterator[str]:
    """What a person can do about a task that does not go on though nothing of it failed."""
    steps = [step for step in past.steps if unread_of(step) or unclaimed(step, alive)]
    if steps:
        yield from _outside(plan, task_id, head, past)
        yield from _acts(plan, task_id, head, now, {step.plan.index: unread_of(step) for step in steps})
