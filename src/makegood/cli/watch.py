"""Commands that wait: `watch`, and the waiting of `submit --wait`."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Any

import click

from makegood.cli import output
from makegood.cli.connect import connected, store_option
from makegood.cli.given import LENGTHS, Length
from makegood.cli.look import json_option, task_row
from makegood.cli.nobody import Record, goes_on, say_if_nobody_is_up
from makegood.cli.times import COLUMNS, Diary, in_short
from makegood.client import Makegood, Snapshot, Task
from makegood.client.legible import legible
from makegood.core.plan import Plan
from makegood.core.record import AT_REST
from makegood.errors import MakegoodError
from makegood.reading.matching import Where
from makegood.reading.story import Teller
from makegood.reading.words import one_line

PERIOD = 0.5
"""Seconds between two looks."""
NOT_ENDED = Where(states=("Running", "Compensating", "Failed"))
WATCHED = ("CHANGED", "ID", "STATE", "PLAN", "WAITS FOR OR BECAUSE")
WIDEST = ("11-30 23:59:59Z", "", "Compensating", "", "")
PAGE = 200
SHOWN_MAX = 200
"""Rows of a table that is shown in place."""
ENDING = ("taskId", "state", "reason", "output", "outputError")
"""What `submit --wait --json` tells of a record."""


async def wait_for(makegood: Makegood, task: Task[Any], timeout: float | None, *, as_json: bool) -> int:
    """Wait until a task has ended or is parked, print its output, say how it ended; answers the exit code."""
    try:
        state = await task.wait(timeout)
    except TimeoutError:
        state = ""
    except asyncio.CancelledError:  # by Ctrl-C, which a terminal shows in the line that it stands in
        output.say(f"\n{task.task_id} is not cancelled; `makegood watch {task.task_id}` follows it")
        return output.INTERRUPTED
    record = await task.record()
    if as_json:
        ending = {name: record[name] for name in ENDING if name in record}
        output.document_line({"taskId": task.task_id, "existed": task.existed} | ending)
    elif "output" in record:
        nothing = record["output"] is None and output.room() is not None  # a person reads, and no program
        output.data("it returns nothing" if nothing else output.json_line(record["output"]))
    return _ended(record, state) if state else await _not_ended(makegood, task.task_id, timeout)


def _ended(record: Record, state: str) -> int:
    reason = one_line(record.get("reason") or record.get("outputError") or "")
    output.say(f"{record['taskId']}: {state}" + (f": {reason}" if reason else ""))
    if state == "Failed":
        output.say(f"`makegood why {record['taskId']}` says what a person can do")
    return output.WAITED[state]


async def _not_ended(makegood: Makegood, task_id: str, timeout: float | None) -> int:
    more = ", and goes on" if await goes_on(makegood, task_id) else ""
    output.say(f"{task_id}: not ended within {timeout:g} s{more}; `makegood why {task_id}` says why")
    return output.NOT_ENDED


@click.command()
@click.argument("task_id", metavar="[ID]", required=False)
@click.option("--timeout", type=Length(min=0), metavar="TIME", help=f"Watch for at most so long. {LENGTHS}.")
@json_option
@store_option
def watch(task_id: str | None, timeout: float | None, as_json: bool) -> int:
    """Follow a task, or all that are under way.

    With ID until the task has ended or is parked; it exits 0, 10, 20 or 30. Without, until Ctrl-C, or so
    long as --timeout says; it exits 0.
    """
    if task_id is not None:
        return connected(lambda makegood: _follow(makegood, task_id, timeout, as_json))
    with suppress(KeyboardInterrupt):
        connected(lambda makegood: _watch_all(makegood, timeout, as_json))
    return output.OK


async def _follow(makegood: Makegood, task_id: str, timeout: float | None, as_json: bool) -> int:
    """Print the history as it grows."""
    told: _Told | None = None
    try:
        async with asyncio.timeout(timeout):
            while True:
                snapshot = await makegood.snapshot(task_id)
                first = told is None
                told = told or _Told(snapshot.plan, as_json)
                told.go_on(snapshot)
                if snapshot.head.state in AT_REST:
                    return _ended(snapshot.record, snapshot.record["state"])
                if first:
                    await say_if_nobody_is_up(makegood, [task_id])
                await asyncio.sleep(PERIOD)
    except TimeoutError:
        return await _not_ended(makegood, task_id, timeout)


class _Told:
    """How far a task's history has been told."""

    def __init__(self, plan: Plan, as_json: bool) -> None:
        self._as_json = as_json
        self._rows = 0
        self._teller = Teller(plan)
        self._diary = Diary()
        widest_author = max(("supervisor", *[step.agent for step in plan.steps]), key=len)
        self._table = output.Stream(COLUMNS, ("2026-12-31", widest_author, ""))

    def go_on(self, snapshot: Snapshot) -> None:
        """Tell what is new in it. Raises StoreError where its rows do not hold together."""
        told, self._rows = self._rows, len(snapshot.rows)
        if self._as_json:
            for fact in snapshot.facts(after=told):
                output.document_line(fact)
            return
        with legible(snapshot.stored.task_id):
            rows = self._diary.rows(self._teller.tell(snapshot.rows[told:]))
        self._table.add(rows)


# --- all that have not ended


class _Changes:
    """The tasks that have not ended: `known` as last seen, by id, and when those that were shown changed."""

    def __init__(self, makegood: Makegood) -> None:
        self._makegood = makegood
        self.known: dict[str, Record] = {}
        self._changed: dict[str, str] = {}

    async def look(self) -> list[Record]:
        """The tasks that are new, have changed, or (first) are no longer among those that have not ended."""
        before, self.known = self.known, await self._not_ended()
        gone: list[Record] = []
        for task_id in before.keys() - self.known.keys():
            with suppress(MakegoodError):  # one that cannot be read ends no other's watch
                gone.append(await self._makegood.task(task_id).record())
        changed = {task_id: task for task_id, task in self.known.items() if before.get(task_id) != task}
        same = self.known.keys() - changed.keys()
        self._changed = {task_id: at for task_id, at in self._changed.items() if task_id in same}
        return [*gone, *changed.values()]

    async def _not_ended(self) -> dict[str, Record]:
        """All of them: one that were left out would be taken for one that has ended."""
        found: dict[str, Record] = {}
        after: str | None = None
        while True:
            page = await self._makegood.list(NOT_ENDED, limit=PAGE, after=after)
            found |= {task["taskId"]: task for task in page.tasks}
            after = page.next
            if after is None:
                return found

    async def rows(self, tasks: Iterable[Record]) -> list[list[str]]:
        """These tasks in a table of WATCHED."""
        return [await self._row(task) for task in tasks]

    async def _row(self, task: Record) -> list[str]:
        name, state, plan, _, waits = task_row(task)
        if name not in self._changed:
            self._changed[name] = await self._last_change(name)
        return [self._changed[name], name, state, plan, waits]

    async def _last_change(self, task_id: str) -> str:
        with suppress(MakegoodError), legible(task_id):
            _, last = (await self._makegood.snapshot(task_id)).rows[-1]
            return in_short(last.at)
        return ""


async def _watch_all(makegood: Makegood, timeout: float | None, as_json: bool) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            await _show_changes(_Changes(makegood), as_json)


async def _show_changes(changes: _Changes, as_json: bool) -> None:
    console = None if as_json else output.terminal()
    if console is None:
        await _print_changes(changes, as_json)
        return
    from rich.live import Live

    with Live(console=console, auto_refresh=False) as live:
        while True:
            await changes.look()
            rows = await changes.rows(islice(changes.known.values(), SHOWN_MAX))
            if len(changes.known) > SHOWN_MAX:
                rows.append(["", f"and {len(changes.known) - SHOWN_MAX} more", "", "", ""])
            live.update(output.coloured_table(WATCHED, rows, console.width), refresh=True)
            await asyncio.sleep(PERIOD)


async def _print_changes(changes: _Changes, as_json: bool) -> None:
    """A row says something new of its task: a call may be followed by another that reads the same."""
    table = output.Stream(WATCHED, WIDEST)
    told: dict[str, list[str]] = {}
    while True:
        changed = await changes.look()
        if as_json:
            for task in changed:
                output.document_line(task)
        else:
            rows = await changes.rows(changed)
            told = {name: row for name, row in told.items() if name in changes.known}
            table.add([row for row in rows if told.get(row[1]) != row[1:]])
            told |= {row[1]: row[1:] for row in rows}
        await asyncio.sleep(PERIOD)


COMMANDS = (watch,)
