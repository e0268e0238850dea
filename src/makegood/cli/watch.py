"""Commands that wait: `watch`, and the waiting of `submit --wait`."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from makegood.cli import output
from makegood.cli.connect import connected, store_option
from makegood.cli.look import TASK_COLUMNS, Record, json_option, task_row
from makegood.client import Makegood, Snapshot, Task
from makegood.core.record import AT_REST
from makegood.reading.facts import facts_of
from makegood.reading.story import story
from makegood.reading.words import moment, one_line

PERIOD = 0.5
"""Seconds between two looks."""
NOT_ENDED = ("Running", "Compensating", "Failed")
SHOWN_MAX = 200


async def wait_for(task: Task[Any], timeout: float | None) -> int:
    """Wait until a task has ended or is parked, print its output, say how it ended; answers the exit code."""
    try:
        state = await task.wait(timeout)
    except TimeoutError:
        return _not_ended(task.task_id, timeout)
    record = await task.record()
    if "output" in record:
        output.document_line(record["output"])
    return _ended(record, state)


def _ended(record: Record, state: str) -> int:
    reason = one_line(record.get("reason") or record.get("outputError") or "")
    output.say(f"{record['taskId']}: {state}" + (f": {reason}" if reason else ""))
    if state == "Failed":
        output.say(f"`makegood why {record['taskId']}` says what a person can do")
    return output.WAITED[state]


def _not_ended(task_id: str, timeout: float | None) -> int:
    output.say(f"{task_id}: not ended within {timeout:g} s, and goes on; `makegood why {task_id}` says why")
    return output.NOT_ENDED


@click.command()
@click.argument("task_id", metavar="[ID]", required=False)
@click.option("--timeout", type=click.FloatRange(min=0), metavar="S", help="With ID: wait at most S seconds.")
@json_option
@store_option
def watch(task_id: str | None, timeout: float | None, as_json: bool) -> int:
    """Follow a task, or all that are under way.

    With ID until the task has ended or is parked; it exits 0, 10, 20 or 30. Without, until Ctrl-C.
    """
    if task_id is not None:
        return connected(lambda makegood: _follow(makegood, task_id, timeout, as_json))
    if timeout is not None:
        raise click.UsageError("--timeout is for watching one task")
    with suppress(KeyboardInterrupt):
        connected(lambda makegood: _watch_all(makegood, as_json))
    return output.OK


async def _follow(makegood: Makegood, task_id: str, timeout: float | None, as_json: bool) -> int:
    """Print the history as it grows."""
    told = 0
    try:
        async with asyncio.timeout(timeout):
            while True:
                snapshot = await makegood.snapshot(task_id)
                told = _tell(snapshot, told, as_json)
                if snapshot.head.state in AT_REST:
                    return _ended(snapshot.record, snapshot.record["state"])
                await asyncio.sleep(PERIOD)
    except TimeoutError:
        return _not_ended(task_id, timeout)


def _tell(snapshot: Snapshot, told: int, as_json: bool) -> int:
    if as_json:
        facts = facts_of(snapshot.plan, snapshot.rows)
        for fact in facts[told:]:
            output.document_line(fact)
        return len(facts)
    lines = story(snapshot.plan, snapshot.rows)
    for line in lines[told:]:
        output.data(f"{moment(line.at)}  {line.who:16}  {line.what}")
    return len(lines)


# --- all that have not ended


async def _watch_all(makegood: Makegood, as_json: bool) -> None:
    console = None if as_json else output.terminal()
    if console is None:
        await _print_changes(makegood, as_json)
        return
    from rich.live import Live

    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            rows = [task_row(task) for task in await _not_ended_tasks(makegood)]
            live.update(output.rich_table(TASK_COLUMNS, rows, console.width), refresh=True)
            await asyncio.sleep(PERIOD)


async def _print_changes(makegood: Makegood, as_json: bool) -> None:
    """A line whenever a task is new, has changed, or is no longer among those that have not ended."""
    known: dict[str, Record] = {}
    while True:
        tasks = {task["taskId"]: task for task in await _not_ended_tasks(makegood)}
        gone = [await makegood.task(task_id).record() for task_id in known.keys() - tasks.keys()]
        changed = [task for task_id, task in tasks.items() if known.get(task_id) != task]
        for task in (*gone, *changed):
            if as_json:
                output.document_line(task)
            else:
                output.data("  ".join(filter(None, task_row(task))))
        known = tasks
        await asyncio.sleep(PERIOD)


async def _not_ended_tasks(makegood: Makegood) -> Sequence[Record]:
    return (await makegood.list(NOT_ENDED, limit=SHOWN_MAX)).tasks


COMMANDS = (watch,)
