"""What commands print with --json, and alert hooks are given, as types; see schemas.

A field that may be absent is UNSET here. That it is so is tested: every command's output is held against the
schemas that are made of them.
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import NODEFAULT, UNSET, Meta, Raw, Struct, UnsetType, defstruct
from msgspec.structs import FieldInfo, fields

from makegood.checking import Finding
from makegood.core import events
from makegood.core.events import Fact, Reply
from makegood.core.record import Kind, Phase
from makegood.core.record import TaskState as State
from makegood.reading.facts import MOMENTS, NAMES

Moment: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
        extra_json_schema={"format": "date-time"},
        description="RFC 3339, UTC, to the millisecond",
    ),
]
TaskState: TypeAlias = Literal["Running", "Completed", "Compensating", "Compensated", "Failed"]
LaneState: TypeAlias = Literal["NotStarted", "Running", "Completed", "Failed"]
StepState: TypeAlias = LaneState | Literal["Skipped"]
Outcome: TypeAlias = Literal["none", "done", "refused", "absent", "unknown", "undone", "kept"]
Maybe: TypeAlias = str | UnsetType


Version: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{12}$", description="of a plan, shortened")]


class Printed(Struct, rename="camel", kw_only=True):
    """More fields may come; those that are here stay."""


# --- tasks


class Waiting(Printed, kw_only=True):
    """What a task or a step waits for."""

    for_: Literal[
        "lease", "supervisor", "scheduler", "backoff", "waitOut", "probe", "agent", "pause", "person"
    ]
    step: Maybe = UNSET
    since: Moment | UnsetType = UNSET
    until: Moment | UnsetType = UNSET
    next: str


class Evidence(Printed, kw_only=True):
    """A report that came too late to count."""

    at: Moment
    attempt: int
    kind: Literal["do", "undo"]
    reply: Reply
    error: Maybe = UNSET
    result: Any = UNSET


class Lane(Printed, kw_only=True):
    """What a step and its undo have both."""

    idempotency_key: str
    complete_by: Moment | UnsetType = UNSET
    retry_count: int
    action: str
    attempt: int | UnsetType = UNSET
    round: int | UnsetType = UNSET
    phase: Literal["offered", "called", "between"] | UnsetType = UNSET
    lease_until: Moment | UnsetType = UNSET
    error: Maybe = UNSET
    probe_error: Maybe = UNSET


class Compensation(Lane, kw_only=True):
    """A step's undo."""

    state: LaneState


class Step(Lane, kw_only=True):
    """A step of a task."""

    name: str
    agent: str
    state: StepState
    arguments: dict[str, Any] | UnsetType = UNSET
    result: Any = UNSET
    outcome: Outcome | UnsetType = UNSET
    settled_by: Maybe = UNSET
    settled_as: Maybe = UNSET
    deadline: Moment | UnsetType = UNSET
    waiting: Waiting | UnsetType = UNSET
    evidence: list[Evidence] | UnsetType = UNSET
    compensation: Compensation | UnsetType = UNSET


class Standing(Printed, kw_only=True):
    """How a task stands."""

    task_id: str
    state: TaskState
    paused: bool
    reason: Maybe = UNSET
    waiting: Waiting | UnsetType = UNSET


class Parked(Standing, kw_only=True):
    """How a task stands, and what a person must know of it where it is parked."""

    direction: Literal["forward", "undo"] | UnsetType = UNSET
    blocking: list[str] | UnsetType = UNSET
    in_effect: list[str] | UnsetType = UNSET
    in_doubt: list[str] | UnsetType = UNSET
    acts: list[str] | UnsetType = UNSET


class Listed(Standing, kw_only=True):
    """A task in short."""

    created_at: Moment
    plan: str
    plan_version: Version
    tags: dict[str, str] | UnsetType = UNSET


class Unreadable(Printed, kw_only=True):
    """A task in short whose record cannot be read."""

    task_id: str
    state: TaskState | Literal["unknown"]
    plan: str
    reason: str


class Whole(Parked, kw_only=True):
    """How a task stands, and which it is."""

    created_at: Moment
    plan: str
    plan_version: Version
    tags: dict[str, str] | UnsetType = UNSET


class Alert(Whole, kw_only=True):
    """What a person needs to know of a parked task; `why` is what `makegood why` prints."""

    why: str


class Record(Whole, kw_only=True):
    """A task's record."""

    input: Any
    output: Any = UNSET
    output_error: Maybe = UNSET
    deadline: Moment | UnsetType = UNSET
    steps: list[Step]


class StepInShort(Printed, kw_only=True):
    """A step that waits, or of which something is in effect or in doubt outside."""

    name: str
    state: StepState
    outcome: Outcome | UnsetType = UNSET
    idempotency_key: str
    error: Maybe = UNSET
    probe_error: Maybe = UNSET
    waiting: Waiting | UnsetType = UNSET
    compensation: Compensation | UnsetType = UNSET


class InShort(Parked, kw_only=True):
    """What a task waits for, or how it ended."""

    steps: list[StepInShort]


# --- facts


class Stated(Printed, kw_only=True, tag_field="fact", tag=True):
    """A fact: the commit that recorded it, when, who stated it, in which process."""

    version: int
    at: Moment
    who: str
    process: str


def _stated(kind: type[Fact]) -> type[Struct]:
    """A kind of facts as it is printed."""
    exported = [(NAMES.get(each.name, each.name), *_exported(each)) for each in fields(kind)]
    return defstruct(kind.__name__, exported, bases=(Stated,), kw_only=True, tag=kind.__name__)


def _exported(field: FieldInfo) -> tuple[Any, Any]:
    """The type of a fact's field, and its default: UNSET where it is absent when it says nothing."""
    match field.type:
        case _ if field.name == "step":
            return Maybe, UNSET
        case _ if field.name in MOMENTS:
            return Moment | UnsetType, UNSET
        case _ if field.name == "input":
            return Any, NODEFAULT
        case _ if field.type in (Raw, tuple[Raw, ...]):
            return Any, UNSET
        case _ if field.type == tuple[int, ...]:  # steps by number are printed by name
            return list[str] | UnsetType, UNSET
        case _ if field.type in (Kind, Phase):
            return str, NODEFAULT
        case _ if field.type is State:
            return TaskState, NODEFAULT
        case _ if field.type is str:
            return Maybe, UNSET
        case known:
            return known, NODEFAULT


FACTS = tuple(
    _stated(kind)
    for kind in vars(events).values()
    if isinstance(kind, type) and issubclass(kind, Fact) and kind is not Fact
)


# --- processes, checks, submissions


class Process(Printed, kw_only=True):
    """A living process; `actions` are those it has, each with the hash of its signature."""

    member_id: str
    roles: list[str]
    host: str
    pid: int
    started_at: Moment
    lease_until: Moment
    actions: dict[str, str]


class PlanChecked(Printed, kw_only=True):
    """A plan that was checked."""

    plan: str
    plan_version: Version


class Checked(Printed, kw_only=True):
    """What could strand tasks of some plans; `broken` counts the findings that are so."""

    plans: list[PlanChecked]
    findings: list[Finding]
    broken: int


class Entered(Printed, kw_only=True):
    """A task that was entered by itself, or had `existed`; how it stands where it was waited for."""

    task_id: str
    existed: bool
    state: TaskState | UnsetType = UNSET
    reason: Maybe = UNSET
    output: Any = UNSET
    output_error: Maybe = UNSET


class Submitted(Printed, kw_only=True):
    """What came of a line: its task, which may have `existed`, or the `error` that says why there is none."""

    line: int
    task_id: str
    existed: bool | UnsetType = UNSET
    error: Maybe = UNSET
