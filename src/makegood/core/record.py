"""The record of a task as the core holds it: the head. What has ended lies in the append rows.

The head is small: a state, a direction, one byte a step (its phase), and a little more for the steps that are
open. The exported record (`core.view`) is made of the head and the append rows.
"""

from enum import IntEnum
from typing import Final

import msgspec

from makegood.core.plan import Millis


class TaskState(IntEnum):
    RUNNING = 0
    COMPLETED = 1
    COMPENSATING = 2
    COMPENSATED = 3
    FAILED = 4


class Direction(IntEnum):
    """Which way a task goes. It turns once; a parked task remembers it."""

    FORWARD = 0
    UNDO = 1


class Kind(IntEnum):
    """What a call is for."""

    DO = 0
    UNDO = 1
    PROBE = 2


class News(IntEnum):
    """The last word on a call that brought no result: what the Supervisor finds a remedy for."""

    NONE = 0
    REFUSED = 1
    TRANSIENT = 2
    UNKNOWN = 3
    ABSENT = 4
    CANNOT_TELL = 5
    STILL_THERE = 6


class Phase(IntEnum):
    """Where a step stands: finer than its exported state, one byte in the head.

    Each kind of call goes planned -> offered -> called: planned for a moment, handed out but unclaimed (no
    call exists), claimed (a call may be on its way). The probe of the undo lane is called check.
    """

    IDLE = 0
    PLANNED = 1
    OFFERED = 2
    CALLED = 3
    REPORTED = 4
    """It brought no result: the Supervisor's turn."""
    WAIT_OUT = 5
    """Nobody acts until no call can still arrive at the service."""
    PROBE_PLANNED = 6
    PROBE_OFFERED = 7
    PROBE_CALLED = 8
    DOUBT = 9
    """Only a person can tell whether it happened."""

    DONE = 10
    SPOILED = 11
    """Done, but its result cannot be used."""
    REFUSED = 12
    ABSENT = 13
    UNKNOWN = 14
    """It may have happened; to be undone without its result."""
    UNRESOLVED = 15
    """Never called: its input refers to something that is not there."""
    SKIPPED = 16

    UNDO_PLANNED = 20
    UNDO_OFFERED = 21
    UNDO_CALLED = 22
    UNDO_REPORTED = 23
    UNDO_WAIT_OUT = 24
    CHECK_PLANNED = 25
    CHECK_OFFERED = 26
    CHECK_CALLED = 27
    UNDO_STUCK = 28
    """The undo cannot be finished: a person is asked."""
    LEFT = 29
    """A person ordered to go on without it; it stays listed as in effect."""
    UNDONE = 30
    UNDONE_BLIND = 31
    """Undone, though nobody ever knew whether it had happened."""
    KEPT = 32
    """A named person accepted its effect as standing."""


P = Phase

PHASE_OF: Final = {phase.value: phase for phase in Phase}
"""Phases by their byte: a look-up is several times quicker than Phase(byte)."""
OFFER_OF: Final = {
    P.PLANNED: P.OFFERED,
    P.PROBE_PLANNED: P.PROBE_OFFERED,
    P.UNDO_PLANNED: P.UNDO_OFFERED,
    P.CHECK_PLANNED: P.CHECK_OFFERED,
}
CALL_OF: Final = {
    P.OFFERED: P.CALLED,
    P.PROBE_OFFERED: P.PROBE_CALLED,
    P.UNDO_OFFERED: P.UNDO_CALLED,
    P.CHECK_OFFERED: P.CHECK_CALLED,
}
PLAN_OF: Final = {offered: planned for planned, offered in OFFER_OF.items()} | {
    CALL_OF[offered]: planned for planned, offered in OFFER_OF.items()
}
KIND_OF: Final = (
    dict.fromkeys((P.PLANNED, P.OFFERED, P.CALLED), Kind.DO)
    | dict.fromkeys((P.UNDO_PLANNED, P.UNDO_OFFERED, P.UNDO_CALLED), Kind.UNDO)
    | dict.fromkeys((P.PROBE_PLANNED, P.PROBE_OFFERED, P.PROBE_CALLED), Kind.PROBE)
    | dict.fromkeys((P.CHECK_PLANNED, P.CHECK_OFFERED, P.CHECK_CALLED), Kind.PROBE)
)
PLANNED: Final = frozenset(OFFER_OF)
OFFERED: Final = frozenset(CALL_OF)
CALLED: Final = frozenset(CALL_OF.values())

FORWARD_OPEN: Final = frozenset(
    (P.PLANNED, P.OFFERED, P.CALLED, P.REPORTED, P.WAIT_OUT, P.PROBE_PLANNED, P.PROBE_OFFERED, P.PROBE_CALLED)
)
"""The forward fate is not settled, and nobody need be asked to settle it."""
UNDO_OPEN: Final = frozenset(
    (P.UNDO_PLANNED, P.UNDO_OFFERED, P.UNDO_CALLED, P.UNDO_REPORTED, P.UNDO_WAIT_OUT)
    + (P.CHECK_PLANNED, P.CHECK_OFFERED, P.CHECK_CALLED)
)
BY_KEY: Final = frozenset((P.PLANNED, P.OFFERED, P.UNDO_PLANNED, P.UNDO_OFFERED))
"""A do or an undo is about to be called: where it may have happened before, only its key makes that safe."""
FLYING: Final = CALLED | {P.REPORTED, P.WAIT_OUT, P.UNDO_REPORTED, P.UNDO_WAIT_OUT}
"""A call may still be on its way, or its outcome has found no remedy yet: the task cannot be parked."""
REPORTED: Final = frozenset((P.REPORTED, P.UNDO_REPORTED))
WAITING_OUT: Final = frozenset((P.WAIT_OUT, P.UNDO_WAIT_OUT))
ASKS_A_PERSON: Final = frozenset((P.DOUBT, P.UNDO_STUCK))
"""These park the task before anything more is done or undone."""
WATCHED: Final = CALLED | WAITING_OUT | ASKS_A_PERSON
"""Phases in which the Supervisor acts when the step's due time has passed."""
OPEN: Final = FORWARD_OPEN | UNDO_OPEN | ASKS_A_PERSON | {P.UNKNOWN, P.LEFT}
"""Phases that carry an `Open` in the head."""
CERTAINLY_NOT: Final = frozenset((P.REFUSED, P.ABSENT, P.UNRESOLVED))
"""The forward lane ended, and certainly nothing happened."""
IN_EFFECT: Final = frozenset((P.DONE, P.SPOILED, P.UNKNOWN))
"""What compensation undoes: done, or feared to be done."""
AT_REST: Final = frozenset((TaskState.COMPLETED, TaskState.COMPENSATED, TaskState.FAILED))
"""Nothing moves the task on by itself."""
ENDED: Final = frozenset((TaskState.COMPLETED, TaskState.COMPENSATED))


ERROR_KEPT: Final = 200
"""Characters of an error that the head keeps for the reader; the history keeps all of it."""


class Open(msgspec.Struct, array_like=True):
    """What the head holds of a step whose lane is not settled. Moments are store time; 0 is none.

    `due` is when the phase next needs someone; `landing` until when a call whose fate is open can still reach
    the service (none, once that was waited out); `not_before` the floor a Retry-After set; `started_at` the
    first call of this lane, `first_at` the first of this round; `key_until` until when a call may be made
    that counts on the round's key, where the service forgets keys;
    `doubt`: a call of this lane may have had an effect that nobody heard of; `unkeyed`: one ran without its
    key; `fate`: (undo lane) how the forward lane ended; `surfaced`: late evidence came that the effect was
    live; `error` what the last call said, cut short; `late` until when a call that had outlived its bound may
    still have reached the service: what the service said before is not the last word; `handed_back`: an agent
    claimed the step's call and could not make it, so that it is offered again when it is due.
    """

    since: Millis = 0
    due: Millis = 0
    attempt: int = 0
    retries: int = 0
    key: str = ""
    owner: str = ""
    complete_by: Millis = 0
    landing: Millis = 0
    not_before: Millis = 0
    started_at: Millis = 0
    first_at: Millis = 0
    deadline: Millis = 0
    news: News = News.NONE
    doubt: bool = False
    unkeyed: bool = False
    asks: int = 0
    fate: int = 0
    surfaced: bool = False
    error: str = ""
    key_until: Millis = 0
    late: Millis = 0
    handed_back: bool = False


class Head(msgspec.Struct, array_like=True):
    """The record of a task that is folded forward by each commit.

    `attempt` is the last number handed out to any call of the task; `rounds` and `undo_rounds` hold the
    rounds above the first; `pending` is why the task will turn should its pivot prove absent;
    `deadline_heard` that the deadline passed and was acted on; `digest` is the running digest of the append
    rows, `write_id` that of the last commit; `start_at` is the moment before which nothing starts, `alerted`
    that somebody was told that the task stands parked as it does now; `restored_at` when the store was put
    back from a backup: what had been called since nobody knows; `beyond` that it went forward then, so that
    steps which had not begun may have been called.
    """

    marks: bytearray
    state: TaskState = TaskState.RUNNING
    direction: Direction = Direction.FORWARD
    attempt: int = 0
    open: dict[int, Open] = {}
    created_at: Millis = 0
    deadline: Millis = 0
    deadline_heard: bool = False
    reason: str = ""
    pending: str = ""
    pivoted: bool = False
    paused: bool = False
    rounds: dict[int, int] = {}
    undo_rounds: dict[int, int] = {}
    digest: bytes = b""
    write_id: int = 0
    tags: dict[str, str] = {}
    start_at: Millis = 0
    alerted: bool = False
    restored_at: Millis = 0
    beyond: bool = False

    def stands_since(self, step: int) -> Millis:
        """When an open step last moved; 0: it is not open."""
        opened = self.open.get(step)
        return 0 if opened is None else opened.since


encode_head = msgspec.msgpack.Encoder().encode
decode_head = msgspec.msgpack.Decoder(Head).decode
