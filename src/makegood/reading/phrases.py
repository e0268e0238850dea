"""What a history says of a step's moves, of an agent's replies and of a probe's answers."""

from typing import Final

from makegood.core.events import Answer, Reply
from makegood.core.record import Phase

MOVED: Final = {
    Phase.IDLE: "taken back before any call",
    Phase.PLANNED: "to be called",
    Phase.REPORTED: "brought no answer: it may have happened",
    Phase.WAIT_OUT: "left alone until no call can still reach the service",
    Phase.PROBE_PLANNED: "the service is to be asked whether it happened",
    Phase.DOUBT: "only a person can tell whether it happened",
    Phase.DONE: "it counts as done",
    Phase.SPOILED: "done, but its result cannot be used",
    Phase.REFUSED: "failed for good: refused",
    Phase.ABSENT: "failed for good: it certainly did not happen",
    Phase.UNKNOWN: "failed for good: it may have happened",
    Phase.UNRESOLVED: "failed for good: its input is not there",
    Phase.SKIPPED: "skipped",
    Phase.UNDO_PLANNED: "to be undone",
    Phase.UNDO_REPORTED: "its undo brought no answer: it may have worked",
    Phase.UNDO_WAIT_OUT: "left alone until no call can still reach the service",
    Phase.CHECK_PLANNED: "the service is to be asked whether anything is left of it",
    Phase.UNDO_STUCK: "its undo cannot be finished: a person is asked",
    Phase.LEFT: "left in effect",
    Phase.UNDONE: "undone",
    Phase.UNDONE_BLIND: "undone, though nobody ever knew whether it had happened",
    Phase.KEPT: "kept as it is",
}
AGAIN: Final = {
    Phase.PLANNED: "to be called again",
    Phase.UNDO_PLANNED: "its undo is to be called again",
}
"""The same where it was called before."""
REPLIES: Final = {
    Reply.DONE: "done",
    Reply.SPOILED: "done, but its result cannot be recorded",
    Reply.REFUSED: "refused",
    Reply.TRANSIENT: "certainly no effect",
    Reply.UNKNOWN: "it may have happened",
    Reply.UNRESOLVED: "never sent",
}
ANSWERS: Final = {
    Answer.THERE: "it is there",
    Answer.ABSENT: "it is not there",
    Answer.RUNNING: "the service is still working on it",
    Answer.CANNOT_TELL: "the service cannot tell",
}
