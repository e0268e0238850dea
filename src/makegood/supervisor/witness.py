"""What this process has itself seen pass: wall clocks jump, so a wait-out needs a monotonic witness."""

from bisect import bisect_left

from makegood.core.plan import Millis
from makegood.store.protocol import Stamp

SPACING = 0.2
"""Seconds of which only the first and the last stamp are kept: a wait-out may take so much longer than it
must, where stamps come as often."""
KEPT_MAX = 20_000


class Witness:
    """Store stamps this process read, each with its own monotonic moment."""

    def __init__(self) -> None:
        self._at: list[Millis] = []
        self._seen: list[float] = []

    def note(self, stamp: Stamp) -> None:
        """Keep a stamp, and drop the one before it where those beside that are about as good."""
        if self._at and stamp.at <= self._at[-1]:
            return
        if len(self._seen) > 1 and stamp.seen < self._seen[-2] + SPACING:
            del self._at[-1], self._seen[-1]
        self._at.append(stamp.at)
        self._seen.append(stamp.seen)
        if len(self._at) > KEPT_MAX:
            self._thin()

    def left(self, since: Millis, span: Millis, monotonic: float) -> float:
        """Seconds until `span` will have passed here since a stamp that is not older than the moment `since`.

        0: it has passed.
        """
        first = bisect_left(self._at, since)
        seen = self._seen[first] if first < len(self._at) else monotonic
        return max(0.0, seen + span / 1000 - monotonic)

    def _thin(self) -> None:
        """Forget every other of the older half: long waits only get a little longer."""
        half = KEPT_MAX // 2
        self._at[:half] = self._at[:half:2]
        self._seen[:half] = self._seen[:half:2]
