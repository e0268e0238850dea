"""Submitting: how tasks come into a store. The door to it are `Makegood.submit` and those beside it."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import SystemRandom
from reprlib import repr as shown
from types import NoneType
from typing import Any, NamedTuple, TypeVar

import msgspec

from makegood.authoring.plans import PlanDefinition
from makegood.client.connection import Connection
from makegood.client.legible import legible
from makegood.client.task import Task
from makegood.core.events import TaskSubmitted, decode_row
from makegood.core.plan import Millis, millis
from makegood.core.secrets import hide
from makegood.errors import MakegoodError, PayloadError, PlanError, SubmissionConflict
from makegood.ids import check_task_id, make_task_id
from makegood.payload import UnknownField, canonical, codec_for, differing_paths, names_in_json
from makegood.reading.words import counted, is_text

log = logging.getLogger("makegood.client")

SUBMITTED_MAX = 1_000
"""Tasks that submit_many enters at most: they are one commit."""
TAGS_MAX = 16_384
"""Bytes of the names and values of a task's tags."""
AHEAD_MAX: Millis = 60_000
"""How far store time may be ahead of our clock to pass for the same."""
LATEST_START = datetime(8000, 1, 1, tzinfo=UTC)
"""Where starts end, so that whatever follows from one still has a date."""

In = TypeVar("In")
Out = TypeVar("Out")


class Terms(NamedTuple):
    """What was said of a task that is submitted; see Makegood.submit."""

    deadline: float | timedelta | None
    start_at: datetime | timedelta | None
    tags: Mapping[str, str] | None


class Agreed(NamedTuple):
    """Terms that were found good: moments (0: none), and tags."""

    deadline: Millis
    start_at: Millis
    tags: dict[str, str]


class Submitting:
    """Enters tasks through a connection; each is durable once its method returns."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._desk = connection.desk
        self._envelope = connection.envelope
        self._saved_plans: set[str] = set()
        self._chance = SystemRandom()

    async def one(
        self, plan: PlanDefinition[In, Out], input: In | None, task_id: str | None, terms: Terms
    ) -> Task[Out]:
        """See Makegood.submit."""
        _check_plan(plan)
        raw = self._encoded(plan, input, "input")
        return await self._enter(plan, raw, self._event(raw, self._agreed(terms)), task_id)

    async def many(
        self,
        plan: PlanDefinition[In, Out],
        inputs: Iterable[In],
        task_ids: Sequence[str] | None,
        terms: Terms,
    ) -> Sequence[Task[Out]]:
        """See Makegood.submit_many."""
        _check_plan(plan)
        _check_listed("inputs", inputs)
        _check_listed("task_ids", task_ids or ())
        raws = [self._encoded(plan, each, f"inputs[{n}]") for n, each in enumerate(inputs)]
        agreed = self._agreed(terms)
        names = self._names(plan.name, len(raws), task_ids)
        events = [self._event(raw, agreed) for raw in raws]
        await self._save_plan(plan)
        entering = [
            self._enter(plan, raw, event, name, names)
            for raw, event, name in zip(raws, events, names, strict=True)
        ]
        came = await asyncio.gather(*entering, return_exceptions=True)
        entered = [each for each in came if not isinstance(each, BaseException)]
        for each in came:
            if isinstance(each, SubmissionConflict):
                each.entered = entered
            if isinstance(each, BaseException):
                raise each
        return entered

    async def json(
        self, plan: PlanDefinition[Any, Out], raw: bytes, task_id: str | None, terms: Terms
    ) -> Task[Out]:
        """See Makegood.submit_json."""
        _check_plan(plan)
        codec = codec_for(plan.input_type)
        try:
            kept = codec.encode(codec.decode(raw, "input"), "input", limit=self._envelope.clear_max)
        except UnknownField as error:
            raise PayloadError(
                f"{error.path}: plan {plan.name} takes no such field; correct its name or leave it out"
            ) from None
        except PayloadError as error:
            raise _with_type(plan, "input", error) from None
        return await self._enter(plan, kept, self._event(kept, self._agreed(terms)), task_id)

    def _encoded(self, plan: PlanDefinition[Any, Any], value: object, where: str) -> bytes:
        """Raises PayloadError for what is no input of this plan."""
        try:
            return codec_for(plan.input_type).encode(value, where, limit=self._envelope.clear_max)
        except PayloadError as error:
            if _has_fields(plan.input_type) and not isinstance(value, plan.input_type):
                kind, given = plan.input_type.__name__, type(value).__name__.removesuffix("Type")
                raise PayloadError(
                    f"{where}: plan {plan.name} takes {kind}, not {given}; give {kind}(...), or JSON to "
                    "submit_json"
                ) from None
            told = PayloadError(f"{where}: none was given") if value is None else error
            raise _with_type(plan, where, told) from None

    def _agreed(self, terms: Terms) -> Agreed:
        """Raises PlanError or PayloadError for terms that are none."""
        now = self._desk.now()
        start = _moment(terms.start_at, now, self._desk.clock.wall())
        begins = max(now, start)
        deadline = 0 if terms.deadline is None else begins + _length(terms.deadline)
        return Agreed(deadline, start, _tags(terms.tags or {}))

    def _event(self, raw: bytes, terms: Agreed) -> TaskSubmitted:
        """What is recorded of a submission. Raises PayloadError where a codec makes too much of the input."""
        closed = msgspec.Raw(self._envelope.close(raw, "input"))
        return TaskSubmitted(closed, terms.deadline, terms.tags, terms.start_at)

    async def _enter(
        self,
        plan: PlanDefinition[Any, Out],
        raw: bytes,
        event: TaskSubmitted,
        task_id: str | None,
        beside: Sequence[str] = (),
    ) -> Task[Out]:
        """Enter a task, in one commit with those `beside` it, which are entered at the same time."""
        name = self._new_id(plan.name, self._desk.now()) if task_id is None else check_task_id(task_id)
        self._connection.check_open()
        await self._save_plan(plan)
        is_new = await self._desk.submit(plan.plan, name, event, beside=beside)
        if not is_new:
            await self._check_same(plan, name, raw)
        return Task(self._connection, name, plan.output_type, existed=not is_new)

    def _names(self, plan: str, number: int, task_ids: Sequence[str] | None) -> list[str]:
        """The ids of tasks that are submitted together. Raises MakegoodError where they cannot be."""
        if number > SUBMITTED_MAX:
            raise MakegoodError(
                f"submit_many was given {number:,} inputs and takes {SUBMITTED_MAX:,}; call it several times"
            )
        if task_ids is None:
            return [self._new_id(plan, self._desk.now()) for _ in range(number)]
        names = [check_task_id(task_id) for task_id in task_ids]
        if len(names) != number:
            raise MakegoodError(
                f"submit_many was given {counted(number, 'input')} and {counted(len(names), 'id')}; give one "
                "each"
            )
        if len(set(names)) != number:
            twice = next(name for name in names if names.count(name) > 1)
            raise MakegoodError(f"submit_many was given the id {twice!r} twice; give each input its own")
        return names

    def _new_id(self, plan: str, now: Millis) -> str:
        return make_task_id(plan, now, self._chance.getrandbits(64))

    async def _save_plan(self, plan: PlanDefinition[Any, Any]) -> None:
        if plan.version not in self._saved_plans:
            await self._connection.store.save_plan(plan.version, plan.name, plan.document.canonical())
            self._saved_plans.add(plan.version)
            if self._desk.rooms.deciding:
                await self._say_what_is_missing(plan)

    async def _say_what_is_missing(self, plan: PlanDefinition[Any, Any]) -> None:
        """Where tasks are run here, it surprises that one waits for another process, in silence."""
        able = (await self._connection.alive()).actions
        lacking = sorted({f"{step.agent}/{step.action}" for step in plan.plan.steps} - able)
        if lacking:
            log.warning(
                "plan %s needs %s, which no living process has: a task waits there until one is started",
                plan.name,
                ", ".join(lacking),
            )

    async def _check_same(self, plan: PlanDefinition[Any, Any], task_id: str, raw: bytes) -> None:
        """The id is taken: fine if it is this very submission, made before."""
        stored = await self._connection.stored(task_id)
        if stored.plan != plan.name:
            raise SubmissionConflict(
                f"task {task_id!r} is there already, with plan {stored.plan!r}, not {plan.name!r}; "
                "choose another id"
            )
        rows = await self._connection.store.history(task_id)
        with legible(task_id):
            [given] = [f.input for f in decode_row(rows[0].body).facts if isinstance(f, TaskSubmitted)]
        before = self._envelope.open(bytes(given), f"the input of task {task_id!r}")
        if canonical(before) != canonical(raw) and not _reads_as(plan, before, raw):
            paths = ", ".join(differing_paths(_folded(before, plan), _folded(raw, plan)))
            raise SubmissionConflict(
                f"task {task_id!r} is there already, with another input (differs at {paths}); "
                "choose another id"
            )


def _folded(raw: bytes, plan: PlanDefinition[Any, Any]) -> bytes:
    """An input with every secret in one piece: a path ends at it, and names no key in it."""
    secrets = plan.plan.secrets.get("input", ())
    return msgspec.json.encode(hide(msgspec.json.decode(canonical(raw)), secrets, repr))


def _reads_as(plan: PlanDefinition[Any, Any], before: bytes, raw: bytes) -> bool:
    """Whether an older input is this one to the type of today, which may have got more optional fields."""
    codec = codec_for(plan.input_type)
    try:
        return canonical(codec.encode(codec.decode(before))) == canonical(raw)
    except PayloadError:
        return False


def _check_plan(plan: object) -> None:
    if not isinstance(plan, PlanDefinition):
        raise PlanError(f"{plan!r} is no plan; submit what @plan made of a function")


def _check_listed(name: str, given: object) -> None:
    """Refuse what would be taken apart into characters, or cannot be taken apart."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise PayloadError(f"{name}={shown(given)}: submit_many takes a list of them; put it in one")


def _with_type(plan: PlanDefinition[Any, Any], where: str, error: PayloadError) -> PayloadError:
    """The error with what the plan takes, where it is the input as a whole that does not fit."""
    if not str(error).startswith(f"{where}: "):
        return error
    if plan.input_type is NoneType:
        return PayloadError(f"{where}: plan {plan.name} takes no input; leave it out")
    kind = plan.input_type.__name__ if isinstance(plan.input_type, type) else plan.input_type
    names = ", ".join(names_in_json(plan.input_type))
    fields = f", an object with the fields {names}" if names else ""
    return PayloadError(f"{error}; plan {plan.name} takes {kind}{fields}")


def _has_fields(hint: Any) -> bool:
    """Whether it is a dataclass, a Struct or the like: no dict, not even a typed one, is one of those."""
    return isinstance(hint, type) and hasattr(hint, "__annotations__") and not issubclass(hint, dict)


def _length(length: object) -> Millis:
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if not isinstance(seconds, int | float) or seconds is True or not 0 < seconds < 1e9:
        raise PlanError(f"a deadline is a length of time in seconds, above 0 and below 1e9, not {seconds!r}")
    return millis(seconds)


def _moment(start: object, now: Millis, wall: Millis) -> Millis:
    """In store time, whose `now` is ahead of our clock for long where the clock of some process was."""
    if start is None:
        return 0
    if isinstance(start, timedelta):
        seconds = now / 1000 + start.total_seconds()
    elif isinstance(start, datetime) and _has_zone(start):
        seconds = start.timestamp() + (now - wall if now - wall > AHEAD_MAX else 0) / 1000
    else:
        raise PlanError(
            f"start_at={start!r} is no moment in time: give a datetime with a time zone, "
            "datetime(2027, 1, 1, tzinfo=UTC) say, or a timedelta from now"
        )
    if seconds >= LATEST_START.timestamp():
        raise PlanError(
            f"start_at is too far ahead: it can be any moment before {LATEST_START:%Y-%m-%dT%H:%MZ}"
        )
    return max(0, millis(seconds))


def _has_zone(moment: datetime) -> bool:
    try:
        return moment.utcoffset() is not None
    except Exception:  # a time zone may be the user's own, and raise anything
        return False


def _tags(tags: object) -> dict[str, str]:
    if not isinstance(tags, Mapping):
        raise PayloadError(f"tags={tags!r}: tags are pairs of text, as in tags={{'customer': '17'}}")
    for name, value in tags.items():
        if not is_text(name) or not is_text(value):
            raise PayloadError(f"tags: {name!r}: {value!r} is not text; tags are pairs of text")
    size = sum(len(text.encode()) for pair in tags.items() for text in pair)
    if size > TAGS_MAX:
        raise PayloadError(
            f"tags have {size:,} bytes, and {TAGS_MAX:,} together are the most: they are written with each "
            "step of the task; put what is long into its input"
        )
    return dict(tags)
