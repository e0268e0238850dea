"""`makegood submit --many`: a task for each line of JSON; all are checked before any is entered."""

import asyncio
from collections.abc import Sequence

from makegood.authoring.loading import AnyPlan
from makegood.cli import output
from makegood.cli.connect import connected
from makegood.cli.lines import Entry, Terms, read_entries
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

    async def check(trial: Makegood) -> None:
        refused = bad | await _refused(trial, plan, entries)
        if refused:
            raise PayloadError(_named("stdin" if source == "-" else source, refused))

    async def work(makegood: Makegood) -> int:
        tried = taken = under_way = 0
        try:
            for window in _windows(entries):
                under_way = len(window)
                conflicts = await _enter(makegood, plan, window)
                tried, under_way = tried + under_way, 0
                taken += sum(entry.task_id in conflicts for entry in window)
                for entry in window:
                    _tell(entry, conflicts.get(entry.task_id, ""), as_json=as_json)
        finally:  # what is entered stays so, though stdout be full, or Ctrl-C end it under way
            output.say(_summary(len(entries), tried, taken, under_way))
        if not await makegood.members():
            output.say("no process is up on this store: tasks start once one is (`makegood up APP`)")
        return output.COULD_NOT if taken else output.OK

    return connected(work, first=check, always=True)


def _summary(lines: int, tried: int, taken: int, under_way: int) -> str:
    """What became of so many lines: of those that were `tried` so many ids were `taken`; of those that were
    `under_way` when it ended nobody knows."""
    entered = tried - taken
    are = "is" if entered == 1 else "are"
    told = f"submit: {entered} of {counted(lines, 'line')} {are} entered, {taken} refused"
    return f"{told}; of {under_way:,} more some may be: `makegood list` shows" if under_way else told


def _windows(entries: Sequence[Entry]) -> list[Sequence[Entry]]:
    return [entries[n : n + TOGETHER] for n in range(0, len(entries), TOGETHER)]


def _tell(entry: Entry, conflict: str, *, as_json: bool) -> None:
    if as_json:
        told = {"line": entry.line, "taskId": entry.task_id}
        output.document_line(told | {"error": conflict} if conflict else told)
    elif conflict:
        output.say(f"line {entry.line}: {conflict}")
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


def _named(source: str, bad: dict[int, str]) -> str:
    """Each bad line with its reason, the first few of them."""
    told = [f"{source}, line {line}: {bad[line]}" for line in sorted(bad)[:BAD_SHOWN]]
    more = f" ({len(bad) - BAD_SHOWN} more are not shown)" if len(bad) > BAD_SHOWN else ""
    how_many = f"{counted(len(bad), 'line')} {'is' if len(bad) == 1 else 'are'}"
    return "\n".join([*told, f"{how_many} wrong{more}; nothing was submitted"])


# --- entering


async def _enter(makegood: Makegood, plan: AnyPlan, window: Sequence[Entry]) -> dict[str, str]:
    """Enter these tasks, those that are alike in one commit; of each whose id is taken, why."""
    alike: dict[object, dict[str, Entry]] = {}
    for task_id, entry in _first_with_each_id(window).items():
        alike.setdefault(entry.alike, {})[task_id] = entry
    conflicts: dict[str, str] = {}
    for taken in await asyncio.gather(*[_enter_alike(makegood, plan, each) for each in alike.values()]):
        conflicts |= taken
    return conflicts


def _first_with_each_id(window: Sequence[Entry]) -> dict[str, Entry]:
    first: dict[str, Entry] = {}
    for entry in window:
        first.setdefault(entry.task_id, entry)
    return first


async def _enter_alike(makegood: Makegood, plan: AnyPlan, entries: dict[str, Entry]) -> dict[str, str]:
    """In one commit. It tells of one conflict only; so then each is submitted again, as the same task.

    With the same input, too: decoded again it could be another, where a default of its type is made anew.
    """
    codec = codec_for(plan.input_type)
    inputs = {task_id: codec.decode(entry.input, "input") for task_id, entry in entries.items()}
    terms = next(iter(entries.values())).terms._asdict()

    async def refused(*task_ids: str) -> str:
        try:
            given = [inputs[task_id] for task_id in task_ids]
            await makegood.submit_many(plan, given, task_ids=task_ids, **terms)
        except SubmissionConflict as conflict:
            return str(conflict)
        return ""

    if not await refused(*inputs):
        return {}
    told = {task_id: await refused(task_id) for task_id in inputs}
    return {task_id: words for task_id, words in told.items() if words}
