"""What this process has itself seen pass: wall clocks jump, so a wait-out needs a monotonic witness."""

from bisect import bisect_left

from makegood.core.plan import Millis
from makegood.store.protocol import Stamp

SPACING = 0.2
"""Seconds between the stamps that are kept: a wait-out takes at most this much longer than it must."""
KEPT_MAX = 20_000


class Witness:
    """Store stamps this process read, each with its own monotonic moment."""

    def __init__(self) -> None:
        self._at: list[Millis] = []
        self._seen: list[float] = []

    def note(self, stamp: Stamp) -> None:
        """Keep a stamp, unless one about as new is kept."""
        if self._seen and stamp.seen < self._seen[-1] + SPACING:
            return
        if self._at and stamp.at <= self._at[-1]:
            return
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
