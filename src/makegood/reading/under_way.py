"""What each open step of a task waits for, in sentences: of `why`, for a task that is under way."""

from collections.abc import Iterator

import msgspec

from makegood.core.plan import Millis, Plan, StepPlan
from makegood.core.record import CALLED, KIND_OF, OFFERED, PLANNED, Head, Kind, News, Open, Phase
from makegood.core.words import moment
from makegood.reading.past import Past, StepPast
from makegood.reading.waiting import Waiting, overrun, task_waiting, waiting_of
from makegood.reading.words import VERDICTS, because, call_of, news_of


class Alive(msgspec.Struct, frozen=True):
    """What the living processes on this store are and can do: roles, and "agent/action"."""

    roles: frozenset[str]
    actions: frozenset[str]


def open_steps(
    plan: Plan, task_id: str, head: Head, past: Past, now: Millis, alive: Alive | None
) -> Iterator[str]:
    """A sentence of each open step that has more to say than what was said of the task."""
    told = task_waiting(plan, head, now)
    for step in past.steps:
        waiting = waiting_of(plan, head, step.plan.index, now)
        if waiting is not None and (waiting.on != "pause" or unread_of(step)):
            words = _sentences(task_id, head, step, waiting, told, alive)
            if waiting != told or words != f"{waiting.next}.":
                yield f"{step.plan.name}: {words}"


def unread_of(step: StepPast) -> str:
    """Why its agent handed the step's call back, as long as nobody has claimed it again."""
    return step.lane.unread if step.phase in PLANNED | OFFERED else ""


def unclaimed(step: StepPast, alive: Alive | None) -> bool:
    """Whether its call is offered to living processes of which none has its action."""
    if step.phase not in OFFERED or alive is None or "agent" not in alive.roles:
        return False
    return not _has(alive, step.plan)


def _has(alive: Alive, step: StepPlan) -> bool:
    return f"{step.agent}/{step.action}" in alive.actions


def _sentences(
    task_id: str, head: Head, step: StepPast, waiting: Waiting, told: Waiting | None, alive: Alive | None
) -> str:
    """What is said of an open step; `told` is what was said of the task."""
    opened = head.open.get(step.plan.index, Open())
    call = call_of(step.plan, KIND_OF.get(step.phase, Kind.DO))
    since, until = moment(waiting.since), moment(waiting.until)
    match waiting.on:
        case "pause":
            return _handed_back(step, call, "once the task is resumed")
        case "agent" | "backoff" | "scheduler" if unread_of(step) and step.phase in PLANNED:
            return _handed_back(step, call, f"at {until}" if waiting.until else "now")
        case "lease":
            return _under_way(step, opened, f"calling {call}", waiting, told)
        case "probe" if step.phase in CALLED:
            return _under_way(step, opened, f"asking the service with {call}", waiting, told)
        case "probe":
            told_it = f"the service could not tell{because(opened.error)}"
            return f"{told_it}; {call} asks again at {until}{_unless_told(task_id, step)}."
        case "backoff":
            now = f"or now by `makegood retry {task_id} {step.plan.name}`"
            again = f"{call} is tried again at {until} ({_retry(head, step, opened)}), {now}"
            return f"{_last_word(step, opened)}; {again}."
        case "waitOut" if step.phase not in PLANNED and waiting == told:
            return f"{_last_word(step, opened)}."
        case "waitOut" if step.phase not in PLANNED:
            before = f"nobody acts before {until}: " if waiting.until else ""
            return f"{_last_word(step, opened)}; {before}{waiting.next}."
        case "agent":
            offered = f"{call} has been offered since {since}, and no agent has claimed it."
            before = f" It was handed back before: {unread_of(step)}." if unread_of(step) else ""
            return f"{offered}{before} {_who_can(step.plan, alive)}".rstrip()
        case "supervisor" | "scheduler":
            said = news_of(opened) if waiting.on == "scheduler" else ""
            return f"{said}{said and '; '}{waiting.next}.{_missing(waiting.on, alive)}"
        case _:
            return f"{waiting.next}."


def _under_way(step: StepPast, opened: Open, doing: str, waiting: Waiting, told: Waiting | None) -> str:
    agent, since = step.plan.agent, moment(waiting.since)
    if overrun(opened):
        return f"{agent} has been {doing} since {since}, past its timeout, and cannot be stopped."
    times = "" if waiting == told else f", since {since} and until {moment(waiting.until)} at the latest"
    again = f" (retry {opened.retries} after: {_last_word(step, opened)})" if opened.retries else ""
    return (
        f"{agent} is {doing}{times}{again}. "
        "Meanwhile the agent renews a short lease: should it fall silent, "
        f"that ends at {moment(opened.due)}, and a supervisor takes over."
    )


def _unless_told(task_id: str, step: StepPast) -> str:
    if step.phase is not Phase.PROBE_PLANNED:
        return ""
    resolved = f"`makegood resolve {task_id} {step.plan.name} done|absent`"
    return f", unless somebody who has looked there says before whether it happened: {resolved}"


def _last_word(step: StepPast, opened: Open) -> str:
    """What was said last of its call; where that was a person's word, no longer what the call itself said."""
    if opened.news is News.ABSENT and step.settled_as:
        return f"{VERDICTS[step.settled_as]}, says {step.settled_by}"
    return news_of(opened) or "nobody knows how its call ended"


def _retry(head: Head, step: StepPast, opened: Open) -> str:
    if step.phase is Phase.PLANNED and not head.pivoted:
        return f"retry {opened.retries} of {step.plan.retry.attempts - 1}"
    return f"retry {opened.retries}"


def _handed_back(step: StepPast, call: str, when: str) -> str:
    agent = step.plan.agent
    return (
        f"{agent} handed {call} back unsent: {unread_of(step)}. No retry is counted; it is offered again "
        f"{when}. Deploy code whose agent {agent} can make it: a process that starts has it offered at once; "
        "or choose from what is said below."
    )


def _who_can(step: StepPlan, alive: Alive | None) -> str:
    if alive is None:
        return ""
    if _has(alive, step):
        return f"A living process has {step.agent}/{step.action}: it claims the call when it has room."
    return (
        f"No living process has {step.agent}/{step.action}. Start one: `makegood up APP`, where APP holds "
        f'Agent("{step.agent}") with the action {step.action}.'
    )


def _missing(role: str, alive: Alive | None) -> str:
    if alive is None or role in alive.roles:
        return ""
    return f" No {role} is alive on this store; start one: `makegood up APP`."
