"""What may go wrong at an operation of a process: a verb of its store, a call, a report to its desk.

F1 to F18 are the names under which docs/reliability.md lists the kinds of fault.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

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
    LIMITED = "the service says: try again, but not before so many seconds"
    REFUSED = "the service says no"
    FAILS = "the service fails, and takes back what it did"
    GARBLED = "the service acts, and its answer cannot be read"
    STUCK = "the process is frozen after its last check, and sends when it wakes"
    """Breaks the bound on a call's life; only the storms that say so have it."""


class DeliveryFault(StrEnum):
    """What may strike an agent's report on its way to the desk (F6)."""

    LOST = "the report is lost"
    TWICE = "the report comes twice"
    LATE = "the report comes when its lease is long over"


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
Fault = StoreFault | CallFault | DeliveryFault | WorldFault
READ_FAULTS = (StoreFault.DIE_AFTER, StoreFault.ANSWER_LOST, StoreFault.HANGS, StoreFault.FREEZES)
"""Reads change nothing: dying before one is dying after what came before it, and to fail is to fail."""
CALL_FAULTS = tuple(fault for fault in CallFault if fault is not CallFault.STUCK)


@dataclass(frozen=True)
class Trouble:
    """`fault` strikes the operation with this number, from 1, of a process (by number, from 0)."""

    at: int
    fault: Fault
    member: int = 0


def faults_for(operation: str) -> tuple[Fault, ...]:
    """Everything that may strike an operation: a store's verb, "do a" for a call, "report" for a report."""
    if " " in operation:
        return CALL_FAULTS
    if operation == "report":
        return tuple(DeliveryFault)
    return tuple(StoreFault) if operation in WRITES else READ_FAULTS


class Strikes(Protocol):
    """Where faults come from."""

    def at(self, member: int, number: int, operation: str) -> Fault | None:
        """What strikes this operation of this process."""


class Script:
    """Faults at fixed places, and no others."""

    def __init__(self, troubles: Iterable[Trouble]) -> None:
        self._fault_at = {(trouble.member, trouble.at): trouble.fault for trouble in troubles}

    def at(self, member: int, number: int, operation: str) -> Fault | None:
        return self._fault_at.get((member, number))
