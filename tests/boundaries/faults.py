"""What may go wrong, and where."""

from dataclasses import dataclass
from enum import StrEnum

from makegood.testing.faulty import WRITES, StoreFault


class CallFault(StrEnum):
    """What may strike one call to a service."""

    DIE_BEFORE = "the process dies before it sends"
    DIE_AFTER = "the process dies when the service has acted"
    DIE_AND_LATE = "the process dies after sending, and the service acts as late as it may"
    ANSWER_LOST = "the service acts, the connection breaks"
    NO_ANSWER = "the service acts and never answers"
    REQUEST_LOST = "the request never arrives, and no answer comes"
    LATE = "the service acts as late as it may, long after the client gave up"
    FREEZES = "the process is frozen for long while the answer comes"
    BUSY = "the service says: try again"


class WorldFault(StrEnum):
    """What may happen around an operation."""

    AHEAD = "every wall clock jumps ten years ahead"
    BACK = "every wall clock falls back ten years"
    ANOTHER_AHEAD = "a process joins whose wall clock is ten years ahead"
    ANOTHER_BEHIND = "a process joins whose wall clock is ten years behind"


TEN_YEARS = 10 * 365 * 86_400_000
JUMP_OF = {
    WorldFault.AHEAD: TEN_YEARS,
    WorldFault.BACK: -TEN_YEARS,
    WorldFault.ANOTHER_AHEAD: TEN_YEARS,
    WorldFault.ANOTHER_BEHIND: -TEN_YEARS,
}
Fault = StoreFault | CallFault | WorldFault
READ_FAULTS = (StoreFault.DIE_AFTER, StoreFault.ANSWER_LOST, StoreFault.HANGS, StoreFault.FREEZES)
"""Reads change nothing: dying before one is dying after what came before it, and to fail is to fail."""


@dataclass(frozen=True)
class Trouble:
    """`fault` strikes the operation with this number, from 1, of a process (by number, from 0)."""

    at: int
    fault: Fault
    member: int = 0


def faults_for(operation: str) -> tuple[Fault, ...]:
    """Everything that may strike an operation: a store's verb, or "do a" for a call."""
    if " " in operation:
        return tuple(CallFault)
    return tuple(StoreFault) if operation in WRITES else READ_FAULTS
