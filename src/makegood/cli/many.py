"""`makegood submit --many`: a task for each line of JSON; all are checked before any is entered."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from makegood.authoring.loading import AnyPlan
from makegood.cli import output
from makegood.cli.connect import connected
from makegood.cli.lines import Entry, Terms, read_entries
from makegood.cli.nobody import say_if_nobody_is_up
from makegood.client import Makegood
from makegood.errors import MakegoodError, PayloadError, SubmissionConflict
from makegood.payload import codec_for
from makegood.reading.words import counted

TOGETHER = 1_000
"""Tasks that are entered at a time: as many as submit_many takes."""
BAD_SHOWN = 20


def submit_lines(plan: AnyPlan, source: str, terms: Terms, *, as_json: bool) -> int:
    """Enter a task for each line of a file, or of stdin (-); exits 1 where an id is taken by another task.

    Raises PayloadError that names the lines which cannot be submitted; then nothing was.
    """
    entries, bad = read_entries(plan, source, terms)
    named = "stdin" if source == "-" else source

    async def check(trial: Makegood) -> None:
        refused = bad | await _refused(trial, plan, entries)
        if refused:
            raise PayloadError(_told(named, refused))

    async def work(makegood: Makegood) -> int:
        summary, new = Summary(len(entries)), list[str]()
        try:
            for window in _windows(entries):
                summary.under_way = len(window)
                came = await _enter(makegood, plan, window)
                summary.add(came)
                new += [entry.task_id for entry, each in zip(window, came, strict=True) if each.new]
                for entry, each in zip(window, came, strict=True):
                    _tell(named, entry, each, as_json=as_json)
        finally:  # what is entered stays so, though stdout be full, or Ctrl-C end it under way
            output.say(f"submit: {summary}")
        await say_if_nobody_is_up(makegood, new or [entry.task_id for entry in entries])
        return output.COULD_NOT if summary.refused else output.OK

    return connected(work, first=check, always=True)


class Came(NamedTuple):
    """What came of a line: its task is entered, or was there already, or the line is refused, and why."""

    existed: bool
    conflict: str = ""

    @property
    def new(self) -> bool:
        """Whether its task was not there before."""
        return not self.existed and not self.conflict

    def as_of(self, *, first: bool) -> "Came":
        """The same, of the first line with its id or of one that stands after it."""
        return self if first or self.conflict else Came(existed=True)


@dataclass
class Summary:
    """What came of so many lines; of those that are under way nobody knows when it ends there."""

    lines: int
    new: int = 0
    existed: int = 0
    refused: int = 0
    under_way: int = 0

    def add(self, came: Sequence[Came]) -> None:
        """These were under way until now."""
        self.under_way = 0
        self.refused += sum(bool(each.conflict) for each in came)
        self.existed += sum(each.existed for each in came)
        self.new += sum(each.new for each in came)

    def __str__(self) -> str:
        told = f"{self.new} of {counted(self.lines, 'line')} entered, {self.refused} refused"
        if self.existed:
            told += f", {self.existed} there already: their deadlines, starts and tags stay"
        if self.under_way:
            told += f"; of {self.under_way:,} more some may be: `makegood list` shows"
        return told


def _windows(entries: Sequence[Entry]) -> list[Sequence[Entry]]:
    return [entries[n : n + TOGETHER] for n in range(0, len(entries), TOGETHER)]


def _tell(named: str, entry: Entry, came: Came, *, as_json: bool) -> None:
    if as_json:
        became = {"error": came.conflict} if came.conflict else {"existed": came.existed}
        output.document_line({"line": entry.line, "taskId": entry.task_id} | became)
    elif came.conflict:
        output.say_error(f"{named}, line {entry.line}: {came.conflict}")
    else:
        output.data(entry.task_id)


# --- checking


async def _refused(trial: Makegood, plan: AnyPlan, entries: Sequence[Entry]) -> dict[int, str]:
    """Why lines cannot be submitted, by their numbers: tried on a store that is thrown away."""
    refused: dict[int, str] = {}
    first: dict[str, Entry] = {}
    for window in _windows(entries):
        tries = [
            trial.submit_json(plan, entry.input, task_id=entry.task_id, **entry.terms._asdict())
            for entry in window
        ]
        for entry, came in zip(window, await asyncio.gather(*tries, return_exceptions=True), strict=True):
            before = first.setdefault(entry.task_id, entry)
            if isinstance(came, SubmissionConflict) or before.terms != entry.terms:
                what = "input" if isinstance(came, SubmissionConflict) else "deadline, start or tags"
                refused[entry.line] = (
                    f"line {before.line} has its id, {entry.task_id!r}, and another {what}; change one"
                )
            elif isinstance(came, MakegoodError):
                refused[entry.line] = str(came)
            elif isinstance(came, BaseException):
                raise came
    return refused


def _told(source: str, bad: dict[int, str]) -> str:
    """Each bad line with its reason, the first few of them, as the errors they are."""
    told = [f"{source}, line {line}: {bad[line]}" for line in sorted(bad)[:BAD_SHOWN]]
    more = f" ({len(bad) - BAD_SHOWN} more are not shown)" if len(bad) > BAD_SHOWN else ""
    how_many = f"{counted(len(bad), 'line')} {'is' if len(bad) == 1 else 'are'}"
    return "\nerror: ".join([*told, f"{how_many} wrong{more}; nothing was submitted"])


# --- entering


async def _enter(makegood: Makegood, plan: AnyPlan, window: Sequence[Entry]) -> list[Came]:
    """Enter these tasks, those that are alike in one commit; what came of each."""
    first: dict[str, Entry] = {}
    for entry in window:
        first.setdefault(entry.task_id, entry)
    alike: dict[object, dict[str, Entry]] = {}
    for task_id, entry in first.items():
        alike.setdefault(entry.alike, {})[task_id] = entry
    came: dict[str, Came] = {}
    for each in await asyncio.gather(*[_enter_alike(makegood, plan, each) for each in alike.values()]):
        came |= each
    return [came[entry.task_id].as_of(first=entry is first[entry.task_id]) for entry in window]


async def _enter_alike(makegood: Makegood, plan: AnyPlan, entries: dict[str, Entry]) -> dict[str, Came]:
    """In one commit. It tells of one conflict only; so then what is not entered is tried by itself.

    With the same input, too: decoded again it could be another, where a default of its type is made anew.
    """
    codec = codec_for(plan.input_type)
    inputs = {task_id: codec.decode(entry.input, "input") for task_id, entry in entries.items()}
    terms = next(iter(entries.values())).terms._asdict()

    async def enter(*task_ids: str) -> dict[str, Came]:
        try:
            given = [inputs[task_id] for task_id in task_ids]
            tasks = await makegood.submit_many(plan, given, task_ids=task_ids, **terms)
        except SubmissionConflict as conflict:
            if len(task_ids) == 1:
                return {task_ids[0]: Came(existed=False, conflict=str(conflict))}
            tasks = conflict.entered
        return {task.task_id: Came(task.existed) for task in tasks}

    came = await enter(*inputs)
    for task_id in inputs.keys() - came.keys():
        came |= await enter(task_id)
    return came
