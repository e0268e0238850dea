"""What is well or not with those who work on a store, and with the tasks that wait for them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from makegood.core.plan import Millis
from makegood.health.line import Line, broken, ok, warn
from makegood.health.work import Due, HandedBack, Work
from makegood.reading.words import WAITED_FOR, span
from makegood.store.protocol import Member

STUCK: Millis = 60_000
"""A task that is due for longer, though those it waits for live, is stuck."""
NAMED = 5
"""Tasks that a line names."""

ROLE_OF = {"scheduler": "scheduler", "supervisor": "supervisor", "waitOut": "supervisor"}
"""Which role moves on what waits for this."""


def lines_of_people(members: Sequence[Member], work: Work, now: Millis) -> Iterator[Line]:
    """Who lives, whether they agree, and whether anybody sees to what is due."""
    yield _members(members, work)
    yield from _versions(members)
    yield _tasks(work)
    yield from _missing(members, work.due)
    yield from _stuck(members, work.due, now)
    yield from _handed_back(work.handed_back, now)
    yield from _parked(work)


def _members(members: Sequence[Member], work: Work) -> Line:
    if members:
        roles = sorted({role for member in members for role in member.roles})
        return ok("processes", f"{len(members)} alive: {', '.join(roles)}")
    if work.under_way:
        return warn("processes", "none is alive", "start one: `makegood up APP`")
    return ok("processes", "none is alive, and no task is under way")


def _versions(members: Sequence[Member]) -> Iterator[Line]:
    """Processes that have the same action in different forms."""
    hosts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for member in members:
        for action, signature in member.actions.items():
            hosts[action][signature].append(f"{member.host} (pid {member.pid})")
    for action, known in sorted(hosts.items()):
        if len(known) > 1:
            told = "; ".join(f"{signature} at {', '.join(places)}" for signature, places in known.items())
            yield warn(
                "versions",
                f"{action} is alive in {len(known)} forms: {told}",
                "during a deploy that is how it is; else end the process with the old code",
            )


def _tasks(work: Work) -> Line:
    told = f"{work.under_way} under way, {work.parked} parked"
    if work.more:
        told += "; only the newest were looked at"
    if not work.illegible:
        return ok("tasks", told)
    named = "; ".join(f"{task_id}: {why}" for task_id, why in list(work.illegible.items())[:NAMED])
    return broken(
        "tasks",
        f"{told}; {len(work.illegible)} cannot be read: {named}",
        "`makegood audit ID` says what in a record does not hold; a backup of the store has it as it was",
    )


def _missing(members: Sequence[Member], due: Sequence[Due]) -> Iterator[Line]:
    """What is due and waits for somebody who is not there."""
    waiting: dict[str, list[str]] = defaultdict(list)
    for each in due:
        if lacking := _lacking(each, members):
            waiting[lacking].append(each.task_id)
    for lacking, tasks in sorted(waiting.items()):
        yield broken(
            "due", f"{_some(tasks)} for {lacking}, and none is alive", "start one: `makegood up APP`"
        )


def _lacking(due: Due, members: Sequence[Member]) -> str:
    """Who would have to be there for this task, and is not; "" where somebody is."""
    if due.waits_for == "agent":
        if any(due.action in member.actions for member in members):
            return ""
        agent = due.action.partition("/")[0]
        without = any(name.startswith(f"{agent}/") for member in members for name in member.actions)
        return f"an agent that has {due.action}" + (f" ({agent} is alive without it)" if without else "")
    role = ROLE_OF.get(due.waits_for, "")
    here = not role or any(role in member.roles for member in members)
    return "" if here else f"a {role}"


def _stuck(members: Sequence[Member], due: Sequence[Due], now: Millis) -> Iterator[Line]:
    """What has been due for long, though those it waits for are there."""
    kinds: dict[str, list[Due]] = defaultdict(list)
    for each in due:
        if members and now - each.since > STUCK and not _lacking(each, members):
            kinds[each.waits_for].append(each)
    for kind, tasks in sorted(kinds.items()):
        tell = warn if kind == "agent" else broken  # agents may have more to do than they have slots
        longest = span(now - min(each.since for each in tasks))
        yield tell(
            "stuck",
            f"{_some([each.task_id for each in tasks])} for {WAITED_FOR[kind]}, due for up to {longest}, "
            "though processes are alive",
            "`makegood why ID` says more; the logs of those processes may say why they do not see to it",
        )


def _handed_back(back: Sequence[HandedBack], now: Millis) -> Iterator[Line]:
    """What the agents that live have not been able to call for long."""
    actions: dict[str, list[HandedBack]] = defaultdict(list)
    for each in back:
        if now - each.since > STUCK:
            actions[each.action].append(each)
    for action, found in sorted(actions.items()):
        yield broken(
            "handed back",
            f"{_some([each.task_id for each in found])} for an agent that can make the call: {action} handed "
            f"it back unsent, as {found[0].why}",
            f"deploy a {action} that can; `makegood why ID` says what else there is",
        )


def _parked(work: Work) -> Iterator[Line]:
    if work.parked:
        verb = "waits" if work.parked == 1 else "wait"
        yield warn(
            "parked",
            f"{work.parked} {verb} for a person",
            "`makegood list --state Failed` shows them, `makegood why ID` what they ask",
        )


def _some(tasks: Sequence[str]) -> str:
    named = ", ".join(tasks[:NAMED])
    more = f" and {len(tasks) - NAMED} more" if len(tasks) > NAMED else ""
    return f"{named}{more} {'waits' if len(tasks) == 1 else 'wait'}"
