"""The facts of a task's history, in the past tense. A row is what one commit added.

Facts come from the rooms and from people (the `Event`s); the core adds what follows from them (`Offered`,
`Moved`, `TaskMoved` and the like). Replaying the events of a history gives the same head, bit for bit.
"""

import hashlib
from enum import StrEnum
from typing import TypeAlias

import msgspec

from makegood.core.plan import Millis
from makegood.core.record import Direction, Kind, Phase, TaskState

NULL = msgspec.Raw(b"null")


class Reply(StrEnum):
    """How a call ended, as its agent reports it."""

    DONE = "done"
    SPOILED = "spoiled"
    """Done, but the result cannot be encoded or is too large."""
    REFUSED = "refused"
    TRANSIENT = "transient"
    UNKNOWN = "unknown"
    UNRESOLVED = "unresolved"
    """Never sent: its input refers to something that is not there."""


class Answer(StrEnum):
    """What a probe learned."""

    THERE = "there"
    ABSENT = "absent"
    RUNNING = "running"
    CANNOT_TELL = "cannot_tell"


class Verdict(StrEnum):
    """What a named person says of a step."""

    DONE = "done"
    ABSENT = "absent"
    UNDONE = "undone"
    KEPT = "kept"
    LEFT = "left"
    """Go on without it: it stays listed as in effect."""


class Fact(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Anything a history row holds."""


# --- facts of the rooms


class TaskSubmitted(Fact, frozen=True):
    """The client: a new task. `deadline` and `start_at`, before which nothing starts, are moments."""

    input: msgspec.Raw
    deadline: Millis = 0
    tags: dict[str, str] = {}
    start_at: Millis = 0


class Driven(Fact, frozen=True):
    """The scheduler: what is planned and due may start."""


class Claimed(Fact, frozen=True):
    """An agent: I make this call."""

    step: int
    attempt: int
    owner: str


class Reported(Fact, frozen=True):
    """An agent: how a do or an undo ended. `retry_after` is a length of time."""

    step: int
    attempt: int
    kind: Kind
    reply: Reply
    result: msgspec.Raw = NULL
    error: str = ""
    retry_after: Millis = 0
    key_read: bool = True


class Probed(Fact, frozen=True):
    """An agent: what a probe learned."""

    step: int
    attempt: int
    answer: Answer
    result: msgspec.Raw = NULL
    error: str = ""


class HandedBack(Fact, frozen=True):
    """An agent: this call was never sent; it costs no retry. `wait` before it is offered again."""

    step: int
    attempt: int
    why: str
    wait: Millis = 0


class Hastened(Fact, frozen=True):
    """An agent: I began after this call was handed back, and may be able to make it: it waits no longer."""

    step: int
    attempt: int


class LeaseRenewed(Fact, frozen=True):
    """An agent: my call is still open. `overrun`: past its timeout, its thread still runs."""

    step: int
    attempt: int
    lease: Millis
    overrun: bool = False


class Inspected(Fact, frozen=True):
    """The supervisor: I looked at what failed or is overdue. `jitter` in thousandths; `waited`: steps whose
    wait-out this process has itself seen pass."""

    jitter: int = 0
    waited: tuple[int, ...] = ()


class Alerted(Fact, frozen=True):
    """The alerts: people were told that the task is parked, by the hook of this name."""

    hook: str


# --- acts of people


class CancelAsked(Fact, frozen=True):
    by: str
    why: str = ""


class PauseAsked(Fact, frozen=True):
    by: str
    why: str = ""


class ResumeAsked(Fact, frozen=True):
    by: str
    why: str = ""


class RetryAsked(Fact, frozen=True):
    """Try again now, counting from the start; `step` -1 is every step that may."""

    step: int
    by: str
    why: str = ""


class SkipAsked(Fact, frozen=True):
    step: int
    by: str
    why: str = ""
    given: tuple[msgspec.Raw, ...] = ()
    """The step's result, if one was given: a union with None would not be read back as raw bytes."""

    @property
    def result(self) -> msgspec.Raw | None:
        return self.given[0] if self.given else None


class ResolveAsked(Fact, frozen=True):
    step: int
    verdict: Verdict
    by: str
    why: str = ""
    given: tuple[msgspec.Raw, ...] = ()
    """The step's result, if one was given: a union with None would not be read back as raw bytes."""
    seen: Millis = -1
    """Since when the step stood as they saw it (`Head.stands_since`); -1: not said."""

    @property
    def result(self) -> msgspec.Raw | None:
        return self.given[0] if self.given else None


# --- what follows, added by the core


class Offered(Fact, frozen=True):
    """A call was handed out; `key` is given when the round is new."""

    step: int
    kind: Kind
    attempt: int
    round: int
    key: str = ""


class Moved(Fact, frozen=True):
    """A step went into a phase; `until` is when it next needs someone."""

    step: int
    phase: Phase
    until: Millis = 0


class WaitedOut(Fact, frozen=True):
    """No call of a step that is about to be called can still arrive: what its service holds now stays so."""

    step: int


class TaskMoved(Fact, frozen=True):
    """The task went into a state."""

    state: TaskState
    reason: str = ""


class TurnPending(Fact, frozen=True):
    """The task will turn should its pivot prove absent."""

    reason: str


class DeadlineAnnounced(Fact, frozen=True):
    """A deadline passed that can no longer turn the task; step -1 is the task's own."""

    step: int


class EvidenceFiled(Fact, frozen=True):
    """The report before this one came too late to be accepted: it changed no plan."""

    step: int
    attempt: int


class Surfaced(Fact, frozen=True):
    """Evidence of a live effect came late: it is undone (again), with the result the evidence brought."""

    step: int
    attempt: int


class Restored(Fact, frozen=True):
    """A person: the store was put back from a backup. What was recorded since is lost, not what was done."""

    by: str
    why: str = ""


Act: TypeAlias = CancelAsked | PauseAsked | ResumeAsked | RetryAsked | SkipAsked | ResolveAsked
Event: TypeAlias = (
    TaskSubmitted
    | Driven
    | Claimed
    | Reported
    | Probed
    | HandedBack
    | Hastened
    | LeaseRenewed
    | Inspected
    | Alerted
    | Restored
    | Act
)
AnyFact: TypeAlias = (
    Event
    | Offered
    | Moved
    | WaitedOut
    | TaskMoved
    | TurnPending
    | DeadlineAnnounced
    | EvidenceFiled
    | Surfaced
)


class Row(msgspec.Struct, frozen=True, array_like=True):
    """What one commit added: when (store time), which process wrote it, and the facts in order."""

    at: Millis
    process: str
    facts: list[AnyFact]


encode_row = msgspec.json.Encoder().encode
decode_row = msgspec.json.Decoder(Row).decode


def begin(task_id: str, plan_version: str) -> bytes:
    """The digest before the first row: whose history it is, and the plan which the task is pinned to."""
    return f"{plan_version} {task_id}".encode()


def chain(digest: bytes, row: bytes) -> bytes:
    """The running digest after a row: SHA-256 of the digest before it and the row's bytes."""
    return hashlib.sha256(digest + row).digest()


DIRECTION_OF = {
    TaskState.RUNNING: Direction.FORWARD,
    TaskState.COMPLETED: Direction.FORWARD,
    TaskState.COMPENSATING: Direction.UNDO,
    TaskState.COMPENSATED: Direction.UNDO,
}
"""The way a task in this state goes; a parked one remembers its own."""
