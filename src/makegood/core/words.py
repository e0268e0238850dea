"""The few words that a refused act needs: a moment, and how a step stands."""

from datetime import UTC, datetime, timedelta
from typing import Final

from makegood.core.plan import Millis
from makegood.core.record import FORWARD_OPEN, UNDO_OPEN, Phase

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

STANDING: Final = {
    Phase.IDLE: "has not begun",
    **dict.fromkeys(FORWARD_OPEN, "is under way"),
    Phase.PLANNED: "is about to be called",
    Phase.OFFERED: "is about to be called",
    Phase.DOUBT: "is in doubt",
    Phase.DONE: "is done",
    Phase.SPOILED: "is done, though its result cannot be used",
    Phase.REFUSED: "was refused",
    Phase.ABSENT: "certainly did not happen",
    Phase.UNKNOWN: "may have happened",
    Phase.UNRESOLVED: "was never called: its input is not there",
    Phase.SKIPPED: "is skipped",
    **dict.fromkeys(UNDO_OPEN, "is being undone"),
    Phase.UNDO_STUCK: "has an undo that cannot be finished",
    Phase.LEFT: "was left in effect",
    Phase.UNDONE: "is undone",
    Phase.UNDONE_BLIND: "is undone",
    Phase.KEPT: "is kept as it is",
}
"""How a step in each phase stands, to follow its name."""


def moment(at: Millis) -> str:
    """RFC 3339, UTC, milliseconds: 2026-07-05T10:00:30.000Z."""
    return f"{_EPOCH + timedelta(milliseconds=at):%Y-%m-%dT%H:%M:%S}.{at % 1000:03}Z"
