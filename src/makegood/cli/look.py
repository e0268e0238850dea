"""Commands that look: `list`, `show`, `history`, `why`. They change nothing."""

import shlex
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from makegood.cli import output
from makegood.cli.bulk import chosen, where_option
from makegood.cli.connect import connected, store_option, store_words
from makegood.cli.given import TEXT, Whole, as_misuse
from makegood.cli.nobody import Record, say_if_nobody_drives
from makegood.cli.times import COLUMNS, Diary
from makegood.client import Makegood, TaskPage
from makegood.client.legible import legible
from makegood.core.record import TaskState
from makegood.errors import MakegoodError
from makegood.reading.matching import state_number
from makegood.reading.story import story
from makegood.reading.waiting import waited_for, waiting_sentence
from makegood.reading.words import VERDICTS, WAITED_FOR, state_name
from makegood.store.checks import place_in_search

F = TypeVar("F", bound=Callable[..., Any])

STATES = [state_name(state) for state in TaskState]
TASK_COLUMNS = ("ID", "STATE", "PLAN", "CREATED", "WAITS FOR OR BECAUSE")
STEP_COLUMNS = ("STEP", "STATE", "RETRIES", "UNDO", "RESULT OR ERROR")
PAYLOADS = frozenset({"input", "output", "arguments", "result"})
LISTS = frozenset({"blocking", "inEffect", "inDoubt", "acts"})
IN_SHORT = (
    "taskId",
    "state",
    "paused",
    "reason",
    "waiting",
    "direction",
    "blocking",
    "inEffect",
    "inDoubt",
    "acts",
)

STEP_IN_SHORT = (
    "name",
    "state",
    "outcome",
    "idempotencyKey",
    "error",
    "probeError",
    "waiting",
    "compensation",
)


def json_option(command: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="JSON, for programs.")(command)


# --- many tasks


class _State(StringParamType):
    """The name of a state; what is none is told with the one that is meant by it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, in any case; a usage error for one that is none."""
        try:
            state_number(value)
        except MakegoodError as error:
            self.fail(str(error), param, ctx)
        return str(value)

    def shell_complete(self, _: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The states that begin so."""
        return [CompletionItem(name) for name in STATES if name.startswith(incomplete.capitalize())]


def _page(_: click.Context, __: click.Parameter, after: str | None) -> str | None:
    with as_misuse("--after"):
        place_in_search(after)
    return after


@click.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=_State(),
    metavar=f"[{'|'.join(STATES)}]",
    help="Only tasks in this state; may be repeated.",
)
@click.option("--plan", type=TEXT, metavar="NAME", help="Only tasks of this plan.")
@where_option
@click.option("--limit", type=Whole(min=1, max=10_000), default=100, show_default=True)
@json_option
@store_option
@click.option(
    "--after", metavar="NEXT", callback=_page, help="Go on after a former page: what its `next` says."
)
def list_tasks(
    states: Sequence[str],
    plan: str | None,
    terms: Sequence[str],
    limit: int,
    as_json: bool,
    after: str | None,
) -> int:
    """Tasks, newest first."""
    meant = [*terms, *[f"state={state}" for state in states], *([f"plan={plan}"] if plan else [])]
    where = chosen(meant)

    async def work(makegood: Makegood) -> TaskPage:
        page = await makegood.list(where, limit=limit, after=after)
        if as_json:
            output.document(page.tasks)
        elif page.tasks:
            output.table(TASK_COLUMNS, [task_row(task) for task in page.tasks])
            await say_if_nobody_drives(makegood, page)
        else:
            output.say(await _none_found(makegood, meant, where.plan))
        return page

    page = connected(work)
    if page.next is not None:
        output.say(f"there are more: {_next_page(meant, limit, page.next, as_json=as_json)}")
    return output.OK


async def _none_found(makegood: Makegood, terms: Sequence[str], plan: str | None) -> str:
    """That there is none; for a plan that none of the newest tasks is of, one whose name is near."""
    if not terms:
        return "no task yet; `makegood submit APP:PLAN INPUT` enters one"
    plans = {task["plan"] for task in await makegood.list()}
    near = [] if plan is None or plan in plans else get_close_matches(plan, plans, 1)
    told = f"no task with {', '.join(terms)}"
    return f"{told}; there are some of plan {near[0]}" if near else told


def _next_page(terms: Sequence[str], limit: int, after: str, *, as_json: bool) -> str:
    """The command that shows it, to be typed as it stands."""
    words = ["makegood", "list", *[word for term in terms for word in ("--where", term)]]
    words += ["--limit", f"{limit}", *(["--json"] if as_json else []), *store_words(), "--after", after]
    return shlex.join(words)


def task_row(task: Record) -> list[str]:
    """A task in a table of TASK_COLUMNS."""
    return [
        task["taskId"],
        task["state"],
        task["plan"],
        f"{task['createdAt'][:19]}Z" if "createdAt" in task else "",
        _waits_for(task) or task.get("reason", ""),
    ]


def _waits_for(task: Record) -> str:
    if "waiting" not in task:
        return ""
    pause = WAITED_FOR["pause"] if task["paused"] and task["waiting"]["for"] != "pause" else ""
    return ", then ".join(filter(None, (waited_for(task["waiting"]), pause)))


# --- one task


@click.command()
@click.argument("task_id", metavar="ID")
@click.option("--step", "name", type=TEXT, metavar="NAME", help="All of this step, such as its arguments.")
@json_option
@store_option
def show(task_id: str, name: str | None, as_json: bool) -> int:
    """A task's record.

    --json is the whole document.
    """
    record = connected(lambda makegood: makegood.task(task_id).record())
    if name is not None:
        _show_step(_step_called(name, record), as_json=as_json)
        return output.OK
    if as_json:
        output.document(record)
        return output.OK
    output.fields([(name, _said(name, value)) for name, value in record.items() if _to_be_shown(name, value)])
    output.data("")
    output.table(STEP_COLUMNS, [_step_row(step) for step in record["steps"]])
    return output.OK


def _step_called(name: str, record: Record) -> Record:
    for step in record["steps"]:
        if step["name"] == name:
            return dict(step)
    known = ", ".join(step["name"] for step in record["steps"])
    raise MakegoodError(
        f"task {record['taskId']}: plan {record['plan']} has no step {name!r}; it has {known}"
    )


def _show_step(step: Record, *, as_json: bool) -> None:
    if as_json:
        output.document(step)
        return
    undo = step.pop("compensation", {})
    lanes = [(name, name, value) for name, value in step.items()]
    lanes += [(f"undo's {name}", name, value) for name, value in undo.items()]
    output.fields([(title, _said(name, value)) for title, name, value in lanes])


def _to_be_shown(name: str, value: Any) -> bool:
    """All but the steps, and what is not so; payloads may be anything."""
    return name != "steps" and (name in PAYLOADS or value not in (False, []))


def _said(name: str, value: Any) -> str:
    if name in PAYLOADS:
        return _payload(value)
    if name == "waiting":
        return waiting_sentence(value)
    if name in LISTS:
        return ", ".join(value)
    if name == "tags":
        return ", ".join(f"{tag}={label}" for tag, label in value.items())
    return value if isinstance(value, str) else output.json_line(value)


def _payload(value: Any) -> str:
    return "nothing" if value is None else output.json_line(value)


def _step_row(step: Record) -> list[str]:
    undo = step.get("compensation")
    return [
        step["name"],
        _state(step),
        str(step["retryCount"]),
        undo["state"] if undo else "-",
        _last_word(step, undo or {}),
    ]


def _state(step: Record) -> str:
    """The state, with the outcome where that says more: `Failed, refused`; `in doubt` alone where nothing is
    under way and a person is asked."""
    if step.get("outcome") == "unknown" and step.get("waiting", {}).get("for") == "person":
        return "in doubt"
    more = {"unknown": "in doubt"} | {name: name for name in ("refused", "absent", "undone", "kept")}
    return ", ".join(filter(None, (step["state"], more.get(step.get("outcome", ""), ""))))


def _last_word(step: Record, undo: Record) -> str:
    came = _payload(step["result"]) if "result" in step else step.get("error", "")
    if "settledAs" in step:
        verdict = f"{step['settledBy']} says: {VERDICTS[step['settledAs']]}"
        return f"{came} ({verdict})" if "result" in step else verdict
    if "error" not in undo:
        return came
    return f"{came}; undo: {undo['error']}" if "result" in step else str(undo["error"])


@click.command()
@click.argument("task_id", metavar="ID")
@click.option("--limit", type=Whole(min=1), metavar="N", help="Only the newest N.")
@json_option
@store_option
def history(task_id: str, limit: int | None, as_json: bool) -> int:
    """What happened to a task: when, who, what.

    --json has every fact, its time to the millisecond.
    """
    snapshot = connected(lambda makegood: makegood.snapshot(task_id))
    newest = slice(None if limit is None else -limit, None)
    if as_json:
        output.document(snapshot.facts()[newest])
        return output.OK
    with legible(task_id):
        told = story(snapshot.plan, snapshot.rows)
    output.table(COLUMNS, Diary().rows(told[newest]))
    return output.OK


@click.command()
@click.argument("task_id", metavar="ID")
@json_option
@store_option
def why(task_id: str, as_json: bool) -> int:
    """What a task waits for, or how it ended.

    Since when, until when, what happens next, and what a person can do.
    """
    if not as_json:
        output.prose(connected(lambda makegood: makegood.task(task_id).why()))
        return output.OK
    record = connected(lambda makegood: makegood.task(task_id).record())
    short = {name: record[name] for name in IN_SHORT if name in record}
    output.document(
        short | {"steps": [_in_short(step) for step in record["steps"] if _is_told(step, record)]}
    )
    return output.OK


def _is_told(step: Record, record: Record) -> bool:
    outside = (*record.get("inEffect", ()), *record.get("inDoubt", ()))
    return "waiting" in step or step["name"] in outside


def _in_short(step: Record) -> Record:
    return {name: step[name] for name in STEP_IN_SHORT if name in step}


COMMANDS = (list_tasks, show, history, why)
