"""Tasks to be entered as lines of JSON: what each line says, and what is wrong with it."""

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

import click
import msgspec

from makegood.authoring.loading import AnyPlan
from makegood.cli.given import check_json, moment_given, read_lines
from makegood.clock import SystemClock
from makegood.errors import PayloadError
from makegood.ids import make_task_id
from makegood.reading.matching import LENGTH, length_in_seconds

LINES_MAX = 100_000
"""Lines that one command takes: they are held in memory until all are checked."""
Start: TypeAlias = datetime | timedelta
FORM = '{"input": ..., "id": "...", "tags": {...}, "start_at": "...", "deadline": ...}'


class Terms(NamedTuple):
    """What holds for a task beside its input. Those of the command are for all lines that do not differ."""

    deadline: float | None
    start_at: Start | None
    tags: Mapping[str, str]


class Entry(NamedTuple):
    """A task to be entered, and the line that it stands in."""

    line: int
    task_id: str
    input: bytes
    terms: Terms

    @property
    def alike(self) -> tuple[Any, ...]:
        """The same for all tasks that one call can submit together."""
        return self.terms.deadline, self.terms.start_at, *sorted(self.terms.tags.items())


class Line(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A line as it is written; where the plan takes no input, all of it may be left out."""

    input: msgspec.Raw = msgspec.Raw(b"")
    id: str | None = None
    tags: dict[str, str] = {}
    start_at: str | None = None
    deadline: float | str | None = None


def read_entries(plan: AnyPlan, source: str, terms: Terms) -> tuple[list[Entry], dict[int, str]]:
    """What the lines of a file, or of stdin (-), ask for; and of each that is malformed, by its number, why.

    Ids are made for those that bring none. Raises PayloadError where it cannot be read, or has no end.
    """
    entries: list[Entry] = []
    bad: dict[int, str] = {}
    moment = cache(lambda text: moment_given(text, "start_at"))
    for number, raw in read_lines(source):
        if len(entries) + len(bad) == LINES_MAX:
            raise PayloadError(f"there are more than {LINES_MAX:,} lines; split them, nothing was submitted")
        try:
            entries.append(_entry(plan, number, _line(raw), terms, moment))
        except PayloadError as error:
            bad[number] = str(error)
        except click.UsageError as error:
            bad[number] = error.message
    return entries, bad


def _line(raw: bytes) -> Line:
    check_json(raw)
    try:
        return msgspec.json.decode(raw, type=Line)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        at = f"{where.removesuffix('`')}: " if where else ""
        raise PayloadError(f"{at}{what}; a line is {FORM}") from None


def _seconds(length: float | str) -> float:
    if isinstance(length, float):
        return length
    if found := LENGTH.fullmatch(length):
        return length_in_seconds(found)
    raise PayloadError(f"deadline: {length!r} is no length of time; write 90s, 10m, 2h, 3d, or seconds")


def _entry(plan: AnyPlan, number: int, line: Line, terms: Terms, moment: Callable[[str], Start]) -> Entry:
    raw = bytes(line.input)
    if not raw and plan.input_type is not NoneType:
        raise PayloadError(f"plan {plan.name} takes an input: `input` is missing; a line is {FORM}")
    return Entry(
        number,
        make_task_id(plan.name, SystemClock().wall(), secrets.randbits(64)) if line.id is None else line.id,
        raw or b"null",
        Terms(
            terms.deadline if line.deadline is None else _seconds(line.deadline),
            terms.start_at if line.start_at is None else moment(line.start_at),
            {**terms.tags, **line.tags},
        ),
    )
