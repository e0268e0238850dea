"""Commands that need what a user wrote: `up`, `submit`; and `migrate`, `demo`."""

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import NoneType
from typing import Any

import click

from makegood.alerts import Command, Hook, WebHook
from makegood.authoring.agent import Agent
from makegood.authoring.loading import add_new, load_app
from makegood.cli import output
from makegood.cli.connect import connected, given_codec, is_there, path_of, store_option, store_url
from makegood.cli.given import LENGTHS, TEXT, Length, Whole, as_misuse, moment_given, read_json
from makegood.cli.lines import Terms
from makegood.cli.look import json_option
from makegood.cli.many import submit_lines
from makegood.cli.nobody import say_if_nobody_is_up
from makegood.cli.planned import example_of, is_document, plan_of_app
from makegood.cli.watch import wait_for
from makegood.client import Makegood, Task
from makegood.clock import SystemClock
from makegood.core.plan import Plan
from makegood.core.words import moment
from makegood.errors import PlanError, StoreError
from makegood.logs import JsonLines
from makegood.reading.words import one_line
from makegood.runtime.process import run_up
from makegood.store.url import open_store

log = logging.getLogger("makegood.cli")

TEXT_LINE = "%(asctime)s %(levelname)s %(message)s"
REQUEST_LOGGERS = ("aiohttp", "botocore", "httpcore", "httpx", "urllib3")
"""Libraries that log the address of each request, with whatever stands in it: secrets, too."""


@click.command()
@click.argument("apps", metavar="APP...", nargs=-1, required=True)
@click.option(
    "--audit-every",
    type=Length(min=0, min_open=True),
    metavar="TIME",
    help=f"Audit the store so often; what is newly found is a warning in the log. {LENGTHS}.",
)
@click.option(
    "--alert-command",
    "commands",
    multiple=True,
    metavar="COMMAND",
    help="Run this, which no shell reads, for each task that is parked: JSON for a person on its stdin; may "
    "be repeated.",
)
@click.option(
    "--alert-url",
    "addresses",
    multiple=True,
    metavar="URL",
    help="Post the same to this address; may be repeated.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Lines of text, or of JSON with taskId, step, kind and attempt.",
)
@store_option
def up(
    apps: Sequence[str],
    audit_every: float | None,
    commands: Sequence[str],
    addresses: Sequence[str],
    log_format: str,
) -> int:
    """Run every role in one process.

    Scheduler, supervisor and the agents found in APP run until SIGTERM. APP is a module, a path.py (every
    Agent at its top level), or module:attr. Several processes on one store are safe.

    Exits 0 after SIGTERM; 75 where it ended itself because a thread, a call or a lifespan could not be
    stopped: start it again.
    """
    _log_to_stderr(JsonLines() if log_format == "json" else _TextLines(TEXT_LINE))
    with as_misuse():
        alerts: list[Hook] = [*map(Command, commands), *map(WebHook, addresses)]
    return run_up(store_url(), agents_of(apps), audit_every=audit_every, alerts=alerts, codec=given_codec())


class _TextLines(logging.Formatter):
    """A record as a line of text, its moment in UTC as all that people are shown; no control characters,
    which a service may have sent."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(one_line, super().format(record).split("\n")))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        return moment(int(record.created * 1_000))


def _log_to_stderr(form: logging.Formatter) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(form)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in REQUEST_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)  # an app that wants them says so when it is loaded


def agents_of(apps: Sequence[str]) -> list[Agent]:
    """The agents of all apps; raises PlanError when there are none, or two of one name."""
    found: dict[str, Agent] = {}
    for app in filter(is_document, apps):
        raise PlanError(f"{app}: a plan document has no agents; name an APP that has, as in app.py")
    loaded = [load_app(app) for app in apps]
    for app, each in zip(apps, loaded, strict=True):
        for agent in each.agents.values():
            add_new(found, agent, app)
    if not found:
        raise PlanError(
            f"{', '.join(apps)}: no Agent is found there, so there is nothing to run; name an app with one"
        )
    for agent in found.values():
        if not agent.actions:
            log.warning("agent %s has no action, so that nothing is ever called by it", agent.name)
    for each in loaded:
        for plan in each.plans.values():
            _say_what_is_missing(plan.plan, found)
    return list(found.values())


def _say_what_is_missing(plan: Plan, agents: Collection[str]) -> None:
    """Whoever starts one process for all would wait in silence for another one."""
    missing = sorted({f"{step.agent}/{step.action}" for step in plan.steps if step.agent not in agents})
    if missing:
        log.info("plan %s needs %s of another process: no app here has it", plan.name, ", ".join(missing))


@click.command()
@click.argument("plan", metavar="APP:PLAN")
@click.argument("input", required=False)
@click.option("--id", "task_id", metavar="ID", help="The task's id; without it one is made.")
@click.option(
    "--deadline",
    type=Length(min=0, min_open=True),
    metavar="TIME",
    help=f"Undo the task unless it has completed so long from its start. {LENGTHS}.",
)
@click.option(
    "--start-at", metavar="TIME", help="Not before 2027-01-31T08:00:00Z, say, or 90s, 10m, 2h, 3d from now."
)
@click.option(
    "--tag", "tags", type=TEXT, multiple=True, metavar="K=V", help="A tag for lists; may be repeated."
)
@click.option("--wait", is_flag=True, help="Wait for the task, print its output, exit 0, 10, 20 or 30.")
@click.option("--timeout", type=Length(min=0), metavar="TIME", help="Wait at most so long.")
@click.option(
    "--many",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="A task for each line of FILE (- for stdin).",
)
@json_option
@store_option
def submit(
    plan: str,
    input: str | None,
    task_id: str | None,
    deadline: float | None,
    start_at: str | None,
    tags: Sequence[str],
    wait: bool,
    timeout: float | None,
    many: str | None,
    as_json: bool,
) -> int:
    """Enter a task; prints its id, and with --wait its output.

    --json is one document, with the id and how it ended; with --many a line for each task.

    INPUT is JSON, @file, or - for stdin; a plan without input takes none.

    The same id, plan and input again is the existing task.

    With --many each line of FILE is {"input": ..., "id": "...", "tags": {...}, "start_at": "...", "deadline":
    S}; what a line leaves out the options say for all. Every line is checked before any task is entered; then
    1,000 at a time, those with the same terms in one commit.
    """
    if timeout is not None and not wait:
        raise click.UsageError("--timeout is for --wait")
    start = None if start_at is None else moment_given(start_at, "--start-at")
    terms = Terms(deadline, start, _tags(tags))
    definition = plan_of_app(plan)
    if many is not None:
        if wait or task_id is not None or input is not None:
            raise click.UsageError("--many takes no INPUT, --id or --wait: each line has its own")
        return submit_lines(definition, many, terms, as_json=as_json)
    if input is None and definition.input_type is not NoneType:
        raise click.UsageError(f"plan {definition.name} takes an input: INPUT is missing")
    raw = b"null" if input is None else read_json(input, "INPUT", example_of(definition))

    async def enter(makegood: Makegood) -> Task[Any]:
        return await makegood.submit_json(definition, raw, task_id=task_id, **terms._asdict())

    passed = isinstance(start, datetime) and start.timestamp() * 1000 <= SystemClock().wall()
    remark = f"--start-at {start_at} has passed: it starts at once" if passed else ""
    return _enter_one(enter, remark, wait=wait, timeout=timeout, as_json=as_json)


def _enter_one(
    enter: Callable[[Makegood], Awaitable[Task[Any]]],
    remark: str,
    *,
    wait: bool,
    timeout: float | None,
    as_json: bool,
) -> int:
    """Enter a task, and tell of it, or of what became of it."""

    async def work(makegood: Makegood) -> int:
        task = await enter(makegood)
        if not (as_json and wait):
            told = {"taskId": task.task_id, "existed": task.existed}
            output.done(output.json_line(told) if as_json else task.task_id, f"{task.task_id} is entered")
        if task.existed:
            output.say(
                f"{task.task_id} was there already{await _state(task)}: its deadline, start and tags stay"
            )
        elif remark:
            output.say(remark)
        await say_if_nobody_is_up(makegood, [task.task_id])
        return await wait_for(makegood, task, timeout, as_json=as_json) if wait else output.OK

    return connected(work, first=enter)


async def _state(task: Task[Any]) -> str:
    """How it stands, for a sentence; nothing where its record cannot be read."""
    with suppress(StoreError):
        return f" and is {(await task.record())['state']}"
    return ""


def _tags(given: Sequence[str]) -> dict[str, str]:
    tags: dict[str, str] = {}
    for tag in given:
        name, sign, value = tag.partition("=")
        if not sign or not name:
            raise click.UsageError(f"--tag {tag!r} is not K=V")
        if name in tags:
            raise click.UsageError(f"--tag {name} stands twice; keep one of them")
        tags[name] = value
    return tags


@click.command()
@store_option
def migrate() -> int:
    """Bring the store's schema up to date, or make a new store."""
    url = store_url()
    is_new = not is_there(url)

    async def work() -> Sequence[str]:
        store = open_store(url)
        try:
            return await store.migrate()
        finally:
            await store.close()

    applied = asyncio.run(work())
    for name in applied:
        output.data(name)
    if is_new:
        output.say(f"there was no store, so a new one was made: {os.path.abspath(path_of(url))}")
    elif not applied:
        output.say("the schema is up to date")
    return output.OK


@click.command()
@click.option("--trips", type=Whole(min=1), default=30, show_default=True, help="How many to book.")
@click.option("--kills", type=Whole(min=0), default=3, show_default=True, help="SIGKILLs of the engine.")
@click.option("--seed", type=int, help="Repeat a run's random choices.")
@click.option("--faults", type=click.Choice(["none", "some", "high"]), default="some", show_default=True)
@click.option("--trips-file", type=click.Path(path_type=Path), help="JSON lines, a request each.")
@click.option("--keys/--no-keys", default=True, help="Without keys the check must find doubles.")
@click.option("--undo/--no-undo", default=True, help="With an undo switched off it must find orphans.")
def demo(trips_file: Path | None, **options: Any) -> int:
    """Book trips while the engine is killed.

    Three unreliable services run beside it, and some travellers ask to cancel their trips; at the end
    everything is checked at the services. Exits 1 if anything is double, orphaned or half done.
    """
    from makegood.demo.run import Options, main

    given = options if trips_file is None else options | {"trips_file": trips_file}
    return main(Options(**given))


COMMANDS = (up, submit, migrate, demo)
